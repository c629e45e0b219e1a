// Finds and reads the files that a plan names.
//
// Invariant: what is read under a name of the plan is what the plan was made for, or an error.
#include "sim/commands/plan_inputs.h"

#include "model/base/file.h"
#include "sim/commands/saved.h"

bool plan_inputs_find(const char *plan_path, const char *key, const char *named, Arena *arena,
                      const char **out, Err *err) {
    if (*named == '\0')
        return err_set(err, "%s: missing \"%s\": the plan does not say what it was made for",
                       plan_path, key);
    return file_find_beside(plan_path, named, arena, out, err);
}

bool plan_inputs_check(const char *path, Digest found, Digest saved, Err *err) {
    char is[17], was[17];
    return found == saved || err_set(err, "%s: digest %s is not the %s that the plan was made for",
                                     path, hash_format(found, is), hash_format(saved, was));
}

bool plan_inputs_model(const char *plan_path, const PlanFile *file, const char *path, Arena *arena,
                       Arch *out, uint64_t *out_sequences, Err *err) {
    const char *assume = NULL;
    if (*file->result != '\0' &&
        !saved_read_result(file->result, arena, &assume, out_sequences, err))
        return err_prefix(err, "%s", plan_path);
    return arch_load_assuming(path, assume, out, err) &&
           (*file->model == '\0' || plan_inputs_check(path, out->digest, file->model_digest, err));
}

bool plan_inputs_load(const char *plan_path, const PlanFile *file, const Arch *arch, Arena *arena,
                      Load *out, Err *err) {
    const char *path;
    uint32_t layers = 0, experts = 0;
    *out = load_uniform();
    if (*file->load == '\0') return true;
    for (uint32_t i = 0; i < arch->kind_count; i++) {
        uint32_t of_kind = arch->mlps[arch->kinds[i].mlp].experts;
        if (of_kind == 0) continue;
        layers += arch->kinds[i].count;
        experts = of_kind;
    }
    if (!file_find_beside(plan_path, file->load, arena, &path, err) || !load_read(path, out, err) ||
        !plan_inputs_check(path, out->digest, file->load_digest, err))
        return false;
    return load_check(out, layers, experts, err) || err_prefix(err, "%s", path);
}

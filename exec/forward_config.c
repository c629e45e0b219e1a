// The constants of a forward pass.
//
// Invariant: a field that changes the result and that no kernel knows is refused. Fields that are
// absent have the defaults of the model's configuration class in transformers 4.57.
#include "exec/forward_config.h"

#include <string.h>

#include "model/base/json.h"

typedef struct FamilyRow {
    const char *model_type;
    RopePairs pairs;
    RouterScore score;
    bool normalises;
    double scaling;
} FamilyRow;

static const FamilyRow family_rows[] = {
    {"qwen3", ROPE_HALVES, ROUTER_SOFTMAX, false, 1},
    {"qwen3_moe", ROPE_HALVES, ROUTER_SOFTMAX, false, 1},
    {"mixtral", ROPE_HALVES, ROUTER_SOFTMAX, true, 1},
    {"deepseek_v3", ROPE_INTERLEAVED, ROUTER_SIGMOID, true, 2.5},
    {"kimi_k2", ROPE_INTERLEAVED, ROUTER_SIGMOID, true, 2.5},
};

static const FamilyRow *family_of(const char *model_type) {
    for (size_t i = 0; i < sizeof family_rows / sizeof family_rows[0]; i++)
        if (strcmp(family_rows[i].model_type, model_type) == 0) return &family_rows[i];
    return NULL;
}

static bool read_number(JsonNode node, const char *key, double *value, Err *err) {
    return !json_has(node, key) || json_double(node, key, value, err);
}

// A field that may only have this value.
static bool expect(JsonNode node, const char *key, const char *only, Err *err) {
    const char *found;
    if (!json_has(node, key)) return true;
    if (!json_string(node, key, &found, err)) return false;
    return strcmp(found, only) == 0 ||
           json_error(json_find(node, key), err, "no kernel for \"%s\", only for \"%s\"", found,
                      only);
}

static bool read_scaling(JsonNode root, RopeSpec *rope, Err *err) {
    JsonNode node;
    if (!json_has(root, "rope_scaling")) return true;
    if (!json_object(root, "rope_scaling", &node, err)) return false;
    const char *kind = json_has(node, "rope_type") ? "rope_type" : "type";
    if (!expect(node, kind, "yarn", err)) return false;
    rope->beta_fast = 32;
    rope->beta_slow = 1;
    rope->mscale = 1;
    return json_double(node, "factor", &rope->factor, err) &&
           json_u64(node, "original_max_position_embeddings", &rope->trained, err) &&
           read_number(node, "beta_fast", &rope->beta_fast, err) &&
           read_number(node, "beta_slow", &rope->beta_slow, err) &&
           read_number(node, "mscale", &rope->mscale, err) &&
           read_number(node, "mscale_all_dim", &rope->mscale_all_dim, err);
}

static bool read_rope(JsonNode root, const Arch *arch, RopeSpec *rope, Err *err) {
    const AttentionSpec *spec = &arch->attentions[0];
    rope->width = spec->kind == ATTENTION_MLA ? spec->rope : spec->head_dim;
    rope->theta = 10000;
    if (json_has(root, "rope_parameters"))
        return json_error(json_find(root, "rope_parameters"), err,
                          "no kernel for rotations that are not written as rope_theta");
    if (rope->width % 2 != 0)
        return err_set(err, "%s: rotates %u elements, expected an even number", arch->name,
                       rope->width);
    if (!read_number(root, "rope_theta", &rope->theta, err) || !read_scaling(root, rope, err))
        return false;
    return (rope->theta > 1 && rope->factor >= 0) ||
           err_set(err, "%s: rope_theta is %g and the factor %g, expected more than 1 and 0",
                   arch->name, rope->theta, rope->factor);
}

static bool read_router(JsonNode root, RouterSpec *router, Err *err) {
    double scaling = (double)router->scaling;
    bool sigmoid = router->score == ROUTER_SIGMOID;
    if (json_has(root, "norm_topk_prob") &&
        !json_bool(root, "norm_topk_prob", &router->normalises, err))
        return false;
    if (!expect(root, "scoring_func", sigmoid ? "sigmoid" : "softmax", err) ||
        !expect(root, "topk_method", sigmoid ? "noaux_tc" : "greedy", err) ||
        !read_number(root, "routed_scaling_factor", &scaling, err))
        return false;
    router->scaling = (float)scaling;
    return true;
}

static bool read_root(JsonNode root, const Arch *arch, ForwardConfig *out, Err *err) {
    const char *model_type;
    if (!json_string(root, "model_type", &model_type, err)) return false;
    const FamilyRow *family = family_of(model_type);
    if (family == NULL)
        return json_error(json_find(root, "model_type"), err,
                          "no kernels for models of this family (%s)", model_type);
    ForwardConfig config = {.norm_epsilon = 1e-6,
                            .rope.pairs = family->pairs,
                            .router = {.score = family->score,
                                       .normalises = family->normalises,
                                       .scaling = (float)family->scaling}};
    if (!read_number(root, "rms_norm_eps", &config.norm_epsilon, err) ||
        !expect(root, "hidden_act", "silu", err) || !read_rope(root, arch, &config.rope, err) ||
        !read_router(root, &config.router, err))
        return false;
    *out = config;
    return true;
}

bool forward_config_parse(const ArchInput *input, const Arch *arch, ForwardConfig *out, Err *err) {
    Json json = {0};
    if (!json_parse(input->name, input->bytes, input->count, &json, err)) return false;
    bool good = read_root(json_root(&json), arch, out, err);
    json_free(&json);
    return good;
}

bool forward_config_read(const char *name, const Arch *arch, ForwardConfig *out, Err *err) {
    Arena arena = {0};
    ArchInput input = {0};
    bool good =
        arch_read_files(name, &arena, &input, err) && forward_config_parse(&input, arch, out, err);
    arena_free(&arena);
    return good;
}

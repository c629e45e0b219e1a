// The command tenants: reads plans for one machine, proves that they share no device and no memory,
// measures what they cost each other, looks for better places.
//
// Invariant: nothing is printed about tenants that the proof refuses.
#include "sim/commands/tenants.h"

#include "sim/commands/output.h"
#include "sim/commands/tenants_input.h"
#include "sim/commands/tenants_show.h"

typedef enum Format { FORMAT_TABLE, FORMAT_JSON, FORMAT_CSV } Format;

#define PLACEMENTS_MAX 256

static bool prove(const CliArgs *args, const TenantsInput *input, TenantHosts hosts,
                  TenantProof *out, Err *err) {
    Err reason = {0};
    if (!tenants_place_prove(input, TENANT_HOSTS_LISTED, out, &reason))
        return err_set(err, "%s%s", reason.text,
                       cli_is_given(args, "at") ? "" : ": --at says where each plan begins");
    if (hosts == TENANT_HOSTS_LISTED) return true;
    tenant_proof_free(out);
    return tenants_place_prove(input, hosts, out, &reason) ||
           err_set(err, "%s: move one of them, or add --share-hosts", reason.text);
}

static bool read_most(const CliArgs *args, uint32_t *out, Err *err) {
    uint64_t most = cli_count(args, "placements");
    if (most > PLACEMENTS_MAX)
        return err_set(err, "--placements: expected at most %d, found %llu", PLACEMENTS_MAX,
                       (unsigned long long)most);
    *out = (uint32_t)most;
    return true;
}

static bool run(const CliArgs *args, const TenantsInputs *inputs, uint32_t most,
                TenantsAnswer *answer, Err *err) {
    const EvaluateInput machine = {.fabric = &inputs->fabric, .model = &inputs->model};
    TenantsInput input = {.fabric = &inputs->fabric,
                          .model = &inputs->model,
                          .tenants = inputs->tenants,
                          .count = inputs->count};
    if (!prove(args, &input, answer->hosts, &answer->proof, err)) return false;
    input.memory = evaluate_memory_open(&machine);
    bool done = tenants_measure(&input, TENANTS_ALL, &answer->result, err);
    if (done && most > 0 && inputs->count > 1)
        tenants_place_find(&input, &answer->result, answer->hosts, most, &answer->places);
    evaluate_memory_close(input.memory);
    return done;
}

static int print(const CliArgs *args, const TenantsAnswer *answer) {
    Text out = {0};
    switch ((Format)cli_choice(args, "format")) {
    case FORMAT_TABLE: tenants_show_text(answer, &out); break;
    case FORMAT_JSON: tenants_show_json(answer, &out); break;
    case FORMAT_CSV: tenants_show_csv(answer, &out); break;
    }
    return output_text(&out, OUTPUT_OK);
}

int tenants_command(const CliArgs *args) {
    TenantsInputs inputs = {0};
    TenantsAnswer answer = {.inputs = &inputs};
    Err err = {0};
    uint32_t most = 0;
    answer.hosts = cli_is_given(args, "share-hosts") ? TENANT_HOSTS_LISTED : TENANT_HOSTS_APART;
    bool done = read_most(args, &most, &err) && tenants_input_read(args, &inputs, &err) &&
                run(args, &inputs, most, &answer, &err);
    int status = done ? print(args, &answer) : output_bad(&err);
    tenants_place_free(&answer.places);
    tenants_free(&answer.result);
    tenant_proof_free(&answer.proof);
    tenants_input_free(&inputs);
    return status;
}

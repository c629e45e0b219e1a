// Reads what moesim shard works on.
//
// Invariant: the plan is legal for the model, of which the digest is the plan's; the checkpoint is
// one without findings.
#include "sim/commands/shard_input.h"

#include <inttypes.h>

#include "model/plan/plan_legal.h"
#include "model/plan/stage_cut.h"
#include "sim/commands/output.h"
#include "sim/commands/plan_inputs.h"

static bool read_model(ShardInputs *in, const char *plan_path, Err *err) {
    const char *path;
    uint64_t sequences;
    return plan_inputs_find(plan_path, "model", in->file.model, &in->arena, &path, err) &&
           plan_inputs_model(plan_path, &in->file, path, &in->arena, &in->arch, &sequences, err);
}

static bool read_checkpoint(ShardInputs *in, const char *path, Err *err) {
    Findings findings = {0};
    if (path == NULL) return true;
    bool done = checkpoint_open(path, &in->checkpoint, &findings, err);
    in->has_checkpoint = done;
    done = done && finding_none(&findings, err);
    finding_free(&findings);
    return done;
}

static bool read_pool(ShardInputs *in, const CliArgs *args, Err *err) {
    uint64_t pool = cli_count(args, "pool");
    in->engine = cli_text(args, "engine") == NULL
                     ? SHARD_ENGINE_NONE
                     : (ShardEngine)(SHARD_ENGINE_VLLM + cli_choice(args, "engine"));
    if (pool >= in->file.plan.pool_count)
        return err_set(err, "--pool: expected a pool below %" PRIu32 ", found %" PRIu64,
                       in->file.plan.pool_count, pool);
    in->pool = (uint32_t)pool;
    return true;
}

// An illegal cut is found before anything is read. Whole experts are never cut inside.
static bool check_legal(const ShardInputs *in, const char *path, Err *err) {
    Err reason = {0};
    PlanFault fault = plan_legal_fault(&in->file.plan, &in->arch, &reason);
    if (fault.rule == PLAN_RULE_KEPT) return true;
    bool in_expert = fault.rule == PLAN_RULE_EXPERT_CUT || fault.rule == PLAN_RULE_EXPERT_WIDTH;
    return err_set(err, "%s: %s%s", path, reason.text,
                   in_expert ? "; take a smaller moe_tp, with more expert parallelism" : "");
}

static bool check_engine(ShardInputs *in, Err *err) {
    Pool *pool = &in->file.plan.pools[in->pool];
    switch (in->engine) {
    case SHARD_ENGINE_NONE: return true;
    case SHARD_ENGINE_VLLM:
        if (pool->stage_cut != STAGE_CUT_VLLM_OLD) stage_cut_as_engine(pool, STAGE_CUT_VLLM);
        return true;
    case SHARD_ENGINE_SGLANG: break;
    }
    stage_cut_as_engine(pool, STAGE_CUT_SGLANG);
    for (uint32_t i = 0; i < in->arch.mlp_count; i++) {
        uint32_t experts = in->arch.mlps[i].experts, slots = pool_slots(pool, experts);
        if (slots % pool->ep != 0)
            return err_set(
                err, "sglang refuses ep %" PRIu32 ", which does not divide %" PRIu32 " experts%s",
                pool->ep, slots, slots > experts ? " and replicas" : "");
    }
    return true;
}

int shard_input_read(const CliArgs *args, ShardInputs *out, Err *err) {
    const char *path = args->operands[0];
    *out = (ShardInputs){0};
    int status = OUTPUT_BAD;
    if (plan_read(path, &out->file, err) && read_pool(out, args, err) &&
        read_model(out, path, err) && check_legal(out, path, err) &&
        plan_inputs_load(path, &out->file, &out->arch, &out->arena, &out->load, err)) {
        status = OUTPUT_NO;
        if (check_engine(out, err))
            status =
                read_checkpoint(out, cli_text(args, "checkpoint"), err) ? OUTPUT_OK : OUTPUT_BAD;
    }
    if (status != OUTPUT_OK) shard_input_free(out);
    return status;
}

void shard_input_free(ShardInputs *inputs) {
    load_free(&inputs->load);
    checkpoint_free(&inputs->checkpoint);
    arch_free(&inputs->arch);
    plan_file_free(&inputs->file);
    arena_free(&inputs->arena);
    *inputs = (ShardInputs){0};
}

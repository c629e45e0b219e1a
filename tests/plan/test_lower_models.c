// Every model that is understood, lowered under many plans: each matrix of a rank is read by one
// operation, and the schedules are sound.
#include "tests/check.h"

#include <dirent.h>
#include <string.h>

#include "model/plan/schedule.h"
#include "model/plan/shard.h"
#include "model/plan/shard_slice.h"
#include "tests/plan/lower_plans.h"

// ---- What a rank holds: the matrices that shard_weights counts for it.

// Not the filters of convolutions, tables that a kernel reads by element, vectors of stacked
// experts, and rows that one norm multiplies with the tokens.
static bool is_matrix(const Arch *arch, const TensorClass *tensor) {
    bool stacked = shard_slice_stacked(tensor) > 0;
    if (tensor->is_scale || tensor->parameters == 0 || tensor->use == TENSOR_TABLE) return false;
    if (stacked && tensor->dim_count == 2 && tensor->dims[0] == tensor->fused_experts) return false;
    if (tensor->component == COMPONENT_NORM)
        return tensor->dim_count == 2 && tensor->dims[1] > arch->hidden;
    if (tensor->component == COMPONENT_MTP || tensor->component == COMPONENT_VISION) return false;
    return tensor->dim_count == 2 || shard_slice_is_routed(tensor);
}

// A rank with whole rows for the groups of all heads multiplies those of its own heads.
static uint64_t held_B(const Pool *pool, const TensorClass *tensor) {
    if (tensor->use == TENSOR_GROUPED) return tensor->bytes / pool->tp;
    if (!shard_slice_is_routed(tensor)) return shard_cut_B(tensor, pool->tp, 0) * tensor->per_layer;
    uint32_t first, experts;
    pool_experts(pool, shard_slice_experts(tensor) + pool->redundant_experts, 0, &first, &experts);
    return shard_expert_B(tensor, pool->moe_tp, 0) * experts * shard_slice_stacks(tensor);
}

static uint64_t held_by_last_stage_B(const Pool *pool, const Arch *arch,
                                     const TensorClass *tensor) {
    bool is_head = tensor->component == COMPONENT_HEAD ||
                   (tensor->component == COMPONENT_EMBEDDING && arch->tied_embeddings);
    bool mixes = tensor->component == COMPONENT_NORM && tensor->layer_kind >= arch->kind_count;
    return is_head || mixes ? held_B(pool, tensor) : 0;
}

static uint64_t held_by_stage_B(const Pool *pool, const Arch *arch, uint32_t stage) {
    uint32_t first, count;
    uint64_t sum = 0;
    pool_stage_layers(pool, arch->layers, stage, &first, &count);
    for (uint32_t i = 0; i < arch->tensor_count; i++) {
        const TensorClass *tensor = &arch->tensors[i];
        if (!is_matrix(arch, tensor)) continue;
        if (stage == pool->pp - 1) sum += held_by_last_stage_B(pool, arch, tensor);
        for (uint32_t layer = first; layer < first + count; layer++) {
            if (tensor->layer_kind == arch->kind_of_layer[layer]) sum += held_B(pool, tensor);
        }
    }
    return sum;
}

static uint64_t read_by_role_B(const Schedule *schedule, const Role *role) {
    uint64_t sum = 0;
    for (uint32_t s = 0; s < role->segment_count; s++) {
        const Segment *segment = &schedule->segments[role->first_segment + s];
        const Block *block = &schedule->blocks[segment->block];
        for (uint32_t i = 0; i < block->op_count; i++) {
            const Op *op = &schedule->ops[block->first_op + i];
            if (op->kind != OP_GEMM && op->kind != OP_GROUPED_GEMM) continue;
            const Compute *compute = &op->compute;
            uint64_t products = op->kind == OP_GEMM ? compute->batch : compute->experts;
            sum += segment->repeat * products *
                   numfmt_bytes(compute->weight_format, (uint64_t)compute->n * compute->k);
        }
    }
    return sum;
}

// ---- One schedule.

// Layers with attention have an operation of that class, with work, in each of their blocks.
static void check_attention(const Schedule *schedule, const StepShape *shape) {
    for (uint32_t b = 0; b < schedule->block_count; b++) {
        const Block *block = &schedule->blocks[b];
        uint64_t work = 0;
        for (uint32_t i = 0; i < block->op_count; i++) {
            const Op *op = &schedule->ops[block->first_op + i];
            if (op->op_class == OP_CLASS_ATTENTION) work += extent_value(&op->compute.flop, shape);
        }
        bool attends =
            strncmp(block->name, "layers ", 7) == 0 && strncmp(block->name, "layers none", 11) != 0;
        assert_int_equal(work > 0, attends);
    }
}

static void check_phase(const Plan *plan, const Arch *arch, Phase phase, const StepShape *shape) {
    const Pool *pool = &plan->pools[0];
    Err err = {{0}};
    Schedule schedule = lower_plans_lower(plan, arch, phase, 1);
    uint32_t parts = schedule.role_count / pool->pp;
    if (!schedule_check(&schedule, shape, &err))
        fail_msg("%s, tp %u dp %u ep %u: %s", arch->name, pool->tp, pool->dp, pool->ep, err.text);
    for (uint32_t stage = 0; stage < pool->pp; stage++) {
        uint64_t held = held_by_stage_B(pool, arch, stage);
        uint64_t read = read_by_role_B(&schedule, &schedule.roles[stage * parts]);
        if (read != held)
            fail_msg("%s, tp %u dp %u ep %u: reads %llu bytes of weights, holds %llu", arch->name,
                     pool->tp, pool->dp, pool->ep, (unsigned long long)read,
                     (unsigned long long)held);
    }
    check_attention(&schedule, shape);
    schedule_free(&schedule);
}

static void check_phases(const Plan *plan, const Arch *arch) {
    StepShape decode = step_shape_decode(37, 9999), prefill = step_shape_prefill(777, 3000);
    check_phase(plan, arch, PHASE_DECODE, &decode);
    check_phase(plan, arch, PHASE_PREFILL, &prefill);
}

static uint32_t check_plans(const Arch *arch) {
    static const uint32_t plans[][4] = {{1, 1, 1, 1},   {2, 1, 1, 1}, {4, 1, 1, 1},  {8, 1, 1, 1},
                                        {8, 1, 1, 8},   {1, 1, 4, 1}, {1, 1, 8, 8},  {4, 1, 2, 8},
                                        {4, 1, 4, 8},   {2, 3, 4, 8}, {2, 1, 4, 4},  {4, 1, 18, 72},
                                        {1, 1, 72, 72}, {8, 9, 1, 8}, {2, 1, 36, 24}};
    uint32_t checked = 0;
    for (uint32_t i = 0; i < sizeof plans / sizeof plans[0]; i++) {
        Plan plan = lower_plans_make(plans[i][0], plans[i][1], plans[i][2], plans[i][3]);
        Err err = {{0}};
        if (!plan_legal(&plan, arch, &err)) continue;
        check_phases(&plan, arch);
        checked++;
        if (lower_plans_add_replicas(&plan, arch)) check_phases(&plan, arch);
    }
    return checked;
}

// ---- All models.

static uint32_t check_folder(const char *folder) {
    uint32_t models = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        const char *end = strstr(entry->d_name, ".json");
        char path[1024];
        Arch arch = {0};
        Err err = {{0}};
        if (end == NULL || end[5] != '\0' || strstr(entry->d_name, ".hf_quant_config") != NULL)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (!arch_load(path, NULL, 0, &arch, &err)) continue;
        check_ok(lower_check(&arch, &err), &err);
        if (check_plans(&arch) == 0) fail_msg("%s: no plan is legal", arch.name);
        models++;
        arch_free(&arch);
    }
    closedir(dir);
    return models;
}

static void test_lower_models_reads_every_matrix_of_a_rank_once(void **state) {
    (void)state;
    assert_true(check_folder("scenarios/models") >= 49);
}

static void test_lower_models_reads_every_matrix_of_published_ones(void **state) {
    (void)state;
    assert_true(check_folder(check_shared("models")) >= 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lower_models_reads_every_matrix_of_a_rank_once),
        cmocka_unit_test(test_lower_models_reads_every_matrix_of_published_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

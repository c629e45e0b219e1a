// Every published model that is understood, under many plans: what is legal is covered, ranks read
// what memory counts, and scales travel with their weights.
#include "tests/check.h"

#include <dirent.h>

#include "model/plan/plan.h"
#include "model/plan/shard.h"
#include "model/plan/shard_plan.h"
#include "tests/plan/hand_plan.h"

typedef struct Tally {
    uint32_t models, plans, scales; // scales compared with their codes
} Tally;

static uint64_t padding_B(const Pool *pool, const TensorClass *tensor) {
    uint64_t sum = 0;
    ShardShape shape = shard_slice_shape(tensor);
    for (uint32_t t = 0; t < pool->tp; t++) {
        ShardPart part;
        shard_slice_part(tensor, pool->tp, t, &part);
        sum += part.padding * shape.inner_bits / 8;
    }
    return sum * pool->dp;
}

// What memory holds beyond what is read: padding of the vocabulary, for each stage with a table.
static uint64_t all_padding_B(const Pool *pool, const Arch *arch) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < arch->tensor_count; i++) {
        const TensorClass *tensor = &arch->tensors[i];
        bool twice = tensor->component == COMPONENT_EMBEDDING && arch->tied_embeddings;
        if (tensor->shard == SHARD_VOCAB && tensor->component != COMPONENT_MTP)
            sum += padding_B(pool, tensor) * (twice && pool->pp > 1 ? 2 : 1) * tensor->per_layer;
    }
    return sum;
}

// Scales stand behind their codes, with the same rule. A position has the blocks of its codes: run
// by run, the same part of the axis.
static uint32_t check_scales(const ShardPlan *plan, uint32_t ways_index) {
    const Arch *arch = plan->arch;
    uint32_t compared = 0;
    const TensorClass *codes = NULL;
    for (uint32_t i = 0; i < arch->tensor_count; i++) {
        const TensorClass *tensor = &arch->tensors[i];
        if (!tensor->is_scale) codes = tensor;
        if (!tensor->is_scale || codes == NULL || codes->shard != tensor->shard ||
            codes->layer_kind != tensor->layer_kind)
            continue;
        uint64_t elements = shard_slice_shape(codes).extent;
        uint64_t blocks = shard_slice_shape(tensor).extent;
        uint32_t ways = plan->classes[i].ways;
        if (blocks == 0 || elements % blocks != 0) continue;
        ShardPart of_codes, of_scales;
        shard_slice_part(codes, ways, ways_index % ways, &of_codes);
        shard_slice_part(tensor, ways, ways_index % ways, &of_scales);
        assert_int_equal(of_codes.run_count, of_scales.run_count);
        compared++;
        for (uint32_t r = 0; r < of_codes.run_count; r++) {
            uint64_t block = elements / blocks;
            assert_int_equal(of_codes.runs[r].first, of_scales.runs[r].first * block);
            assert_int_equal(of_codes.runs[r].count, of_scales.runs[r].count * block);
        }
    }
    return compared;
}

static void check_plan(const Arch *arch, const Plan *plan, Tally *tally) {
    Arena arena = {0};
    ShardSummary weights;
    ShardPlan shards;
    ShardProof proof;
    Err err = {0};
    ShardInput input = {.arch = arch, .pool = &plan->pools[0]};
    check_ok(shard_plan_build(&input, &shards, &err), &err);
    if (!shard_plan_prove(&shards, &proof, &err))
        fail_msg("%s, tp %u ep %u: %s", arch->name, plan->pools[0].tp, plan->pools[0].ep, err.text);
    for (uint32_t i = 0; i < 16; i++) tally->scales += check_scales(&shards, i);
    shard_weights(plan, 0, arch, &arena, &weights);
    assert_int_equal(proof.tensors + proof.skipped_tensors, arch->totals.tensors);
    assert_int_equal(proof.bytes + proof.skipped_B, arch->totals.checkpoint_B);
    assert_int_equal(proof.reads_B + all_padding_B(&plan->pools[0], arch), weights.total_B);
    shard_plan_free(&shards);
    arena_free(&arena);
}

static void check_model(const char *path, Tally *tally) {
    Arch arch = {0};
    Err err = {0};
    if (!arch_load(path, NULL, 0, &arch, &err)) return;
    tally->models++;
    for (uint32_t tp = 1; tp <= 16; tp *= 2) {
        const uint32_t shapes[][3] = {{1, 1, 1}, {1, 1, tp}, {2, 1, tp}, {1, 2, 2 * tp}, {3, 2, 2}};
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            Plan plan = hand_plan(tp, shapes[i][0], shapes[i][1], shapes[i][2]);
            if (!plan_legal(&plan, &arch, &err)) continue;
            check_plan(&arch, &plan, tally);
            tally->plans++;
        }
    }
    arch_free(&arch);
}

static Tally check_folder(const char *folder) {
    Tally tally = {0};
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        char path[4096];
        const char *end = strrchr(entry->d_name, '.');
        if (end == NULL || strcmp(end, ".json") != 0) continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        check_model(path, &tally);
    }
    closedir(dir);
    print_message("%s: %u models, %u plans, %u parts of scales\n", folder, tally.models,
                  tally.plans, tally.scales);
    return tally;
}

static void test_shard_models_shipped(void **state) {
    (void)state;
    Tally tally = check_folder("scenarios/models");
    assert_true(tally.models >= 10 && tally.plans >= 10 * tally.models && tally.scales > 1000);
}

static void test_shard_models_published(void **state) {
    (void)state;
    Tally tally = check_folder(check_shared("models"));
    assert_true(tally.models >= 20 && tally.plans >= 5 * tally.models && tally.scales > 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shard_models_shipped),
        cmocka_unit_test(test_shard_models_published),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

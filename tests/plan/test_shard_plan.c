// The shard plan against the definition, byte by byte, on small models with every kind of cut; the
// parts of all ranks put together are the checkpoint again.
#include "tests/check.h"

#include "model/base/hash.h"
#include "model/base/rng.h"
#include "model/moe/inventory.h"
#include "model/plan/plan.h"
#include "model/plan/shard.h"
#include "model/plan/shard_plan.h"
#include "tests/plan/hand_arch.h"
#include "tests/plan/hand_owner.h"
#include "tests/plan/hand_plan.h"
#include "tests/plan/hand_small.h"

#define NONE UINT32_MAX

// ---- A checkpoint in memory: the files that a plan lays out, of random bytes.

typedef struct Disk {
    Arena arena;
    uint8_t **files;
} Disk;

static void make_disk(const ShardPlan *plan, Disk *disk) {
    Rng rng;
    rng_seed(&rng, 3);
    *disk = (Disk){0};
    disk->files = arena_alloc(&disk->arena, plan->file_count, sizeof *disk->files);
    for (uint32_t f = 0; f < plan->file_count; f++) {
        disk->files[f] = arena_alloc(&disk->arena, plan->files[f].size_B + 1, 1);
        for (uint64_t i = 0; i < plan->files[f].size_B; i++)
            disk->files[f][i] = (uint8_t)rng_below(&rng, 256);
    }
}

// ---- Ranges against the definition.

// The bytes of one rank: marked where a range covers them; none twice.
static void mark_ranges(const ShardPlan *plan, const ShardRanges *ranges, uint8_t **marks) {
    for (uint32_t i = 0; i < ranges->count; i++) {
        const ShardRange *range = &ranges->items[i];
        if (i > 0) assert_true(range->file >= ranges->items[i - 1].file);
        for (uint64_t n = 0; n < range->count; n++) {
            uint64_t begin = range->offset + n * range->stride;
            assert_true(begin + range->length <= plan->files[range->file].size_B);
            for (uint64_t b = begin; b < begin + range->length; b++) {
                assert_int_equal(marks[range->file][b], 0);
                marks[range->file][b] = 1;
            }
        }
    }
}

static const ShardClass *class_of(const ShardPlan *plan, const TensorClass *tensor) {
    return &plan->classes[tensor - plan->arch->tensors];
}

// Every byte of every tensor is marked exactly when the rank owns its element; marks are cleared,
// so that what is left belongs to no tensor.
static uint64_t compare_marks(const ShardPlan *plan, uint32_t rank, uint8_t **marks) {
    Inventory inventory = {.arch = plan->arch};
    InventoryTensor tensor;
    uint64_t owned = 0;
    HandMembers members = {0};
    while (inventory_next(&inventory, &tensor)) {
        const TensorClass *class = tensor.class;
        uint32_t member = hand_owner_member(&members, plan->arch, &tensor);
        ShardPlace place = shard_plan_place(plan, class_of(plan, class), tensor.layer, member);
        for (uint64_t b = 0; b < class->bytes; b++) {
            uint8_t *mark = &marks[place.file][place.begin + b];
            bool wanted = hand_owner_has(&plan->pool, plan->arch, rank, &tensor, member, b);
            if (*mark != wanted)
                fail_msg("%s, %s byte %llu, rank %u: read %u, expected %u", plan->arch->name,
                         tensor.name, (unsigned long long)b, rank, *mark, wanted);
            owned += wanted;
            *mark = 0;
        }
    }
    return owned;
}

static void expect_no_mark(const ShardPlan *plan, uint8_t **marks) {
    for (uint32_t f = 0; f < plan->file_count; f++)
        for (uint64_t b = 0; b < plan->files[f].size_B; b++) assert_int_equal(marks[f][b], 0);
}

static void check_against_definition(const ShardPlan *plan) {
    Disk marks;
    ShardProof proof;
    Err err = {0};
    uint64_t all_B = 0;
    uint32_t ranks = pool_replica_ranks(&plan->pool);
    make_disk(plan, &marks);
    for (uint32_t f = 0; f < plan->file_count; f++)
        memset(marks.files[f], 0, plan->files[f].size_B);
    for (uint32_t r = 0; r < ranks; r++) {
        ShardRanges ranges;
        ShardRead read;
        shard_plan_ranges(plan, r, &ranges);
        mark_ranges(plan, &ranges, marks.files);
        uint64_t owned = compare_marks(plan, r, marks.files);
        expect_no_mark(plan, marks.files);
        shard_plan_read(plan, r, &read);
        assert_int_equal(read.ranges_B, owned);
        assert_true(read.tensors_B >= read.ranges_B && read.files_B >= read.ranges_B);
        all_B += owned;
        shard_plan_ranges_free(&ranges);
    }
    check_ok(shard_plan_prove(plan, &proof, &err), &err);
    assert_int_equal(proof.reads_B, all_B);
    assert_int_equal(proof.tensors + proof.skipped_tensors, plan->arch->totals.tensors);
    arena_free(&marks.arena);
}

// ---- Put together again.

// Each rank copies its ranges one behind the other; the copies, put back, make the file.
static void check_reassembly(const ShardPlan *plan) {
    Disk disk, again;
    uint64_t unread = 0;
    make_disk(plan, &disk);
    make_disk(plan, &again);
    for (uint32_t f = 0; f < plan->file_count; f++)
        for (uint64_t b = 0; b < plan->files[f].size_B; b++)
            again.files[f][b] = (uint8_t)~disk.files[f][b];
    for (uint32_t r = 0; r < pool_replica_ranks(&plan->pool); r++) {
        ShardRanges ranges;
        ShardRead read;
        shard_plan_read(plan, r, &read);
        uint8_t *held = mem_alloc(read.ranges_B + 1, 1), *at = held;
        shard_plan_ranges(plan, r, &ranges);
        for (uint32_t back = 0; back < 2; back++) {
            at = held;
            for (uint32_t i = 0; i < ranges.count; i++) {
                const ShardRange *range = &ranges.items[i];
                for (uint64_t n = 0; n < range->count; n++, at += range->length) {
                    uint64_t begin = range->offset + n * range->stride;
                    if (back)
                        memcpy(again.files[range->file] + begin, at, range->length);
                    else
                        memcpy(at, disk.files[range->file] + begin, range->length);
                }
            }
            assert_true(at == held + read.ranges_B);
        }
        shard_plan_ranges_free(&ranges);
        mem_free(held);
    }
    for (uint32_t f = 0; f < plan->file_count; f++)
        for (uint64_t b = 0; b < plan->files[f].size_B; b++)
            unread += again.files[f][b] != disk.files[f][b];
    ShardProof proof;
    Err err = {0};
    check_ok(shard_plan_prove(plan, &proof, &err), &err);
    assert_int_equal(unread, proof.skipped_B);
    arena_free(&disk.arena);
    arena_free(&again.arena);
}

static ShardPlan build(const Arch *arch, const Plan *plan) {
    ShardPlan out;
    Err err = {0};
    ShardInput input = {.arch = arch, .pool = &plan->pools[0]};
    check_ok(shard_plan_build(&input, &out, &err), &err);
    return out;
}

// TP 4 replicates the 2 KV heads; TP 1 x DP 3 x EP 3 deals 7 experts as 3, 2, 2; MoE-TP 2 cuts
// them.
static const uint32_t shapes[][4] = {{1, 1, 1, 1}, {2, 1, 1, 1}, {4, 1, 1, 2}, {4, 2, 1, 4},
                                     {1, 5, 1, 1}, {1, 1, 3, 3}, {2, 3, 2, 2}, {2, 1, 2, 4},
                                     {4, 1, 1, 1}, {1, 2, 4, 2}};

static void for_all(void (*check)(const ShardPlan *)) {
    for (uint32_t m = 0; m < HAND_SMALL_COUNT; m++) {
        Arch arch;
        hand_small_all[m](&arch);
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            Plan plan = hand_plan(shapes[i][0], shapes[i][1], shapes[i][2], shapes[i][3]);
            plan.pools[0].stage_cut = (StageCut)(i % STAGE_CUT_LISTED);
            Err err = {0};
            check_ok(plan_legal(&plan, &arch, &err), &err);
            ShardPlan shards = build(&arch, &plan);
            check(&shards);
            shard_plan_free(&shards);
        }
        arch_free(&arch);
    }
}

static void test_shard_plan_ranges_are_what_ranks_own(void **state) {
    (void)state;
    for_all(check_against_definition);
}

static void test_shard_plan_parts_make_the_checkpoint(void **state) {
    (void)state;
    for_all(check_reassembly);
}

// ---- Ranks hold different bytes (a loader that always takes shard 0 would not notice).

static Digest digest_of(const ShardPlan *plan, const Disk *disk, uint32_t rank) {
    ShardRanges ranges;
    Digest digest = HASH_START;
    shard_plan_ranges(plan, rank, &ranges);
    for (uint32_t i = 0; i < ranges.count; i++) {
        const ShardRange *range = &ranges.items[i];
        for (uint64_t n = 0; n < range->count; n++)
            digest =
                hash_bytes(digest, disk->files[range->file] + range->offset + n * range->stride,
                           range->length);
    }
    shard_plan_ranges_free(&ranges);
    return digest;
}

// Attention-DP copies what is not an expert: in a stage without experts its ranks are alike.
static bool are_copies(const ShardPlan *plan, uint32_t a, uint32_t b) {
    uint32_t ranks = pool_stage_ranks(&plan->pool), first, count;
    pool_stage_layers(&plan->pool, plan->arch->layers, a / ranks, &first, &count);
    for (uint32_t layer = first; layer < first + count; layer++)
        if (plan->arch->mlps[plan->arch->kinds[plan->arch->kind_of_layer[layer]].mlp].experts > 0)
            return false;
    return a / ranks == b / ranks && a % plan->pool.tp == b % plan->pool.tp;
}

static void check_digests(const ShardPlan *plan) {
    Disk disk;
    make_disk(plan, &disk);
    uint32_t ranks = pool_replica_ranks(&plan->pool);
    for (uint32_t a = 0; a < ranks; a++)
        for (uint32_t b = 0; b < a; b++)
            if ((digest_of(plan, &disk, a) == digest_of(plan, &disk, b)) != are_copies(plan, a, b))
                fail_msg("%s: ranks %u and %u hold the same, or copies that differ",
                         plan->arch->name, a, b);
    arena_free(&disk.arena);
}

// Each rank of a replica has a part of the tables, or experts, that no other one has.
static void test_shard_plan_no_two_ranks_hold_the_same(void **state) {
    (void)state;
    for_all(check_digests);
}

// ---- Scales travel with their weights.

// The rank's share of a scale is that of the matrix before it: as many of its blocks.
static void check_scales(const ShardPlan *plan) {
    const Arch *arch = plan->arch;
    for (uint32_t i = 1; i < arch->tensor_count; i++) {
        const ShardClass *scale = &plan->classes[i], *matrix = &plan->classes[i - 1];
        if (!scale->tensor->is_scale || scale->tensor->shard != matrix->tensor->shard) continue;
        for (uint32_t w = 0; w < scale->ways; w++)
            assert_int_equal(scale->held_B[w] * shard_slice_whole_B(matrix->tensor),
                             matrix->held_B[w] * shard_slice_whole_B(scale->tensor));
    }
}

static void test_shard_plan_scales_travel_with_their_weights(void **state) {
    (void)state;
    for_all(check_scales);
}

// ---- What the proof refuses.

static void expect_unproven(const ShardPlan *plan, const char *message) {
    ShardProof proof;
    Err err = {0};
    check_fails(shard_plan_prove(plan, &proof, &err), &err, message);
}

// Parts that do not fill the axis leave bytes unread; 3 ranks cannot replicate 2 KV heads evenly; a
// stage that is not there leaves layers out.
static void test_shard_plan_proof_names_what_is_left_over(void **state) {
    (void)state;
    Arch arch;
    hand_small_fused(&arch);
    TensorClass *qkv = &arch.tensors[1];
    Plan plan = hand_plan(4, 1, 1, 4);
    qkv->segments[0].extent = 12; // of 16
    ShardPlan shards = build(&arch, &plan);
    expect_unproven(&shards, "layers.{L}.qkv.weight: its parts have 28 of 32 elements");
    shard_plan_free(&shards);
    qkv->segments[0].extent = 16;
    plan = hand_plan(3, 1, 1, 3);
    shards = build(&arch, &plan);
    expect_unproven(&shards, "layers.{L}.qkv.weight: bytes 256 to 320 of a row are read by 2 of 3 "
                             "positions, expected 1");
    shard_plan_free(&shards);
    plan = hand_plan(1, 2, 1, 1);
    plan.pools[0].stage_cut = STAGE_CUT_LISTED;
    plan.pools[0].stages[0] = plan.pools[0].stages[1] = 2;
    shards = build(&arch, &plan);
    expect_unproven(&shards, "the stages have 4 layers, expected 5");
    shard_plan_free(&shards);
    arch_free(&arch);
}

// ---- Coarser readers.

// Two ranks halve two matrices by rows and by columns (an expert of F8 128 and 128 bytes has scales
// of 32 and 32): a rank keeps half, a reader of whole tensors takes both.
static void test_shard_plan_readers_of_tensors_read_more(void **state) {
    (void)state;
    Arch arch;
    ShardRead half, whole;
    hand_small_apart(&arch);
    Plan plan = hand_plan(1, 1, 1, 1);
    ShardPlan shards = build(&arch, &plan);
    shard_plan_read(&shards, 0, &whole);
    assert_int_equal(whole.ranges_B, whole.tensors_B);
    assert_int_equal(whole.ranges_B, whole.files_B);
    assert_int_equal(whole.largest_tensor_B, 70 * 8 * 2); // the vocabulary
    assert_int_equal(whole.files, 5 + 2);
    shard_plan_free(&shards);
    plan = hand_plan(2, 1, 1, 1);
    shards = build(&arch, &plan);
    shard_plan_read(&shards, 1, &half);
    assert_int_equal(half.tensors_B, whole.tensors_B);
    assert_int_equal(half.files_B, whole.files_B);
    assert_int_equal(half.largest_range_B, 128); // such as 16 of 32 rows of 8 of the dense layer
    shard_plan_free(&shards);
    arch_free(&arch);
}

// ---- EPLB.

static uint64_t read_by_all(const ShardInput *input, ShardProof *proof) {
    ShardPlan shards;
    Err err = {0};
    uint64_t sum = 0;
    check_ok(shard_plan_build(input, &shards, &err), &err);
    check_ok(shard_plan_prove(&shards, proof, &err), &err);
    for (uint32_t r = 0; r < pool_replica_ranks(input->pool); r++) {
        ShardRead read;
        shard_plan_read(&shards, r, &read);
        sum += read.ranges_B;
    }
    shard_plan_free(&shards);
    return sum;
}

// 128 experts with 16 replicas on 8 positions of 18 slots, for a load in which expert e has e + 1
// tokens. Every expert is somewhere, and there are at most 16 more reads of three matrices of 768 x
// 2,048 in BF16 in each of 48 layers (fewer where two replicas lie on one rank, which reads once).
// For equal loads all replicas lie beside their expert.
static void test_shard_plan_replicas_are_read_by_each_holder(void **state) {
    (void)state;
    Arch arch;
    ShardProof proof;
    Load load;
    Err err = {0};
    uint64_t tokens[128];
    const uint64_t expert_B = UINT64_C(48) * 3 * 768 * 2048 * 2;
    hand_arch_qwen3_30b(&arch);
    for (uint32_t e = 0; e < 128; e++) tokens[e] = e + 1;
    check_ok(load_of_counts(1, 1, 128, tokens, "", &load, &err), &err);
    Plan plan = hand_plan(1, 1, 8, 8);
    ShardInput input = {.arch = &arch, .pool = &plan.pools[0], .load = &load};
    uint64_t linear_B = read_by_all(&input, &proof);
    assert_int_equal(linear_B, proof.reads_B);
    plan.pools[0].expert_placement = EXPERT_PLACEMENT_EPLB;
    plan.pools[0].redundant_experts = 16;
    uint64_t placed_B = read_by_all(&input, &proof);
    assert_int_equal(placed_B, proof.reads_B);
    assert_true(placed_B > linear_B + 8 * expert_B && placed_B <= linear_B + 16 * expert_B);
    assert_int_equal((placed_B - linear_B) % expert_B, 0);
    input.load = NULL;
    assert_int_equal(read_by_all(&input, &proof), linear_B);
    load_free(&load);
    arch_free(&arch);
}

// ---- Real sizes.

// 4 x 4 x 4 ranks of DeepSeek-V3: what ranks read are the weights that memory counts, less the
// padding of the vocabulary (129,280 / 4 = 32,320 rows need none).
static void test_shard_plan_reads_what_memory_counts(void **state) {
    (void)state;
    Arch arch = {0};
    Arena arena = {0};
    ShardSummary weights;
    Err err = {0};
    check_ok(arch_load("scenarios/models/deepseek-v3.json", NULL, 0, &arch, &err), &err);
    Plan plan = hand_plan(4, 4, 4, 16);
    ShardPlan shards = build(&arch, &plan);
    shard_weights(&plan, 0, &arch, &arena, &weights);
    for (uint32_t stage = 0; stage < 4; stage++) {
        ShardRead first, last;
        shard_plan_read(&shards, 16 * stage, &first);
        shard_plan_read(&shards, 16 * stage + 15, &last);
        assert_int_equal(first.ranges_B, weights.stages[stage].largest_B);
        assert_int_equal(last.ranges_B, weights.stages[stage].smallest_B);
    }
    ShardProof proof;
    check_ok(shard_plan_prove(&shards, &proof, &err), &err);
    assert_int_equal(proof.reads_B, weights.total_B);
    assert_int_equal(proof.tensors + proof.skipped_tensors, 91991);
    shard_plan_free(&shards);
    arena_free(&arena);
    arch_free(&arch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shard_plan_ranges_are_what_ranks_own),
        cmocka_unit_test(test_shard_plan_parts_make_the_checkpoint),
        cmocka_unit_test(test_shard_plan_no_two_ranks_hold_the_same),
        cmocka_unit_test(test_shard_plan_scales_travel_with_their_weights),
        cmocka_unit_test(test_shard_plan_proof_names_what_is_left_over),
        cmocka_unit_test(test_shard_plan_readers_of_tensors_read_more),
        cmocka_unit_test(test_shard_plan_replicas_are_read_by_each_holder),
        cmocka_unit_test(test_shard_plan_reads_what_memory_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// The shard plan of real files: small checkpoints in several safetensors files are written, and
// what each rank reads of them is compared with what it owns.
#include "tests/check.h"

#include "model/base/rng.h"
#include "model/base/text.h"
#include "model/moe/checkpoint.h"
#include "model/plan/plan.h"
#include "model/plan/shard_plan.h"
#include "tests/moe/st_make.h"
#include "tests/plan/hand_owner.h"
#include "tests/plan/hand_plan.h"
#include "tests/plan/hand_small.h"

#define FILES   3
#define TENSORS 600

// The tensors of a model, dealt over the files: number i goes to file i * 7 mod 3, and in a file
// the later ones come first.
typedef struct Made {
    StFolder folder;
    StTensor tensors[FILES][TENSORS];
    uint32_t counts[FILES];
    Arena arena;
} Made;

static void deal_tensors(const Arch *arch, Made *made) {
    Inventory inventory = {.arch = arch};
    InventoryTensor tensor;
    for (uint32_t i = 0; inventory_next(&inventory, &tensor); i++) {
        uint32_t file = i * 7 % FILES;
        StTensor out = {.name = arena_string(&made->arena, tensor.name),
                        .type = tensor.class->type,
                        .rank = tensor.class->dim_count,
                        .bytes = tensor.class->bytes};
        for (uint32_t d = 0; d < out.rank; d++) out.dims[d] = tensor.class->dims[d];
        assert_true(made->counts[file] < TENSORS);
        made->tensors[file][made->counts[file]++] = out;
    }
}

static void write_file(const Made *made, uint32_t file, Rng *rng) {
    Text header = {0}, bytes = {0};
    StTensor backwards[TENSORS];
    uint32_t count = made->counts[file];
    for (uint32_t i = 0; i < count; i++) backwards[i] = made->tensors[file][count - 1 - i];
    uint64_t data_B = st_make_header(backwards, count, &header);
    for (uint32_t i = 0; i < 8; i++) text_addf(&bytes, "%c", 'x'); // for its length
    text_add(&bytes, text_string(&header));
    for (uint64_t i = 0; i < data_B; i++) text_addf(&bytes, "%c", 'a' + (int)rng_below(rng, 26));
    for (uint32_t i = 0; i < 8; i++) bytes.data[i] = (char)(header.length >> 8 * i & 255);
    char name[32];
    snprintf(name, sizeof name, "part-%u.safetensors", file);
    st_make_bytes(&made->folder, name, bytes.data, bytes.length);
    text_free(&header);
    text_free(&bytes);
}

static void make(const Arch *arch, Made *made) {
    Rng rng;
    rng_seed(&rng, 5);
    *made = (Made){0};
    st_make_folder(&made->folder);
    deal_tensors(arch, made);
    for (uint32_t file = 0; file < FILES; file++) write_file(made, file, &rng);
}

static void unmake(Made *made) {
    st_make_remove(&made->folder);
    arena_free(&made->arena);
}

static void open_made(const Made *made, Checkpoint *out) {
    Findings findings = {0};
    Err err = {0};
    check_ok(checkpoint_open(made->folder.path, out, &findings, &err), &err);
    check_ok(finding_none(&findings, &err), &err);
    finding_free(&findings);
}

// ---- What ranks read.

typedef struct Bytes {
    char *data;
    size_t count;
} Bytes;

static void read_files(const Checkpoint *checkpoint, Arena *arena, Bytes *out) {
    Err err = {0};
    for (uint32_t i = 0; i < checkpoint->file_count; i++)
        check_ok(file_read(checkpoint->files[i].path, FILE_CAP_B, arena, &out[i].data,
                           &out[i].count, &err),
                 &err);
}

// Copies the ranges of one rank into files of blanks.
static void copy_ranges(const ShardPlan *plan, uint32_t rank, const Bytes *from, Bytes *to) {
    ShardRanges ranges;
    shard_plan_ranges(plan, rank, &ranges);
    for (uint32_t i = 0; i < ranges.count; i++) {
        const ShardRange *range = &ranges.items[i];
        for (uint64_t n = 0; n < range->count; n++) {
            uint64_t begin = range->offset + n * range->stride;
            assert_true(begin + range->length <= from[range->file].count);
            memcpy(to[range->file].data + begin, from[range->file].data + begin, range->length);
        }
    }
    shard_plan_ranges_free(&ranges);
}

// Tensors are found by name in the headers; the copy has a byte exactly when the rank owns it.
static void compare_copy(const ShardPlan *plan, const Checkpoint *checkpoint, uint32_t rank,
                         const Bytes *from, const Bytes *copy) {
    Inventory inventory = {.arch = plan->arch};
    InventoryTensor tensor;
    HandMembers members = {0};
    while (inventory_next(&inventory, &tensor)) {
        uint32_t member = hand_owner_member(&members, plan->arch, &tensor);
        const CheckpointTensor *stored =
            &checkpoint->tensors[checkpoint_find(checkpoint, tensor.name)];
        for (uint64_t b = 0; b < tensor.class->bytes; b++) {
            bool owned = hand_owner_has(&plan->pool, plan->arch, rank, &tensor, member, b);
            char got = copy[stored->file].data[stored->begin + b];
            char want = owned ? from[stored->file].data[stored->begin + b] : ' ';
            if (got != want)
                fail_msg("%s: %s byte %llu on rank %u", plan->arch->name, tensor.name,
                         (unsigned long long)b, rank);
        }
    }
}

static void check_plan(const Arch *arch, const Checkpoint *checkpoint, const Plan *plan) {
    Arena arena = {0};
    Bytes from[FILES], copy[FILES];
    ShardPlan shards;
    ShardProof proof;
    Err err = {0};
    ShardInput input = {.arch = arch, .pool = &plan->pools[0], .checkpoint = checkpoint};
    check_ok(shard_plan_build(&input, &shards, &err), &err);
    check_ok(shard_plan_prove(&shards, &proof, &err), &err);
    assert_false(shards.is_virtual);
    read_files(checkpoint, &arena, from);
    for (uint32_t f = 0; f < FILES; f++)
        copy[f] = (Bytes){arena_alloc(&arena, from[f].count + 1, 1), from[f].count};
    for (uint32_t rank = 0; rank < pool_replica_ranks(&plan->pools[0]); rank++) {
        for (uint32_t f = 0; f < FILES; f++) memset(copy[f].data, ' ', copy[f].count);
        copy_ranges(&shards, rank, from, copy);
        compare_copy(&shards, checkpoint, rank, from, copy);
    }
    shard_plan_free(&shards);
    arena_free(&arena);
}

static void test_shard_checkpoint_ranks_read_what_they_own(void **state) {
    (void)state;
    for (uint32_t m = 0; m < HAND_SMALL_COUNT; m++) {
        Arch arch;
        Made made;
        Checkpoint checkpoint;
        hand_small_all[m](&arch);
        make(&arch, &made);
        open_made(&made, &checkpoint);
        Plan plans[] = {hand_plan(1, 1, 1, 1), hand_plan(4, 1, 1, 2), hand_plan(2, 2, 2, 4),
                        hand_plan(1, 3, 3, 3)};
        for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
            check_plan(&arch, &checkpoint, &plans[i]);
        checkpoint_free(&checkpoint);
        unmake(&made);
        arch_free(&arch);
    }
}

// ---- What is refused before anything is read.

// The tensor of this name, and in which file it is.
static StTensor *find_made(Made *made, const char *name, uint32_t *file) {
    for (*file = 0; *file < FILES; ++*file)
        for (uint32_t i = 0; i < made->counts[*file]; i++)
            if (strcmp(made->tensors[*file][i].name, name) == 0) return &made->tensors[*file][i];
    fail_msg("no tensor %s", name);
    return NULL;
}

// Builds with one tensor of the checkpoint changed; the message without the folder's name.
static void expect_refused(const char *name, void (*change)(StTensor *), const char *message) {
    uint32_t file;
    Arch arch;
    Made made;
    Checkpoint checkpoint;
    ShardPlan shards;
    Err err = {0};
    Rng rng;
    rng_seed(&rng, 5);
    hand_small_fused(&arch);
    make(&arch, &made);
    change(find_made(&made, name, &file));
    write_file(&made, file, &rng);
    open_made(&made, &checkpoint);
    Plan plan = hand_plan(2, 1, 1, 2);
    ShardInput input = {.arch = &arch, .pool = &plan.pools[0], .checkpoint = &checkpoint};
    assert_false(shard_plan_build(&input, &shards, &err));
    const char *at = strstr(err.text, ": ");
    assert_non_null(at);
    assert_string_equal(at + 2, message);
    checkpoint_free(&checkpoint);
    unmake(&made);
    arch_free(&arch);
}

static void rename_it(StTensor *tensor) {
    tensor->name = "another";
}

static void halve_it(StTensor *tensor) {
    tensor->dims[0] /= 2;
    tensor->bytes /= 2;
}

static void transpose_it(StTensor *tensor) {
    uint64_t rows = tensor->dims[1];
    tensor->dims[1] = tensor->dims[2];
    tensor->dims[2] = rows;
}

static void retype_it(StTensor *tensor) {
    tensor->type = "F16";
}

// A tensor that is not there would stay at its random start; one of half the rows was cut before;
// of transposed experts, gate and up would be cut across. At least one of gate | up and down is no
// square, so that shapes tell.
static void test_shard_checkpoint_refuses_another_model(void **state) {
    (void)state;
    expect_refused("embed.weight", rename_it, "embed.weight is not in the checkpoint");
    expect_refused("embed.weight", halve_it,
                   "embed.weight is BF16 [35, 8] in the checkpoint, the model says BF16 [70, 8]");
    expect_refused("embed.weight", retype_it,
                   "embed.weight is F16 [70, 8] in the checkpoint, the model says BF16 [70, 8]");
    expect_refused("layers.3.gate_up", transpose_it,
                   "layers.3.gate_up is BF16 [4, 8, 32] in the checkpoint, the model says BF16 [4, "
                   "32, 8]");
}

// A tensor that the model does not have would be read by nobody.
static void test_shard_checkpoint_refuses_what_nobody_reads(void **state) {
    (void)state;
    Arch arch;
    Made made;
    Checkpoint checkpoint;
    ShardPlan shards;
    Err err = {0};
    Rng rng;
    rng_seed(&rng, 5);
    hand_small_fused(&arch);
    make(&arch, &made);
    made.tensors[1][made.counts[1]++] =
        (StTensor){.name = "left.over", .type = "F32", .dims = {2}, .rank = 1, .bytes = 8};
    write_file(&made, 1, &rng);
    open_made(&made, &checkpoint);
    Plan plan = hand_plan(2, 1, 1, 2);
    ShardInput input = {.arch = &arch, .pool = &plan.pools[0], .checkpoint = &checkpoint};
    assert_false(shard_plan_build(&input, &shards, &err));
    assert_non_null(strstr(err.text, ": 1 tensors are not the model's, such as left.over"));
    checkpoint_free(&checkpoint);
    unmake(&made);
    arch_free(&arch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shard_checkpoint_ranks_read_what_they_own),
        cmocka_unit_test(test_shard_checkpoint_refuses_another_model),
        cmocka_unit_test(test_shard_checkpoint_refuses_what_nobody_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

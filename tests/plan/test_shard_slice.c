// Parts of single tensors, by hand arithmetic.
#include "tests/check.h"

#include "model/plan/shard.h"
#include "model/plan/shard_slice.h"

// BF16.
static TensorClass make(ShardRule shard, uint32_t axis, uint32_t unit, uint32_t a, uint32_t b,
                        uint32_t c) {
    TensorClass tensor = {.pattern = "t",
                          .shard = shard,
                          .element_bits = 16,
                          .dims = {a, b, c},
                          .dim_count = c > 0   ? 3
                                       : b > 0 ? 2
                                               : 1,
                          .axis = axis,
                          .unit = unit,
                          .per_layer = 1};
    tensor.bytes = 2 * (uint64_t)a * (b > 0 ? b : 1) * (c > 0 ? c : 1);
    return tensor;
}

static void check_bytes(const TensorClass *tensor, uint32_t ways, uint32_t index, uint32_t count,
                        const ShardBytes *want) {
    ShardBytes got[TENSOR_SEGMENTS_MAX];
    assert_int_equal(shard_slice_bytes(tensor, ways, index, got), count);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(got[i].offset, want[i].offset);
        assert_int_equal(got[i].length, want[i].length);
        assert_int_equal(got[i].stride, want[i].stride);
        assert_int_equal(got[i].count, want[i].count);
    }
}

// 8 rows of 3 elements of 2 bytes: half the rows are 24 bytes from 0 or 24 on. Half the columns of
// 3 rows of 8: 8 bytes of each row of 16.
static void test_shard_slice_rows_are_one_range_columns_are_strided(void **state) {
    (void)state;
    TensorClass rows = make(SHARD_COLUMN, 0, 1, 8, 3, 0);
    check_bytes(&rows, 2, 1, 1, &(ShardBytes){24, 24, 24, 1});
    TensorClass columns = make(SHARD_ROW, 1, 4, 3, 8, 0);
    check_bytes(&columns, 2, 1, 1, &(ShardBytes){8, 8, 16, 3});
    check_bytes(&columns, 1, 0, 1, &(ShardBytes){0, 48, 48, 1});
}

// q of 4 heads, k and v of 2, each of 4 rows of 1 element: 16 + 8 + 8 rows of 2 bytes. Position 1
// of 2 has heads 2 and 3 of q, head 1 of k and v; position 3 of 4 has q head 3 and KV head 1 too,
// which position 2 has as well.
static void test_shard_slice_parts_of_a_fused_projection_are_cut_one_by_one(void **state) {
    (void)state;
    TensorClass qkv = make(SHARD_COLUMN, 0, 4, 32, 1, 0);
    qkv.segments[0] = (TensorSegment){16, false, 4};
    qkv.segments[1] = qkv.segments[2] = (TensorSegment){8, true, 4};
    qkv.segment_count = 3;
    check_bytes(&qkv, 2, 1, 3, (const ShardBytes[]){{16, 16, 16, 1}, {40, 8, 8, 1}, {56, 8, 8, 1}});
    const ShardBytes last[] = {{24, 8, 8, 1}, {40, 8, 8, 1}, {56, 8, 8, 1}};
    check_bytes(&qkv, 4, 3, 3, last);
    assert_int_equal(shard_slice_copies(&qkv, 4, 0), 1);
    assert_int_equal(shard_slice_copies(&qkv, 4, 1), 2);
    check_bytes(&qkv, 1, 0, 1, &(ShardBytes){0, 64, 64, 1});
    // each of 4: 4 rows of q, 4 of k, 4 of v
    assert_int_equal(shard_cut_B(&qkv, 4, 0), 24);
    assert_int_equal(shard_all_B(&qkv, 4), 4 * 24);
}

// 2 experts of gate | up, 8 rows each, of 1 element: an expert is 32 bytes. Half of gate and half
// of up, not half of both; interleaved they are one run, of whole pairs.
static void test_shard_slice_gate_and_up_are_halved_each(void **state) {
    (void)state;
    TensorClass up = make(SHARD_EXPERT_COLUMN, 1, 1, 2, 16, 1);
    up.fused_experts = 2;
    up.segments[0] = up.segments[1] = (TensorSegment){8, false, 1};
    up.segment_count = 2;
    assert_int_equal(shard_slice_whole_B(&up), 32);
    check_bytes(&up, 2, 1, 2, (const ShardBytes[]){{8, 8, 8, 1}, {24, 8, 8, 1}});
    up.interleaved = true;
    check_bytes(&up, 2, 1, 1, &(ShardBytes){16, 16, 16, 1});
    check_bytes(&up, 3, 0, 1, &(ShardBytes){0, 12, 12, 1}); // 8 pairs: 3, 3, 2
    check_bytes(&up, 3, 2, 1, &(ShardBytes){24, 8, 8, 1});
    assert_int_equal(shard_cut_B(&up, 2, 0), 32); // both experts
    assert_int_equal(shard_expert_B(&up, 2, 0), 16);
}

// Inputs before outputs: an expert of 3 x (gate 4 | up 4) is 3 rows of 16 bytes, of which a half
// takes 4 bytes twice.
static void test_shard_slice_transposed_experts_are_strided_twice(void **state) {
    (void)state;
    TensorClass up = make(SHARD_EXPERT_COLUMN, 2, 1, 5, 3, 8);
    up.fused_experts = 5;
    up.segments[0] = up.segments[1] = (TensorSegment){4, false, 1};
    up.segment_count = 2;
    check_bytes(&up, 2, 1, 2, (const ShardBytes[]){{4, 4, 16, 3}, {12, 4, 16, 3}});
    assert_int_equal(shard_slice_experts(&up), 5);
}

// 4 experts of 6 rows stacked in 24: an expert is 6 x 2 bytes, a third of it 2 rows.
static void test_shard_slice_stacked_experts_are_cut_one_by_one(void **state) {
    (void)state;
    TensorClass w1 = make(SHARD_EXPERT_COLUMN, 0, 2, 24, 1, 0);
    w1.fused_experts = 4;
    check_bytes(&w1, 3, 2, 1, &(ShardBytes){8, 4, 4, 1});
    assert_int_equal(shard_slice_shape(&w1).extent, 6);
}

// 100 rows are padded to 128: of 4 positions the last has rows 96 to 99 and 28 that are in no file;
// of 8, the last two have none.
static void test_shard_slice_padding_is_in_no_file(void **state) {
    (void)state;
    ShardPart part;
    TensorClass table = make(SHARD_VOCAB, 0, 1, 100, 1, 0);
    check_bytes(&table, 4, 3, 1, &(ShardBytes){192, 8, 8, 1});
    shard_slice_part(&table, 4, 3, &part);
    assert_int_equal(part.padding, 28);
    check_bytes(&table, 8, 7, 0, NULL);
    shard_slice_part(&table, 8, 7, &part);
    assert_int_equal(part.padding, 16);
    assert_int_equal(shard_all_B(&table, 8), 2 * 128);
}

static void test_shard_slice_scalars_are_held_whole(void **state) {
    (void)state;
    TensorClass scalar = {
        .pattern = "s", .shard = SHARD_REPLICATED, .element_bits = 32, .bytes = 4};
    check_bytes(&scalar, 3, 2, 1, &(ShardBytes){0, 4, 4, 1});
    assert_int_equal(shard_all_B(&scalar, 3), 12);
    TensorClass each = {.pattern = "s",
                        .shard = SHARD_EXPERT_WHOLE,
                        .element_bits = 32,
                        .dims = {6},
                        .dim_count = 1,
                        .fused_experts = 6,
                        .bytes = 24,
                        .per_layer = 1};
    check_bytes(&each, 2, 1, 1, &(ShardBytes){0, 4, 4, 1});
    assert_int_equal(shard_all_B(&each, 2), 48);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shard_slice_rows_are_one_range_columns_are_strided),
        cmocka_unit_test(test_shard_slice_parts_of_a_fused_projection_are_cut_one_by_one),
        cmocka_unit_test(test_shard_slice_gate_and_up_are_halved_each),
        cmocka_unit_test(test_shard_slice_transposed_experts_are_strided_twice),
        cmocka_unit_test(test_shard_slice_stacked_experts_are_cut_one_by_one),
        cmocka_unit_test(test_shard_slice_padding_is_in_no_file),
        cmocka_unit_test(test_shard_slice_scalars_are_held_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

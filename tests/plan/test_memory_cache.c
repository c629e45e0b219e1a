// Cache and state of a rank by kind of attention, and those of released models against
// tests/golden/kv.csv.
#include "tests/check.h"

#include "model/base/text.h"
#include "model/plan/memory_cache.h"
#include "tests/plan/hand_plan.h"

static MemoryLayer of(const AttentionSpec *spec, uint32_t tp, NumFmt format) {
    Plan plan = hand_plan(tp, 1, 1, tp);
    MemoryLayer layer;
    plan.pools[0].kv_format = format;
    memory_cache_layer(&plan.pools[0], NUMFMT_BF16, spec, &layer);
    return layer;
}

// 8 KV heads of 192 and 128 elements: 8 x 320 x 2 B = 5,120 B; TP 4 keeps 2 heads, TP 16 one of
// them: 1,280 and 640 B.
static void test_memory_layer_cuts_heads_down_to_one(void **state) {
    (void)state;
    AttentionSpec spec = {.kind = ATTENTION_GQA,
                          .heads = 64,
                          .kv_heads = 8,
                          .head_dim = 192,
                          .value_dim = 128,
                          .kv_elements_per_token = 8 * 320};
    assert_int_equal(of(&spec, 1, NUMFMT_BF16).token_B, 5120);
    assert_int_equal(of(&spec, 4, NUMFMT_BF16).token_B, 1280);
    assert_int_equal(of(&spec, 16, NUMFMT_BF16).token_B, 640);
    assert_int_equal(of(&spec, 1, NUMFMT_FP8).token_B, 2560);
}

// bf16 in a plan stands for the model's own format: 8 x 256 elements are 4,096 B of a model in bf16
// or f16, 8,192 B of one in f32, and 2,048 B in FP8 of either.
static void test_memory_layer_of_a_model_in_f32(void **state) {
    (void)state;
    AttentionSpec spec = {
        .kind = ATTENTION_GQA, .heads = 8, .kv_heads = 8, .kv_elements_per_token = 8 * 256};
    static const struct {
        NumFmt dtype, format;
        uint64_t token_B;
    } rows[] = {{NUMFMT_BF16, NUMFMT_BF16, 4096}, {NUMFMT_F16, NUMFMT_BF16, 4096},
                {NUMFMT_F32, NUMFMT_BF16, 8192},  {NUMFMT_F32, NUMFMT_FP8, 2048},
                {NUMFMT_BF16, NUMFMT_FP8, 2048},  {NUMFMT_BF16, NUMFMT_F32, 8192}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        Plan plan = hand_plan(1, 1, 1, 1);
        MemoryLayer layer;
        plan.pools[0].kv_format = rows[i].format;
        memory_cache_layer(&plan.pools[0], rows[i].dtype, &spec, &layer);
        assert_int_equal(layer.token_B, rows[i].token_B);
    }
}

// A latent of 576 elements and an index key of 128, in full on every rank: 1,152 + 256 B in BF16,
// 656 + 132 B packed. Context parallelism of 4 leaves a quarter of the tokens: 100 of 400.
static void test_memory_layer_latent_and_index_keys(void **state) {
    (void)state;
    AttentionSpec spec = {.kind = ATTENTION_MLA,
                          .heads = 128,
                          .kv_elements_per_token = 576,
                          .kv_packed_B_per_token = 656,
                          .index_heads = 64,
                          .index_elements = 128,
                          .index_packed_B = 132};
    for (uint32_t tp = 1; tp <= 8; tp *= 8) {
        assert_int_equal(of(&spec, tp, NUMFMT_BF16).token_B, 1408);
        assert_int_equal(of(&spec, tp, NUMFMT_FP8).token_B, 788);
    }
    Plan plan = hand_plan(8, 1, 1, 8);
    MemoryLayer layer;
    plan.pools[0].dcp = 4;
    memory_cache_layer(&plan.pools[0], NUMFMT_BF16, &spec, &layer);
    assert_int_equal(memory_cache_layer_B(&layer, 400, 1), 100 * 1408);
}

// 128 tokens of a window in pages of 16: 100 tokens take 7 pages, 128 take 8; beyond, one page more
// than the window has: 9.
static void test_memory_layer_window_in_pages(void **state) {
    (void)state;
    AttentionSpec spec = {.kind = ATTENTION_GQA,
                          .heads = 8,
                          .kv_heads = 8,
                          .kv_elements_per_token = 1024,
                          .window = 128};
    MemoryLayer layer = of(&spec, 1, NUMFMT_BF16);
    assert_int_equal(memory_cache_layer_B(&layer, 100, 16), 7 * 16 * 2048);
    assert_int_equal(memory_cache_layer_B(&layer, 128, 16), 8 * 16 * 2048);
    assert_int_equal(memory_cache_layer_B(&layer, 1000, 16), 9 * 16 * 2048);
    assert_int_equal(memory_cache_pages(&layer, 1000, 16), 9);
    assert_int_equal(memory_cache_pages(&layer, 1000, 1), 128);
    assert_int_equal(memory_cache_layer_B(&layer, 1000, 1), 128 * 2048);
    assert_int_equal(memory_cache_layer_B(&layer, 0, 16), 0);
}

// gpt-oss-120b, 64 Ki + 400 tokens in FP8 (ai-dynamo/aiconfigurator#1537): 18 full layers of 2 x 8
// x 64 B per token and 18 with a window of 128 hold 18 x 1,024 x (65,936 + 128) B = 1.1341 GiB, not
// twice 18 full layers, 2.2637 GiB.
static void test_memory_layer_windows_do_not_grow(void **state) {
    (void)state;
    AttentionSpec spec = {
        .kind = ATTENTION_GQA, .heads = 64, .kv_heads = 8, .kv_elements_per_token = 1024};
    MemoryLayer full = of(&spec, 1, NUMFMT_FP8);
    spec.window = 128;
    MemoryLayer window = of(&spec, 1, NUMFMT_FP8);
    uint64_t held_B =
        18 * (memory_cache_layer_B(&full, 65936, 1) + memory_cache_layer_B(&window, 65936, 1));
    check_close((double)held_B / (double)(UINT64_C(1) << 30), 1.1341, 1e-4);
}

// DeepSeek-V4 with one entry of 512 for every 4 tokens, an index key of 128 for each, and a window
// of 128: (128 + N / 4) x 1,024 + N / 4 x 256 B for N = 4,096 tokens, on every TP rank.
static void test_memory_layer_compressed_entries(void **state) {
    (void)state;
    AttentionSpec spec = {.kind = ATTENTION_COMPRESSED,
                          .heads = 64,
                          .kv_heads = 1,
                          .head_dim = 512,
                          .window = 128,
                          .ratio = 4,
                          .kv_elements_per_token = 512,
                          .entry_elements = 512,
                          .index_heads = 64,
                          .index_elements = 128};
    for (uint32_t tp = 1; tp <= 4; tp *= 4) {
        MemoryLayer layer = of(&spec, tp, NUMFMT_BF16);
        assert_int_equal(memory_cache_layer_B(&layer, 4096, 1), (128 + 1024) * 1024 + 1024 * 256);
    }
}

// Gated delta: 32 value heads and 16 key heads of 128, convolution of 4: 32 x 128 x 128 x 4 B of
// state and (2 x 16 x 128 + 32 x 128) x 3 x 2 B of inputs. TP 32 keeps one value head; two ranks
// hold each key head: 65,536 + (2 x 128 + 128) x 6 B.
static void test_memory_state_of_gated_delta(void **state) {
    (void)state;
    AttentionSpec spec = {.kind = ATTENTION_GATED_DELTA,
                          .heads = 32,
                          .kv_heads = 16,
                          .head_dim = 128,
                          .value_dim = 128,
                          .conv = 4,
                          .state_B_per_sequence = 2097152 + 8192 * 6};
    assert_int_equal(of(&spec, 1, NUMFMT_BF16).state_B, 2097152 + 8192 * 6);
    assert_int_equal(of(&spec, 8, NUMFMT_BF16).state_B, (2097152 + 8192 * 6) / 8);
    assert_int_equal(of(&spec, 32, NUMFMT_BF16).state_B, 65536 + 384 * 6);
}

// Mamba-2: 64 heads of 64 with 128 states each, 8 groups: 64 x 64 x 128 x 4 B and (4,096 + 2 x 8 x
// 128) x 3 x 2 B. TP 16 keeps 4 heads and one whole group: 131,072 + (256 + 256) x 6 B.
static void test_memory_state_of_mamba(void **state) {
    (void)state;
    AttentionSpec spec = {.kind = ATTENTION_MAMBA2,
                          .heads = 64,
                          .head_dim = 64,
                          .value_dim = 64,
                          .state_dim = 128,
                          .groups = 8,
                          .conv = 4,
                          .state_B_per_sequence = 2097152 + 6144 * 6};
    assert_int_equal(of(&spec, 1, NUMFMT_BF16).state_B, 2097152 + 6144 * 6);
    assert_int_equal(of(&spec, 16, NUMFMT_BF16).state_B, 131072 + 512 * 6);
}

// ---- Released models.

typedef struct Golden {
    uint64_t growing_B, state_B, window_B;
} Golden;

static void check_model(const Arch *arch, const Golden *want) {
    const uint64_t tokens = UINT64_C(1) << 24; // beyond every window
    Plan plan = hand_plan(1, 1, 1, 1);
    const Pool *pool = &plan.pools[0];
    uint64_t growing = memory_cache_token_B(pool, arch, 0),
             state = memory_cache_state_B(pool, arch, 0);
    uint64_t window = memory_cache_sequence_B(pool, arch, 0, tokens, 1) - growing * tokens;
    if (growing != want->growing_B || state != want->state_B || window != want->window_B)
        fail_msg("%s: %llu, %llu and %llu B, want %llu, %llu and %llu B", arch->name,
                 (unsigned long long)growing, (unsigned long long)state, (unsigned long long)window,
                 (unsigned long long)want->growing_B, (unsigned long long)want->state_B,
                 (unsigned long long)want->window_B);
}

static uint64_t figure(char **rest) {
    uint64_t value = 0;
    char *cell = *rest;
    *rest = strchr(cell, ',');
    if (*rest != NULL) *(*rest)++ = '\0';
    if (!text_parse_u64(cell, &value)) fail_msg("kv.csv: \"%s\" is no number", cell);
    return value;
}

static void check_line(char *line) {
    Arch arch;
    Err err = {0};
    char path[256], *rest = strchr(line, ',');
    if (rest == NULL) fail_msg("kv.csv: \"%s\"", line);
    *rest++ = '\0';
    snprintf(path, sizeof path, "models/%s.json", line);
    Golden want = {.growing_B = figure(&rest)};
    want.state_B = figure(&rest);
    want.window_B = figure(&rest);
    check_ok(arch_load(check_shared(path), NULL, 0, &arch, &err), &err);
    check_model(&arch, &want);
    arch_free(&arch);
}

static void test_memory_cache_of_released_models(void **state) {
    (void)state;
    Arena arena = {0};
    Err err = {0};
    char *text;
    size_t count;
    uint32_t lines = 0;
    check_ok(file_read("tests/golden/kv.csv", FILE_CAP_B, &arena, &text, &count, &err), &err);
    check_shared("models/SOURCES.tsv");
    for (char *line = text, *next; *line != '\0'; line = next) {
        next = line + strcspn(line, "\n");
        if (*next == '\n') *next++ = '\0';
        if (*line == '#' || strncmp(line, "config,", 7) == 0) continue;
        check_line(line);
        lines++;
    }
    assert_int_equal(lines, 33);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_layer_cuts_heads_down_to_one),
        cmocka_unit_test(test_memory_layer_of_a_model_in_f32),
        cmocka_unit_test(test_memory_layer_latent_and_index_keys),
        cmocka_unit_test(test_memory_layer_window_in_pages),
        cmocka_unit_test(test_memory_layer_windows_do_not_grow),
        cmocka_unit_test(test_memory_layer_compressed_entries),
        cmocka_unit_test(test_memory_state_of_gated_delta),
        cmocka_unit_test(test_memory_state_of_mamba),
        cmocka_unit_test(test_memory_cache_of_released_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

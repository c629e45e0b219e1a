// The tensors of a model: shapes and bytes against the published templates, and how each may be
// cut.
#include "tests/check.h"

#include "model/base/text.h"
#include "model/moe/arch.h"
#include "model/moe/count.h"

static void load(const char *name, Arch *out) {
    Err err = {0};
    char path[256];
    snprintf(path, sizeof path, "scenarios/models/%s.json", name);
    check_ok(arch_load(path, NULL, 0, out, &err), &err);
}

// The first class whose name ends so.
static const TensorClass *find(const Arch *arch, const char *ending) {
    for (uint32_t i = 0; i < arch->tensor_count; i++) {
        size_t length = strlen(arch->tensors[i].pattern), tail = strlen(ending);
        if (length >= tail && strcmp(arch->tensors[i].pattern + length - tail, ending) == 0)
            return &arch->tensors[i];
    }
    fail_msg("no tensor %s", ending);
    return NULL;
}

typedef struct Cut {
    const char *ending;
    ShardRule shard;
    uint32_t unit;
} Cut;

static void check_cuts(const char *model, const Cut *cuts, size_t count) {
    Arch arch = {0};
    load(model, &arch);
    for (size_t i = 0; i < count; i++) {
        const TensorClass *class = find(&arch, cuts[i].ending);
        if (class != NULL && (class->shard != cuts[i].shard || class->unit != cuts[i].unit))
            fail_msg("%s: shard %d unit %u, expected %d and %u", cuts[i].ending, (int)class->shard,
                     class->unit, (int)cuts[i].shard, cuts[i].unit);
    }
    arch_free(&arch);
}

// A query head of DeepSeek-V3 has 192 rows and a block of scales 128: cuts fall where both end,
// every 384 rows (two heads), which is 3 rows of scales. Key and value heads have 256 rows, two
// blocks. An expert is cut in blocks.
static void test_tensor_cuts_of_deepseek_v3(void **state) {
    (void)state;
    static const Cut cuts[] = {
        {"layers.{L}.self_attn.q_a_proj.weight", SHARD_REPLICATED, 1},
        {"layers.{L}.self_attn.q_b_proj.weight", SHARD_COLUMN, 384},
        {"layers.{L}.self_attn.q_b_proj.weight_scale_inv", SHARD_COLUMN, 3},
        {"layers.{L}.self_attn.kv_a_proj_with_mqa.weight", SHARD_REPLICATED, 1},
        {"layers.{L}.self_attn.kv_b_proj.weight", SHARD_COLUMN, 256},
        {"layers.{L}.self_attn.kv_b_proj.weight_scale_inv", SHARD_COLUMN, 2},
        {"layers.{L}.self_attn.o_proj.weight", SHARD_ROW, 128},
        {"layers.{L}.self_attn.o_proj.weight_scale_inv", SHARD_ROW, 1},
        {"layers.{L}.mlp.gate.weight", SHARD_REPLICATED, 1},
        {"layers.{L}.mlp.experts.{E}.up_proj.weight", SHARD_EXPERT_COLUMN, 128},
        {"layers.{L}.mlp.experts.{E}.up_proj.weight_scale_inv", SHARD_EXPERT_COLUMN, 1},
        {"layers.{L}.mlp.experts.{E}.down_proj.weight", SHARD_EXPERT_ROW, 128},
        {"layers.{L}.mlp.shared_experts.down_proj.weight", SHARD_ROW, 128},
        {"layers.{L}.input_layernorm.weight", SHARD_REPLICATED, 1},
        {"model.embed_tokens.weight", SHARD_VOCAB, 1},
        {"lm_head.weight", SHARD_VOCAB, 1},
    };
    check_cuts("deepseek-v3", cuts, sizeof cuts / sizeof cuts[0]);
}

// Kimi-K3 stores two 4-bit codes in a byte and one scale for 32 weights of a row: the down matrix
// of an expert is cut every 16 bytes, one scale. Low-rank gates and the latent projections are on
// every rank.
static void test_tensor_cuts_of_kimi_k3(void **state) {
    (void)state;
    static const Cut cuts[] = {
        {"self_attn.q_b_proj.weight", SHARD_COLUMN, 192},
        {"self_attn.f_a_proj.weight", SHARD_REPLICATED, 1},
        {"self_attn.f_b_proj.weight", SHARD_COLUMN, 128},
        {"self_attn.q_conv1d.weight", SHARD_COLUMN, 128},
        {"self_attn.b_proj.weight", SHARD_COLUMN, 1},
        {"self_attn.o_proj.weight", SHARD_ROW, 128},
        {"routed_expert_down_proj.weight", SHARD_REPLICATED, 1},
        {"experts.{E}.w1.weight_packed", SHARD_EXPERT_COLUMN, 1},
        {"experts.{E}.w1.weight_scale", SHARD_EXPERT_COLUMN, 1},
        {"experts.{E}.w2.weight_packed", SHARD_EXPERT_ROW, 16},
        {"experts.{E}.w2.weight_scale", SHARD_EXPERT_ROW, 1},
    };
    check_cuts("kimi-k3", cuts, sizeof cuts / sizeof cuts[0]);
}

static void test_tensor_cuts_of_qwen3(void **state) {
    (void)state;
    static const Cut cuts[] = {
        {"self_attn.q_proj.weight", SHARD_COLUMN, 128},
        {"self_attn.k_proj.weight", SHARD_KV, 128},
        {"self_attn.v_proj.weight", SHARD_KV, 128},
        {"self_attn.o_proj.weight", SHARD_ROW, 128},
        {"self_attn.q_norm.weight", SHARD_REPLICATED, 1},
    };
    check_cuts("qwen3-235b-a22b", cuts, sizeof cuts / sizeof cuts[0]);
}

// What every rank of Kimi-K3 holds under tensor parallelism is 11.5 GB, and a rank of 8 holds 205.1
// GB of the text model (facts/models.md, section 6): a replicated part R and an eighth of the rest.
static void test_tensor_replicated_part_of_kimi_k3(void **state) {
    (void)state;
    Arch arch = {0};
    load("kimi-k3", &arch);
    uint64_t replicated = 0;
    for (uint32_t i = 0; i < arch.tensor_count; i++) {
        const TensorClass *class = &arch.tensors[i];
        if (class->shard == SHARD_REPLICATED && class->component != COMPONENT_VISION)
            replicated += class->bytes * count_tensors(&arch, class);
    }
    uint64_t text = arch.totals.checkpoint_B - arch.totals.component_B[COMPONENT_VISION];
    check_close((double)replicated / 1e9, 11.5, 0.005);
    check_close((double)((text - replicated) / 8 + replicated) / 1e9, 205.1, 0.0005);
    arch_free(&arch);
}

// ---- Published templates

typedef struct Template {
    char pattern[256], type[16], shape[64];
    uint64_t count, bytes; // 0: not given
} Template;

static bool read_template(char *line, Template *out) {
    char empty[1] = "", *cells[5] = {empty, empty, empty, empty, empty};
    for (int i = 0; i < 5 && line != NULL; i++) {
        cells[i] = line;
        line = strchr(line, '\t');
        if (line != NULL) *line++ = '\0';
    }
    *out = (Template){.count = 0};
    snprintf(out->pattern, sizeof out->pattern, "%s", cells[0]);
    snprintf(out->type, sizeof out->type, "%s", cells[1]);
    snprintf(out->shape, sizeof out->shape, "%s", cells[2]);
    cells[4][strcspn(cells[4], "\n")] = '\0';
    (void)text_parse_u64(cells[3], &out->count);
    (void)text_parse_u64(cells[4], &out->bytes);
    return cells[0][0] != '#' && strncmp(cells[0], "pattern", 7) != 0;
}

static void shape_of(const TensorClass *class, char *out, size_t size) {
    size_t used = 0;
    for (uint32_t i = 0; i < class->dim_count; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%u", i > 0 ? "x" : "", class->dims[i]);
}

// "model.layers.61.mlp..." of a draft layer is listed among those of all layers, unless by its own
// name.
static bool has_pattern(const TensorClass *class, const char *pattern) {
    static const char layers[] = "model.layers.";
    if (strcmp(class->pattern, pattern) == 0) return true;
    const char *at = strstr(class->pattern, layers), *mark = strstr(pattern, "{L}");
    if (class->component != COMPONENT_MTP || at == NULL || mark == NULL) return false;
    at += sizeof layers - 1;
    return strcmp(at + strspn(at, "0123456789"), mark + 3) == 0;
}

// Adds up what the model has of one template; every class counted is marked.
static uint32_t compare_template(const Arch *arch, const Template *want, bool *seen) {
    uint64_t count = 0, bytes = 0;
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < arch->tensor_count; i++) {
        const TensorClass *class = &arch->tensors[i];
        char shape[64];
        if (!has_pattern(class, want->pattern)) continue;
        shape_of(class, shape, sizeof shape);
        // one name, two shapes: KDA and MLA of Kimi-K3 have an o_proj each
        if (strcmp(shape, want->shape) != 0 || strcmp(class->type, want->type) != 0) continue;
        seen[i] = true;
        count += count_tensors(arch, class);
        bytes += class->bytes * count_tensors(arch, class);
    }
    wrong += count == 0 || (want->count != 0 && count != want->count);
    wrong += want->bytes != 0 && bytes != want->bytes;
    if (wrong > 0)
        print_error("%s %s: %llu tensors of %llu B\n", want->pattern, want->shape,
                    (unsigned long long)count, (unsigned long long)bytes);
    return wrong;
}

// All templates with a name are met, and no tensor is left without one (those of `spare` are
// described in words there).
static void compare_templates(const char *model, const char *path, uint32_t spare) {
    Arch arch = {0};
    Template template;
    char line[512];
    uint32_t wrong = 0, unseen = 0;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    load(model, &arch);
    bool *seen = calloc(arch.tensor_count, sizeof *seen);
    while (fgets(line, sizeof line, file) != NULL) {
        if (!read_template(line, &template) || strchr(template.pattern, '(') != NULL) continue;
        wrong += compare_template(&arch, &template, seen);
    }
    fclose(file);
    for (uint32_t i = 0; i < arch.tensor_count; i++) {
        if (!seen[i] && unseen++ >= spare) print_error("not listed: %s\n", arch.tensors[i].pattern);
    }
    free(seen);
    arch_free(&arch);
    assert_int_equal(wrong, 0);
    assert_int_equal(unseen, spare);
}

static void test_tensor_templates_of_deepseek_v3(void **state) {
    (void)state;
    const char *path = check_shared("models/index/deepseek-ai--DeepSeek-V3.tensor_templates.tsv");
    compare_templates("deepseek-v3", path, 0);
}

// Patch embedding, position table and final norm of the vision tower are named in words there.
static void test_tensor_templates_of_kimi_k3(void **state) {
    (void)state;
    const char *path = check_shared("models/index/moonshotai--Kimi-K3.tensor_templates.tsv");
    compare_templates("kimi-k3", path, 3);
}

// An exception for one layer makes it a kind of its own: 4 layers, of which layer 2 keeps its query
// matrix in BF16 (8 x 8 weights, 128 B instead of 64 B and a scale of 2 B).
static void test_tensor_exception_of_one_layer(void **state) {
    (void)state;
    static const char config[] =
        "{\"model_type\": \"qwen3_moe\", \"num_hidden_layers\": 4, \"hidden_size\": 8,"
        " \"vocab_size\": 16, \"max_position_embeddings\": 64, \"torch_dtype\": \"bfloat16\","
        " \"num_attention_heads\": 2, \"intermediate_size\": 16, \"num_experts\": 2,"
        " \"num_experts_per_tok\": 1, \"moe_intermediate_size\": 8, \"quantization_config\":"
        " {\"quant_method\": \"fp8\", \"weight_block_size\": [128, 128],"
        " \"modules_to_not_convert\": [\"model.layers.2.self_attn.q_proj\", \"visual\"]}}";
    Err err = {0};
    Arch arch = {0};
    check_ok(
        arch_parse(&(ArchInput){.name = "exception", .bytes = config, .count = sizeof config - 1},
                   &arch, &err),
        &err);
    assert_int_equal(arch.kind_count, 2);
    assert_int_equal(arch.kinds[0].count, 3);
    assert_int_equal(arch.kind_of_layer[2], 1);
    uint64_t query_B = 0;
    for (uint32_t i = 0; i < arch.tensor_count; i++)
        if (strstr(arch.tensors[i].pattern, "q_proj") != NULL)
            query_B += arch.tensors[i].bytes * count_tensors(&arch, &arch.tensors[i]);
    assert_int_equal(query_B, 3 * (64 + 2) + 128);
    assert_string_equal(arch.notes[0],
                        "quantization_config: 1 of 2 exceptions name nothing known, first visual");
    arch_free(&arch);
}

// A target that is a pattern narrows the scheme to what it names: experts in 4 bits, attention in
// BF16.
static void test_tensor_targets_by_pattern(void **state) {
    (void)state;
    static const char config[] =
        "{\"model_type\": \"qwen3_moe\", \"num_hidden_layers\": 2, \"hidden_size\": 64,"
        " \"vocab_size\": 16, \"max_position_embeddings\": 64, \"torch_dtype\": \"bfloat16\","
        " \"num_attention_heads\": 2, \"intermediate_size\": 16, \"num_experts\": 2,"
        " \"num_experts_per_tok\": 1, \"moe_intermediate_size\": 32, \"quantization_config\":"
        " {\"quant_method\": \"compressed-tensors\", \"format\": \"mxfp4-pack-quantized\","
        " \"config_groups\": {\"group_0\": {\"targets\": [\"re:.*\\\\.experts\\\\..*\"],"
        " \"weights\": {\"type\": \"float\", \"num_bits\": 4, \"group_size\": 32}}}}}";
    Err err = {0};
    Arch arch = {0};
    check_ok(
        arch_parse(&(ArchInput){.name = "targets", .bytes = config, .count = sizeof config - 1},
                   &arch, &err),
        &err);
    assert_int_equal(arch.expert_format, NUMFMT_FP4);
    assert_int_equal(arch.dense_format, NUMFMT_BF16);
    // 2 layers, 2 experts, 3 matrices of 32 x 64 at 17 bytes per 32 weights
    assert_int_equal(arch.totals.component_B[COMPONENT_ROUTED], 2 * 2 * 3 * (32 * 64 / 32 * 17));
    arch_free(&arch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tensor_cuts_of_deepseek_v3),
        cmocka_unit_test(test_tensor_cuts_of_kimi_k3),
        cmocka_unit_test(test_tensor_cuts_of_qwen3),
        cmocka_unit_test(test_tensor_replicated_part_of_kimi_k3),
        cmocka_unit_test(test_tensor_templates_of_deepseek_v3),
        cmocka_unit_test(test_tensor_templates_of_kimi_k3),
        cmocka_unit_test(test_tensor_exception_of_one_layer),
        cmocka_unit_test(test_tensor_targets_by_pattern),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// Quantisation schemes: which tensors stand for a matrix, and which module is stored by which.
//
// The model of the worked examples has one layer: a query matrix of 96 x 64 and an output matrix of
// 64 x 96, a router, and four experts fused as [experts, inputs, outputs], gate and up halves of 32
// x 64 each and a down matrix of 64 x 32; and a head of 128 x 64. All are BF16 unquantised.
#include "tests/check.h"

#include "model/moe/count.h"
#include "model/moe/tensor.h"

#define HALVES DIM_KV_WIDTH // gate and up together

static const TensorRow attention_rows[] = {
    {.name = "self_attn.q_proj.weight",
     .component = COMPONENT_ATTENTION,
     .shard = SHARD_COLUMN,
     .dims = {DIM_Q_WIDTH, DIM_HIDDEN}},
    {.name = "self_attn.o_proj.weight",
     .component = COMPONENT_ATTENTION,
     .shard = SHARD_ROW,
     .dims = {DIM_HIDDEN, DIM_Q_WIDTH}},
};
static const TensorRow mlp_rows[] = {
    {.name = "mlp.gate.weight",
     .component = COMPONENT_ROUTER,
     .store = STORE_PLAIN,
     .dims = {DIM_EXPERTS, DIM_HIDDEN}},
    {.name = "mlp.experts.gate_up_proj",
     .component = COMPONENT_ROUTED,
     .shard = SHARD_EXPERT_COLUMN,
     .dims = {DIM_EXPERTS, DIM_HIDDEN, HALVES},
     .inputs_first = true,
     .fused = true,
     .segments = {{DIM_EXPERT_WIDTH, DIM_NONE}, {DIM_EXPERT_WIDTH, DIM_NONE}}},
    {.name = "mlp.experts.down_proj",
     .component = COMPONENT_ROUTED,
     .shard = SHARD_EXPERT_ROW,
     .dims = {DIM_EXPERTS, DIM_EXPERT_WIDTH, DIM_HIDDEN},
     .inputs_first = true,
     .fused = true},
};
static const TensorRow head_rows[] = {{.name = "lm_head.weight",
                                       .component = COMPONENT_HEAD,
                                       .shard = SHARD_VOCAB,
                                       .store = STORE_PLAIN,
                                       .dims = {DIM_VOCAB, DIM_HIDDEN}}};
static const Part attention_part = {
    .scope = PART_ATTENTION, .tensors = attention_rows, .tensor_count = 2};
static const Part mlp_part = {.scope = PART_MLP, .tensors = mlp_rows, .tensor_count = 3};
static const Part head_part = {.scope = PART_MODEL, .tensors = head_rows, .tensor_count = 1};

static const Family family = {.model_types = "example",
                              .prefix = "",
                              .layer_prefix = "model.layers.{L}.",
                              .fp8_scale_type = "F32",
                              .parts = {&attention_part, &mlp_part, &head_part}};

// The model under a config: `json` is the whole document, `beside` that of hf_quant_config.json.
typedef struct Model {
    Arena arena;
    Reader reader;
    Arch arch;
    bool fp8_cache;
} Model;

static void close_model(Model *model) {
    reader_close(&model->reader);
    arena_free(&model->arena);
    arch_free(&model->arch);
}

static void set_dims(DimSet *dims) {
    static const struct {
        Dim dim;
        uint64_t value;
    } values[] = {{DIM_LAYERS, 1},        {DIM_HIDDEN, 64}, {DIM_Q_WIDTH, 96}, {DIM_EXPERTS, 4},
                  {DIM_EXPERT_WIDTH, 32}, {HALVES, 64},     {DIM_VOCAB, 128}};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        dim_set(dims, values[i].dim, values[i].value);
}

static bool open_model(const Family *as, const char *json, const char *beside, Model *out,
                       Err *err) {
    *out = (Model){.arch = {.layers = 1, .dtype = NUMFMT_BF16}};
    out->reader = (Reader){.arena = &out->arena, .name = "config", .family = as};
    Reader *reader = &out->reader;
    if (!json_parse("config", json, strlen(json), &reader->doc, err)) return false;
    if (beside != NULL && !json_parse("beside", beside, strlen(beside), &reader->quant_doc, err))
        return false;
    if (beside != NULL) reader->quant = json_root(&reader->quant_doc);
    reader->root = json_root(&reader->doc);
    reader->text = reader->root;
    set_dims(&reader->dims);
    uint8_t attention = 0, mlp = 1;
    LayerPattern pattern = {&attention, &mlp, 1};
    Quant quant;
    TensorInput input = {.reader = reader, .pattern = &pattern, .quant = &quant};
    if (!quant_read(reader, &quant, err)) return false;
    out->fp8_cache = quant.fp8_cache;
    return tensor_expand(&input, &out->arch, err) && quant_check_used(&quant, reader, err);
}

static void open_good(const Family *as, const char *json, const char *beside, Model *out) {
    Err err = {0};
    check_ok(open_model(as, json, beside, out, &err), &err);
}

// One line of each tensor: how often it is, name, type, shape, bytes of one.
static void list(const Arch *arch, Text *out) {
    for (uint32_t i = 0; i < arch->tensor_count; i++) {
        const TensorClass *class = &arch->tensors[i];
        text_addf(out, "%llu %s %s ", (unsigned long long)count_tensors(arch, class),
                  class->pattern, class->type);
        for (uint32_t d = 0; d < class->dim_count; d++)
            text_addf(out, "%s%u", d > 0 ? "x" : "", class->dims[d]);
        text_addf(out, "%s %llu\n", class->dim_count == 0 ? "scalar" : "",
                  (unsigned long long)class->bytes);
    }
}

static void check_tensors(const Family *as, const char *json, const char *beside,
                          const char *want) {
    Model model;
    Text text = {0};
    open_good(as, json, beside, &model);
    list(&model.arch, &text);
    check_text_equals(text_string(&text), want);
    text_free(&text);
    close_model(&model);
}

static NumFmt format_of(const Arch *arch, const char *name) {
    for (uint32_t i = 0; i < arch->tensor_count; i++)
        if (strcmp(arch->tensors[i].pattern, name) == 0) return tensor_format(&arch->tensors[i]);
    fail_msg("no tensor %s", name);
    return NUMFMT_COUNT;
}

static uint64_t bytes_of(const Arch *arch, Component component) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < arch->tensor_count; i++)
        if (arch->tensors[i].component == component)
            bytes += arch->tensors[i].bytes * count_tensors(arch, &arch->tensors[i]);
    return bytes;
}

#define CONFIG(body) "{\"quantization_config\": {" body "}}"
#define HEAD         "1 lm_head.weight BF16 128x64 16384\n"
#define ROUTER       "1 model.layers.{L}.mlp.gate.weight BF16 4x64 512\n"
#define ATTENTION                                                                                  \
    "1 model.layers.{L}.self_attn.q_proj.weight BF16 96x64 12288\n"                                \
    "1 model.layers.{L}.self_attn.o_proj.weight BF16 64x96 12288\n"
#define EXPERT "4 model.layers.{L}.mlp.experts.{E}."

// A byte for a weight, an F32 for a block of 32 x 32: 96 x 64 weights are 3 x 2 blocks. Experts are
// stored one by one, outputs first.
static void test_quant_fp8_blocks(void **state) {
    (void)state;
    check_tensors(
        &family,
        CONFIG("\"quant_method\": \"fp8\", \"fmt\": \"e4m3\", \"scale_fmt\": \"ue8m0\", "
               "\"activation_scheme\": \"dynamic\", \"weight_block_size\": [32, 32]"),
        NULL,
        HEAD
        "1 model.layers.{L}.self_attn.q_proj.weight F8_E4M3 96x64 6144\n"
        "1 model.layers.{L}.self_attn.q_proj.weight_scale_inv F32 3x2 24\n"
        "1 model.layers.{L}.self_attn.o_proj.weight F8_E4M3 64x96 6144\n"
        "1 model.layers.{L}.self_attn.o_proj.weight_scale_inv F32 2x3 24\n" ROUTER EXPERT
        "gate_proj.weight F8_E4M3 32x64 2048\n" EXPERT
        "gate_proj.weight_scale_inv F32 1x2 8\n" EXPERT "up_proj.weight F8_E4M3 32x64 2048\n" EXPERT
        "up_proj.weight_scale_inv F32 1x2 8\n" EXPERT "down_proj.weight F8_E4M3 64x32 2048\n" EXPERT
        "down_proj.weight_scale_inv F32 2x1 8\n");
}

// Without blocks a matrix has one scale, and, when activations are static, its inputs another.
static void test_quant_fp8_per_tensor(void **state) {
    (void)state;
    const char *start = HEAD "1 model.layers.{L}.self_attn.q_proj.weight F8_E4M3 96x64 6144\n"
                             "1 model.layers.{L}.self_attn.q_proj.weight_scale F32 scalar 4\n";
    const char *names[] = {"dynamic", "static"};
    for (size_t i = 0; i < 2; i++) {
        Model model;
        Text text = {0};
        char json[256], want[512];
        snprintf(json, sizeof json,
                 CONFIG("\"quant_method\": \"fp8\", \"activation_scheme\": \"%s\", "
                        "\"ignored_layers\": [\"o_proj\", \"experts\"]"),
                 names[i]);
        open_good(&family, json, NULL, &model);
        list(&model.arch, &text);
        snprintf(want, sizeof want, "%s%s1 model.layers.{L}.self_attn.o_proj.weight BF16", start,
                 i == 0 ? "" : "1 model.layers.{L}.self_attn.q_proj.input_scale F32 scalar 4\n");
        assert_int_equal(strncmp(text_string(&text), want, strlen(want)), 0);
        text_free(&text);
        close_model(&model);
    }
}

// DeepSeek-V4: its scales are bytes named ".scale", and routed experts have two codes in a byte and
// a scale for 32 weights of a row: 32 x 64 weights are 32 x 32 bytes and 32 x 2 scales.
static void test_quant_fp4_experts(void **state) {
    (void)state;
    Family v4 = family;
    v4.fp8_scale_type = "F8_E8M0";
    v4.scale_suffix = ".scale";
    check_tensors(
        &v4,
        "{\"expert_dtype\": \"fp4\", \"quantization_config\": {\"quant_method\": "
        "\"fp8\", \"weight_block_size\": [128, 128]}}",
        NULL,
        HEAD "1 model.layers.{L}.self_attn.q_proj.weight F8_E4M3 96x64 6144\n"
             "1 model.layers.{L}.self_attn.q_proj.scale F8_E8M0 1x1 1\n"
             "1 model.layers.{L}.self_attn.o_proj.weight F8_E4M3 64x96 6144\n"
             "1 model.layers.{L}.self_attn.o_proj.scale F8_E8M0 1x1 1\n" ROUTER EXPERT
             "gate_proj.weight I8 32x32 1024\n" EXPERT "gate_proj.scale F8_E8M0 32x2 64\n" EXPERT
             "up_proj.weight I8 32x32 1024\n" EXPERT "up_proj.scale F8_E8M0 32x2 64\n" EXPERT
             "down_proj.weight I8 64x16 1024\n" EXPERT "down_proj.scale F8_E8M0 64x1 64\n");
}

// gpt-oss: fused experts stay fused, with outputs before inputs; 64 inputs are 2 groups of 16
// bytes, each with a scale. 4 x 64 x 2 x 16 = 8192 bytes for 4 x 64 x 64 weights.
static void test_quant_mxfp4_fused(void **state) {
    (void)state;
    const char *json = CONFIG("\"quant_method\": \"mxfp4\", \"modules_to_not_convert\": "
                              "[\"model.layers.*.self_attn\", \"lm_head\"]");
    check_tensors(&family, json, NULL,
                  HEAD ATTENTION ROUTER
                  "1 model.layers.{L}.mlp.experts.gate_up_proj_blocks U8 4x64x2x16 8192\n"
                  "1 model.layers.{L}.mlp.experts.gate_up_proj_scales U8 4x64x2 512\n"
                  "1 model.layers.{L}.mlp.experts.down_proj_blocks U8 4x64x1x16 4096\n"
                  "1 model.layers.{L}.mlp.experts.down_proj_scales U8 4x64x1 256\n");
    Model model;
    open_good(&family, json, NULL, &model);
    // the halves are cut one by one, in rows; the down matrix between groups
    const TensorClass *gate_up = &model.arch.tensors[4], *down = &model.arch.tensors[6];
    assert_int_equal(gate_up->axis, 1);
    assert_int_equal(gate_up->segment_count, 2);
    assert_int_equal(gate_up->segments[1].extent, 32);
    assert_int_equal(down->axis, 2);
    assert_int_equal(down->unit, 1);
    assert_int_equal(tensor_format(gate_up), NUMFMT_FP4);
    assert_int_equal(model.reader.note_count, 0); // both exceptions named something
    close_model(&model);
}

// Kimi-K2.5: eight codes in an I32, a scale of the model's type for 32 weights, and the shape: 32 x
// 64 weights are 32 x 8 words, 32 x 2 scales and two numbers.
static void test_quant_int4_groups(void **state) {
    (void)state;
    const char *json =
        CONFIG("\"quant_method\": \"compressed-tensors\", \"format\": \"pack-quantized\", "
               "\"quantization_status\": \"compressed\", \"kv_cache_scheme\": null, "
               "\"config_groups\": {\"group_0\": {\"targets\": [\"Linear\"], "
               "\"input_activations\": null, \"weights\": {\"type\": \"int\", \"num_bits\": 4, "
               "\"group_size\": 32, \"strategy\": \"group\", \"symmetric\": true, \"actorder\": "
               "null, \"dynamic\": false}}}, \"ignore\": [\"re:.*self_attn.*\"]");
    check_tensors(
        &family, json, NULL,
        HEAD ATTENTION ROUTER EXPERT
        "gate_proj.weight_packed I32 32x8 1024\n" EXPERT
        "gate_proj.weight_scale BF16 32x2 128\n" EXPERT "gate_proj.weight_shape I32 2 8\n" EXPERT
        "up_proj.weight_packed I32 32x8 1024\n" EXPERT "up_proj.weight_scale BF16 32x2 128\n" EXPERT
        "up_proj.weight_shape I32 2 8\n" EXPERT "down_proj.weight_packed I32 64x4 1024\n" EXPERT
        "down_proj.weight_scale BF16 64x1 128\n" EXPERT "down_proj.weight_shape I32 2 8\n");
    Model model;
    open_good(&family, json, NULL, &model);
    assert_int_equal(format_of(&model.arch, "model.layers.{L}.mlp.experts.{E}.up_proj."
                                            "weight_packed"),
                     NUMFMT_INT4);
    close_model(&model);
}

#define FLOAT "\"type\": \"float\", \"num_bits\": 8"

// Two groups: a scale for each row of the experts (a class); one for the query matrix and one for
// its inputs (a name). The output matrix is in neither.
static void test_quant_float_by_groups(void **state) {
    (void)state;
    check_tensors(
        &family,
        CONFIG("\"quant_method\": \"compressed-tensors\", \"format\": "
               "\"float-quantized\", \"config_groups\": {\"a\": {\"targets\": "
               "[\"Llama4TextExperts\"], \"weights\": {" FLOAT
               ", \"strategy\": \"channel\"}}, \"b\": {\"targets\": "
               "[\"language_model.model.layers.0.self_attn.q_proj\"], \"weights\": {" FLOAT
               ", \"strategy\": \"tensor\"}, \"input_activations\": {" FLOAT
               ", \"dynamic\": false}}}"),
        NULL,
        HEAD
        "1 model.layers.{L}.self_attn.q_proj.weight F8_E4M3 96x64 6144\n"
        "1 model.layers.{L}.self_attn.q_proj.weight_scale BF16 1 2\n"
        "1 model.layers.{L}.self_attn.q_proj.input_scale BF16 1 2\n"
        "1 model.layers.{L}.self_attn.o_proj.weight BF16 64x96 12288\n" ROUTER EXPERT
        "gate_proj.weight F8_E4M3 32x64 2048\n" EXPERT
        "gate_proj.weight_scale BF16 32x1 64\n" EXPERT "up_proj.weight F8_E4M3 32x64 2048\n" EXPERT
        "up_proj.weight_scale BF16 32x1 64\n" EXPERT "down_proj.weight F8_E4M3 64x32 2048\n" EXPERT
        "down_proj.weight_scale BF16 64x1 128\n");
}

// Blocks of compressed-tensors: 96 x 64 weights are 1 x 2 blocks of 128 x 32.
static void test_quant_float_blocks(void **state) {
    (void)state;
    check_tensors(&family,
                  CONFIG("\"quant_method\": \"compressed-tensors\", \"format\": "
                         "\"float-quantized\", \"config_groups\": {\"a\": {\"targets\": "
                         "[\"re:.*q_proj\"], \"weights\": {" FLOAT
                         ", \"strategy\": \"block\", \"block_structure\": [128, 32]}}}"),
                  NULL,
                  HEAD "1 model.layers.{L}.self_attn.q_proj.weight F8_E4M3 96x64 6144\n"
                       "1 model.layers.{L}.self_attn.q_proj.weight_scale BF16 1x2 4\n"
                       "1 model.layers.{L}.self_attn.o_proj.weight BF16 64x96 12288\n" ROUTER
                       "1 model.layers.{L}.mlp.experts.gate_up_proj BF16 4x64x64 32768\n"
                       "1 model.layers.{L}.mlp.experts.down_proj BF16 4x32x64 16384\n");
}

#define NVFP4_EXPERTS                                                                              \
    EXPERT "gate_proj.weight U8 32x32 1024\n" EXPERT                                               \
           "gate_proj.weight_scale F8_E4M3 32x4 128\n" EXPERT                                      \
           "gate_proj.weight_scale_2 F32 scalar 4\n" EXPERT                                        \
           "gate_proj.input_scale F32 scalar 4\n" EXPERT "up_proj.weight U8 32x32 1024\n" EXPERT   \
           "up_proj.weight_scale F8_E4M3 32x4 128\n" EXPERT                                        \
           "up_proj.weight_scale_2 F32 scalar 4\n" EXPERT                                          \
           "up_proj.input_scale F32 scalar 4\n" EXPERT "down_proj.weight U8 64x16 1024\n" EXPERT   \
           "down_proj.weight_scale F8_E4M3 64x2 128\n" EXPERT                                      \
           "down_proj.weight_scale_2 F32 scalar 4\n" EXPERT "down_proj.input_scale F32 scalar 4\n"

// Two codes in a byte, an E4M3 scale for 16 weights of a row, two F32 numbers for the matrix: in
// config.json, or in the file beside it under other names.
static void test_quant_nvfp4(void **state) {
    (void)state;
    check_tensors(&family,
                  CONFIG("\"quant_method\": \"modelopt\", \"quant_algo\": \"NVFP4\", "
                         "\"producer\": {\"name\": \"modelopt\"}, \"config_groups\": {\"group_0\": "
                         "{\"targets\": [\"Linear\"], \"weights\": {\"num_bits\": 4, \"type\": "
                         "\"float\", \"group_size\": 16}, \"input_activations\": {\"dynamic\": "
                         "false, \"num_bits\": 4}}}, \"ignore\": [\"lm_head\", "
                         "\"model.language_model.layers.0.self_attn*\"]"),
                  NULL, HEAD ATTENTION ROUTER NVFP4_EXPERTS);
    check_tensors(&family, "{}",
                  "{\"producer\": {\"name\": \"modelopt\"}, \"quantization\": {\"quant_algo\": "
                  "\"NVFP4\", \"group_size\": 16, \"kv_cache_quant_algo\": \"FP8\", "
                  "\"exclude_modules\": [\"model.layers.0.self_attn.q_proj\", "
                  "\"*.o_proj\"]}}",
                  HEAD ATTENTION ROUTER NVFP4_EXPERTS);
}

// The form without quant_method: two F32 scalars beside an FP8 matrix.
static void test_quant_modelopt_fp8(void **state) {
    (void)state;
    Model model;
    open_good(&family,
              CONFIG("\"quant_algo\": \"FP8\", \"kv_cache_scheme\": \"FP8\", \"config_groups\": "
                     "{\"group_0\": {\"weights\": {" FLOAT "}, \"input_activations\": {" FLOAT
                     ", \"dynamic\": false}}}, \"ignore\": [\"lm_head\"]"),
              NULL, &model);
    // 2 x 6144 weights of attention and 4 x 3 x 2048 of experts, each matrix with 8 bytes beside
    assert_int_equal(bytes_of(&model.arch, COMPONENT_ATTENTION), 2 * (6144 + 8));
    assert_int_equal(bytes_of(&model.arch, COMPONENT_ROUTED), 12 * (2048 + 8));
    assert_string_equal(model.reader.notes[0],
                        "kv_cache_scheme: the checkpoint is calibrated for a quantised cache");
    assert_true(model.fp8_cache);
    close_model(&model);
}

// A map of layers: FP8 for the query matrix, weights alone in 4 bits for experts (listed one by
// one) and for the head, which no class would quantise. What is not listed is BF16.
static void test_quant_mixed_precision(void **state) {
    (void)state;
    check_tensors(
        &family,
        CONFIG("\"quant_method\": \"modelopt\", \"quant_algo\": \"MIXED_PRECISION\", "
               "\"quantized_layers\": {\"model.layers.0.self_attn.q_proj\": {\"quant_algo\": "
               "\"FP8\"}, \"lm_head\": {\"quant_algo\": \"W4A16_NVFP4\", \"group_size\": 16}}, "
               "\"ignore\": [\"mtp*\"]"),
        NULL,
        "1 lm_head.weight U8 128x32 4096\n"
        "1 lm_head.weight_scale F8_E4M3 128x4 512\n"
        "1 lm_head.weight_scale_2 F32 scalar 4\n"
        "1 model.layers.{L}.self_attn.q_proj.weight F8_E4M3 96x64 6144\n"
        "1 model.layers.{L}.self_attn.q_proj.weight_scale F32 scalar 4\n"
        "1 model.layers.{L}.self_attn.q_proj.input_scale F32 scalar 4\n"
        "1 model.layers.{L}.self_attn.o_proj.weight BF16 64x96 12288\n" ROUTER
        "1 model.layers.{L}.mlp.experts.gate_up_proj BF16 4x64x64 32768\n"
        "1 model.layers.{L}.mlp.experts.down_proj BF16 4x32x64 16384\n");
}

// A checkpoint of blocks whose experts were taken over: exceptions name what stays in blocks, not
// what is BF16.
static void test_quant_nvfp4_over_blocks(void **state) {
    (void)state;
    check_tensors(
        &family,
        "{\"expert_dtype\": \"fp4\", \"quantization_config\": {\"quant_method\": "
        "\"fp8\", \"weight_block_size\": [128, 128], \"quant_algo\": "
        "\"MIXED_PRECISION\", \"moe_quant_algo\": \"NVFP4\", \"quantized_layers\": "
        "{\"layers.0.mlp.experts\": {\"quant_algo\": \"NVFP4\", \"group_size\": 16}}, "
        "\"ignore\": [\"*.self_attn.*\", \"head\"]}}",
        NULL,
        HEAD
        "1 model.layers.{L}.self_attn.q_proj.weight F8_E4M3 96x64 6144\n"
        "1 model.layers.{L}.self_attn.q_proj.weight_scale_inv F32 1x1 4\n"
        "1 model.layers.{L}.self_attn.o_proj.weight F8_E4M3 64x96 6144\n"
        "1 model.layers.{L}.self_attn.o_proj.weight_scale_inv F32 1x1 4\n" ROUTER NVFP4_EXPERTS);
}

// Names that stand for nothing, and schemes that nothing is stored in, are noted.
static void test_quant_notes_what_names_nothing(void **state) {
    (void)state;
    Model model;
    open_good(&family,
              CONFIG("\"quant_method\": \"modelopt\", \"quant_algo\": \"MIXED_PRECISION\", "
                     "\"quantized_layers\": {\"model.layers.0.self_attn\": {\"quant_algo\": "
                     "\"FP8\"}, \"visual.blocks.0.attn\": {\"quant_algo\": \"NVFP4\"}}, "
                     "\"ignore\": [\"visual*\", \"lm_head\", \"re:mtp\\\\..*\"]"),
              NULL, &model);
    assert_int_equal(model.reader.note_count, 3);
    assert_string_equal(model.reader.notes[0],
                        "quantization_config: 2 of 3 exceptions name nothing known, first visual*");
    assert_string_equal(model.reader.notes[1], "quantization_config: 1 of 2 quantised modules name "
                                               "nothing known, first visual.blocks.0.attn");
    assert_string_equal(model.reader.notes[2], "quantization_config: no weight is stored in nvfp4");
    close_model(&model);
}

#define CT(rest) CONFIG("\"quant_method\": \"compressed-tensors\", " rest)
#define GROUP(targets, weights)                                                                    \
    CT("\"format\": \"pack-quantized\", \"config_groups\": {\"g\": {\"targets\": [" targets        \
       "], \"weights\": {" weights "}}}")
#define INT4 "\"type\": \"int\", \"num_bits\": 4"

static void test_quant_refuses_what_it_does_not_know(void **state) {
    (void)state;
    static const struct {
        const char *json, *message;
    } cases[] = {
        {CONFIG("\"quant_method\": \"gptq\", \"bits\": 4"),
         "config:1:42: quantization_config.quant_method: \"gptq\" is not supported, known: fp8, "
         "mxfp4, compressed-tensors, modelopt, modelopt_fp4"},
        {CONFIG("\"bits\": 4"), "config:1:25: quantization_config: missing \"quant_method\" or "
                                "\"quant_algo\""},
        {CONFIG("\"quant_method\": \"fp8\", \"fmt\": \"e5m2\""),
         "config:1:56: quantization_config.fmt: \"e5m2\" is not supported, known: e4m3, "
         "float8_e4m3fn"},
        {CONFIG("\"quant_method\": \"fp8\", \"is_checkpoint_fp8_serialized\": false"),
         "config:1:81: quantization_config.is_checkpoint_fp8_serialized: expected true: false is "
         "for weights that are quantised when loaded"},
        {CONFIG("\"quant_method\": \"fp8\", \"weight_block_size\": [128, 128], "
                "\"activation_scheme\": \"static\""),
         "config:1:103: quantization_config.activation_scheme: \"static\" is not supported, known: "
         "dynamic"},
        {"{\"expert_dtype\": \"fp6\", \"quantization_config\": {\"quant_method\": \"fp8\"}}",
         "config:1:18: expert_dtype: \"fp6\" is not supported, known: fp8, fp4"},
        {GROUP("\"Linear\"", INT4 ", \"group_size\": 12"),
         "config:1:195: quantization_config.config_groups.g.weights.group_size: expected a "
         "multiple of 8 up to 65536, found 12"},
        {GROUP("\"Linear\"", INT4 ", \"group_size\": 128"),
         "config: self_attn.q_proj.weight: hidden_size (64) is not a multiple of the group of 128"},
        {GROUP("\"Linear\"", INT4 ", \"group_size\": 32, \"symmetric\": false"),
         "config:1:212: quantization_config.config_groups.g.weights.symmetric: only true is "
         "supported"},
        {GROUP("\"Linear\"", INT4 ", \"group_size\": 32, \"actorder\": \"group\""),
         "config:1:211: quantization_config.config_groups.g.weights.actorder: only null is "
         "supported"},
        {GROUP("\"Linear\"", INT4 ", \"strategy\": \"tensor\""),
         "config:1:193: quantization_config.config_groups.g.weights.strategy: \"tensor\" is not "
         "supported for pack-quantized"},
        {GROUP("\"Linear\"", "\"type\": \"int\", \"num_bits\": 8"),
         "config:1:178: quantization_config.config_groups.g.weights.num_bits: expected 4, found 8"},
        {GROUP("\"Linea\"", INT4 ", \"group_size\": 32"),
         "config:1:128: quantization_config.config_groups.g.targets[0]: class \"Linea\" is not "
         "supported, known: Linear, FusedMoE, *Experts"},
        {CT("\"quantization_status\": \"frozen\", \"config_groups\": {\"g\": {\"format\": "
            "\"pack-quantized\", \"targets\": [\"Linear\"], \"weights\": {" INT4
            ", \"group_size\": 32}}}"),
         "config:1:87: quantization_config.quantization_status: \"frozen\" is not supported, "
         "known: compressed"},
        {CONFIG("\"quant_algo\": \"W4A16_AWQ\""),
         "config:1:40: quantization_config.quant_algo: \"W4A16_AWQ\" is not supported, known: FP8, "
         "NVFP4, W4A16_NVFP4, MIXED_PRECISION"},
        {CONFIG("\"quant_algo\": \"NVFP4\", \"group_size\": 32"),
         "config:1:63: quantization_config.group_size: expected 16, found 32"},
        {CONFIG("\"quant_algo\": \"MIXED_PRECISION\""),
         "config:1:25: quantization_config: missing \"quantized_layers\""},
        {CONFIG("\"quant_algo\": \"NVFP4\", \"has_zero_point\": true"),
         "config:1:67: quantization_config.has_zero_point: unknown field, which may change the "
         "cost; go on without it by --assume quantization_config.has_zero_point=ignored"},
        {CONFIG("\"quant_algo\": \"MIXED_PRECISION\", \"quantized_layers\": {"
                "\"m.experts.0.w\": {\"quant_algo\": \"FP8\"}, "
                "\"m.experts.1.w\": {\"quant_algo\": \"NVFP4\"}}"),
         "config:1:25: quantization_config: \"m.experts.0.w\" is listed in two ways"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Err err = {0};
        Model model;
        check_fails(open_model(&family, cases[i].json, NULL, &model, &err), &err, cases[i].message);
        close_model(&model);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quant_fp8_blocks),
        cmocka_unit_test(test_quant_fp8_per_tensor),
        cmocka_unit_test(test_quant_fp4_experts),
        cmocka_unit_test(test_quant_mxfp4_fused),
        cmocka_unit_test(test_quant_int4_groups),
        cmocka_unit_test(test_quant_float_by_groups),
        cmocka_unit_test(test_quant_float_blocks),
        cmocka_unit_test(test_quant_nvfp4),
        cmocka_unit_test(test_quant_modelopt_fp8),
        cmocka_unit_test(test_quant_mixed_precision),
        cmocka_unit_test(test_quant_nvfp4_over_blocks),
        cmocka_unit_test(test_quant_notes_what_names_nothing),
        cmocka_unit_test(test_quant_refuses_what_it_does_not_know),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

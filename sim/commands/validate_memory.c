// Weights, cache and experts of one rank, compared with what engines logged.
//
// Invariant: a row is predicted from its own cells, from its start's other rows and from the model;
// what it does not state and the figure needs (memory fraction, device, cache size) refuses it by
// name. Units: engines print bytes / 2^30, which vLLM calls GiB and SGLang GB.
#include "sim/commands/validate_memory.h"

#include <inttypes.h>
#include <string.h>

#include "model/base/text.h"
#include "model/moe/tensor.h"
#include "model/plan/memory_cache.h"
#include "model/plan/shard.h"
#include "sim/commands/fit_plan.h"
#include "sim/commands/validate_checkpoint.h"

#define MIB ((double)(UINT64_C(1) << 20))
#define GIB ((double)(UINT64_C(1) << 30))

// One row on its way to a prediction.
typedef struct Case {
    ValidateContext *context;
    const RecordFile *file;
    uint32_t row;
    Arena *arena;
    const ValidateModel *model;
    const MemoryEngine *engine;
    FitAsk ask;
    Plan plan;
    ValidatePrediction *out;
} Case;

static const char *cell(const Case *at, const char *column) {
    return record_cell(at->file, at->row, column);
}

// ---- Numbers in free text: "44,498 prompt tokens", "gpu_memory_utilization 0.90"

static bool is_number_part(char c) {
    return (c >= '0' && c <= '9') || c == ',' || c == '.';
}

static bool read_span(const char *from, size_t length, double *out) {
    char digits[32];
    size_t used = 0;
    for (size_t i = 0; i < length; i++) {
        if (from[i] == ',') continue;
        if (used + 1 == sizeof digits) return false;
        digits[used++] = from[i];
    }
    digits[used] = '\0';
    return used > 0 && text_parse_double(digits, out);
}

static bool number_before(const char *text, const char *phrase, double *out) {
    const char *found = strstr(text, phrase);
    if (found == NULL) return false;
    const char *start = found;
    while (start > text && is_number_part(start[-1])) start--;
    return read_span(start, (size_t)(found - start), out);
}

static bool number_after(const char *text, const char *phrase, double *out) {
    const char *found = strstr(text, phrase);
    if (found == NULL) return false;
    const char *start = found + strlen(phrase);
    size_t length = 0;
    while (is_number_part(start[length])) length++;
    while (length > 0 && (start[length - 1] == ',' || start[length - 1] == '.')) length--;
    return read_span(start, length, out);
}

// ---- The plan

static bool is_sglang(const Case *at) {
    const char engine[] = "sgl-project/";
    return strncmp(cell(at, "source"), engine, sizeof engine - 1) == 0;
}

static bool read_degree(const Case *at, const char *column, uint32_t *out, Err *reason) {
    char quote[TEXT_QUOTE_MAX];
    uint64_t value;
    const char *text = cell(at, column);
    if (*text == '\0') return err_set(reason, "%s is not stated", column);
    if (!text_parse_u64(text, &value) || value == 0 || value > POOL_RANKS_MAX)
        return err_set(reason, "%s: expected a degree, found %s", column, text_quote(text, quote));
    *out = (uint32_t)value;
    return true;
}

// The format of the cache: "fp8 kv" says so, otherwise engines take the type of the model.
static NumFmt cache_format(const Case *at) {
    static const struct {
        const char *words;
        NumFmt format;
    } formats[] = {{"fp8 kv", NUMFMT_FP8}, {"f16 kv", NUMFMT_F16}, {"bf16 kv", NUMFMT_BF16}};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (strcmp(cell(at, "dtype"), formats[i].words) == 0) return formats[i].format;
    return NUMFMT_BF16;
}

static bool make_plan(Case *at, Err *reason) {
    uint32_t tp, pp, dp, ep;
    if (!read_degree(at, "tp", &tp, reason) || !read_degree(at, "pp", &pp, reason) ||
        !read_degree(at, "dp", &dp, reason) || !read_degree(at, "ep", &ep, reason))
        return false;
    if (is_sglang(at)) {
        if (tp % dp != 0)
            return err_set(reason, "dp %" PRIu32 " does not divide tp %" PRIu32, dp, tp);
        tp /= dp;
    }
    uint64_t ranks = (uint64_t)tp * dp;
    if (ranks % ep != 0)
        return err_set(reason, "ep %" PRIu32 " does not divide the %" PRIu64 " ranks of a stage",
                       ep, ranks);
    at->ask = (FitAsk){.arch = &at->model->arch,
                       .engine = at->engine,
                       .grouping = MEMORY_GROUPING_COUNT,
                       .format = "",
                       .context = 1,
                       .concurrency = 1,
                       .kv_format = cache_format(at),
                       .dcp = 1,
                       .lengths = {.count = 1}};
    at->plan = fit_plan_make(&at->ask, tp, pp, dp, ep);
    return plan_legal(&at->plan, &at->model->arch, reason);
}

static bool stores_format(const Arch *arch, NumFmt format) {
    for (uint32_t i = 0; i < arch->tensor_count; i++)
        if (!arch->tensors[i].is_scale && tensor_format(&arch->tensors[i]) == format) return true;
    return false;
}

// A start in FP8 says nothing of a config in BF16.
static bool check_format(const Case *at, Err *reason) {
    static const struct {
        const char *word;
        NumFmt format;
    } formats[] = {
        {"fp8", NUMFMT_FP8}, {"mxfp4", NUMFMT_FP4}, {"nvfp4", NUMFMT_FP4}, {"int4", NUMFMT_INT4}};
    const char *dtype = cell(at, "dtype");
    size_t length = strcspn(dtype, " ");
    if (strstr(dtype, " kv") != NULL) return true;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        bool named =
            strlen(formats[i].word) == length && strncmp(dtype, formats[i].word, length) == 0;
        if (named && !stores_format(&at->model->arch, formats[i].format))
            return err_set(reason, "the start is %s, and the config stores nothing in it",
                           formats[i].word);
    }
    return true;
}

static bool make_case(Case *at, Err *reason) {
    at->model = validate_models_find(&at->context->models, cell(at, "model"), reason);
    if (at->model == NULL || !check_format(at, reason)) return false;
    at->engine =
        memory_engine_find(&at->context->engines, is_sglang(at) ? "sglang" : "vllm", reason);
    return at->engine != NULL && make_plan(at, reason);
}

// ---- Figures

// Of the fullest stage, with what loading adds.
static bool predict_weights(Case *at, Err *reason) {
    (void)reason;
    ShardSummary summary;
    uint64_t most_B = 0;
    const Pool *pool = &at->plan.pools[0];
    shard_weights(&at->plan, 0, &at->model->arch, at->arena, &summary);
    for (uint32_t i = 0; i < pool->pp; i++) {
        const StageWeights *stage = &summary.stages[i];
        uint64_t B = stage->largest_B + memory_engine_added_B(at->engine, pool, &at->model->arch, i,
                                                              stage->component_B[COMPONENT_ROUTED]);
        if (B > most_B) most_B = B;
    }
    at->out->predicted = (double)most_B / GIB;
    return true;
}

// Bytes of cache of one sequence on a rank.
static double sequence_B(const Case *at, double tokens) {
    return (double)memory_cache_sequence_B(&at->plan.pools[0], &at->model->arch, 0,
                                           (uint64_t)tokens,
                                           memory_engine_page_tokens(at->engine, &at->model->arch));
}

static bool check_tokens(double tokens, Err *reason) {
    return (tokens >= 1 && tokens <= (double)MEMORY_TOKENS_MAX) ||
           err_set(reason, "%g tokens: expected 1 to 2^40", tokens);
}

static bool read_tokens(const Case *at, double *out, Err *reason) {
    const char *note = cell(at, "note");
    if (number_before(note, " prompt tokens", out) || number_before(note, " tokens", out) ||
        number_before(note, " cells", out))
        return check_tokens(*out, reason);
    return err_set(reason, "the note states no number of tokens");
}

static bool predict_required(Case *at, Err *reason) {
    double tokens = 0;
    if (!read_tokens(at, &tokens, reason)) return false;
    at->out->predicted = sequence_B(at, tokens) / GIB;
    return true;
}

static bool predict_all_ranks(Case *at, Err *reason) {
    double tokens = 0;
    if (!read_tokens(at, &tokens, reason)) return false;
    at->out->predicted = sequence_B(at, tokens) * pool_stage_ranks(&at->plan.pools[0]);
    return true;
}

static bool predict_full_layers(Case *at, Err *reason) {
    const Arch *arch = &at->model->arch;
    double tokens = 0, sum = 0;
    if (!read_tokens(at, &tokens, reason)) return false;
    for (uint32_t k = 0; k < arch->kind_count; k++) {
        MemoryLayer layer;
        memory_cache_layer(&at->plan.pools[0], arch->dtype,
                           &arch->attentions[arch->kinds[k].attention], &layer);
        if (layer.window == 0) sum += (double)layer.token_B * arch->kinds[k].count;
    }
    at->out->predicted = sum * tokens / MIB;
    return true;
}

static bool predict_payload(Case *at, Err *reason) {
    (void)reason;
    at->out->predicted = (double)validate_checkpoint_payload_B(at->model);
    return true;
}

// ---- Tokens that a cache holds

static bool same_cell(const Case *at, uint32_t row, const char *column) {
    return strcmp(cell(at, column), record_cell(at->file, row, column)) == 0;
}

// Rows of one start stand together.
#define START_ROWS_MAX 64

// The value of this metric that was logged at the same start.
static bool same_start(const Case *at, const char *metric, double *out) {
    static const char *const keys[] = {"source", "model", "gpu", "tp", "pp", "dp", "ep", "dtype"};
    uint32_t first = at->row > START_ROWS_MAX ? at->row - START_ROWS_MAX : 0;
    for (uint32_t row = first; row < at->file->row_count && row <= at->row + START_ROWS_MAX;
         row++) {
        bool same = strcmp(record_cell(at->file, row, "metric"), metric) == 0;
        for (size_t i = 0; same && i < sizeof keys / sizeof keys[0]; i++)
            same = same_cell(at, row, keys[i]);
        if (!same) continue;
        *out = at->file->rows[row].value;
        return true;
    }
    return false;
}

static bool cache_size(const Case *at, double *out_B, Err *reason) {
    const char *note = cell(at, "note");
    double size;
    if (number_before(note, " GiB", &size) ||
        (is_sglang(at) && number_before(note, " GB", &size)) ||
        same_start(at, "kv_available_per_rank", &size)) {
        *out_B = size * GIB;
        return true;
    }
    return err_set(reason, "neither the note nor another row of this start states the size of the "
                           "cache");
}

// What vLLM prints of a hybrid model is how many sequences of one length fit, times that length
// (vllm-project/vllm#51041). A state takes two pages then: with prefix caching, the one of the last
// full block is kept beside the current one (MambaSpec of vllm/v1/kv_cache_interface.py, "align").
#define STATE_PAGES 2

static bool sequence_in_pages_B(const Case *at, double length, double *out_B, Err *reason) {
    MemoryPages pages;
    const Arch *arch = &at->model->arch;
    if (!memory_page_of_stage(&at->plan.pools[0], arch, 0, at->engine->grouping,
                              memory_engine_page_tokens(at->engine, arch), &pages, reason))
        return false;
    *out_B = (double)memory_page_cache_B(&pages, (uint64_t)length) +
             STATE_PAGES * (double)memory_page_state_B(&pages);
    return true;
}

// "4.33x of 131,072" names the length; else the cache is one of tokens alone.
static bool predict_tokens(Case *at, Err *reason) {
    double cache_B = 0, length = 1, each_B;
    if (!cache_size(at, &cache_B, reason)) return false;
    each_B = (double)memory_cache_token_B(&at->plan.pools[0], &at->model->arch, 0);
    if (number_after(cell(at, "note"), "x of ", &length) &&
        (!check_tokens(length, reason) || !sequence_in_pages_B(at, length, &each_B, reason)))
        return false;
    if (cache_B <= 0) return err_set(reason, "the cache has no room");
    if (each_B <= 0) return err_set(reason, "no layer of the model caches tokens");
    at->out->predicted = cache_B / each_B * length;
    return true;
}

// ---- What is left for the cache

static bool read_memory(const Case *at, uint64_t *out_B, Err *reason) {
    const char *gpu = cell(at, "gpu");
    double visible;
    if (number_before(gpu, " GiB visible", &visible) && visible >= 1 && visible < 1e6) {
        *out_B = (uint64_t)(visible * GIB);
        return true;
    }
    const Device *device = device_find(&at->context->catalogue, gpu);
    if (*gpu == '\0') return err_set(reason, "the row states no GPU");
    if (device == NULL) return device_unknown(&at->context->catalogue, gpu, reason);
    *out_B = device_low(device->memory_B);
    return true;
}

static bool predict_available(Case *at, Err *reason) {
    FitMachine machine = {.name = ""};
    FitRow row = {.machine = &machine};
    FitPeaks *peaks = arena_alloc(at->arena, 1, sizeof *peaks);
    double fraction = 0;
    if (!number_after(cell(at, "note"), "gpu_memory_utilization ", &fraction))
        return err_set(reason, "the note states no gpu_memory_utilization");
    if (fraction < 0.001 || fraction > 1)
        return err_set(reason, "gpu_memory_utilization: expected 0.001 to 1, found %g", fraction);
    if (!read_memory(at, &machine.memory_B, reason) || !make_case(at, reason)) return false;
    at->ask.memory_permille = (uint32_t)(fraction * 1000 + 0.5);
    machine.gpus = plan_gpus(&at->plan);
    row.plan = at->plan;
    if (!fit_plan_weigh(&at->ask, peaks, at->arena, &row, reason)) return false;
    at->out->predicted = (double)row.fit.available_B / GIB;
    at->out->basis = (double)machine.memory_B / GIB;
    at->out->basis_name = "GPU memory";
    return true;
}

// ---- Experts: the unit says of how many ("of 128"), the model need not be known.

static bool predict_experts(Case *at, Err *reason) {
    uint32_t ep, first, count;
    double experts;
    if (!number_after(cell(at, "unit"), "of ", &experts) || experts < 1 || experts > UINT32_MAX)
        return err_set(reason, "the unit states no number of experts");
    if (!read_degree(at, "ep", &ep, reason)) return false;
    Pool pool = {.ep = ep};
    pool_experts(&pool, (uint32_t)experts, 0, &first, &count);
    at->out->predicted = count;
    return true;
}

// ---- The table

typedef enum Need { NEEDS_PLAN, NEEDS_NOTHING } Need; // at first

static const struct {
    const char *metric, *unit; // unit: the only one that the predictor gives; NULL: any
    Need need;
    bool (*predict)(Case *at, Err *reason);
} metrics[] = {
    {"weights_per_rank", "GiB", NEEDS_PLAN, predict_weights},
    {"kv_available_per_rank", "GiB", NEEDS_NOTHING, predict_available},
    {"kv_required_per_rank", "GiB", NEEDS_PLAN, predict_required},
    {"kv_bytes_all_ranks", "B", NEEDS_PLAN, predict_all_ranks},
    {"kv_bytes_full_layers", "MiB", NEEDS_PLAN, predict_full_layers},
    {"kv_tokens", "tokens", NEEDS_PLAN, predict_tokens},
    {"checkpoint_payload", "B", NEEDS_PLAN, predict_payload},
    {"local_experts_per_rank", NULL, NEEDS_NOTHING, predict_experts},
};

bool validate_memory_predict(ValidateContext *context, const RecordFile *file, uint32_t row,
                             Arena *arena, ValidatePrediction *out, Err *reason) {
    Case at = {.context = context, .file = file, .row = row, .arena = arena, .out = out};
    const char *metric = cell(&at, "metric"), *unit = cell(&at, "unit");
    char quote[TEXT_QUOTE_MAX];
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++) {
        if (strcmp(metrics[i].metric, metric) != 0) continue;
        if (metrics[i].unit != NULL && strcmp(metrics[i].unit, unit) != 0)
            return err_set(reason, "%s in %s, expected %s", metric, text_quote(unit, quote),
                           metrics[i].unit);
        if (metrics[i].need == NEEDS_PLAN && !make_case(&at, reason)) return false;
        return metrics[i].predict(&at, reason);
    }
    return err_set(reason, "no rule predicts %s", text_quote(metric, quote));
}

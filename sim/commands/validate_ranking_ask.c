// Reads the cells of a row.
//
// Invariant: what is not stated is a reason, never a guess; nothing that was measured is looked at.
#include "sim/commands/validate_ranking_ask.h"

#include <stdio.h>
#include <string.h>

#include "model/base/text.h"
#include "model/plan/pool.h"

const char *const validate_ranking_ask_reasons[VALIDATE_RANKING_REASON_COUNT] = {
#define X(name, text) text,
    VALIDATE_RANKING_REASON_LIST(X)
#undef X
};

static bool is_unknown(const char *cell) {
    return *cell == '\0' || strstr(cell, "n/k") != NULL;
}

// "8192"; "ShareGPT ~219": a mean.
static bool read_length(const char *cell, uint64_t *out) {
    const char *mean = strchr(cell, '~');
    return text_parse_u64(mean != NULL ? mean + 1 : cell, out) && *out > 0;
}

// "64", "1000 requests at once", "100 req"; "1000 req, cap 512" keeps 512 of them in flight.
static bool read_load(const char *cell, uint64_t *out) {
    char number[24];
    const char *cap = strstr(cell, "cap ");
    const char *from = cap != NULL ? cap + strlen("cap ") : cell;
    size_t digits = strspn(from, "0123456789");
    bool is_count = from[digits] == '\0' || strncmp(from + digits, " req", 4) == 0;
    if (digits == 0 || digits >= sizeof number || !is_count) return false;
    snprintf(number, sizeof number, "%.*s", (int)digits, from);
    return text_parse_u64(number, out) && *out > 0;
}

// Of a cell such as "INT4 / NVFP4", the alternative that comes first in the flags; "mixed" stands
// for BF16 / FP8. `buffer` holds the alternative.
static const char *pick(const char *cell, const char *flags, char *buffer, size_t capacity) {
    const char *best = NULL, *at = strcmp(cell, "mixed") == 0 ? "BF16 / FP8" : cell;
    if (at == cell && strstr(cell, " / ") == NULL) return cell;
    snprintf(buffer, capacity, "%s", cell);
    while (*at != '\0') {
        char part[64];
        const char *end = strstr(at, " / ");
        size_t length = end != NULL ? (size_t)(end - at) : strlen(at);
        snprintf(part, sizeof part, "%.*s", (int)length, at);
        const char *found = strstr(flags, part);
        bool starts = found != NULL && (found == flags || found[-1] == ' ');
        if (starts && (best == NULL || found < best)) {
            best = found;
            snprintf(buffer, capacity, "%s", part);
        }
        at += length + (end != NULL ? strlen(" / ") : 0);
    }
    return buffer;
}

typedef struct Row {
    const RecordFile *file;
    uint32_t index;
    const char *flags;
    ValidateRankingReason reason;
    Err *text;
} Row;

static bool refuse(Row *row, ValidateRankingReason reason) {
    row->reason = reason;
    return false;
}

static const char *cell_of(const Row *row, const char *column) {
    return record_cell(row->file, row->index, column);
}

static bool not_known(Row *row, const char *column, const char *cell) {
    char quote[TEXT_QUOTE_MAX];
    err_set(row->text, "%s is %s", column, text_quote(cell, quote));
    return refuse(row, VALIDATE_RANKING_NOT_KNOWN);
}

static bool read_cell(Row *row, const char *column, uint64_t *out) {
    const char *cell = cell_of(row, column);
    return (text_parse_u64(cell, out) && *out > 0 && *out <= POOL_RANKS_MAX) ||
           not_known(row, column, cell);
}

static bool read_workload(Row *row, ValidateRankingAsk *ask) {
    const char *load = cell_of(row, "concurrency_or_rate");
    const char *isl = cell_of(row, "isl"), *osl = cell_of(row, "osl");
    if (!read_length(isl, &ask->isl)) return not_known(row, "isl", isl);
    if (!read_length(osl, &ask->osl)) return not_known(row, "osl", osl);
    if (strncmp(load, "rate ", 5) == 0) {
        err_set(row->text, "requests come at a %s", load);
        return refuse(row, VALIDATE_RANKING_SERVING);
    }
    return read_load(load, &ask->concurrency) || not_known(row, "concurrency_or_rate", load);
}

// What the flags say that no plan here has.
static bool read_flags(Row *row) {
    static const struct {
        const char *word;
        ValidateRankingReason reason;
    } words[] = {{"1P1D", VALIDATE_RANKING_NOT_KNOWN},  {"AFD", VALIDATE_RANKING_PLAN},
                 {"DCP", VALIDATE_RANKING_PLAN},        {"MTP", VALIDATE_RANKING_DRAFTS},
                 {"EPLB,", VALIDATE_RANKING_NOT_KNOWN}, {"EPLB ", VALIDATE_RANKING_NOT_KNOWN}};
    char quote[TEXT_QUOTE_MAX];
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strstr(row->flags, words[i].word) == NULL) continue;
        err_set(row->text, "the plan is %s", text_quote(row->flags, quote));
        return refuse(row, words[i].reason);
    }
    if (strstr(cell_of(row, "precision"), "MTP") == NULL) return true;
    err_set(row->text, "the model drafts tokens, how many are accepted is not known");
    return refuse(row, VALIDATE_RANKING_DRAFTS);
}

static bool read_names(const ValidateRankingNames *names, Row *row, ValidateRankingAsk *ask) {
    char gpu[64], precision[64];
    const char *gpus = pick(cell_of(row, "gpu"), row->flags, gpu, sizeof gpu);
    const char *named = cell_of(row, "precision");
    const char *format = pick(named, row->flags, precision, sizeof precision);
    if (is_unknown(named)) return not_known(row, "precision", named);
    ask->machine = validate_ranking_names_machine(names, gpus, (uint32_t)ask->gpus, row->text);
    if (ask->machine == NULL) return refuse(row, VALIDATE_RANKING_MACHINE);
    ask->model = validate_ranking_names_model(names, cell_of(row, "model"), format, row->text);
    return ask->model != NULL || refuse(row, VALIDATE_RANKING_MODEL);
}

// ---- Plans

static bool read_one(Row *row, ValidateRankingAsk *ask) {
    static const char *const names[] = {"tp", "pp", "dp", "ep"};
    uint64_t ways[4];
    for (uint32_t i = 0; i < 4; i++)
        if (!read_cell(row, names[i], &ways[i])) return false;
    uint64_t stage = ways[0] * ways[2], most = POOL_RANKS_MAX;
    if (stage > most || stage * ways[1] > ask->gpus || ask->gpus % (stage * ways[1]) != 0 ||
        stage % ways[3] != 0) {
        err_set(row->text, "tp, pp, dp and ep are not those of replicas on %u GPUs",
                (unsigned)ask->gpus);
        return refuse(row, VALIDATE_RANKING_PLAN);
    }
    ask->pools[0] = (PoolsWish){.tp = (uint32_t)ways[0],
                                .pp = (uint32_t)ways[1],
                                .dp = (uint32_t)ways[2],
                                .ep = (uint32_t)ways[3],
                                .instances = (uint32_t)(ask->gpus / (stage * ways[1]))};
    return true;
}

// "2x8GPU[tp1 dp8 ep8]", behind "P=" or "D=".
static bool read_pool(const char *flags, const char *name, PoolsWish *out) {
    const char *at = strstr(flags, name);
    unsigned instances, gpus, tp, dp, ep;
    int length = 0;
    if (at == NULL) return false;
    if (sscanf(at + strlen(name), "%4ux%4uGPU[tp%4u dp%4u ep%4u]%n", &instances, &gpus, &tp, &dp,
               &ep, &length) != 5 ||
        length == 0 || instances == 0 || tp == 0 || dp == 0 || ep == 0 || gpus != tp * dp ||
        gpus % ep != 0)
        return false;
    *out = (PoolsWish){.tp = tp, .pp = 1, .dp = dp, .ep = ep, .instances = instances};
    return true;
}

static uint64_t gpus_of(const PoolsWish *pool) {
    return (uint64_t)pool->tp * pool->dp * pool->instances;
}

static bool read_pools(Row *row, ValidateRankingAsk *ask) {
    char quote[TEXT_QUOTE_MAX];
    ask->is_split = true;
    if (read_pool(row->flags, " P=", &ask->pools[PHASE_PREFILL]) &&
        read_pool(row->flags, " D=", &ask->pools[PHASE_DECODE]) &&
        gpus_of(&ask->pools[0]) + gpus_of(&ask->pools[1]) == ask->gpus)
        return true;
    err_set(row->text, "the pools are not fully stated: %s", text_quote(row->flags, quote));
    return refuse(row, VALIDATE_RANKING_NOT_KNOWN);
}

static bool read_plan(Row *row, ValidateRankingAsk *ask) {
    return strstr(row->flags, " P=") != NULL ? read_pools(row, ask) : read_one(row, ask);
}

ValidateRankingReason validate_ranking_ask_read(const ValidateRankingNames *names,
                                                const RecordFile *file, uint32_t row,
                                                ValidateRankingAsk *out, Err *text) {
    ValidateRankingAsk ask = {0};
    Row at = {
        .file = file, .index = row, .flags = record_cell(file, row, "other_flags"), .text = text};
    if (read_workload(&at, &ask) && read_flags(&at) && read_cell(&at, "n_gpus", &ask.gpus) &&
        read_plan(&at, &ask) && read_names(names, &at, &ask))
        *out = ask;
    return at.reason;
}

static bool is_same_pool(const PoolsWish *a, const PoolsWish *b) {
    return a->tp == b->tp && a->pp == b->pp && a->dp == b->dp && a->ep == b->ep &&
           a->instances == b->instances;
}

bool validate_ranking_ask_is_same(const ValidateRankingAsk *a, const ValidateRankingAsk *b) {
    return a->machine == b->machine && a->model == b->model && a->isl == b->isl &&
           a->osl == b->osl && a->concurrency == b->concurrency && a->gpus == b->gpus &&
           a->is_split == b->is_split && is_same_pool(&a->pools[0], &b->pools[0]) &&
           is_same_pool(&a->pools[1], &b->pools[1]);
}

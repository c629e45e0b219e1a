// Plans as values: labels, digests, consistency, and the file that keeps one with the inputs it was
// made for.
//
// Invariant: a plan that was read or that passes plan_check has counts of at least 1, at most
// POOL_RANKS_MAX ranks in pools that share no GPU, and experts spread over exactly the ranks of a
// stage. A file reads back to an equal value and is written to the same bytes.
#include "model/plan/plan.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/base/json.h"
#include "model/base/jsonw.h"
#include "model/plan/plan_legal.h"
#include "model/plan/plan_result.h"

const char *const plan_pool_names[POOL_KIND_COUNT] = {
#define X(name, text) text,
    PLAN_POOL_LIST(X)
#undef X
};

const char *const plan_moe_comm_names[MOE_COMM_COUNT] = {
#define X(name, text) text,
    PLAN_MOE_COMM_LIST(X)
#undef X
};

const char *const plan_placement_names[PLACEMENT_COUNT] = {
#define X(name, text) text,
    PLAN_PLACEMENT_LIST(X)
#undef X
};

const char *const plan_expert_placement_names[EXPERT_PLACEMENT_COUNT] = {
#define X(name, text) text,
    PLAN_EXPERT_PLACEMENT_LIST(X)
#undef X
};

const char *const plan_overlap_names[OVERLAP_COUNT] = {
#define X(name, text) text,
    PLAN_OVERLAP_LIST(X)
#undef X
};

const char *const plan_stage_cut_names[STAGE_CUT_COUNT] = {
#define X(name, text) text,
    PLAN_STAGE_CUT_LIST(X)
#undef X
};

// The fields of a pool in the order of the file: those that count something, at least `least`, and
// those that choose.
#define POOL_NUMBERS(X)                                                                            \
    X(tp, 1)                                                                                       \
    X(pp, 1)                                                                                       \
    X(dp, 1)                                                                                       \
    X(ep, 1)                                                                                       \
    X(moe_tp, 1)                                                                                   \
    X(cp, 1)                                                                                       \
    X(replicas, 1)                                                                                 \
    X(first_gpu, 0)                                                                                \
    X(micro_batches, 1)                                                                            \
    X(redundant_experts, 0)
#define POOL_CHOICES(X)                                                                            \
    X(placement, Placement, plan_placement_names, PLACEMENT_COUNT)                                 \
    X(moe_comm, MoeComm, plan_moe_comm_names, MOE_COMM_COUNT)                                      \
    X(all_reduce, Algorithm, algorithm_names, ALGORITHM_COUNT)                                     \
    X(all_to_all, Algorithm, algorithm_names, ALGORITHM_COUNT)                                     \
    X(all_gather, Algorithm, algorithm_names, ALGORITHM_COUNT)                                     \
    X(reduce_scatter, Algorithm, algorithm_names, ALGORITHM_COUNT)                                 \
    X(kv_format, NumFmt, numfmt_names, NUMFMT_COUNT)                                               \
    X(activation_format, NumFmt, numfmt_names, NUMFMT_COUNT)                                       \
    X(dispatch_format, NumFmt, numfmt_names, NUMFMT_COUNT)

// Fields that a file need not have: zero, or the first of their names, when it does not, and then
// not written nor part of the digest.
#define POOL_EXTRA_CHOICES(X)                                                                      \
    X(expert_placement, ExpertPlacement, plan_expert_placement_names, EXPERT_PLACEMENT_COUNT)      \
    X(prefill_overlap, Overlap, plan_overlap_names, OVERLAP_COUNT)                                 \
    X(decode_overlap, Overlap, plan_overlap_names, OVERLAP_COUNT)                                  \
    X(stage_cut, StageCut, plan_stage_cut_names, STAGE_CUT_COUNT)
#define POOL_EXTRA_NUMBERS(X) X(moe_chunks) X(prefill_sms) X(decode_sms)

// The inputs of a plan in the order of the file.
#define FILE_INPUTS(X) X(model) X(topology) X(scenario) X(calibration) X(load)

// ---- Values.

uint32_t plan_gpus(const Plan *plan) {
    uint32_t gpus = 0;
    for (uint32_t i = 0; i < plan->pool_count; i++) gpus += pool_ranks(&plan->pools[i]);
    return gpus;
}

// Appends to a text of PLAN_TEXT_MAX bytes; what does not fit becomes "...".
static void append(char *buffer, const char *part) {
    size_t used = strlen(buffer), more = strlen(part);
    if (used + more < PLAN_TEXT_MAX - 4) {
        memcpy(buffer + used, part, more + 1);
    } else if (used < PLAN_TEXT_MAX - 4 && (used < 3 || strcmp(buffer + used - 3, "...") != 0)) {
        memcpy(buffer + used, "...", 4);
    }
}

static const char *overlap_mark(const Pool *pool) {
    static const char *const both[OVERLAP_COUNT] = {"", " serial", " tbo"};
    static const char *const prefill[OVERLAP_COUNT] = {"", " serial-prefill", " tbo-prefill"};
    static const char *const decode[OVERLAP_COUNT] = {"", " serial-decode", " tbo-decode"};
    if (pool->prefill_overlap == pool->decode_overlap) return both[pool->prefill_overlap];
    if (pool->decode_overlap == OVERLAP_SHARED) return prefill[pool->prefill_overlap];
    if (pool->prefill_overlap == OVERLAP_SHARED) return decode[pool->decode_overlap];
    return pool->decode_overlap == OVERLAP_NONE ? " tbo-prefill serial-decode"
                                                : " serial-prefill tbo-decode";
}

// Equal stages that follow each other as "2x16".
static void append_stages(char *buffer, const Pool *pool) {
    char part[PLAN_TEXT_MAX];
    if (pool->stage_cut == STAGE_CUT_EVEN) return;
    if (pool->stage_cut != STAGE_CUT_LISTED) {
        snprintf(part, sizeof part, " %s stages", plan_stage_cut_names[pool->stage_cut]);
        append(buffer, part);
        return;
    }
    for (uint32_t i = 0, run; i < pool->pp && i < POOL_STAGES_MAX; i += run) {
        for (run = 1; i + run < pool->pp && pool->stages[i + run] == pool->stages[i];) run++;
        const char *joint = i == 0 ? " stages " : "+";
        if (run == 1)
            snprintf(part, sizeof part, "%s%" PRIu32, joint, pool->stages[i]);
        else
            snprintf(part, sizeof part, "%s%" PRIu32 "x%" PRIu32, joint, run, pool->stages[i]);
        append(buffer, part);
    }
}

char *plan_label(const Plan *plan, char *buffer) {
    *buffer = '\0';
    for (uint32_t i = 0; i < plan->pool_count; i++) {
        const Pool *pool = &plan->pools[i];
        char part[PLAN_TEXT_MAX];
        snprintf(part, sizeof part,
                 "%sTP%" PRIu32 " PP%" PRIu32 " DP%" PRIu32 " EP%" PRIu32 " x%" PRIu32,
                 i > 0 ? " + " : "", pool->tp, pool->pp, pool->dp, pool->ep, pool->replicas);
        append(buffer, part);
        snprintf(part, sizeof part, " +%" PRIu32 "r", pool->redundant_experts);
        if (pool->expert_placement == EXPERT_PLACEMENT_EPLB)
            append(buffer, pool->redundant_experts > 0 ? part : " eplb");
        if (pool->moe_comm == MOE_COMM_GATHER) append(buffer, " gather");
        append(buffer, overlap_mark(pool));
        snprintf(part, sizeof part, " chunks %" PRIu32, pool->moe_chunks);
        if (pool->moe_chunks > 0) append(buffer, part);
        append_stages(buffer, pool);
    }
    return buffer;
}

char *plan_gpu_product(const Plan *plan, char *buffer) {
    snprintf(buffer, PLAN_TEXT_MAX, "%" PRIu32, plan_gpus(plan));
    for (uint32_t i = 0; i < plan->pool_count; i++) {
        const Pool *pool = &plan->pools[i];
        char part[PLAN_TEXT_MAX];
        snprintf(part, sizeof part,
                 "%s%" PRIu32 " tp x %" PRIu32 " dp x %" PRIu32 " pp x %" PRIu32 " replica%s",
                 i > 0 ? " + " : " = ", pool->tp, pool->dp, pool->pp, pool->replicas,
                 pool->replicas == 1 ? "" : "s");
        append(buffer, part);
    }
    return buffer;
}

static Digest mix_pool(Digest digest, const Pool *pool) {
    digest = hash_string(digest, plan_pool_names[pool->kind]);
#define X(field, least) digest = hash_u64(digest, pool->field);
    POOL_NUMBERS(X)
#undef X
#define X(field, type, names, count) digest = hash_string(digest, names[pool->field]);
    POOL_CHOICES(X)
#undef X
#define X(field, type, names, count)                                                               \
    if (pool->field != 0) digest = hash_string(hash_string(digest, #field), names[pool->field]);
    POOL_EXTRA_CHOICES(X)
#undef X
#define X(field)                                                                                   \
    if (pool->field != 0) digest = hash_u64(hash_string(digest, #field), pool->field);
    POOL_EXTRA_NUMBERS(X)
#undef X
    for (uint32_t i = 0; i < POOL_STAGES_MAX && pool->stages[i] > 0; i++)
        digest = hash_u64(digest, pool->stages[i]);
    return digest;
}

Digest plan_digest(const Plan *plan) {
    Digest digest = hash_u64(hash_string(HASH_START, "plan"), plan->pool_count);
    for (uint32_t i = 0; i < plan->pool_count; i++) digest = mix_pool(digest, &plan->pools[i]);
    digest = hash_u64(digest, plan->transfer_count);
    for (uint32_t i = 0; i < plan->transfer_count; i++) {
        digest = hash_u64(digest, plan->transfers[i].from_pool);
        digest = hash_u64(digest, plan->transfers[i].to_pool);
    }
    return digest;
}

// ---- Consistency.

static bool check_least(const char *field, uint32_t value, uint32_t least, Err *err) {
    return value >= least ||
           err_set(err, "%s is %" PRIu32 ", expected at least %" PRIu32, field, value, least);
}

// Products in 64 bits: each factor is below 2^20 when the next is multiplied.
static bool check_size(const Pool *pool, Err *err) {
    const uint32_t factors[] = {pool->tp, pool->dp, pool->pp, pool->replicas};
    uint64_t ranks = 1;
    for (uint32_t i = 0; i < 4; i++) {
        ranks *= factors[i];
        if (ranks <= POOL_RANKS_MAX) continue;
        return err_set(err, "tp x dp x pp x replicas is over %d ranks", POOL_RANKS_MAX);
    }
    if (ranks + pool->first_gpu > POOL_RANKS_MAX)
        return err_set(err, "first_gpu %" PRIu32 " and %" PRIu64 " ranks are over %d GPUs",
                       pool->first_gpu, ranks, POOL_RANKS_MAX);
    if ((uint64_t)pool->ep * pool->moe_tp != (uint64_t)pool->tp * pool->dp)
        return err_set(err,
                       "ep %" PRIu32 " x moe_tp %" PRIu32 " is %" PRIu64
                       " ranks, expected tp %" PRIu32 " x dp %" PRIu32 " = %" PRIu64,
                       pool->ep, pool->moe_tp, (uint64_t)pool->ep * pool->moe_tp, pool->tp,
                       pool->dp, (uint64_t)pool->tp * pool->dp);
    return pool->micro_batches <= POOL_RANKS_MAX ||
           err_set(err, "micro_batches %" PRIu32 " is over %d", pool->micro_batches,
                   POOL_RANKS_MAX);
}

// A plan does not say which ranks share a node: only what chooses looks that up.
static bool check_algorithm(const char *field, Collective kind, Algorithm algorithm, Err *err) {
    if (algorithm == ALGORITHM_HIERARCHICAL)
        return err_set(err,
                       "%s cannot be \"hierarchical\", expected \"auto\", which takes it "
                       "where it is fastest",
                       field);
    return algorithm == ALGORITHM_AUTO || collective_has(kind, algorithm) ||
           err_set(err, "%s cannot be \"%s\"", field, algorithm_names[algorithm]);
}

// What is laid beside the all-to-all, and what takes SMs, is nothing without one.
static bool check_overlap(const Pool *pool, Err *err) {
    bool sends = pool->moe_comm == MOE_COMM_ALL_TO_ALL && pool->ep > 1;
    bool halves =
        pool->prefill_overlap == OVERLAP_TWO_BATCH || pool->decode_overlap == OVERLAP_TWO_BATCH;
    if (pool->moe_chunks == 1 || pool->moe_chunks > POOL_CHUNKS_MAX)
        return err_set(err, "moe_chunks is %" PRIu32 ", expected 0 or 2 to %d", pool->moe_chunks,
                       POOL_CHUNKS_MAX);
    if (halves && pool->moe_chunks > 0)
        return err_set(err, "moe_chunks is %" PRIu32 " with overlap \"two-batch\", expected 0",
                       pool->moe_chunks);
    const uint32_t extras[] = {pool->prefill_overlap, pool->decode_overlap, pool->moe_chunks,
                               pool->prefill_sms, pool->decode_sms};
    static const char *const names[] = {"prefill_overlap", "decode_overlap", "moe_chunks",
                                        "prefill_sms", "decode_sms"};
    for (uint32_t i = 0; !sends && i < sizeof extras / sizeof *extras; i++) {
        if (extras[i] == 0) continue;
        return err_set(err,
                       "%s with moe_comm \"%s\" and ep %" PRIu32
                       ", expected \"all-to-all\" and an ep above 1",
                       names[i], plan_moe_comm_names[pool->moe_comm], pool->ep);
    }
    return true;
}

// Experts in order leave no slot for a replica; a group of one has no choice where they lie.
static bool check_placement(const Pool *pool, Err *err) {
    bool is_placed = pool->expert_placement == EXPERT_PLACEMENT_EPLB;
    if (pool->redundant_experts > 0 && !is_placed)
        return err_set(err,
                       "redundant_experts is %" PRIu32
                       " with expert_placement \"linear\", expected \"eplb\"",
                       pool->redundant_experts);
    return !is_placed || pool->ep > 1 ||
           err_set(err, "expert_placement \"eplb\" with ep 1, expected an ep above 1");
}

static bool check_stages(const Pool *pool, Err *err) {
    bool is_listed = pool->stage_cut == STAGE_CUT_LISTED;
    uint32_t listed = 0;
    while (listed < POOL_STAGES_MAX && pool->stages[listed] > 0) listed++;
    if (!is_listed && listed > 0)
        return err_set(err, "stages with stage_cut \"%s\", expected \"listed\"",
                       plan_stage_cut_names[pool->stage_cut]);
    return !is_listed || listed == pool->pp ||
           err_set(err, "%" PRIu32 " stages have layers, expected pp %" PRIu32 " (at most %d)",
                   listed, pool->pp, POOL_STAGES_MAX);
}

static bool check_pool(const Pool *pool, Err *err) {
#define X(field, least)                                                                            \
    if (!check_least(#field, pool->field, least, err)) return false;
    POOL_NUMBERS(X)
#undef X
    if (pool->cp != 1)
        return err_set(err, "cp is %" PRIu32 ", expected 1: context parallelism is not planned yet",
                       pool->cp);
    return check_size(pool, err) && check_placement(pool, err) && check_overlap(pool, err) &&
           check_stages(pool, err) &&
           check_algorithm("all_reduce", COLLECTIVE_ALL_REDUCE, pool->all_reduce, err) &&
           check_algorithm("all_to_all", COLLECTIVE_ALL_TO_ALL, pool->all_to_all, err) &&
           check_algorithm("all_gather", COLLECTIVE_ALL_GATHER, pool->all_gather, err) &&
           check_algorithm("reduce_scatter", COLLECTIVE_REDUCE_SCATTER, pool->reduce_scatter, err);
}

static bool check_apart(const Plan *plan, uint32_t a, uint32_t b, Err *err) {
    const Pool *left = &plan->pools[a], *right = &plan->pools[b];
    uint32_t left_end = left->first_gpu + pool_ranks(left);
    uint32_t right_end = right->first_gpu + pool_ranks(right);
    return left_end <= right->first_gpu || right_end <= left->first_gpu ||
           err_set(err,
                   "pools[%" PRIu32 "] on GPUs %" PRIu32 "-%" PRIu32 " and pools[%" PRIu32
                   "] on GPUs %" PRIu32 "-%" PRIu32 " overlap",
                   a, left->first_gpu, left_end - 1, b, right->first_gpu, right_end - 1);
}

static bool check_transfer(const Plan *plan, uint32_t index, Err *err) {
    KvTransfer transfer = plan->transfers[index];
    if (transfer.from_pool < plan->pool_count && transfer.to_pool < plan->pool_count &&
        transfer.from_pool != transfer.to_pool)
        return true;
    return err_set(err,
                   "transfers[%" PRIu32 "] goes from pool %" PRIu32 " to pool %" PRIu32
                   ", expected two of %" PRIu32 " pools",
                   index, transfer.from_pool, transfer.to_pool, plan->pool_count);
}

bool plan_check(const Plan *plan, Err *err) {
    if (plan->pool_count == 0 || plan->pool_count > PLAN_POOLS_MAX)
        return err_set(err, "%" PRIu32 " pools, expected 1 to %d", plan->pool_count,
                       PLAN_POOLS_MAX);
    for (uint32_t i = 0; i < plan->pool_count; i++) {
        if (!check_pool(&plan->pools[i], err)) return err_prefix(err, "pools[%" PRIu32 "]", i);
        for (uint32_t k = 0; k < i; k++)
            if (!check_apart(plan, k, i, err)) return false;
    }
    if (plan->transfer_count > PLAN_POOLS_MAX)
        return err_set(err, "%" PRIu32 " transfers, expected at most %d", plan->transfer_count,
                       PLAN_POOLS_MAX);
    for (uint32_t i = 0; i < plan->transfer_count; i++)
        if (!check_transfer(plan, i, err)) return false;
    return true;
}

bool plan_legal(const Plan *plan, const Arch *arch, Err *reason) {
    return plan_legal_fault(plan, arch, reason).rule == PLAN_RULE_KEPT;
}

// ---- Files.

static void write_input(JsonWriter *writer, const char *key, const char *name, Digest digest) {
    if (name == NULL || *name == '\0') return;
    jsonw_inline_next(writer);
    jsonw_open_object(writer, key);
    jsonw_string(writer, "file", name);
    jsonw_digest(writer, "digest", digest);
    jsonw_close_object(writer);
}

static void write_pool(JsonWriter *writer, const Pool *pool) {
    jsonw_open_object(writer, NULL);
    jsonw_string(writer, "kind", plan_pool_names[pool->kind]);
#define X(field, least) jsonw_u64(writer, #field, pool->field);
    POOL_NUMBERS(X)
#undef X
#define X(field, type, names, count) jsonw_string(writer, #field, names[pool->field]);
    POOL_CHOICES(X)
#undef X
#define X(field, type, names, count)                                                               \
    if (pool->field != 0) jsonw_string(writer, #field, names[pool->field]);
    POOL_EXTRA_CHOICES(X)
#undef X
#define X(field)                                                                                   \
    if (pool->field != 0) jsonw_u64(writer, #field, pool->field);
    POOL_EXTRA_NUMBERS(X)
#undef X
    if (pool->stage_cut == STAGE_CUT_LISTED) {
        jsonw_inline_next(writer);
        jsonw_open_array(writer, "stages");
        for (uint32_t i = 0; i < pool->pp; i++) jsonw_u64(writer, NULL, pool->stages[i]);
        jsonw_close_array(writer);
    }
    jsonw_close_object(writer);
}

static void write_result(JsonWriter *writer, const char *result) {
    if (result == NULL || *result == '\0') return;
    Json json = {0};
    Err err = {0};
    bool done = json_parse("result", result, strlen(result), &json, &err) &&
                plan_result_copy(json_root(&json), writer, "result", &err);
    assert(done && "a result is JSON that this program wrote");
    (void)done;
    json_free(&json);
}

void plan_write(const PlanFile *file, Text *out) {
    const Plan *plan = &file->plan;
    JsonWriter writer = {.text = out};
    jsonw_open_object(&writer, NULL);
    jsonw_string(&writer, "moesim", "plan");
    jsonw_u64(&writer, "version", PLAN_VERSION);
#define X(input) write_input(&writer, #input, file->input, file->input##_digest);
    FILE_INPUTS(X)
#undef X
    jsonw_open_array(&writer, "pools");
    for (uint32_t i = 0; i < plan->pool_count; i++) write_pool(&writer, &plan->pools[i]);
    jsonw_close_array(&writer);
    jsonw_open_array(&writer, "transfers");
    for (uint32_t i = 0; i < plan->transfer_count; i++) {
        jsonw_inline_next(&writer);
        jsonw_open_object(&writer, NULL);
        jsonw_u64(&writer, "from", plan->transfers[i].from_pool);
        jsonw_u64(&writer, "to", plan->transfers[i].to_pool);
        jsonw_close_object(&writer);
    }
    jsonw_close_array(&writer);
    write_result(&writer, file->result);
    jsonw_close_object(&writer);
    jsonw_finish(&writer);
}

static bool read_digest(JsonNode object, Digest *out, Err *err) {
    const char *text;
    char quoted[TEXT_QUOTE_MAX];
    if (!json_string(object, "digest", &text, err)) return false;
    Digest digest = 0;
    size_t count = strlen(text);
    bool good = count == 16 && strspn(text, "0123456789abcdef") == count;
    if (!good)
        return json_error(json_find(object, "digest"), err,
                          "expected 16 lower-case hexadecimal digits, found %s",
                          text_quote(text, quoted));
    for (size_t i = 0; i < count; i++) {
        uint64_t digit =
            text[i] <= '9' ? (uint64_t)(text[i] - '0') : (uint64_t)(text[i] - 'a') + 10;
        digest = digest << 4 | digit;
    }
    *out = digest;
    return true;
}

static bool read_input(JsonNode root, const char *key, PlanFile *file, const char **out_name,
                       Digest *out_digest, Err *err) {
    JsonNode node;
    const char *name;
    *out_name = "";
    if (!json_has(root, key)) return true;
    if (!json_object(root, key, &node, err) || !json_string(node, "file", &name, err) ||
        !read_digest(node, out_digest, err) || !json_finish(node, err))
        return false;
    if (*name == '\0')
        return json_error(json_find(node, "file"), err, "expected a name, found \"\"");
    *out_name = arena_string(&file->arena, name);
    return true;
}

// A list says by itself that the stages are listed.
static bool read_stages(JsonNode node, Pool *pool, Err *err) {
    JsonNode list;
    if (!json_has(node, "stages")) return true;
    if (!json_array(node, "stages", &list, err)) return false;
    if (json_count(list) == 0 || json_count(list) > POOL_STAGES_MAX)
        return json_error(list, err, "%" PRIu32 " stages, expected 1 to %d", json_count(list),
                          POOL_STAGES_MAX);
    for (uint32_t i = 0; i < json_count(list); i++) {
        uint64_t layers;
        if (!json_as_u64(json_at(list, i), &layers, err)) return false;
        if (layers == 0 || layers > UINT32_MAX / POOL_STAGES_MAX)
            return json_error(json_at(list, i), err, "expected at least one layer, found %" PRIu64,
                              layers);
        pool->stages[i] = (uint32_t)layers;
    }
    if (!json_has(node, "stage_cut")) pool->stage_cut = STAGE_CUT_LISTED;
    return true;
}

static bool read_extra(JsonNode node, Pool *pool, Err *err) {
    uint32_t choice;
#define X(field, type, names, count)                                                               \
    if (json_has(node, #field)) {                                                                  \
        if (!json_enum(node, #field, names, count, &choice, err)) return false;                    \
        pool->field = (type)choice;                                                                \
    }
    POOL_EXTRA_CHOICES(X)
#undef X
#define X(field)                                                                                   \
    if (json_has(node, #field) && !json_u32(node, #field, &pool->field, err)) return false;
    POOL_EXTRA_NUMBERS(X)
#undef X
    return read_stages(node, pool, err);
}

static bool read_pool(JsonNode node, Pool *out, Err *err) {
    Pool pool = {0};
    uint32_t choice;
    if (json_kind(node) != JSON_OBJECT) return json_error(node, err, "expected an object");
    if (!json_enum(node, "kind", plan_pool_names, POOL_KIND_COUNT, &choice, err)) return false;
    pool.kind = (PoolKind)choice;
#define X(field, least)                                                                            \
    if (!json_u32(node, #field, &pool.field, err)) return false;
    POOL_NUMBERS(X)
#undef X
#define X(field, type, names, count)                                                               \
    if (!json_enum(node, #field, names, count, &choice, err)) return false;                        \
    pool.field = (type)choice;
    POOL_CHOICES(X)
#undef X
    if (!read_extra(node, &pool, err)) return false;
    Err wrong = {0};
    if (!check_pool(&pool, &wrong)) return json_error(node, err, "%s", wrong.text);
    *out = pool;
    return json_finish(node, err);
}

static bool read_transfer(JsonNode node, KvTransfer *out, Err *err) {
    if (json_kind(node) != JSON_OBJECT) return json_error(node, err, "expected an object");
    return json_u32(node, "from", &out->from_pool, err) &&
           json_u32(node, "to", &out->to_pool, err) && json_finish(node, err);
}

// The array `key` of at most PLAN_POOLS_MAX elements.
static bool read_list(JsonNode root, const char *key, JsonNode *out, uint32_t *out_count,
                      Err *err) {
    if (!json_array(root, key, out, err)) return false;
    *out_count = json_count(*out);
    return *out_count <= PLAN_POOLS_MAX ||
           json_error(*out, err, "%" PRIu32 " %s, expected at most %d", *out_count, key,
                      PLAN_POOLS_MAX);
}

static bool read_plan(JsonNode root, Plan *plan, Err *err) {
    JsonNode list;
    if (!read_list(root, "pools", &list, &plan->pool_count, err)) return false;
    for (uint32_t i = 0; i < plan->pool_count; i++)
        if (!read_pool(json_at(list, i), &plan->pools[i], err)) return false;
    JsonNode pools = list;
    if (!read_list(root, "transfers", &list, &plan->transfer_count, err)) return false;
    for (uint32_t i = 0; i < plan->transfer_count; i++)
        if (!read_transfer(json_at(list, i), &plan->transfers[i], err)) return false;
    Err wrong = {0};
    return plan_check(plan, &wrong) || json_error(pools, err, "%s", wrong.text);
}

static bool read_result(JsonNode root, PlanFile *file, Err *err) {
    file->result = "";
    if (!json_has(root, "result")) return true;
    Text text = {0};
    JsonWriter writer = {.text = &text};
    bool done = plan_result_copy(json_find(root, "result"), &writer, NULL, err);
    if (done) file->result = arena_string(&file->arena, text_string(&text));
    text_free(&text);
    return done;
}

static bool read_file(JsonNode root, PlanFile *file, Err *err) {
    if (!json_header(root, "plan", PLAN_VERSION, err)) return false;
#define X(input)                                                                                   \
    if (!read_input(root, #input, file, &file->input, &file->input##_digest, err)) return false;
    FILE_INPUTS(X)
#undef X
    return read_plan(root, &file->plan, err) && read_result(root, file, err) &&
           json_finish(root, err);
}

static bool finish_read(Json *json, PlanFile *out, Err *err) {
    PlanFile file = {0};
    bool done = read_file(json_root(json), &file, err);
    json_free(json);
    if (done)
        *out = file;
    else
        plan_file_free(&file);
    return done;
}

bool plan_read(const char *path, PlanFile *out, Err *err) {
    Json json = {0};
    return json_read(path, &json, err) && finish_read(&json, out, err);
}

bool plan_parse(const char *name, const char *bytes, size_t count, PlanFile *out, Err *err) {
    Json json = {0};
    return json_parse(name, bytes, count, &json, err) && finish_read(&json, out, err);
}

void plan_file_free(PlanFile *file) {
    arena_free(&file->arena);
    *file = (PlanFile){0};
}

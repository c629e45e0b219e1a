// From what the lines say to a plan: lines of one server are put together and compared, servers
// become pools.
//
// Invariant: the plan passes plan_check, and starting it again (launch.h) gives the same lines as
// far as they decide something.
#include <inttypes.h>
#include <string.h>

#include "model/base/text.h"
#include "model/moe/name_map.h"
#include "model/plan/launch.h"
#include "model/plan/launch_parse.h"

// Lines that start one server: first, then by rank.
typedef struct Server {
    const LaunchNode **nodes; // heap, by rank
    uint32_t count;
    Pool pool;
    uint32_t replicas; // that this server is (SGLang's --dp-size without attention-DP)
} Server;

typedef struct Import {
    const char *name;
    const LaunchNodes *nodes;
    const Arch *arch;
    const uint32_t *next; // [nodes->count] the next node with the same head; count: none
    Server *servers;      // heap, in the order of their first lines
    uint32_t server_count, server_capacity;
    Err *err;
} Import;

#define FAIL(import, node, ...) fail_at((import), (node)->line, __VA_ARGS__)

static bool fail_at(const Import *im, uint32_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool fail_at(const Import *im, uint32_t line, const char *format, ...) {
    va_list args;
    Arena arena = {0};
    va_start(args, format);
    const char *text = arena_vprintf(&arena, format, args);
    va_end(args);
    err_set(im->err, "%s:%" PRIu32 ": %s", im->name, line, text);
    arena_free(&arena);
    return false;
}

static bool count_of(const Import *im, const LaunchNode *node, LaunchMeaning means, uint32_t *out) {
    return launch_parse_count(im->name, im->nodes, node, means, out, im->err);
}

static const char *text_of(const Import *im, const LaunchNode *node, LaunchMeaning means) {
    return launch_parse_value(im->nodes, node, means);
}

static bool is_vllm(const Import *im) {
    return im->nodes->flags->engine == LAUNCH_VLLM;
}

// What a value of a flag says, NULL (and an error) when it has no meaning in plans.
static const char *choice_of(const Import *im, const LaunchNode *node, LaunchMeaning means) {
    const char *text = text_of(im, node, means);
    char quoted[TEXT_QUOTE_MAX];
    const LaunchFlag *flag = node->flags[means];
    if (flag == NULL)
        for (uint32_t i = 0; i < im->nodes->flags->flag_count && flag == NULL; i++)
            if (im->nodes->flags->flags[i].means == means) flag = &im->nodes->flags->flags[i];
    const char *is = text == NULL || flag == NULL ? NULL : launch_flags_is(flag, text);
    if (is == NULL)
        FAIL(im, node, "%s: %s is nothing that plans have", flag == NULL ? "?" : flag->name,
             text_quote(text == NULL ? "" : text, quoted));
    return is;
}

static uint32_t index_of(const char *text, const char *const *names, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(text, names[i]) == 0) return i;
    return count;
}

// ---- Servers

static bool same_text(const char *a, const char *b) {
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

// How many lines the server of a node has, and which one this is.
static bool rank_of(const Import *im, const LaunchNode *node, uint32_t *out_count,
                    uint32_t *out_rank) {
    uint32_t nodes, rank, dp, local, start, tp, pp;
    if (!count_of(im, node, LAUNCH_NODES, &nodes) || !count_of(im, node, LAUNCH_NODE_RANK, &rank) ||
        !count_of(im, node, LAUNCH_DP, &dp) || !count_of(im, node, LAUNCH_DP_LOCAL, &local) ||
        !count_of(im, node, LAUNCH_DP_START, &start) || !count_of(im, node, LAUNCH_TP, &tp) ||
        !count_of(im, node, LAUNCH_PP, &pp))
        return false;
    *out_count = nodes;
    *out_rank = rank;
    if (nodes > 1 && is_vllm(im) && dp > 1)
        return FAIL(im, node, "--nnodes with --data-parallel-size, expected one of them");
    if (nodes == 1 && node->values[LAUNCH_DP_LOCAL] != NULL && local < dp) {
        if (local == 0 || dp % local != 0 || start % local != 0)
            return FAIL(im, node,
                        "%" PRIu32 " of %" PRIu32 " data-parallel ranks from %" PRIu32
                        " on, expected the same number on every node",
                        local, dp, start);
        *out_count = dp / local;
        *out_rank = start / local;
    }
    if (*out_count == 0 || *out_count > POOL_RANKS_MAX || *out_rank >= *out_count)
        return FAIL(im, node, "node %" PRIu32 " of %" PRIu32, *out_rank, *out_count);
    return true;
}

// What nodes of one server have alike: their head. Parts stand behind their lengths.
static const char *head_of(const Import *im, const LaunchNode *node, Arena *arena) {
    static const LaunchMeaning keys[] = {LAUNCH_HEAD, LAUNCH_HEAD_PORT, LAUNCH_DP_ADDRESS,
                                         LAUNCH_DP_PORT};
    Text text = {0};
    for (uint32_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *part = text_of(im, node, keys[i]);
        if (part == NULL)
            text_add_char(&text, '-');
        else
            text_addf(&text, "%zu:%s", strlen(part), part);
    }
    const char *head = arena_string(arena, text_string(&text));
    text_free(&text);
    return head;
}

static void link_heads(Import *im, Arena *arena) {
    uint32_t count = im->nodes->count;
    const char **heads = arena_alloc(arena, count, sizeof *heads);
    uint32_t *next = arena_alloc(arena, count, sizeof *next);
    NameMap map;
    for (uint32_t i = 0; i < count; i++) heads[i] = head_of(im, &im->nodes->nodes[i], arena);
    name_map_build(heads, count, arena, &map);
    for (uint32_t i = 0; i < count; i++) next[i] = count;
    for (uint32_t i = 1; i < map.count; i++) {
        const NameEntry *entry = &map.entries[i], *before = entry - 1;
        if (strcmp(before->name, entry->name) == 0) next[before->item] = entry->item;
    }
    im->next = next;
}

// Engines hang or fail where nodes of one server have different flags (vllm-project/vllm#44718).
static bool compare_nodes(const Import *im, const LaunchNode *a, const LaunchNode *b) {
    for (uint32_t m = 0; m < LAUNCH_MEANING_COUNT; m++) {
        if (launch_flags_scopes[m] != LAUNCH_SCOPE_ALL) continue;
        const char *left = text_of(im, a, (LaunchMeaning)m),
                   *right = text_of(im, b, (LaunchMeaning)m);
        if (same_text(left, right)) continue;
        const LaunchFlag *flag = a->flags[m] != NULL ? a->flags[m] : b->flags[m];
        return FAIL(im, b, "%s is %s here and %s in line %" PRIu32 " of the same server",
                    flag->name, right == NULL ? "not given" : right,
                    left == NULL ? "not given" : left, a->line);
    }
    return true;
}

static bool add_node(Import *im, Server *server, const LaunchNode *node, uint32_t rank) {
    if (server->nodes[rank] != NULL)
        return FAIL(im, node, "node %" PRIu32 " of the server stands in line %" PRIu32 " too", rank,
                    server->nodes[rank]->line);
    server->nodes[rank] = node;
    return true;
}

// All lines from `first` on that belong to its server. `used` marks them.
static bool collect(Import *im, uint32_t first, bool *used) {
    const LaunchNodes *all = im->nodes;
    const LaunchNode *head = &all->nodes[first];
    uint32_t count, rank;
    if (!rank_of(im, head, &count, &rank)) return false;
    if (count > all->count - first)
        return FAIL(im, head, "the server has %" PRIu32 " nodes, expected a line for each", count);
    im->servers =
        mem_grow(im->servers, &im->server_capacity, im->server_count + 1, sizeof *im->servers);
    Server *server = &im->servers[im->server_count++];
    *server = (Server){.count = count, .nodes = mem_alloc(count, sizeof *server->nodes)};
    for (uint32_t i = 0; i < count; i++) server->nodes[i] = NULL;
    uint32_t found = 0;
    for (uint32_t i = first; i < all->count && found < count; i = im->next[i]) {
        const LaunchNode *node = &all->nodes[i];
        uint32_t its_count;
        if (!rank_of(im, node, &its_count, &rank)) return false;
        if (its_count != count)
            return FAIL(im, node,
                        "%" PRIu32 " nodes here and %" PRIu32 " in line %" PRIu32
                        " of the same server",
                        its_count, count, head->line);
        if (!compare_nodes(im, head, node) || !add_node(im, server, node, rank)) return false;
        used[i] = true;
        found++;
    }
    for (uint32_t i = 0; i < count; i++)
        if (server->nodes[i] == NULL)
            return FAIL(im, head, "node %" PRIu32 " of %" PRIu32 " has no line", i, count);
    return true;
}

// ---- One server as a pool

// A flag with 1 says what no flag does.
static bool read_context(const Import *im, const LaunchNode *node, Pool *pool) {
    if (!count_of(im, node, LAUNCH_PCP, &pool->cp) || !count_of(im, node, LAUNCH_DCP, &pool->dcp))
        return false;
    if (pool->dcp == 1) pool->dcp = 0;
    if (pool->cp > 1 && !is_vllm(im) && !launch_parse_switch(node, LAUNCH_PREFILL_CP))
        return FAIL(im, node, "%s %" PRIu32 " without --enable-prefill-cp",
                    node->flags[LAUNCH_PCP]->name, pool->cp);
    return true;
}

static bool read_widths(const Import *im, const LaunchNode *node, Server *server) {
    Pool *pool = &server->pool;
    uint32_t tp, dp, cp;
    bool inside = launch_parse_switch(node, LAUNCH_DP_ATTENTION);
    if (!count_of(im, node, LAUNCH_TP, &tp) || !count_of(im, node, LAUNCH_PP, &pool->pp) ||
        !count_of(im, node, LAUNCH_DP, &dp) || !read_context(im, node, pool))
        return false;
    cp = pool->cp;
    if (tp == 0 || dp == 0 || cp == 0 || pool->pp == 0)
        return FAIL(im, node, "a width of 0, expected at least 1");
    if ((uint64_t)tp * dp > POOL_RANKS_MAX || (uint64_t)tp * dp * cp > POOL_RANKS_MAX ||
        (uint64_t)tp * dp * cp * pool->pp > POOL_RANKS_MAX)
        return FAIL(im, node, "more than %d ranks", POOL_RANKS_MAX);
    server->replicas = 1;
    pool->tp = tp;
    pool->dp = dp;
    if (is_vllm(im)) return true;
    if (!inside) {
        if (dp > 1 && server->count > 1)
            return FAIL(im, node,
                        "--dp-size %" PRIu32 " without --enable-dp-attention on %" PRIu32
                        " nodes: replicas lie inside a node",
                        dp, server->count);
        server->replicas = dp;
        pool->dp = dp = 1;
    }
    if (tp % dp != 0)
        return FAIL(im, node, "--dp-size %" PRIu32 " does not divide --tp-size %" PRIu32, dp, tp);
    if (tp / dp % cp != 0)
        return FAIL(im, node,
                    "--attn-cp-size %" PRIu32 " does not divide the %" PRIu32
                    " ranks of a data-parallel one",
                    cp, tp / dp);
    pool->tp = tp / dp / cp;
    return true;
}

static bool read_experts_vllm(const Import *im, const LaunchNode *node, Pool *pool) {
    bool parallel = launch_parse_switch(node, LAUNCH_EXPERT_PARALLEL);
    const char *is;
    uint32_t groups = pool_token_groups(pool);
    pool->ep = parallel ? pool_stage_ranks(pool) : 1;
    pool->moe_comm = groups > 1 ? MOE_COMM_GATHER : MOE_COMM_NONE;
    if (!parallel || groups == 1 || node->values[LAUNCH_MOE_COMM] == NULL) return true;
    is = choice_of(im, node, LAUNCH_MOE_COMM);
    if (is == NULL) return false;
    pool->moe_comm = (MoeComm)index_of(is, plan_moe_comm_names, MOE_COMM_COUNT);
    return true;
}

static bool read_experts_sglang(const Import *im, const LaunchNode *node, Pool *pool) {
    uint32_t ranks = pool_stage_ranks(pool), groups = pool_token_groups(pool);
    const char *is = choice_of(im, node, LAUNCH_MOE_COMM);
    if (is == NULL || !count_of(im, node, LAUNCH_EP, &pool->ep)) return false;
    if (pool->ep == 0 || ranks % pool->ep != 0)
        return FAIL(im, node, "--ep-size %" PRIu32 " does not divide --tp-size %" PRIu32, pool->ep,
                    ranks);
    pool->moe_comm = groups > 1 ? MOE_COMM_GATHER : MOE_COMM_NONE;
    if (strcmp(is, plan_moe_comm_names[MOE_COMM_ALL_TO_ALL]) != 0) return true;
    if (groups == 1)
        return FAIL(im, node,
                    "an all-to-all without --enable-dp-attention: plans send tokens "
                    "between ranks of attention-DP alone");
    pool->moe_comm = MOE_COMM_ALL_TO_ALL;
    pool->ep = ranks; // the engine sets it so
    return true;
}

// What a plan cannot say, given or by default.
static bool check_others(const Import *im, const LaunchNode *node) {
    static const LaunchMeaning choices[] = {LAUNCH_EXPERT_ORDER, LAUNCH_PREFILL_CP_ORDER};
    uint32_t ways;
    if (node->values[LAUNCH_MOE_DP] != NULL) {
        if (!count_of(im, node, LAUNCH_MOE_DP, &ways)) return false;
        if (ways != 1)
            return FAIL(im, node, "%s %" PRIu32 ": no plan has that, expected 1",
                        node->flags[LAUNCH_MOE_DP]->name, ways);
    }
    for (uint32_t i = 0; i < sizeof choices / sizeof *choices; i++)
        if (node->values[choices[i]] != NULL && choice_of(im, node, choices[i]) == NULL)
            return false;
    return true;
}

static bool read_experts(const Import *im, const LaunchNode *node, Pool *pool) {
    if (!check_others(im, node) ||
        !(is_vllm(im) ? read_experts_vllm(im, node, pool) : read_experts_sglang(im, node, pool)))
        return false;
    pool->moe_tp = pool_stage_ranks(pool) / pool->ep;
    if (!count_of(im, node, LAUNCH_REDUNDANT, &pool->redundant_experts)) return false;
    if (launch_parse_switch(node, LAUNCH_EPLB)) pool->expert_placement = EXPERT_PLACEMENT_EPLB;
    return true;
}

// A threshold that is never reached keeps a phase in one batch.
static bool reaches(const Import *im, const LaunchNode *node, LaunchMeaning means, bool *out) {
    uint32_t tokens;
    if (!count_of(im, node, means, &tokens)) return false;
    *out = tokens < LAUNCH_NEVER;
    return true;
}

static bool read_overlap(const Import *im, const LaunchNode *node, Pool *pool) {
    bool prefill = true, decode = true;
    Overlap overlap = OVERLAP_SHARED;
    if (node->values[LAUNCH_NO_SHARED_OVERLAP] != NULL) {
        const char *is = choice_of(im, node, LAUNCH_NO_SHARED_OVERLAP);
        if (is == NULL) return false;
        if (strcmp(is, "yes") == 0) overlap = OVERLAP_NONE;
    }
    if (launch_parse_switch(node, LAUNCH_TWO_BATCH)) {
        if (overlap == OVERLAP_NONE)
            return FAIL(im, node,
                        "two batches without the overlap of shared experts: no plan has "
                        "both");
        if (!reaches(im, node, LAUNCH_PREFILL_THRESHOLD, &prefill) ||
            !reaches(im, node, LAUNCH_DECODE_THRESHOLD, &decode))
            return false;
        overlap = OVERLAP_TWO_BATCH;
    }
    if (prefill && pool->kind != POOL_DECODE) pool->prefill_overlap = overlap;
    if (decode && pool->kind != POOL_PREFILL) pool->decode_overlap = overlap;
    return true;
}

static bool read_sms(const Import *im, const LaunchNode *node, Pool *pool) {
    bool sends = pool->moe_comm == MOE_COMM_ALL_TO_ALL && pool->ep > 1;
    if (!sends || pool->kind == POOL_DECODE) return true;
    pool->prefill_sms = im->nodes->flags->all_to_all_sms;
    return node->values[LAUNCH_SMS] == NULL || pool->prefill_overlap != OVERLAP_TWO_BATCH ||
           count_of(im, node, LAUNCH_SMS, &pool->prefill_sms);
}

static bool read_format(const Import *im, const LaunchNode *node, LaunchMeaning means, NumFmt other,
                        NumFmt *out) {
    const char *is = choice_of(im, node, means);
    if (is == NULL) return false;
    uint32_t format = index_of(is, numfmt_names, NUMFMT_COUNT);
    *out = format == NUMFMT_COUNT ? other : (NumFmt)format;
    return true;
}

static bool read_formats(const Import *im, const LaunchNode *node, Pool *pool) {
    NumFmt stored = im->arch == NULL ? NUMFMT_BF16 : im->arch->dtype;
    if (!read_format(im, node, LAUNCH_ACTIVATION_FORMAT, stored, &pool->activation_format) ||
        !read_format(im, node, LAUNCH_KV_FORMAT,
                     launch_kv_format(im->arch, pool->activation_format), &pool->kv_format))
        return false;
    pool->dispatch_format = launch_dispatch_format(im->arch, pool->activation_format);
    if (node->values[LAUNCH_PLAIN_DISPATCH] == NULL) return true;
    const char *is = choice_of(im, node, LAUNCH_PLAIN_DISPATCH);
    if (is != NULL && strcmp(is, "yes") == 0) pool->dispatch_format = pool->activation_format;
    return is != NULL;
}

static bool read_kind(const Import *im, const LaunchNode *node, Pool *pool) {
    const char *role = text_of(im, node, LAUNCH_ROLE);
    if (role == NULL) return true;
    uint32_t kind = index_of(role, plan_pool_names, POOL_KIND_COUNT);
    if (kind == POOL_KIND_COUNT) {
        const char *is = choice_of(im, node, LAUNCH_ROLE);
        if (is == NULL) return false;
        kind = index_of(is, plan_pool_names, POOL_KIND_COUNT);
    }
    pool->kind = (PoolKind)kind;
    return true;
}

// Variables that hide GPUs must leave as many as the line uses.
static bool check_visible(const Import *im, const LaunchNode *node, const Server *server) {
    const char *list = node->values[LAUNCH_GPUS];
    uint32_t uses = pool_replica_ranks(&server->pool) * server->replicas / server->count, sees = 1;
    const LaunchSpot *spot = &node->spot;
    if (spot->given && spot->last_gpu - spot->first_gpu + 1 != uses)
        return FAIL(im, node, "GPUs %" PRIu32 "-%" PRIu32 " of a node for %" PRIu32 " ranks",
                    spot->first_gpu, spot->last_gpu, uses);
    if (list == NULL || *list == '$') return true;
    for (const char *at = list; *at != '\0'; at++) sees += *at == ',';
    return sees == uses || FAIL(im, node, "%s shows %" PRIu32 " GPUs, the line uses %" PRIu32,
                                node->flags[LAUNCH_GPUS]->name, sees, uses);
}

static bool read_server(const Import *im, Server *server) {
    const LaunchNode *node = server->nodes[0];
    Pool *pool = &server->pool;
    uint32_t more;
    *pool = (Pool){.cp = 1,
                   .replicas = 1,
                   .all_reduce = ALGORITHM_AUTO,
                   .all_to_all = ALGORITHM_AUTO,
                   .all_gather = ALGORITHM_AUTO,
                   .reduce_scatter = ALGORITHM_AUTO};
    if (!read_kind(im, node, pool) || !read_widths(im, node, server) ||
        !read_experts(im, node, pool) || !read_overlap(im, node, pool) ||
        !read_sms(im, node, pool) || !read_formats(im, node, pool) ||
        !count_of(im, node, LAUNCH_MORE_BATCHES, &more))
        return false;
    if (more > POOL_RANKS_MAX) return FAIL(im, node, "more than %d micro-batches", POOL_RANKS_MAX);
    pool->micro_batches = pool->pp > 1 ? pool->pp + more : 1;
    if (pool_replica_ranks(pool) % server->count != 0)
        return FAIL(im, node, "%" PRIu32 " ranks on %" PRIu32 " nodes", pool_replica_ranks(pool),
                    server->count);
    for (uint32_t i = 0; i < server->count; i++)
        if (!check_visible(im, server->nodes[i], server)) return false;
    return true;
}

// ---- Pools

static bool same_pool(const Pool *a, const Pool *b) {
    Plan left = {.pool_count = 1}, right = {.pool_count = 1};
    left.pools[0] = *a;
    right.pools[0] = *b;
    left.pools[0].replicas = right.pools[0].replicas = 1;
    left.pools[0].first_gpu = right.pools[0].first_gpu = 0;
    return plan_digest(&left) == plan_digest(&right);
}

static bool check_spots(const Import *im, const Server *server) {
    const LaunchSpot *first = &server->nodes[0]->spot;
    for (uint32_t i = 0; i < server->count; i++) {
        const LaunchSpot *spot = &server->nodes[i]->spot;
        if (spot->given != im->nodes->nodes[0].spot.given)
            return FAIL(im, server->nodes[i],
                        "some lines say on which node they run and others "
                        "do not");
        if (spot->given && (spot->node != first->node + i || spot->pool != first->pool ||
                            spot->replica != first->replica))
            return FAIL(im, server->nodes[i],
                        "node %" PRIu32 " of a server that begins on node "
                        "%" PRIu32 " of pool %" PRIu32,
                        spot->node, first->node, first->pool);
    }
    return true;
}

static bool add_server(const Import *im, const Server *server, Plan *plan) {
    const LaunchNode *node = server->nodes[0];
    const LaunchSpot *spot = &node->spot;
    Pool *last = plan->pool_count == 0 ? NULL : &plan->pools[plan->pool_count - 1];
    uint64_t next = last == NULL ? 0 : (uint64_t)last->first_gpu + pool_ranks(last);
    uint64_t at = spot->given ? (uint64_t)spot->node * spot->node_gpus + spot->first_gpu : next;
    if (at + pool_replica_ranks(&server->pool) > POOL_RANKS_MAX)
        return FAIL(im, node, "more than %d GPUs", POOL_RANKS_MAX);
    bool joins =
        last != NULL && at == next && same_pool(last, &server->pool) &&
        (!spot->given || (spot->pool == plan->pool_count - 1 && spot->replica == last->replicas));
    if (joins) {
        last->replicas += server->replicas;
        return (uint64_t)last->first_gpu + pool_ranks(last) <= POOL_RANKS_MAX ||
               FAIL(im, node, "more than %d GPUs", POOL_RANKS_MAX);
    }
    if (spot->given && (spot->pool != plan->pool_count || spot->replica != 0))
        return FAIL(im, node,
                    "replica %" PRIu32 " of pool %" PRIu32 ": it is not alike the one "
                    "before, or does not lie behind it",
                    spot->replica, spot->pool);
    if (plan->pool_count == PLAN_POOLS_MAX)
        return FAIL(im, node, "more than %d pools", PLAN_POOLS_MAX);
    Pool *pool = &plan->pools[plan->pool_count++];
    *pool = server->pool;
    pool->first_gpu = (uint32_t)at;
    pool->replicas = server->replicas;
    return true;
}

// As a router pairs them.
static bool add_transfers(const Import *im, Plan *plan) {
    for (uint32_t p = 0; p < plan->pool_count; p++)
        for (uint32_t d = 0; d < plan->pool_count; d++) {
            if (plan->pools[p].kind != POOL_PREFILL || plan->pools[d].kind != POOL_DECODE) continue;
            if (plan->transfer_count == PLAN_POOLS_MAX)
                return err_set(im->err, "%s: more than %d pairs of pools", im->name,
                               PLAN_POOLS_MAX);
            plan->transfers[plan->transfer_count++] = (KvTransfer){p, d};
        }
    return true;
}

static bool build_plan(Import *im, Plan *plan) {
    for (uint32_t i = 0; i < im->server_count; i++)
        if (!read_server(im, &im->servers[i]) || !check_spots(im, &im->servers[i]) ||
            !add_server(im, &im->servers[i], plan))
            return false;
    return add_transfers(im, plan) &&
           (plan_check(plan, im->err) || err_prefix(im->err, "%s", im->name));
}

static bool check_models(const Import *im) {
    const LaunchNode *first = &im->nodes->nodes[0];
    for (uint32_t i = 1; i < im->nodes->count; i++) {
        const LaunchNode *node = &im->nodes->nodes[i];
        if (!same_text(first->values[LAUNCH_MODEL], node->values[LAUNCH_MODEL]))
            return FAIL(im, node, "another model than in line %" PRIu32, first->line);
    }
    return true;
}

bool launch_parse_plan(const char *name, const char *bytes, size_t count, const LaunchFlags *flags,
                       const Arch *arch, Plan *out, LaunchEngine *engine, Err *err) {
    LaunchNodes nodes;
    if (!launch_parse_nodes(name, bytes, count, flags, &nodes, err)) return false;
    Import im = {.name = name, .nodes = &nodes, .arch = arch, .err = err};
    Plan plan = {0};
    Arena scratch = {0};
    bool *used = arena_alloc(&scratch, nodes.count, sizeof *used);
    link_heads(&im, &scratch);
    bool done = check_models(&im);
    for (uint32_t i = 0; done && i < nodes.count; i++)
        if (!used[i]) done = collect(&im, i, used);
    done = done && build_plan(&im, &plan);
    if (done) {
        *out = plan;
        if (engine != NULL) *engine = nodes.flags->engine;
    }
    for (uint32_t i = 0; i < im.server_count; i++) mem_free(im.servers[i].nodes);
    mem_free(im.servers);
    arena_free(&scratch);
    launch_parse_free(&nodes);
    return done;
}

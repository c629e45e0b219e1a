// Checks what no engine is told by a flag, lists the flags of an invocation and writes all lines.
//
// Invariant: a plan that passes launch_check is started as it is: every decision of it is either in
// a flag or is what the engine does of itself. Whatever a name contains, a shell reads it back as
// one word, and no name ends a comment: what is written runs the engine, the router and the
// benchmark, and nothing else.
#include "model/plan/launch.h"

#include <inttypes.h>
#include <string.h>

#include "model/base/wide.h"
#include "model/plan/launch_build.h"
#include "model/plan/launch_shell.h"

#define ROUTER_PORT      8080
#define CONTEXT_SLACK    64 // tokens: special ones of the benchmark; SGLang keeps the last few free
#define BENCHMARK_ROUNDS 10 // requests of the benchmark for each one in flight: a steady state

// ---- Places

bool launch_place(const LaunchInput *in, uint32_t pool_index, uint32_t replica, LaunchPlace *out,
                  Err *err) {
    const Pool *pool = &in->plan->pools[pool_index];
    const LaunchMachine *machine = &in->machine;
    uint32_t node = machine->node_gpus, ranks = pool_replica_ranks(pool);
    uint64_t first = pool->first_gpu + (uint64_t)replica * ranks;
    if (first + ranks > machine->gpus)
        return err_set(err, "GPUs %" PRIu64 "-%" PRIu64 " of a machine that has %" PRIu32, first,
                       first + ranks - 1, machine->gpus);
    uint32_t gpu = (uint32_t)(first % node);
    bool inside = gpu + (uint64_t)ranks <= node;
    if (!inside && (gpu != 0 || ranks % node != 0))
        return err_set(err,
                       "%" PRIu32 " GPUs from GPU %" PRIu64 " on, on nodes of %" PRIu32
                       ", expected whole nodes or a part of one",
                       ranks, first, node);
    *out = (LaunchPlace){.node = (uint32_t)(first / node),
                         .nodes = inside ? 1 : ranks / node,
                         .gpu = gpu,
                         .gpus = inside ? ranks : node};
    return true;
}

// ---- What no flag says

NumFmt launch_kv_format(const Arch *arch, NumFmt activations) {
    return arch != NULL && arch->fp8_cache ? NUMFMT_FP8 : activations;
}

NumFmt launch_dispatch_format(const Arch *arch, NumFmt activations) {
    return arch != NULL && arch->expert_format == NUMFMT_FP8 ? NUMFMT_FP8 : activations;
}

static bool check_algorithms(const Pool *pool, const char *engine, Err *err) {
    const Algorithm chosen[] = {pool->all_reduce, pool->all_to_all, pool->all_gather,
                                pool->reduce_scatter};
    static const char *const names[] = {"all_reduce", "all_to_all", "all_gather", "reduce_scatter"};
    for (uint32_t i = 0; i < sizeof chosen / sizeof *chosen; i++)
        if (chosen[i] != ALGORITHM_AUTO)
            return err_set(err,
                           "%s \"%s\": %s leaves algorithms to its libraries, expected \"auto\"",
                           names[i], algorithm_names[chosen[i]], engine);
    return true;
}

static bool check_comm(const Pool *pool, const char *engine, Err *err) {
    uint32_t groups = pool_token_groups(pool);
    if ((groups == 1) != (pool->moe_comm == MOE_COMM_NONE))
        return err_set(err, "moe_comm \"%s\" with dp %" PRIu32 ", expected %s",
                       plan_moe_comm_names[pool->moe_comm], pool->dp,
                       groups == 1 ? "\"none\"" : "\"all-to-all\" or \"gather\"");
    if (pool->moe_comm == MOE_COMM_ALL_TO_ALL && pool->moe_tp > 1)
        return err_set(err,
                       "moe_comm \"all-to-all\" with moe_tp %" PRIu32
                       ": %s sends tokens to whole experts alone, expected ep %" PRIu32
                       " or \"gather\"",
                       pool->moe_tp, engine, pool_stage_ranks(pool));
    return pool->moe_chunks == 0 ||
           err_set(err, "moe_chunks %" PRIu32 ": %s does not cut a step into chunks, expected none",
                   pool->moe_chunks, engine);
}

static bool is_settable(const LaunchInput *in, const Pool *pool) {
    return pool->prefill_overlap == OVERLAP_TWO_BATCH && pool->prefill_sms > 0 &&
           launch_flags_find(in->flags, LAUNCH_SMS) != NULL;
}

// Kernels of prefill occupy SMs, those of decode do not (DeepEP's low-latency kernels).
static bool check_sms(const LaunchInput *in, const Pool *pool, const char *engine, Err *err) {
    bool sends = pool->moe_comm == MOE_COMM_ALL_TO_ALL && pool->ep > 1;
    uint32_t sms = sends && launch_build_has_prefill(pool) ? in->flags->all_to_all_sms : 0;
    if (pool->decode_sms != 0)
        return err_set(err, "decode_sms %" PRIu32 ": %s has no such setting, expected 0",
                       pool->decode_sms, engine);
    return pool->prefill_sms == sms || is_settable(in, pool) ||
           err_set(err, "prefill_sms %" PRIu32 ": kernels of %s take %" PRIu32 " here",
                   pool->prefill_sms, engine, sms);
}

// Only one phase runs in a pool of its own.
static bool check_phases(const Pool *pool, Err *err) {
    Overlap other = pool->kind == POOL_PREFILL
                        ? pool->decode_overlap
                        : (pool->kind == POOL_DECODE ? pool->prefill_overlap : OVERLAP_SHARED);
    return other == OVERLAP_SHARED ||
           err_set(err, "%s_overlap \"%s\" of a %s pool, expected \"shared\"",
                   pool->kind == POOL_PREFILL ? "decode" : "prefill", plan_overlap_names[other],
                   plan_pool_names[pool->kind]);
}

// Flags say which GPUs of a node an instance takes and in which order nodes come, not which rank
// is where.
static bool check_placement(const Pool *pool, const char *engine, Err *err) {
    return pool->placement == PLACEMENT_LINEAR ||
           err_set(err,
                   "placement \"%s\": %s puts ranks on GPUs and nodes in their order, expected "
                   "\"linear\"",
                   plan_placement_names[pool->placement], engine);
}

static bool check_pool(const LaunchInput *in, uint32_t index, Err *err) {
    const Pool *pool = &in->plan->pools[index];
    const char *engine = launch_flags_engines[in->flags->engine];
    LaunchPlace place;
    if (!check_placement(pool, engine, err) || !check_algorithms(pool, engine, err) ||
        !check_comm(pool, engine, err) || !check_sms(in, pool, engine, err) ||
        !check_phases(pool, err))
        return false;
    for (uint32_t i = pool->replicas; i > 0; i--)
        if (!launch_place(in, index, i - 1, &place, err)) return false;
    switch (in->flags->engine) {
    case LAUNCH_VLLM: return launch_vllm_check(in, pool, &place, err);
    case LAUNCH_SGLANG: return launch_sglang_check(in, pool, &place, err);
    case LAUNCH_ENGINE_COUNT: break;
    }
    return false;
}

// A router hands the cache of any prefill server to any decode server.
static bool check_transfers(const Plan *plan, Err *err) {
    uint32_t found = 0;
    if (!plan_check_kinds(plan, err)) return false;
    for (uint32_t p = 0; p < plan->pool_count; p++)
        for (uint32_t d = 0; d < plan->pool_count; d++) {
            if (plan->pools[p].kind != POOL_PREFILL || plan->pools[d].kind != POOL_DECODE) continue;
            if (found >= plan->transfer_count || plan->transfers[found].from_pool != p ||
                plan->transfers[found].to_pool != d)
                return err_set(err,
                               "transfers[%" PRIu32 "]: expected from pool %" PRIu32
                               " to pool %" PRIu32 ": a router pairs every prefill with every "
                               "decode pool, in the order of pools",
                               found, p, d);
            found++;
        }
    return found == plan->transfer_count ||
           err_set(err, "transfers[%" PRIu32 "]: no router moves this cache", found);
}

static bool check_model(const char *model, Err *err) {
    char quoted[TEXT_QUOTE_MAX];
    return (*model != '\0' && *model != '-' && text_plain(model) == strlen(model)) ||
           err_set(err, "the model's name %s cannot be given to an engine",
                   text_quote(model, quoted));
}

bool launch_check(const LaunchInput *in, Err *err) {
    if (!plan_check(in->plan, err) || !check_model(in->model, err) ||
        !check_transfers(in->plan, err))
        return false;
    if (in->sequences > LAUNCH_SEQUENCES_MAX)
        return err_set(err, "%" PRIu64 " sequences per rank and micro-batch, expected at most %d",
                       in->sequences, LAUNCH_SEQUENCES_MAX);
    for (uint32_t i = 0; i < in->plan->pool_count; i++)
        if (!check_pool(in, i, err)) return err_prefix(err, "pools[%" PRIu32 "]", i);
    return true;
}

// ---- Flags that all engines have

static void add_visible(const LaunchBuild *b) {
    if (b->place.nodes > 1 || b->place.gpus == b->in->machine.node_gpus) return;
    Text list = {0};
    for (uint32_t i = 0; i < b->place.gpus; i++)
        text_addf(&list, "%s%" PRIu32, i > 0 ? "," : "", b->place.gpu + i);
    const LaunchFlag *flag = launch_flags_find(b->in->flags, LAUNCH_GPUS);
    Err ignored = {0};
    if (flag != NULL)
        launch_build_text(b, LAUNCH_GPUS, arena_string(b->arena, text_string(&list)), &ignored);
    text_free(&list);
}

static void add_network(const LaunchBuild *b) {
    bool sends = b->pool->moe_comm == MOE_COMM_ALL_TO_ALL;
    if (!launch_build_spans(b)) return;
    launch_build_each(b, LAUNCH_INTERFACE, "$IFNAME", true);
    if (launch_build_scales_up(b)) launch_build_each(b, LAUNCH_SCALE_UP_NODES, "1", false);
    if (launch_build_has_network(b)) launch_build_each(b, LAUNCH_NICS, "$IB_HCA", true);
    if (sends) launch_build_each(b, LAUNCH_MOE_INTERFACE, "$IFNAME", true);
    if (sends && launch_build_has_network(b))
        launch_build_each(b, LAUNCH_MOE_NICS, "$IB_HCA", true);
}

static bool add_formats(const LaunchBuild *b, Err *err) {
    const Pool *pool = b->pool;
    const LaunchFlag *flag = launch_flags_find(b->in->flags, LAUNCH_KV_FORMAT);
    const char *kv = numfmt_name(pool->kv_format);
    bool is_default = pool->kv_format == pool->activation_format &&
                      pool->kv_format == launch_kv_format(b->in->arch, pool->activation_format);
    if (is_default && flag != NULL &&
        launch_flags_value(b->in->flags, flag, kv, pool->kind) == NULL)
        kv = "as activations";
    return launch_build_choice(b, LAUNCH_ACTIVATION_FORMAT, numfmt_name(pool->activation_format),
                               err) &&
           launch_build_choice(b, LAUNCH_KV_FORMAT, kv, err);
}

static uint64_t context_of(const LaunchInput *in) {
    uint64_t most = in->arch->max_context;
    uint64_t tokens = in->scenario->isl + in->scenario->osl + CONTEXT_SLACK;
    return most > 0 && tokens > most ? most : tokens;
}

static bool add_limits(const LaunchBuild *b, Err *err) {
    const Scenario *scenario = b->in->scenario;
    if (scenario == NULL) return true;
    Text share = {0};
    text_add_double(&share, scenario->memory_permille / 1000.0);
    const char *text = arena_string(b->arena, text_string(&share));
    text_free(&share);
    return launch_build_text(b, LAUNCH_MEMORY, text, err) &&
           launch_build_count(b, LAUNCH_CONTEXT, context_of(b->in), err);
}

static bool add_engine(const LaunchBuild *b, Err *err) {
    switch (b->in->flags->engine) {
    case LAUNCH_VLLM: return launch_vllm_settings(b, err);
    case LAUNCH_SGLANG: return launch_sglang_settings(b, err);
    case LAUNCH_ENGINE_COUNT: break;
    }
    return false;
}

bool launch_settings(const LaunchInput *in, LaunchPart part, Arena *arena, LaunchList *out,
                     Err *err) {
    *out = (LaunchList){0};
    LaunchBuild b = {
        .in = in, .pool = &in->plan->pools[part.pool], .part = part, .arena = arena, .list = out};
    if (!launch_place(in, part.pool, part.replica, &b.place, err)) return false;
    add_visible(&b);
    add_network(&b);
    if (add_formats(&b, err) && add_limits(&b, err) && add_engine(&b, err)) return true;
    launch_list_free(out);
    return err_prefix(err, "pools[%" PRIu32 "]", part.pool);
}

void launch_list_free(LaunchList *list) {
    mem_free(list->settings);
    *list = (LaunchList){0};
}

// ---- Writing

// What is written about one server.
typedef struct Writer {
    const LaunchInput *in;
    Text *out;
    Arena arena;
    uint32_t pool, replica;
    LaunchPlace place;
    const char *port, *transfer_port; // of the first node, "" when it has none
} Writer;

// A name in a comment stays in it.
static void add_plain(Text *out, const char *text) {
    for (size_t bad; *text != '\0'; text += bad) {
        size_t plain = text_plain(text);
        text_add_bytes(out, text, plain);
        text += plain;
        bad = *text == '\0' ? 0 : text_control(text, strlen(text));
        if (bad > 0) text_add_char(out, '?');
    }
}

static void add_value(Text *out, const LaunchSetting *setting) {
    if (setting->expands)
        text_addf(out, "\"%s\"", setting->value);
    else
        launch_shell_quote(setting->value, out);
}

typedef struct Substitute {
    const char *key, *value;
    bool expands;
} Substitute;

// A word of a command of the file, {keys} replaced.
static void add_word(Text *out, const char *word, const Substitute *known, uint32_t count) {
    Text text = {0};
    bool expands = false;
    while (*word != '\0') {
        size_t plain = strcspn(word, "{");
        text_add_bytes(&text, word, plain);
        word += plain;
        if (*word == '\0') break;
        size_t length = strcspn(word, "}");
        for (uint32_t i = 0; i < count; i++) {
            if (strlen(known[i].key) + 1 != length ||
                strncmp(known[i].key, word + 1, length - 1) != 0)
                continue;
            text_add(&text, known[i].value);
            expands = expands || known[i].expands;
        }
        word += length + (word[length] == '}');
    }
    if (expands)
        text_addf(out, "\"%s\"", text_string(&text));
    else
        launch_shell_quote(text_string(&text), out);
    text_free(&text);
}

static void add_words(Text *out, const LaunchWords *words, const Substitute *known,
                      uint32_t count) {
    for (uint32_t i = 0; i < words->count; i++) {
        if (i > 0) text_add_char(out, ' ');
        add_word(out, words->words[i], known, count);
    }
}

static void write_invocation(Writer *w, const LaunchList *list) {
    const Substitute known[] = {{"model", w->in->model, false}};
    for (uint32_t i = 0; i < list->count; i++) {
        const LaunchSetting *setting = &list->settings[i];
        if (!setting->flag->is_env) continue;
        text_addf(w->out, "%s=", setting->flag->name);
        add_value(w->out, setting);
        text_add_char(w->out, ' ');
    }
    add_words(w->out, &w->in->flags->serve, known, 1);
    for (uint32_t i = 0; i < list->count; i++) {
        const LaunchSetting *setting = &list->settings[i];
        if (setting->flag->is_env) continue;
        text_addf(w->out, " %s", setting->flag->name);
        if (setting->value == NULL) continue;
        text_add_char(w->out, ' ');
        add_value(w->out, setting);
    }
    text_add_char(w->out, '\n');
}

static const char *value_of(const LaunchList *list, LaunchMeaning means) {
    for (uint32_t i = 0; i < list->count; i++)
        if (list->settings[i].flag->means == means) return list->settings[i].value;
    return "";
}

static bool write_node(Writer *w, uint32_t rank, Err *err) {
    LaunchList list;
    if (!launch_settings(w->in, (LaunchPart){w->pool, w->replica, rank}, &w->arena, &list, err))
        return false;
    text_addf(w->out,
              "# node %" PRIu32 ": pool %" PRIu32 ", replica %" PRIu32 ", GPUs %" PRIu32 "-%" PRIu32
              " of %" PRIu32 "\n",
              w->place.node + rank, w->pool, w->replica, w->place.gpu,
              w->place.gpu + w->place.gpus - 1, w->in->machine.node_gpus);
    write_invocation(w, &list);
    if (rank == 0) {
        w->port = value_of(&list, LAUNCH_PORT);
        w->transfer_port = value_of(&list, LAUNCH_TRANSFER_PORT);
    }
    launch_list_free(&list);
    return true;
}

static void write_arithmetic(Writer *w) {
    const Pool *pool = &w->in->plan->pools[w->pool];
    const char *cp = pool->cp > 1 ? arena_printf(&w->arena, " x %" PRIu32 " cp", pool->cp) : "";
    text_addf(w->out,
              "#\n# pool %" PRIu32 ", %s: %" PRIu32 " GPUs = %" PRIu32 " tp%s x %" PRIu32
              " dp x %" PRIu32 " pp x %" PRIu32 " replica%s",
              w->pool, plan_pool_names[pool->kind], pool_ranks(pool), pool->tp, cp, pool->dp,
              pool->pp, pool->replicas, pool->replicas == 1 ? "" : "s");
    text_addf(w->out, "; experts %" PRIu32 " ep x %" PRIu32 " moe_tp", pool->ep, pool->moe_tp);
    if (pool->expert_placement == EXPERT_PLACEMENT_EPLB)
        text_addf(w->out, ", %" PRIu32 " redundant", pool->redundant_experts);
    if (pool->dcp > 1) text_addf(w->out, "; caches dealt to %" PRIu32 " of tp", pool->dcp);
    if (w->in->flags->engine == LAUNCH_SGLANG && pool_token_groups(pool) > 1)
        text_addf(w->out, "; tp-size %" PRIu32 " = %" PRIu32 " tp%s x %" PRIu32 " dp",
                  pool_stage_ranks(pool), pool->tp, cp, pool->dp);
    text_add_char(w->out, '\n');
}

// The requests in flight of one server; of all behind a router when `all`.
static void write_benchmark(Writer *w, const char *address, const char *port, uint32_t servers) {
    const Scenario *scenario = w->in->scenario;
    uint64_t all = w->in->requests > 0 ? w->in->requests : scenario->concurrency;
    uint64_t requests = wide_div_up_u64(all, servers);
    const Substitute known[] = {
        {"model", w->in->model, false},
        {"address", address, true},
        {"port", port, false},
        {"isl", arena_printf(&w->arena, "%" PRIu64, scenario->isl), false},
        {"osl", arena_printf(&w->arena, "%" PRIu64, scenario->osl), false},
        {"concurrency", arena_printf(&w->arena, "%" PRIu64, requests), false},
        {"prompts", arena_printf(&w->arena, "%" PRIu64, requests * BENCHMARK_ROUNDS), false}};
    add_words(w->out, &w->in->flags->benchmark, known, sizeof known / sizeof *known);
    text_add_char(w->out, '\n');
}

// Servers, benchmarks and ends of the router are gathered while the servers are written.
typedef struct Parts {
    Text benchmarks, router_prefill, router_decode;
    uint32_t servers;
} Parts;

static void gather(Writer *w, Parts *parts) {
    const Pool *pool = &w->in->plan->pools[w->pool];
    const char *address = arena_printf(&w->arena, "$NODE%" PRIu32 "_ADDR", w->place.node);
    const LaunchFlags *flags = w->in->flags;
    const Substitute known[] = {{"address", address, true},
                                {"port", w->port, false},
                                {"transfer_port", w->transfer_port, false}};
    Text *out = w->out;
    switch (pool->kind) {
    case POOL_UNIFIED:
        if (w->in->scenario == NULL) break;
        w->out = &parts->benchmarks;
        write_benchmark(w, address, w->port, parts->servers);
        break;
    case POOL_PREFILL:
        text_add_char(&parts->router_prefill, ' ');
        add_words(&parts->router_prefill, &flags->router_prefill, known, 3);
        break;
    case POOL_DECODE:
        text_add_char(&parts->router_decode, ' ');
        add_words(&parts->router_decode, &flags->router_decode, known, 3);
        break;
    case POOL_KIND_COUNT: break;
    }
    w->out = out;
}

static bool write_pool(Writer *w, Parts *parts, Err *err) {
    const Pool *pool = &w->in->plan->pools[w->pool];
    write_arithmetic(w);
    for (w->replica = 0; w->replica < pool->replicas; w->replica++) {
        if (!launch_place(w->in, w->pool, w->replica, &w->place, err)) return false;
        for (uint32_t rank = 0; rank < w->place.nodes; rank++)
            if (!write_node(w, rank, err)) return false;
        gather(w, parts);
        arena_free(&w->arena);
    }
    return true;
}

// Above the lines of `body`, with the variables that they use.
static void write_head(Writer *w, const char *body) {
    const LaunchInput *in = w->in;
    const LaunchMachine *machine = &in->machine;
    char version[ENGINE_VERSION_TEXT_MAX], label[PLAN_TEXT_MAX], product[PLAN_TEXT_MAX];
    text_addf(w->out, "# %s %s: %s\n# GPUs: %s; nodes of %" PRIu32 " of \"",
              launch_flags_engines[in->flags->engine],
              engine_version_format(in->flags->version, version), plan_label(in->plan, label),
              plan_gpu_product(in->plan, product), machine->node_gpus);
    add_plain(w->out, machine->name);
    text_add(w->out, "\"\n# to be set: NODEn_ADDR, the address of node n");
    if (strstr(body, "$IFNAME") != NULL) text_add(w->out, "; IFNAME, the interface that has it");
    if (strstr(body, "$IB_HCA") != NULL) {
        text_addf(w->out, "; IB_HCA, the %" PRIu32 " NICs of a node", machine->node_nics);
        if (*machine->nic != '\0') text_add(w->out, ", ");
        add_plain(w->out, machine->nic);
    }
    text_add_char(w->out, '\n');
    if (in->scenario != NULL && in->flags->engine == LAUNCH_SGLANG)
        text_add(w->out, "# mem-fraction-static has no part for activations and graphs: lower it "
                         "where they do not fit\n");
}

static void write_tail(Writer *w, const Parts *parts) {
    const LaunchInput *in = w->in;
    bool routed = parts->router_prefill.length > 0;
    text_add(w->out, "#\n");
    if (routed) {
        text_add(w->out, "# the router, at ROUTER_ADDR\n");
        add_words(w->out, &in->flags->router, NULL, 0);
        text_add(w->out, text_string(&parts->router_prefill));
        text_add(w->out, text_string(&parts->router_decode));
        text_addf(w->out, " --host 0.0.0.0 --port %d\n#\n", ROUTER_PORT);
    }
    bool predicted = *in->prediction != '\0';
    text_add(w->out, "# ");
    add_plain(w->out, predicted ? in->prediction : "nothing was predicted for this plan");
    if (in->scenario == NULL)
        text_add(w->out, "; without a scenario there is no benchmark\n");
    else
        text_add(w->out, predicted ? "; this confirms or refutes it, all lines at once:\n"
                                   : "; this measures it, all lines at once:\n");
    if (in->scenario != NULL && routed)
        write_benchmark(w, "$ROUTER_ADDR", arena_printf(&w->arena, "%d", ROUTER_PORT), 1);
    text_add(w->out, text_string(&parts->benchmarks));
}

bool launch_write(const LaunchInput *in, Text *out, Err *err) {
    Text body = {0};
    Writer w = {.in = in, .out = &body, .port = "", .transfer_port = ""};
    Parts parts = {0};
    bool done = launch_check(in, err);
    for (uint32_t i = 0; done && i < in->plan->pool_count; i++)
        parts.servers += in->plan->pools[i].replicas;
    for (w.pool = 0; done && w.pool < in->plan->pool_count; w.pool++)
        done = write_pool(&w, &parts, err);
    if (done) {
        write_tail(&w, &parts);
        w.out = out;
        write_head(&w, text_string(&body));
        text_add(out, text_string(&body));
    }
    text_free(&body);
    text_free(&parts.benchmarks);
    text_free(&parts.router_prefill);
    text_free(&parts.router_decode);
    arena_free(&w.arena);
    return done;
}

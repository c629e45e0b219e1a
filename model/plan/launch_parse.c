// From a script to what each line says, by meaning.
//
// Invariant: every word of a line that starts an engine is understood: a flag, its value or the
// model. What is said twice is said alike.
#include "model/plan/launch_parse.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/base/json.h"
#include "model/base/text.h"
#include "model/plan/launch_shell.h"

typedef struct Reader {
    const char *name;
    const LaunchFlags *engines, *flags; // of the line
    LaunchNodes *out;
    const char *
        *exported; // NAME=VALUE, the last of each known name, for all lines that follow; heap
    uint32_t exported_count, exported_capacity;
    const char *unknown; // the first exported name that no engine has, or NULL
    LaunchSpot spot;     // of the last comment
    uint32_t line;
    Err *err;
} Reader;

// ---- One value

static bool set(Reader *r, LaunchNode *node, const LaunchFlag *flag, const char *value) {
    const char *old = node->values[flag->means];
    if (flag->means == LAUNCH_REFUSED)
        return err_set(r->err, "%s:%" PRIu32 ": %s: %s", r->name, r->line, flag->name, flag->why);
    if (old != NULL && strcmp(old, value) != 0 &&
        launch_flags_scopes[flag->means] != LAUNCH_SCOPE_AROUND)
        return err_set(r->err, "%s:%" PRIu32 ": %s is %s, and %s is %s", r->name, r->line,
                       node->flags[flag->means]->name, old, flag->name, value);
    node->values[flag->means] = value;
    node->flags[flag->means] = flag;
    return true;
}

static bool set_named(Reader *r, LaunchNode *node, const char *name, const char *value) {
    const LaunchFlag *flag = launch_flags_named(r->flags, name);
    return flag != NULL && set(r, node, flag, value);
}

// Of --eplb-config: windows and intervals decide when experts move and not where they lie.
static const char *const plain_eplb[] = {
    "window_size", "step_interval", "log_balancedness",         "use_async",
    "policy",      "communicator",  "log_balancedness_interval"};
#define PLAIN_EPLB (sizeof plain_eplb / sizeof *plain_eplb)

// --eplb-config '{"num_redundant_experts": 32}'
static bool read_eplb(Reader *r, LaunchNode *node, const char *text) {
    Json json = {0};
    uint32_t redundant = 0;
    if (!json_parse("eplb-config", text, strlen(text), &json, r->err)) return false;
    JsonNode root = json_root(&json);
    bool done = json_kind(root) == JSON_OBJECT || json_error(root, r->err, "expected an object");
    for (uint32_t i = 0; done && i < PLAIN_EPLB; i++) json_ignore(root, plain_eplb[i]);
    if (done && json_has(root, "num_redundant_experts"))
        done = json_u32(root, "num_redundant_experts", &redundant, r->err);
    done = done && json_finish(root, r->err);
    json_free(&json);
    if (done) {
        // the row of another version names it, if this one has none
        node->values[LAUNCH_REDUNDANT] = arena_printf(&r->out->arena, "%" PRIu32, redundant);
        node->flags[LAUNCH_REDUNDANT] = launch_flags_named(r->flags, "--eplb-config");
    }
    return done || err_prefix(r->err, "%s:%" PRIu32, r->name, r->line);
}

// The role of a server in the hand-over of caches.
static bool read_transfer(Reader *r, LaunchNode *node, const char *text) {
    static const char *const plain[] = {"kv_buffer_device",
                                        "kv_buffer_size",
                                        "kv_port",
                                        "kv_ip",
                                        "kv_rank",
                                        "kv_parallel_size",
                                        "kv_connector_extra_config",
                                        "engine_id",
                                        "kv_load_failure_policy"};
    Json json = {0};
    const char *role = "", *connector;
    if (!json_parse("kv-transfer-config", text, strlen(text), &json, r->err)) return false;
    JsonNode root = json_root(&json);
    bool done = json_kind(root) == JSON_OBJECT || json_error(root, r->err, "expected an object");
    for (uint32_t i = 0; done && i < sizeof plain / sizeof *plain; i++) json_ignore(root, plain[i]);
    done = done && json_string(root, "kv_connector", &connector, r->err) &&
           json_string(root, "kv_role", &role, r->err) && json_finish(root, r->err);
    const char *kind = strcmp(role, "kv_producer") == 0   ? "prefill"
                       : strcmp(role, "kv_consumer") == 0 ? "decode"
                                                          : NULL;
    if (done && kind == NULL)
        done = json_error(json_find(root, "kv_role"), r->err,
                          "a plan has prefill and decode pools, expected \"kv_producer\" or "
                          "\"kv_consumer\"");
    json_free(&json);
    if (done) {
        node->values[LAUNCH_ROLE] = kind;
        node->flags[LAUNCH_ROLE] = launch_flags_named(r->flags, "--kv-transfer-config");
    }
    return done || err_prefix(r->err, "%s:%" PRIu32, r->name, r->line);
}

static bool take(Reader *r, LaunchNode *node, const LaunchFlag *flag, const char *value) {
    if (!set(r, node, flag, value)) return false;
    if (flag->means == LAUNCH_EPLB_CONFIG) return read_eplb(r, node, value);
    return flag->means != LAUNCH_TRANSFER || read_transfer(r, node, value);
}

// ---- One line

// "--some_flag" is "--some-flag".
static const char *spelling(Reader *r, const char *word, size_t length) {
    char *name = arena_copy(&r->out->arena, word, length + 1, 1);
    name[length] = '\0';
    for (char *at = name; *at != '\0'; at++)
        if (*at == '_') *at = '-';
    return name;
}

static bool unknown_flag(Reader *r, const char *name) {
    const char *names[LAUNCH_FLAGS_MAX];
    uint32_t count = 0;
    char quoted[TEXT_QUOTE_MAX];
    for (uint32_t i = 0; i < r->flags->flag_count; i++)
        if (!r->flags->flags[i].is_env) names[count++] = r->flags->flags[i].name;
    uint32_t near = text_nearest(name, names, count);
    return err_set(r->err, "%s:%" PRIu32 ": %s is no flag of %s that is known%s%s%s", r->name,
                   r->line, text_quote(name, quoted), launch_flags_engines[r->flags->engine],
                   near == UINT32_MAX ? "" : ", did you mean ",
                   near == UINT32_MAX ? "" : names[near], near == UINT32_MAX ? "" : "?");
}

// A field whose '_' were written as '-'.
static bool is_plain_eplb(const char *field) {
    for (uint32_t i = 0; i < PLAIN_EPLB; i++) {
        const char *a = plain_eplb[i], *b = field;
        while (*a != '\0' && (*a == *b || (*a == '_' && *b == '-'))) a++, b++;
        if (*a == '\0' && *b == '\0') return true;
    }
    return false;
}

// "--eplb-config.num_redundant_experts 32" of vLLM.
static bool read_dotted(Reader *r, LaunchNode *node, const char *name, const char *value) {
    const char *dot = strchr(name, '.');
    const LaunchFlag *flag = launch_flags_named(r->flags, spelling(r, name, (size_t)(dot - name)));
    if (flag != NULL && flag->means == LAUNCH_NOTHING) return true;
    if (flag == NULL || flag->means != LAUNCH_EPLB_CONFIG) return unknown_flag(r, name);
    if (strcmp(dot, ".num-redundant-experts") != 0)
        return is_plain_eplb(dot + 1) || unknown_flag(r, name);
    node->values[LAUNCH_REDUNDANT] = value;
    node->flags[LAUNCH_REDUNDANT] = flag;
    return true;
}

static const char *as_switch(const char *value) {
    if (strcmp(value, "True") == 0 || strcmp(value, "1") == 0) return "true";
    if (strcmp(value, "False") == 0 || strcmp(value, "0") == 0) return "false";
    return value;
}

static bool read_switch(Reader *r, LaunchNode *node, const LaunchFlag *flag, const char *value) {
    value = value == NULL ? "true" : as_switch(value);
    if (strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
        return err_set(r->err, "%s:%" PRIu32 ": %s is a switch, found %s", r->name, r->line,
                       flag->name, value);
    return set(r, node, flag, value);
}

// --no-enable-x: the other side of a switch.
static const LaunchFlag *find_negated(const Reader *r, const char *name) {
    char positive[64];
    if (strncmp(name, "--no-", 5) != 0) return NULL;
    snprintf(positive, sizeof positive, "--%.60s", name + 5);
    const LaunchFlag *flag = launch_flags_named(r->flags, positive);
    return flag != NULL && flag->takes == LAUNCH_TAKES_NONE ? flag : NULL;
}

// Words from *at on: one flag with what belongs to it.
static bool read_flag(Reader *r, LaunchNode *node, const ShellItem *item, uint32_t *at) {
    const char *word = item->words[(*at)++], *equals = strchr(word, '=');
    const char *value = equals == NULL ? NULL : equals + 1;
    size_t length = equals == NULL ? strlen(word) : (size_t)(equals - word);
    const char *name = spelling(r, word, length);
    const LaunchFlag *flag = launch_flags_named(r->flags, name);
    bool dotted = flag == NULL && strchr(name, '.') != NULL;
    if (flag == NULL && !dotted) {
        flag = find_negated(r, name);
        return flag == NULL ? unknown_flag(r, name) : set(r, node, flag, "false");
    }
    if (flag != NULL && flag->takes == LAUNCH_TAKES_NONE) return read_switch(r, node, flag, value);
    if (value == NULL) {
        if (*at == item->word_count)
            return err_set(r->err, "%s:%" PRIu32 ": %s without a value", r->name, r->line, name);
        value = item->words[(*at)++];
    }
    if (dotted) return read_dotted(r, node, name, value);
    if (flag->takes == LAUNCH_TAKES_MANY)
        while (*at < item->word_count && item->words[*at][0] != '-') (*at)++;
    return take(r, node, flag, value);
}

// The NAME of NAME=VALUE.
static const char *variable_name(Reader *r, const char *word) {
    return arena_printf(&r->out->arena, "%.*s", (int)strcspn(word, "="), word);
}

static bool unknown_variable(Reader *r, const char *name) {
    char quoted[TEXT_QUOTE_MAX];
    return err_set(r->err, "%s:%" PRIu32 ": the variable %s is not known", r->name, r->line,
                   text_quote(name, quoted));
}

static bool read_variable(Reader *r, LaunchNode *node, const char *word) {
    const char *name = variable_name(r, word);
    const LaunchFlag *flag = launch_flags_env(r->flags, name);
    return flag == NULL ? unknown_variable(r, name) : set(r, node, flag, strchr(word, '=') + 1);
}

static bool has_words(const ShellItem *item, uint32_t at, const LaunchWords *words) {
    if (words->count > item->word_count - at) return false;
    for (uint32_t i = 0; i < words->count; i++)
        if (strcmp(item->words[at + i], words->words[i]) != 0) return false;
    return true;
}

// The position behind the words that start a server, or UINT32_MAX.
static uint32_t find_start(Reader *r, const ShellItem *item, uint32_t at) {
    for (uint32_t e = 0; e < LAUNCH_ENGINE_COUNT; e++)
        for (uint32_t i = 0; i < r->engines[e].start_count; i++) {
            if (!has_words(item, at, &r->engines[e].starts[i])) continue;
            r->flags = &r->engines[e];
            return at + r->engines[e].starts[i].count;
        }
    return UINT32_MAX;
}

static bool decides_nothing(const Reader *r, const ShellItem *item, uint32_t at) {
    for (uint32_t e = 0; e < LAUNCH_ENGINE_COUNT; e++)
        for (uint32_t i = 0; i < r->engines[e].other_count; i++)
            if (has_words(item, at, &r->engines[e].others[i])) return true;
    return false;
}

static bool read_words(Reader *r, LaunchNode *node, const ShellItem *item, uint32_t at) {
    while (at < item->word_count) {
        const char *word = item->words[at];
        if (word[0] == '-' && word[1] != '\0') {
            if (!read_flag(r, node, item, &at)) return false;
            continue;
        }
        at++;
        if (r->flags->engine == LAUNCH_VLLM && node->values[LAUNCH_MODEL] == NULL) {
            if (!set_named(r, node, "--model", word)) return false;
            continue;
        }
        char quoted[TEXT_QUOTE_MAX];
        return err_set(r->err, "%s:%" PRIu32 ": expected a flag, found %s", r->name, r->line,
                       text_quote(word, quoted));
    }
    return true;
}

static bool is_assignment(const char *word) {
    size_t length = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
    return length > 0 && word[length] == '=' && (word[0] < '0' || word[0] > '9');
}

// A name that no engine has fails the lines that follow, if there are any.
static void export_word(Reader *r, const char *word) {
    const char *name = variable_name(r, word);
    size_t length = strlen(name) + 1;
    bool is_known = false;
    for (uint32_t e = 0; e < LAUNCH_ENGINE_COUNT; e++)
        is_known = is_known || launch_flags_env(&r->engines[e], name) != NULL;
    if (!is_known) {
        if (r->unknown == NULL) r->unknown = name;
        return;
    }
    for (uint32_t i = 0; i < r->exported_count; i++) {
        if (strncmp(r->exported[i], word, length) != 0) continue;
        r->exported[i] = word;
        return;
    }
    r->exported =
        mem_grow(r->exported, &r->exported_capacity, r->exported_count + 1, sizeof *r->exported);
    r->exported[r->exported_count++] = word;
}

static bool read_server(Reader *r, const ShellItem *item, uint32_t first, uint32_t at) {
    LaunchNodes *out = r->out;
    if (out->flags != NULL && out->flags != r->flags)
        return err_set(r->err, "%s:%" PRIu32 ": a line of %s among lines of %s", r->name, r->line,
                       launch_flags_engines[r->flags->engine],
                       launch_flags_engines[out->flags->engine]);
    out->flags = r->flags;
    out->nodes = mem_grow(out->nodes, &out->capacity, out->count + 1, sizeof *out->nodes);
    LaunchNode *node = &out->nodes[out->count++];
    *node = (LaunchNode){.line = r->line, .spot = r->spot};
    r->spot = (LaunchSpot){0};
    if (r->unknown != NULL) return unknown_variable(r, r->unknown);
    for (uint32_t i = 0; i < r->exported_count; i++)
        if (!read_variable(r, node, r->exported[i])) return false;
    for (uint32_t i = 0; i < first; i++)
        if (is_assignment(item->words[i]) && !read_variable(r, node, item->words[i])) return false;
    if (!read_words(r, node, item, at)) return false;
    return node->values[LAUNCH_MODEL] != NULL ||
           err_set(r->err, "%s:%" PRIu32 ": the line names no model", r->name, r->line);
}

// exec, nohup and env before a command change nothing of it.
static uint32_t skip_prefix(const ShellItem *item) {
    uint32_t at = 0;
    while (at < item->word_count &&
           (is_assignment(item->words[at]) || strcmp(item->words[at], "exec") == 0 ||
            strcmp(item->words[at], "nohup") == 0 || strcmp(item->words[at], "env") == 0))
        at++;
    return at;
}

static bool read_command(Reader *r, const ShellItem *item) {
    char quoted[TEXT_QUOTE_MAX];
    r->line = item->line;
    uint32_t first = skip_prefix(item);
    if (first == item->word_count || strcmp(item->words[first], "export") == 0) {
        for (uint32_t i = 0; i < item->word_count; i++)
            if (is_assignment(item->words[i])) export_word(r, item->words[i]);
        return true;
    }
    uint32_t at = find_start(r, item, first);
    if (at != UINT32_MAX) return read_server(r, item, first, at);
    return decides_nothing(r, item, first) ||
           err_set(r->err,
                   "%s:%" PRIu32 ": %s starts no engine that is known, expected \"vllm serve\" or "
                   "\"python3 -m sglang.launch_server\"",
                   r->name, r->line, text_quote(item->words[first], quoted));
}

static void read_comment(Reader *r, const char *comment) {
    LaunchSpot spot = {.given = true};
    int end = 0;
    int found = sscanf(comment,
                       " node %9" SCNu32 ": pool %9" SCNu32 ", replica %9" SCNu32 ", GPUs %9" SCNu32
                       "-%9" SCNu32 " of %9" SCNu32 "%n",
                       &spot.node, &spot.pool, &spot.replica, &spot.first_gpu, &spot.last_gpu,
                       &spot.node_gpus, &end);
    bool sound = spot.node <= POOL_RANKS_MAX && spot.node_gpus <= POOL_RANKS_MAX &&
                 spot.first_gpu <= spot.last_gpu && spot.last_gpu < spot.node_gpus;
    if (found == 6 && comment[end] == '\0' && sound) r->spot = spot;
}

bool launch_parse_nodes(const char *name, const char *bytes, size_t count, const LaunchFlags *flags,
                        LaunchNodes *out, Err *err) {
    ShellScript script;
    *out = (LaunchNodes){0};
    if (!launch_shell_parse(name, bytes, count, &script, err)) return false;
    Reader r = {.name = name, .engines = flags, .out = out, .err = err};
    // words live as long as the nodes
    out->arena = script.arena;
    script.arena = (Arena){0};
    bool done = true;
    for (uint32_t i = 0; done && i < script.count; i++) {
        const ShellItem *item = &script.items[i];
        if (item->comment != NULL)
            read_comment(&r, item->comment);
        else
            done = read_command(&r, item);
    }
    if (done && out->count == 0) done = err_set(err, "%s: no line starts an engine", name);
    mem_free(r.exported);
    launch_shell_free(&script);
    if (!done) launch_parse_free(out);
    return done;
}

void launch_parse_free(LaunchNodes *nodes) {
    mem_free(nodes->nodes);
    arena_free(&nodes->arena);
    *nodes = (LaunchNodes){0};
}

// ---- What a line says

const char *launch_parse_value(const LaunchNodes *nodes, const LaunchNode *node,
                               LaunchMeaning means) {
    if (node->values[means] != NULL) return node->values[means];
    for (uint32_t i = 0; i < nodes->flags->flag_count; i++)
        if (nodes->flags->flags[i].means == means)
            return *nodes->flags->flags[i].fallback == '\0' ? NULL
                                                            : nodes->flags->flags[i].fallback;
    return NULL;
}

bool launch_parse_switch(const LaunchNode *node, LaunchMeaning means) {
    return node->values[means] != NULL && strcmp(node->values[means], "true") == 0;
}

bool launch_parse_count(const char *name, const LaunchNodes *nodes, const LaunchNode *node,
                        LaunchMeaning means, uint32_t *out, Err *err) {
    const char *text = launch_parse_value(nodes, node, means);
    uint64_t value = 0;
    char quoted[TEXT_QUOTE_MAX];
    if (text != NULL && (!text_parse_u64(text, &value) || value > LAUNCH_COUNT_MAX))
        return err_set(err, "%s:%" PRIu32 ": %s: expected a count, found %s", name, node->line,
                       node->flags[means] == NULL ? launch_flags_meanings[means]
                                                  : node->flags[means]->name,
                       text_quote(text, quoted));
    *out = (uint32_t)value;
    return true;
}

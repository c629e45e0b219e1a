// The command load: samples the routing of a model, or reads a load, and says how even it is.
//
// Invariant: the three formats print the same figures; what is written with --out is the load that
// the figures are of.
#include "sim/commands/load.h"

#include <inttypes.h>
#include <string.h>

#include "model/base/file.h"
#include "model/base/jsonw.h"
#include "model/base/table.h"
#include "model/moe/arch.h"
#include "model/plan/eplb.h"
#include "model/plan/node_spread.h"
#include "model/plan/routing.h"
#include "sim/commands/load_option.h"
#include "sim/commands/output.h"

#define LOAD_JSON_VERSION 1

// What was asked for, and the load that it is about.
typedef struct Question {
    Arch arch; // zeroed without --model
    RoutingRule rule;
    uint32_t moe_layers; // of the model; 0 without one
    RoutingSpec spec;
    EplbSpec eplb;
    Routing routing; // its token_nodes are NULL when the load was not sampled
} Question;

// One line of the table.
typedef struct LayerFigures {
    uint64_t pairs, most;
    uint32_t hottest;
    double over_mean;             // most over the mean of an expert
    double balance, eplb_balance; // at --ep; the second also with --redundant
} LayerFigures;

// ---- What is asked

static bool small_count(const CliArgs *args, const char *name, uint32_t *out, Err *err) {
    if (cli_text(args, name) == NULL) return true;
    uint64_t count = cli_count(args, name);
    if (count > UINT32_MAX)
        return err_set(err, "--%s: expected at most %" PRIu32 ", found %" PRIu64, name, UINT32_MAX,
                       count);
    *out = (uint32_t)count;
    return true;
}

static bool read_model(const CliArgs *args, Question *question, Err *err) {
    const char *model = cli_text(args, "model");
    return model == NULL ||
           (arch_load_assuming(model, cli_text(args, "assume"), &question->arch, err) &&
            load_option_rule(&question->arch, &question->rule, &question->moe_layers, err));
}

static bool read_spec(const CliArgs *args, Question *question, Err *err) {
    RoutingSpec *spec = &question->spec;
    const char *law = cli_text(args, "law"), *layers = cli_text(args, "layers");
    *spec = (RoutingSpec){.rule = question->rule, .seed = cli_count(args, "seed")};
    spec->tokens = cli_count(args, "tokens");
    uint64_t count = question->moe_layers;
    if (strcmp(layers, "all") != 0 && !text_parse_u64(layers, &count))
        return err_set(err, "--layers: expected a number or \"all\", found \"%s\"", layers);
    if (count > UINT32_MAX)
        return err_set(err, "--layers: expected at most %" PRIu32 ", found %" PRIu64, UINT32_MAX,
                       count);
    spec->layers = (uint32_t)count;
    spec->nodes = question->eplb.nodes;
    if (!small_count(args, "sources", &spec->sources, err)) return false;
    return routing_parse_law(law, &spec->law, err) || err_prefix(err, "--law");
}

static bool read_eplb(const CliArgs *args, Question *question, Err *err) {
    EplbSpec *eplb = &question->eplb;
    if (!small_count(args, "ep", &eplb->gpus, err) ||
        !small_count(args, "nodes", &eplb->nodes, err) ||
        !small_count(args, "redundant", &eplb->redundant, err))
        return false;
    if (eplb->nodes == 0) return err_set(err, "--nodes: expected at least 1, found 0");
    if (cli_is_given(args, "ep") && eplb->gpus == 0)
        return err_set(err, "--ep: expected at least 1, found 0");
    if (eplb->gpus == 0 && cli_is_given(args, "redundant"))
        return err_set(err, "--redundant: needs --ep, the GPUs that have the experts");
    eplb->groups = question->rule.groups;
    return true;
}

static bool check_use(const CliArgs *args, Err *err) {
    static const char *const of_law[] = {"seed", "tokens", "layers", "sources", "expected"};
    bool has_law = cli_is_given(args, "law"), has_file = args->operand_count > 0;
    if (has_law == has_file)
        return err_set(err, "load: expected a FILE, or --law and --model to make one%s",
                       has_law ? ", found both" : "");
    if (has_law && !cli_is_given(args, "model"))
        return err_set(err, "load: --law needs --model: a config.json or a shipped name");
    if (cli_is_given(args, "assume") && !cli_is_given(args, "model"))
        return err_set(err, "--assume: belongs to --model");
    for (size_t i = 0; has_file && i < sizeof of_law / sizeof *of_law; i++)
        if (cli_is_given(args, of_law[i])) return err_set(err, "--%s: belongs to --law", of_law[i]);
    return true;
}

// ---- The load

static bool make_load(const CliArgs *args, Question *question, Err *err) {
    if (!read_spec(args, question, err)) return false;
    if (cli_is_given(args, "expected"))
        return routing_expect(&question->spec, &question->routing.load, err);
    return routing_sample(&question->spec, &question->routing, err);
}

static bool read_load(const CliArgs *args, Question *question, Err *err) {
    Load *load = &question->routing.load;
    if (!load_read(args->operands[0], load, err)) return false;
    return question->moe_layers == 0 ||
           load_check(load, question->moe_layers, question->rule.experts, err) ||
           err_prefix(err, "%s", args->operands[0]);
}

static bool answer(const CliArgs *args, Question *question, Err *err) {
    if (!check_use(args, err) || !read_model(args, question, err) ||
        !read_eplb(args, question, err))
        return false;
    if (!(args->operand_count > 0 ? read_load : make_load)(args, question, err)) return false;
    uint32_t experts = question->routing.load.experts;
    return question->eplb.gpus <= experts ||
           err_set(err, "--ep: %" PRIu32 " experts are fewer than %" PRIu32 " ranks", experts,
                   question->eplb.gpus);
}

static bool write_load(const CliArgs *args, const Load *load, Err *err) {
    const char *path = cli_text(args, "out");
    if (path == NULL) return true;
    Text text = {0};
    load_write(load, &text);
    bool done = file_write(path, text_string(&text), text.length, err);
    text_free(&text);
    return done;
}

// ---- Figures

static LayerFigures figures_of(const Question *question, const Load *slots, uint32_t layer) {
    const Load *load = &question->routing.load;
    LayerFigures figures = {0};
    for (uint32_t e = 0; e < load->experts; e++) {
        uint64_t part;
        load_share(load, layer, load->experts, e, 1, &part, &figures.pairs);
        if (part <= figures.most) continue;
        figures.most = part;
        figures.hottest = e;
    }
    figures.over_mean = (double)figures.most * (double)load->experts / (double)figures.pairs;
    if (question->eplb.gpus == 0) return figures;
    figures.balance = eplb_balance(load, layer, question->eplb.gpus);
    figures.eplb_balance = eplb_balance(slots, layer, question->eplb.gpus);
    return figures;
}

static LayerFigures *all_figures(const Question *question, const Load *slots, Arena *arena) {
    uint32_t layers = question->routing.load.layers;
    LayerFigures *figures = arena_alloc(arena, layers, sizeof *figures);
    for (uint32_t layer = 0; layer < layers; layer++)
        figures[layer] = figures_of(question, slots, layer);
    return figures;
}

// ---- For people

static void show_head(const Question *question, Text *out) {
    const Load *load = &question->routing.load;
    char digest[17];
    text_addf(out, "load     %s (digest %s)\n", load->origin[0] != '\0' ? load->origin : "recorded",
              hash_format(load->digest, digest));
    text_addf(out,
              "counts   %" PRIu32 " layer%s of %" PRIu32 " experts from %" PRIu32 " source%s\n",
              load->layers, load->layers == 1 ? "" : "s", load->experts, load->sources,
              load->sources == 1 ? "" : "s");
}

static void show_nodes(const Question *question, Text *out) {
    const Routing *routing = &question->routing;
    char number[OUTPUT_NUMBER_MAX];
    if (routing->token_nodes == NULL || routing->nodes == 1) return;
    text_addf(out, "nodes    a token's experts are on %s of %" PRIu32 " nodes in the mean",
              output_number(routing_mean_nodes(routing), number), routing->nodes);
    NodeSpread alike = {
        .experts = question->rule.experts, .top_k = question->rule.top_k, .nodes = routing->nodes};
    if (question->rule.experts % routing->nodes == 0)
        text_addf(out, " (%s when all experts are alike and no group is chosen)",
                  output_number(node_spread_mean(&alike), number));
    text_add_char(out, '\n');
}

static void show_eplb(const Question *question, Text *out) {
    const EplbSpec *eplb = &question->eplb;
    if (eplb->gpus == 0) return;
    bool is_by_node = eplb->groups > 0 && eplb->groups % eplb->nodes == 0 && eplb->nodes > 1;
    text_addf(out,
              "eplb     %" PRIu32 " experts and %" PRIu32 " redundant ones on %" PRIu32 " GPUs",
              question->routing.load.experts, eplb->redundant, eplb->gpus);
    if (is_by_node)
        text_addf(out, ", groups on %" PRIu32 " nodes\n", eplb->nodes);
    else
        text_add(out, "\n");
}

static void fill_table(const Question *question, const LayerFigures *figures, Table *table) {
    static const char *const headers[] = {"layer",     "pairs",   "hottest",  "its pairs",
                                          "over mean", "balance", "with eplb"};
    uint32_t columns = question->eplb.gpus > 0 ? 7 : 5;
    char number[OUTPUT_NUMBER_MAX];
    for (uint32_t i = 0; i < columns; i++) table_column(table, headers[i], TABLE_RIGHT);
    for (uint32_t layer = 0; layer < question->routing.load.layers; layer++) {
        const LayerFigures *f = &figures[layer];
        table_cellf(table, "%" PRIu32, layer);
        table_cellf(table, "%" PRIu64, f->pairs);
        table_cellf(table, "%" PRIu32, f->hottest);
        table_cellf(table, "%" PRIu64, f->most);
        table_cell(table, output_number(f->over_mean, number));
        if (columns == 5) continue;
        table_cell(table, output_number(f->balance, number));
        table_cell(table, output_number(f->eplb_balance, number));
    }
}

static void show_text(const Question *question, const LayerFigures *figures, Text *out) {
    Table table = {0};
    show_head(question, out);
    show_nodes(question, out);
    show_eplb(question, out);
    text_add_char(out, '\n');
    fill_table(question, figures, &table);
    table_print(&table, out);
    table_free(&table);
    text_add(out, question->eplb.gpus > 0
                      ? "pairs of token and expert; balance is mean over largest of the GPUs\n"
                      : "pairs of token and expert\n");
}

// ---- For programs

static void show_csv(const Question *question, const LayerFigures *figures, Text *out) {
    Table table = {0};
    fill_table(question, figures, &table);
    table_print_csv(&table, out);
    table_free(&table);
}

static void write_layer(JsonWriter *w, const Question *question, const LayerFigures *figures) {
    jsonw_inline_next(w);
    jsonw_open_object(w, NULL);
    jsonw_u64(w, "pairs", figures->pairs);
    jsonw_u64(w, "hottest_expert", figures->hottest);
    jsonw_u64(w, "hottest_pairs", figures->most);
    jsonw_double(w, "hottest_over_mean", figures->over_mean);
    if (question->eplb.gpus > 0) {
        jsonw_double(w, "balance", figures->balance);
        jsonw_double(w, "eplb_balance", figures->eplb_balance);
    }
    jsonw_close_object(w);
}

static void show_json(const Question *question, const LayerFigures *figures, Text *out) {
    const Routing *routing = &question->routing;
    JsonWriter w = {.text = out};
    jsonw_open_object(&w, NULL);
    jsonw_string(&w, "moesim", "load-summary");
    jsonw_u64(&w, "version", LOAD_JSON_VERSION);
    jsonw_string(&w, "origin", routing->load.origin);
    jsonw_digest(&w, "digest", routing->load.digest);
    jsonw_u64(&w, "experts", routing->load.experts);
    jsonw_u64(&w, "sources", routing->load.sources);
    if (question->eplb.gpus > 0) {
        jsonw_u64(&w, "ep", question->eplb.gpus);
        jsonw_u64(&w, "redundant_experts", question->eplb.redundant);
    }
    if (routing->token_nodes != NULL) {
        jsonw_double(&w, "nodes_per_token", routing_mean_nodes(routing));
        jsonw_inline_next(&w);
        jsonw_open_array(&w, "tokens_by_nodes");
        for (uint32_t n = 0; n <= routing->nodes; n++) jsonw_u64(&w, NULL, routing->token_nodes[n]);
        jsonw_close_array(&w);
    }
    jsonw_open_array(&w, "layers");
    for (uint32_t i = 0; i < routing->load.layers; i++) write_layer(&w, question, &figures[i]);
    jsonw_close_array(&w);
    jsonw_close_object(&w);
    jsonw_finish(&w);
}

static bool print(const CliArgs *args, const Question *question, Text *out, Err *err) {
    static void (*const show[])(const Question *, const LayerFigures *,
                                Text *) = {show_text, show_json, show_csv};
    const Load *load = &question->routing.load;
    Arena arena = {0};
    Eplb eplb = {0};
    Load slots = {0};
    bool good = question->eplb.gpus == 0 || (eplb_place(load, &question->eplb, &eplb, err) &&
                                             eplb_slots(load, &eplb, &slots, err));
    if (good)
        show[cli_choice(args, "format")](question, all_figures(question, &slots, &arena), out);
    load_free(&slots);
    eplb_free(&eplb);
    arena_free(&arena);
    return good;
}

int load_command(const CliArgs *args) {
    Question question = {0};
    Err err = {0};
    Text out = {0};
    bool good = answer(args, &question, &err) && print(args, &question, &out, &err) &&
                write_load(args, &question.routing.load, &err);
    routing_free(&question.routing);
    arch_free(&question.arch);
    const char *path = cli_text(args, "out");
    bool is_alone = good && path != NULL && strcmp(path, "-") == 0; // the load alone is on stdout
    if (good && !is_alone) return output_text(&out, OUTPUT_OK);
    text_free(&out);
    return good ? OUTPUT_OK : output_bad(&err);
}

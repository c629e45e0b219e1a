// The option --load: a law by its expected shares, or a file.
//
// Invariant: a load that is returned has the layers and experts of the model.
#include "sim/commands/load_option.h"

#include <inttypes.h>
#include <string.h>

#include "model/plan/launch_shell.h"
#include "sim/commands/output.h"

#define LAW_SEED 1 // of the order of the experts; moesim load makes others

bool load_option_rule(const Arch *arch, RoutingRule *out, uint32_t *out_layers, Err *err) {
    RoutingRule rule = {0};
    uint32_t layers = 0;
    for (uint32_t k = 0; k < arch->kind_count; k++) {
        const MlpSpec *mlp = &arch->mlps[arch->kinds[k].mlp];
        if (mlp->experts == 0) continue;
        if (layers > 0 && (mlp->experts != rule.experts || mlp->top_k != rule.top_k))
            return err_set(err,
                           "%s: has layers that choose %" PRIu32 " of %" PRIu32
                           " experts and %" PRIu32 " of %" PRIu32,
                           arch->name, rule.top_k, rule.experts, mlp->top_k, mlp->experts);
        rule = (RoutingRule){mlp->experts, mlp->top_k, mlp->groups, mlp->top_groups};
        layers += arch->kinds[k].count;
    }
    if (layers == 0) return err_set(err, "%s: has no experts", arch->name);
    *out = rule;
    *out_layers = layers;
    return true;
}

static bool is_law(const char *text) {
    for (uint32_t kind = 0; kind < ROUTING_LAW_COUNT; kind++) {
        size_t length = strlen(routing_law_names[kind]);
        if (strncmp(text, routing_law_names[kind], length) == 0 &&
            (text[length] == '\0' || text[length] == ':'))
            return true;
    }
    return false;
}

bool load_option_is_law(const CliArgs *args) {
    const char *text = cli_text(args, "load");
    return text != NULL && is_law(text);
}

static bool read_file(const char *path, const RoutingSpec *spec, Load *out, Err *err) {
    Load load = {0};
    if (!load_read(path, &load, err)) return false;
    if (load_check(&load, spec->layers, spec->rule.experts, err)) {
        *out = load;
        return true;
    }
    load_free(&load);
    return err_prefix(err, "%s", path);
}

bool load_option_read(const CliArgs *args, const Arch *arch, Load *out, Err *err) {
    const char *text = cli_text(args, "load");
    RoutingSpec spec = {.seed = LAW_SEED};
    if (text == NULL || strcmp(text, "uniform") == 0) {
        *out = load_uniform();
        return true;
    }
    if (!load_option_rule(arch, &spec.rule, &spec.layers, err)) return err_prefix(err, "--load");
    if (!is_law(text)) return read_file(text, &spec, out, err);
    spec.sources = 1;
    return (routing_parse_law(text, &spec.law, err) && routing_expect(&spec, out, err)) ||
           err_prefix(err, "--load");
}

bool load_option_law(const CliArgs *args, const Arch *arch, RoutingSpec *out, Err *err) {
    const char *text = cli_text(args, "load");
    RoutingSpec spec = {.seed = LAW_SEED, .sources = 1};
    if (!load_option_is_law(args))
        return err_set(err, "expected a law in --load, such as zipf:0.8, found %s",
                       text == NULL ? "none" : "a file");
    if (!load_option_rule(arch, &spec.rule, &spec.layers, err) ||
        !routing_parse_law(text, &spec.law, err))
        return false;
    *out = spec;
    return true;
}

void load_option_show_command(const CliArgs *args, const char *model, const char *assume,
                              const char *out_path, Text *out) {
    text_add(out, "moesim load --model ");
    launch_shell_quote(model, out);
    if (*assume != '\0') {
        text_add(out, " --assume ");
        launch_shell_quote(assume, out);
    }
    text_add(out, " --law ");
    launch_shell_quote(cli_text(args, "load"), out);
    text_addf(out, " --seed %d --expected --out ", LAW_SEED);
    launch_shell_quote(out_path, out);
}

const char *load_option_name(const Load *load) {
    return load->origin[0] != '\0' ? load->origin : "recorded";
}

void load_option_show_experts(const Arch *arch, const Pool *pool, const Evaluation *evaluation,
                              Text *out) {
    char number[OUTPUT_NUMBER_MAX];
    uint32_t experts = arch_most_experts(arch), first, most;
    bool is_placed = pool->expert_placement == EXPERT_PLACEMENT_EPLB;
    if (!is_placed && evaluation->balance >= 1) return;
    pool_experts(pool, pool_slots(pool, experts), 0, &first, &most);
    text_addf(out, "experts    %" PRIu32, experts);
    if (pool->redundant_experts > 0)
        text_addf(out, " and %" PRIu32 " redundant ones", pool->redundant_experts);
    text_addf(out, ", at most %" PRIu32 " on each of %" PRIu32 " positions; balancedness %s", most,
              pool->ep, output_number(evaluation->balance_in_order, number));
    if (is_placed)
        text_addf(out, " in order, %s as placed", output_number(evaluation->balance, number));
    text_add(out, " (mean over largest load of a position, mean over the layers)\n");
}

// Reads the options of rank.
//
// Invariant: a range runs forwards, and what is asked of the machine is there.
#include "sim/commands/rank_option.h"

#include <inttypes.h>
#include <string.h>

#include "model/base/units.h"
#include "model/machine/fabric_fault.h"

#define AROUND     3  // plans whose neighbours are tried
#define PART_MAX_B 32 // of one end of a range, as typed

static bool read_count(const char *flag, const char *text, size_t length, uint64_t *out, Err *err) {
    char part[PART_MAX_B];
    if (length >= sizeof part) return err_set(err, "%s: expected a count", flag);
    memcpy(part, text, length);
    part[length] = '\0';
    if (!units_parse_count(part, out, err)) return err_prefix(err, "%s", flag);
    return *out > 0 || err_set(err, "%s: expected at least 1, found 0", flag);
}

bool rank_option_range(const char *flag, const char *text, uint64_t *least, uint64_t *most,
                       Err *err) {
    const char *colon = strchr(text, ':');
    uint64_t first = 0, last;
    if (colon != NULL && !read_count(flag, text, (size_t)(colon - text), &first, err)) return false;
    const char *end = colon == NULL ? text : colon + 1;
    if (!read_count(flag, end, strlen(end), &last, err)) return false;
    if (first > last)
        return err_set(err,
                       "%s: %" PRIu64 ":%" PRIu64 " runs backwards, expected %" PRIu64 ":%" PRIu64,
                       flag, first, last, last, first);
    *least = first;
    *most = last;
    return true;
}

static bool is_range(const CliArgs *args, const char *option) {
    const char *text = cli_text(args, option);
    return text != NULL && strchr(text, ':') != NULL;
}

bool rank_option_is_range(const CliArgs *args) {
    return is_range(args, "concurrency");
}

bool rank_option_has_sizes(const CliArgs *args) {
    return is_range(args, "gpus");
}

static bool read_gpus(const CliArgs *args, const Inputs *inputs, RankOption *out, Err *err) {
    const char *text = cli_text(args, "gpus");
    uint64_t least, most, live = fabric_live_gpu_count(&inputs->fabric);
    if (text == NULL) return true;
    if (!rank_option_range("--gpus", text, &least, &most, err)) return false;
    if (most > live || least > live)
        return err_set(err, "--gpus: %s has %" PRIu64 " GPUs, found %" PRIu64,
                       inputs->topology_name, live, most);
    out->rank.width.least_gpus = (uint32_t)least;
    out->rank.width.most_gpus = (uint32_t)most;
    out->paid = EVALUATE_PAID_PLAN;
    return true;
}

static bool read_engine(const CliArgs *args, RankOption *out, Err *err) {
    if (!cli_is_given(args, "engine")) return true;
    // in the order of the choices
    static const LaunchEngine engines[] = {LAUNCH_VLLM, LAUNCH_SGLANG, LAUNCH_ENGINE_COUNT};
    if (!space_engine_open(engines[cli_choice(args, "engine")], &out->engines, err)) return false;
    out->rank.width.engines = &out->engines;
    return true;
}

static bool read_requests(const CliArgs *args, const Inputs *inputs, RankOption *out, Err *err) {
    const char *text = cli_text(args, "concurrency");
    out->least_requests = out->most_requests = inputs->scenario.concurrency;
    if (!rank_option_is_range(args)) return true;
    return rank_option_range("--concurrency", text, &out->least_requests, &out->most_requests, err);
}

// Choices are the placements in their order, then any.
static void read_placement(const CliArgs *args, RankOption *out) {
    if (!cli_is_given(args, "placement")) return;
    uint32_t choice = cli_choice(args, "placement");
    out->rank.width.placements =
        choice == PLACEMENT_COUNT ? (1U << PLACEMENT_COUNT) - 1 : 1U << choice;
}

bool rank_option_read(const CliArgs *args, const Inputs *inputs, RankOption *out, Err *err) {
    uint64_t top = cli_count(args, "top");
    *out = (RankOption){0};
    out->rank = (RankOptions){.objective = (Objective)cli_choice(args, "objective"),
                              .scope = fabric_has_faults(&inputs->fabric) ? RANK_ALL : RANK_FRONT,
                              .around = fabric_has_faults(&inputs->fabric) ? 0 : AROUND,
                              .top = top < UINT32_MAX ? (uint32_t)top : UINT32_MAX};
    out->rank.width.any_moe_tp = cli_choice(args, "moe-tp") == 1;
    read_placement(args, out);
    const char *format = cli_text(args, "kv-format");
    // scales in the checkpoint are an offer; a format that a scenario or a flag says is an order
    bool is_open = inputs->scenario.origin[SCENARIO_KV_FORMAT] == SCENARIO_DEFAULT;
    out->rank.width.any_kv_format =
        format != NULL ? strcmp(format, "any") == 0 : is_open && inputs->arch.fp8_cache;
    if (read_gpus(args, inputs, out, err) && read_engine(args, out, err) &&
        read_requests(args, inputs, out, err))
        return true;
    rank_option_free(out);
    return false;
}

void rank_option_free(RankOption *option) {
    space_engine_close(&option->engines);
}

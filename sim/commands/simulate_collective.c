// One collective on a machine, as nccl-tests would report it.
//
// Sizes and bandwidths follow nccl-tests (doc/PERFORMANCE.md): all-reduce: the buffer; all-gather:
// what a rank receives, its own part included; reduce-scatter: what a rank sends. For an all-to-all
// --size is the bytes from each rank to each other one, because that is what decides whether a
// message is small; nccl-tests' size is the number of ranks times as much.
#include "sim/commands/simulate_collective.h"

#include <inttypes.h>
#include <string.h>

#include "model/base/jsonw.h"
#include "model/base/wide.h"
#include "sim/commands/inputs.h"
#include "sim/commands/output.h"
#include "sim/sim.h"

typedef struct Test {
    Inputs inputs;
    Collective collective;
    Algorithm algorithm;
    uint32_t first_gpu, ranks;
    uint64_t size_B;  // as given
    uint64_t total_B; // of nccl-tests
    Timeline timeline;
} Test;

// "8-15" or one GPU alone.
static bool parse_ranks(const char *text, uint32_t gpus, Test *test, Err *err) {
    char copy[64];
    uint64_t first = 0, last = 0;
    const char *dash = strchr(text, '-');
    size_t length = dash == NULL ? strlen(text) : (size_t)(dash - text);
    if (length >= sizeof copy)
        return err_set(err, "--ranks: expected a range of GPUs such as 0-7, found \"%s\"", text);
    memcpy(copy, text, length);
    copy[length] = '\0';
    bool good = text_parse_u64(copy, &first);
    last = first;
    if (dash != NULL) good = good && text_parse_u64(dash + 1, &last);
    if (!good || last < first)
        return err_set(err, "--ranks: expected a range of GPUs such as 0-7, found \"%s\"", text);
    if (last >= gpus)
        return err_set(err, "--ranks: GPU %" PRIu64 " is not there: the machine has GPUs 0 to %u",
                       last, gpus - 1);
    test->first_gpu = (uint32_t)first;
    test->ranks = (uint32_t)(last - first + 1);
    return true;
}

static bool parse_size(const CliArgs *args, Test *test, Err *err) {
    const char *size = cli_text(args, "size");
    if (!units_parse_bytes(size, &test->size_B, err)) return err_prefix(err, "--size");
    if (test->size_B == 0) return err_set(err, "--size: expected at least 1 B, found \"%s\"", size);
    uint64_t times = test->collective == COLLECTIVE_ALL_TO_ALL ? test->ranks : 1;
    if (!wide_mul_u64(test->size_B, times, &test->total_B))
        return err_set(err, "--size: %s for each of %u ranks is too large", size, test->ranks);
    return true;
}

static bool parse(const CliArgs *args, Test *test, Err *err) {
    const Fabric *fabric = &test->inputs.fabric;
    test->collective = (Collective)cli_choice(args, "collective");
    test->algorithm = (Algorithm)cli_choice(args, "algorithm");
    test->ranks = fabric->gpu_count;
    if (cli_is_given(args, "ranks") &&
        !parse_ranks(cli_text(args, "ranks"), fabric->gpu_count, test, err))
        return false;
    if (test->ranks < 2) return err_set(err, "--ranks: expected at least 2 GPUs, found 1");
    if (!collective_has(test->collective, test->algorithm))
        return err_set(err, "--algorithm: there is no %s %s", algorithm_names[test->algorithm],
                       collective_names[test->collective]);
    return parse_size(args, test, err);
}

// Links as in the data sheet: no efficiency, no software.
static void make_nominal(Calib *calib) {
    const CalibParam rates[] = {CALIB_NVLINK, CALIB_C2C, CALIB_PCIE, CALIB_IB, CALIB_ETH};
    const CalibParam times[] = {CALIB_NVLINK_STEP, CALIB_PCIE_STEP, CALIB_NET_STEP,
                                CALIB_COLLECTIVE};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) calib->values[rates[i]].value = 1;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) calib->values[times[i]].value = 0;
}

static void build(const Test *test, Schedule *schedule) {
    uint32_t n = test->ranks;
    schedule_init(schedule, collective_names[test->collective], n);
    RoleId role = schedule_add_role(schedule, "all ranks", (RankSet){0, n, n, 1}, 1);
    GroupId group = schedule_add_group(
        schedule, &(GroupFamily){.name = "all", .size = n, .stride = 1, .count = 1});
    BlockId block = schedule_add_block(schedule, role, "test");
    schedule_add_op(schedule, &(Op){.kind = OP_COLLECTIVE,
                                    .op_class = OP_CLASS_OTHER,
                                    .name = collective_names[test->collective],
                                    .comm = {.collective = test->collective,
                                             .algorithm = test->algorithm,
                                             .group = group,
                                             .bytes = extent_fixed(test->total_B),
                                             .element = 1,
                                             .format = NUMFMT_BF16}});
    schedule_add_segment(schedule, role, block, 1);
    schedule_finish(schedule);
}

static bool run(Test *test, Err *err) {
    Schedule schedule = {0};
    StepShape shape = step_shape_decode(1, 1);
    Load load = load_uniform();
    SimOptions options = {.first_gpu = test->first_gpu};
    build(test, &schedule);
    bool done = sim_run(&test->inputs.fabric, &test->inputs.model, &schedule, &shape, &load,
                        &options, &test->timeline, err);
    schedule_free(&schedule);
    load_free(&load);
    return done;
}

static uint64_t algorithm_Bps(const Test *test) {
    Time end_ps = test->timeline.end_ps;
    return end_ps > 0 ? wide_mul_div(test->total_B, (uint64_t)PS_PER_SECOND, (uint64_t)end_ps) : 0;
}

static uint64_t bus_Bps(const Test *test) {
    uint32_t num, den;
    collective_bus_factor(test->collective, test->ranks, &num, &den);
    return wide_mul_div(algorithm_Bps(test), num, den);
}

static double bound_ratio(const Test *test) {
    Time bound_ps = test->timeline.totals[0].bound_ps;
    return bound_ps > 0 ? (double)test->timeline.end_ps / (double)bound_ps : 0;
}

// What --size means, in words.
static const char *size_meaning(Collective collective) {
    switch (collective) {
    case COLLECTIVE_ALL_REDUCE: return "the buffer of each rank";
    case COLLECTIVE_ALL_GATHER: return "received by each rank, its own part included";
    case COLLECTIVE_REDUCE_SCATTER: return "sent by each rank, its own part included";
    case COLLECTIVE_ALL_TO_ALL: return "from each rank to each other one";
    case COLLECTIVE_COUNT: break;
    }
    return "";
}

static void show(const Test *test, Text *out) {
    char a[UNITS_TEXT_MAX], b[UNITS_TEXT_MAX], number[OUTPUT_NUMBER_MAX];
    text_addf(out, "machine    %s, GPUs %u to %u of %u\n", test->inputs.topology_name,
              test->first_gpu, test->first_gpu + test->ranks - 1, test->inputs.fabric.gpu_count);
    text_addf(out, "collective %s, %s, %" PRIu64 " B %s\n", collective_names[test->collective],
              algorithm_names[test->algorithm], test->size_B, size_meaning(test->collective));
    text_addf(out, "time       %s (bound %s, ratio %s)\n",
              units_format_time(test->timeline.end_ps, a),
              units_format_time(test->timeline.totals[0].bound_ps, b),
              output_number(bound_ratio(test), number));
    text_addf(out, "bandwidth  algorithm %s, bus %s (nccl-tests, size %" PRIu64 " B)\n\n",
              units_format_rate(algorithm_Bps(test), a), units_format_rate(bus_Bps(test), b),
              test->total_B);
    output_links(&test->timeline, out);
}

static void write_json(const Test *test, Text *out) {
    JsonWriter w = {.text = out};
    jsonw_open_object(&w, NULL);
    jsonw_string(&w, "moesim", "collective");
    jsonw_u64(&w, "version", 1);
    jsonw_string(&w, "machine", test->inputs.topology_name);
    jsonw_string(&w, "collective", collective_names[test->collective]);
    jsonw_string(&w, "algorithm", algorithm_names[test->algorithm]);
    jsonw_u64(&w, "first_gpu", test->first_gpu);
    jsonw_u64(&w, "ranks", test->ranks);
    jsonw_u64(&w, "size_B", test->size_B);
    jsonw_string(&w, "size_means", size_meaning(test->collective));
    jsonw_u64(&w, "nccl_tests_size_B", test->total_B);
    jsonw_i64(&w, "time_ps", test->timeline.end_ps);
    jsonw_i64(&w, "time_lower_bound_ps", test->timeline.totals[0].bound_ps);
    jsonw_u64(&w, "algorithm_B_per_s", algorithm_Bps(test));
    jsonw_u64(&w, "bus_B_per_s", bus_Bps(test));
    jsonw_bool(&w, "folded", test->timeline.folded);
    jsonw_close_object(&w);
    jsonw_finish(&w);
}

static bool check_args(const CliArgs *args, Err *err) {
    if (args->operand_count > 0)
        return err_set(err, "simulate: expected a plan or --collective, found both");
    if (!cli_is_given(args, "topo") || !cli_is_given(args, "size"))
        return err_set(err, "simulate --collective: expected --topo and --size");
    return true;
}

int simulate_collective_command(const CliArgs *args) {
    Test test = {0};
    Err err = {0};
    Text out = {0};
    if (!check_args(args, &err) || !inputs_load_machine(args, &test.inputs, &err))
        return output_bad(&err);
    if (cli_is_given(args, "nominal")) make_nominal(&test.inputs.calib);
    bool done = parse(args, &test, &err) && run(&test, &err);
    if (done && cli_choice(args, "format") == 0) show(&test, &out);
    if (done && cli_choice(args, "format") == 1) write_json(&test, &out);
    timeline_free(&test.timeline);
    inputs_free(&test.inputs);
    return done ? output_text(&out, OUTPUT_OK) : output_bad(&err);
}

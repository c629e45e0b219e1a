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
#include "model/base/table.h"
#include "model/base/wide.h"
#include "model/plan/schedule_one.h"
#include "sim/collective_bound.h"
#include "sim/commands/degrade.h"
#include "sim/commands/flow_eps.h"
#include "sim/commands/inputs.h"
#include "sim/commands/output.h"
#include "sim/commands/simulate_network.h"
#include "sim/search/choose.h"
#include "sim/sim.h"
#include "sim/transfers.h"

typedef struct Test {
    Inputs inputs;
    Collective collective;
    Algorithm algorithm;
    uint32_t inner; // ranks of a node, for hierarchical ones
    uint32_t first_gpu, ranks;
    Chooser *chooser;     // NULL: the algorithm was given
    Choice choice;        // what it found
    uint64_t size_B;      // as given
    uint64_t total_B;     // of nccl-tests
    NetworkMatrix matrix; // in place of a size; its bytes are NULL without one
    uint64_t count;       // calls in a row
    NetworkModel network;
    PacketOptions packet;
    NetworkResult result; // of all calls; its bound is that of the algorithm's own steps
    Time bound_ps;        // of all calls, of any algorithm; of a matrix, of its transfers
    bool folded;
    Time built_ps; // of all calls on the machine without its faults; 0 when it has none
    uint32_t built_ranks;
    uint64_t built_bus_Bps;
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

// Ranks of one node are neighbours.
static CollectiveShape shape_of(const Test *test) {
    CollectiveShape shape = {
        .kind = test->collective, .algorithm = test->algorithm, .n = test->ranks};
    if (test->algorithm == ALGORITHM_HIERARCHICAL) shape.inner = test->inner;
    return shape;
}

static bool parse_matrix(const CliArgs *args, Test *test, Err *err) {
    if (test->collective != COLLECTIVE_ALL_TO_ALL || test->algorithm != ALGORITHM_DIRECT)
        return err_set(err, "--matrix: expected a direct all-to-all with it, found a %s %s",
                       algorithm_names[test->algorithm], collective_names[test->collective]);
    if (!simulate_network_read_matrix(cli_text(args, "matrix"), test->ranks, &test->matrix, err))
        return false;
    return test->matrix.total_B > 0 ||
           err_set(err, "%s: expected bytes from some rank to another one, found none",
                   cli_text(args, "matrix"));
}

// False when it does not fit 64 bits.
static bool find_total(Test *test) {
    uint64_t times = test->collective == COLLECTIVE_ALL_TO_ALL ? test->ranks : 1;
    return wide_mul_u64(test->size_B, times, &test->total_B);
}

static bool parse_size(const CliArgs *args, Test *test, Err *err) {
    const char *size = cli_text(args, "size");
    if (!units_parse_bytes(size, &test->size_B, err)) return err_prefix(err, "--size");
    if (test->size_B == 0) return err_set(err, "--size: expected at least 1 B, found \"%s\"", size);
    return find_total(test) ||
           err_set(err, "--size: %s for each of %u ranks is too large", size, test->ranks);
}

static GroupFamily family_of(const Test *test) {
    return (GroupFamily){.name = "all", .size = test->ranks, .stride = 1, .count = 1};
}

static bool parse_inner(const CliArgs *args, Test *test, Err *err) {
    GroupFamily family = family_of(test);
    test->inner = choose_inner(&test->inputs.fabric, &family, test->first_gpu);
    if (!cli_is_given(args, "inner")) return true;
    uint64_t inner = cli_count(args, "inner");
    if (inner > test->ranks)
        return err_set(err, "--inner: expected at most the %u ranks there are, found %" PRIu64,
                       test->ranks, inner);
    test->inner = (uint32_t)inner;
    return test->algorithm == ALGORITHM_HIERARCHICAL ||
           err_set(err, "--inner: expected --algorithm hierarchical with it, found %s",
                   algorithm_names[test->algorithm]);
}

static bool find_algorithm(const char *name, Algorithm *out, Err *err) {
    for (uint32_t i = 0; i < ALGORITHM_COUNT; i++) {
        if (strcmp(algorithm_names[i], name) != 0) continue;
        *out = (Algorithm)i;
        return true;
    }
    char quoted[TEXT_QUOTE_MAX];
    uint32_t near = text_nearest(name, algorithm_names, ALGORITHM_COUNT);
    if (near == UINT32_MAX)
        return err_set(err, "--algorithm: expected a name such as ring or auto, found %s",
                       text_quote(name, quoted));
    return err_set(err, "--algorithm: unknown %s, did you mean %s?", text_quote(name, quoted),
                   algorithm_names[near]);
}

static bool parse_algorithm(const CliArgs *args, Test *test, Err *err) {
    if (!parse_inner(args, test, err)) return false;
    if (test->algorithm == ALGORITHM_AUTO) return true;
    if (!collective_has(test->collective, test->algorithm))
        return err_set(err, "--algorithm: there is no %s %s", algorithm_names[test->algorithm],
                       collective_names[test->collective]);
    return collective_check(shape_of(test), err) || err_prefix(err, "--algorithm");
}

static bool parse(const CliArgs *args, Test *test, Err *err) {
    const Fabric *fabric = &test->inputs.fabric;
    test->collective = (Collective)cli_choice(args, "collective");
    if (!find_algorithm(cli_text(args, "algorithm"), &test->algorithm, err)) return false;
    uint32_t live = fabric_live_gpu_count(fabric);
    test->ranks = live;
    if (cli_is_given(args, "ranks") && !parse_ranks(cli_text(args, "ranks"), live, test, err))
        return false;
    if (test->ranks < 2) return err_set(err, "--ranks: expected at least 2 GPUs, found 1");
    if (!parse_algorithm(args, test, err)) return false;
    test->count = cli_count(args, "count");
    if (test->count == 0) return err_set(err, "--count: expected at least 1 call, found 0");
    return simulate_network_options(args, &test->network, &test->packet, err) &&
           (cli_is_given(args, "matrix") ? parse_matrix(args, test, err)
                                         : parse_size(args, test, err));
}

// Links as in the data sheet: no efficiency, no software.
static void make_nominal(Calib *calib) {
    const CalibParam rates[] = {CALIB_NVLINK, CALIB_C2C, CALIB_PCIE,
                                CALIB_IB,     CALIB_ETH, CALIB_IN_SWITCH};
    const CalibParam times[] = {CALIB_NVLINK_STEP, CALIB_PCIE_STEP, CALIB_NET_STEP,
                                CALIB_COLLECTIVE};
    const CalibParam tier[] = {CALIB_TIER_COLLISIONS, CALIB_TIER_BUFFERS, CALIB_TIER_PACKETS};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) calib->values[rates[i]].value = 1;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) calib->values[times[i]].value = 0;
    for (size_t i = 0; i < sizeof tier / sizeof *tier; i++) calib->values[tier[i]].value = 0;
}

// The fastest algorithm, when it was left to the simulator.
static bool choose(Test *test, Err *err) {
    if (test->algorithm != ALGORITHM_AUTO) return true;
    ChooseCase given = {.kind = test->collective,
                        .bytes = test->total_B,
                        .family = family_of(test),
                        .first_gpu = test->first_gpu};
    test->chooser = choose_open(&test->inputs.fabric, &test->inputs.model, CHOOSE_ALL);
    test->choice = *choose_times(test->chooser, &given);
    const ChooseTime *best = &test->choice.times[0];
    if (best->time_ps < 0) return err_set(err, "%s", best->reason);
    test->algorithm = best->algorithm;
    if (best->inner > 0) test->inner = best->inner;
    return true;
}

static void build(const Test *test, Schedule *schedule) {
    GroupFamily family = family_of(test);
    Comm comm = {.collective = test->collective,
                 .algorithm = test->algorithm,
                 .inner = shape_of(test).inner,
                 .bytes = extent_fixed(test->total_B),
                 .element = 1,
                 .format = NUMFMT_BF16};
    schedule_one_collective(&family, &comm, schedule);
}

static bool run_schedule(const Fabric *fabric, const Test *test, NetworkResult *out,
                         bool *out_folded, Err *err) {
    Schedule schedule = {0};
    Timeline timeline = {0};
    StepShape shape = step_shape_decode(1, 1);
    Load load = load_uniform();
    SimOptions options = {.first_gpu = test->first_gpu, .flow_eps_ppb = test->inputs.flow_eps_ppb};
    build(test, &schedule);
    bool done =
        sim_run(fabric, &test->inputs.model, &schedule, &shape, &load, &options, &timeline, err);
    if (done) {
        *out = (NetworkResult){.time_ps = timeline.end_ps,
                               .bound_ps = timeline.totals[0].bound_ps,
                               .fullest = FABRIC_NONE,
                               .flow_eps_error_ppb = timeline.flow_eps_error_ppb};
        memcpy(out->links, timeline.links, sizeof out->links);
        *out_folded = timeline.form == TIMELINE_FOLDED;
    }
    timeline_free(&timeline);
    schedule_free(&schedule);
    load_free(&load);
    return done;
}

// One call; a call begins when the one before has ended, so all take the same.
static bool run_on(const Fabric *fabric, const Test *test, NetworkResult *out, bool *out_folded,
                   Err *err) {
    NetworkRanks ranks = {fabric, test->first_gpu, test->ranks};
    TransfersOptions flow = {.calib = &test->inputs.calib,
                             .eps_ppb = test->inputs.flow_eps_ppb,
                             .tier = tier_constants(&test->inputs.calib)};
    bool done = false;
    if (test->matrix.bytes != NULL)
        done = simulate_network_matrix(&ranks, &test->matrix, test->network, &flow, &test->packet,
                                       out, err);
    else if (test->network == NETWORK_PACKET)
        done = simulate_network_collective(&ranks, shape_of(test), test->total_B, &test->packet,
                                           out, err);
    else
        done = run_schedule(fabric, test, out, out_folded, err);
    return done && simulate_network_repeat(out, test->count, err);
}

static Time time_per_call_ps(const Test *test) {
    return test->result.time_ps / (Time)test->count;
}

static uint64_t algorithm_Bps(const Test *test) {
    Time one_ps = time_per_call_ps(test);
    return one_ps > 0 ? wide_mul_div(test->total_B, (uint64_t)PS_PER_SECOND, (uint64_t)one_ps) : 0;
}

static uint64_t bus_Bps(const Test *test) {
    uint32_t num, den;
    collective_bus_factor(test->collective, test->ranks, &num, &den);
    return wide_mul_div(algorithm_Bps(test), num, den);
}

// What the machine as built is asked for: all of its GPUs, when all live ones are, as far as the
// algorithm allows; else as many from the same one on.
static bool plan_built(const Test *test, const Fabric *whole, Test *built, Err *err) {
    const Fabric *fabric = &test->inputs.fabric;
    *built = *test;
    built->inputs.fabric = *whole;
    built->chooser = NULL;
    if (test->ranks < fabric_live_gpu_count(fabric) || test->matrix.bytes != NULL) return true;
    built->ranks = whole->gpu_count;
    GroupFamily family = family_of(built);
    built->inner = choose_inner(whole, &family, 0);
    Err ignored = {0};
    bool fits = find_total(built);
    if (fits && test->chooser != NULL) {
        built->algorithm = ALGORITHM_AUTO;
        return choose(built, err);
    }
    if (fits && collective_check(shape_of(built), &ignored)) return true;
    built->ranks = test->ranks;
    built->inner = test->inner;
    built->total_B = test->total_B;
    return true;
}

static bool run(Test *test, Err *err) {
    const Fabric *fabric = &test->inputs.fabric;
    Fabric whole = fabric_as_built(fabric);
    Test built = {0};
    if (!run_on(fabric, test, &test->result, &test->folded, err)) return false;
    if (!fabric_has_faults(fabric)) return true;
    bool done = plan_built(test, &whole, &built, err) &&
                run_on(&whole, &built, &built.result, &built.folded, err);
    if (done) {
        test->built_ps = built.result.time_ps;
        test->built_ranks = built.ranks;
        test->built_bus_Bps = bus_Bps(&built);
    }
    choose_close(built.chooser);
    return done;
}

// What a matrix asks for is its one step.
static bool find_bound(Test *test, Err *err) {
    Time one_ps = 0;
    test->bound_ps = test->result.bound_ps;
    if (test->matrix.bytes != NULL) return true;
    if (!collective_bound_find(&test->inputs.fabric, test->first_gpu, test->ranks, test->collective,
                               test->total_B, &one_ps, err))
        return false;
    test->bound_ps = one_ps * (Time)test->count; // at most the time, which fits
    return true;
}

static double bound_ratio(const Test *test) {
    Time bound_ps = test->bound_ps;
    return bound_ps > 0 ? (double)test->result.time_ps / (double)bound_ps : 0;
}

// What --size means, in words.
static const char *size_meaning(Collective collective) {
    switch (collective) {
    case COLLECTIVE_ALL_REDUCE: return "the buffer of each rank";
    case COLLECTIVE_ALL_GATHER: return "received by each rank, its own part included";
    case COLLECTIVE_REDUCE_SCATTER: return "sent by each rank, its own part included";
    case COLLECTIVE_ALL_TO_ALL: return "from each rank to each other one";
    case COLLECTIVE_BROADCAST: return "sent by the first rank to each other one";
    case COLLECTIVE_COUNT: break;
    }
    return "";
}

static void show_bytes(const Test *test, Text *out) {
    char total[UNITS_TEXT_MAX], sent[UNITS_TEXT_MAX], received[UNITS_TEXT_MAX];
    const NetworkMatrix *matrix = &test->matrix;
    text_addf(out, "collective %s, %s, ", collective_names[test->collective],
              algorithm_names[test->algorithm]);
    if (matrix->bytes == NULL)
        text_addf(out, "%" PRIu64 " B %s\n", test->size_B, size_meaning(test->collective));
    else
        text_addf(out, "%s by a matrix, at most %s out of a rank and %s into one\n",
                  units_format_bytes(matrix->total_B, total),
                  units_format_bytes(matrix->most_sent_B, sent),
                  units_format_bytes(matrix->most_received_B, received));
}

static double change(double built, double left) {
    return built > 0 ? 100 * (left / built - 1) : 0;
}

static void show_built(const Test *test, Text *out) {
    char time[UNITS_TEXT_MAX], bus[UNITS_TEXT_MAX];
    if (test->built_ps == 0) return;
    double cost = change((double)test->built_ps, (double)test->result.time_ps);
    text_add(out, "degraded   ");
    degrade_show_faults(&test->inputs.topology, out);
    units_format_time(test->built_ps, time);
    if (test->built_ranks == test->ranks) {
        text_addf(out, "; as built %s, the faults cost %+.1f %%\n", time, cost);
    } else {
        text_addf(out,
                  "; as built, with all %u GPUs, %s and bus %s: the faults change the time by "
                  "%+.1f %% and the bandwidth by %+.1f %%\n",
                  test->built_ranks, time, units_format_rate(test->built_bus_Bps, bus), cost,
                  change((double)test->built_bus_Bps, (double)bus_Bps(test)));
    }
    degrade_show_libraries(&test->inputs.fabric, &test->inputs.libraries, 11, out);
}

static void show_time(const Test *test, Text *out) {
    char total[UNITS_TEXT_MAX], one[UNITS_TEXT_MAX], number[OUTPUT_NUMBER_MAX];
    text_addf(out, "time       %s", units_format_time(test->result.time_ps, total));
    if (test->count > 1)
        text_addf(out, " for %" PRIu64 " calls, %s each", test->count,
                  units_format_time(time_per_call_ps(test), one));
    text_addf(out, " (bound %s, ratio %s; of its own steps %s)\n",
              units_format_time(test->bound_ps, total), output_number(bound_ratio(test), number),
              units_format_time(test->result.bound_ps, one));
    show_built(test, out);
}

// All algorithms, fastest first; of impossible ones the reason.
static void show_choice(const Test *test, Text *out) {
    Table table = {0};
    char text[UNITS_TEXT_MAX];
    if (test->choice.count == 0) return;
    table_column(&table, "algorithm", TABLE_LEFT);
    table_column(&table, "time", TABLE_RIGHT);
    table_column(&table, "bound", TABLE_RIGHT);
    table_column(&table, "", TABLE_LEFT);
    for (uint32_t i = 0; i < test->choice.count; i++) {
        const ChooseTime *way = &test->choice.times[i];
        bool can = way->time_ps >= 0;
        table_cell(&table, algorithm_names[way->algorithm]);
        table_cell(&table, can ? units_format_time(way->time_ps, text) : "");
        table_cell(&table, can ? units_format_time(way->bound_ps, text) : "");
        table_cell(&table, can ? "" : way->reason);
    }
    table_print(&table, out);
    table_free(&table);
    text_add(out, "\n");
}

static void show_eps(const Test *test, Text *out) {
    text_add(out, "flow eps   ");
    flow_eps_add(test->inputs.flow_eps_ppb, test->result.flow_eps_error_ppb, out);
    text_add_char(out, '\n');
}

static void show(const Test *test, Text *out) {
    char algorithm[UNITS_TEXT_MAX], bus[UNITS_TEXT_MAX];
    Timeline links = {.end_ps = test->result.time_ps};
    memcpy(links.links, test->result.links, sizeof links.links);
    uint32_t live = fabric_live_gpu_count(&test->inputs.fabric);
    text_addf(out, "machine    %s, %sGPUs %u to %u of %u\n", test->inputs.topology_name,
              live < test->inputs.fabric.gpu_count ? "live " : "", test->first_gpu,
              test->first_gpu + test->ranks - 1, live);
    show_bytes(test, out);
    if (test->algorithm == ALGORITHM_HIERARCHICAL)
        text_addf(out, "nodes      %u of %u ranks\n", test->ranks / test->inner, test->inner);
    show_time(test, out);
    if (test->matrix.bytes == NULL)
        text_addf(out, "bandwidth  algorithm %s, bus %s (nccl-tests, size %" PRIu64 " B)\n",
                  units_format_rate(algorithm_Bps(test), algorithm),
                  units_format_rate(bus_Bps(test), bus), test->total_B);
    if (test->network == NETWORK_PACKET)
        simulate_network_show(&test->inputs.fabric, &test->packet, &test->result, out);
    else
        show_eps(test, out);
    text_add(out, "\n");
    show_choice(test, out);
    output_links(&links, out);
}

static void write_bytes(const Test *test, JsonWriter *w) {
    if (test->matrix.bytes != NULL) {
        jsonw_u64(w, "total_B", test->matrix.total_B);
        jsonw_u64(w, "most_sent_B", test->matrix.most_sent_B);
        jsonw_u64(w, "most_received_B", test->matrix.most_received_B);
        return;
    }
    jsonw_u64(w, "size_B", test->size_B);
    jsonw_string(w, "size_means", size_meaning(test->collective));
    jsonw_u64(w, "nccl_tests_size_B", test->total_B);
}

static void write_choice(const Test *test, JsonWriter *w) {
    if (test->choice.count == 0) return;
    jsonw_open_array(w, "algorithms");
    for (uint32_t i = 0; i < test->choice.count; i++) {
        const ChooseTime *way = &test->choice.times[i];
        jsonw_inline_next(w);
        jsonw_open_object(w, NULL);
        jsonw_string(w, "algorithm", algorithm_names[way->algorithm]);
        if (way->time_ps >= 0) {
            jsonw_i64(w, "time_ps", way->time_ps);
            jsonw_i64(w, "time_lower_bound_ps", way->bound_ps);
        } else {
            jsonw_string(w, "impossible", way->reason);
        }
        jsonw_close_object(w);
    }
    jsonw_close_array(w);
}

static void write_busiest(const Test *test, JsonWriter *w) {
    jsonw_open_array(w, "busiest_links");
    for (uint32_t i = 0; i < LINK_CLASS_COUNT; i++) {
        const LinkTotal *link = &test->result.links[i];
        if (link->bytes == 0) continue;
        jsonw_inline_next(w);
        jsonw_open_object(w, NULL);
        jsonw_string(w, "class", topology_class_names[i]);
        jsonw_string(w, "name", link->busiest_name);
        jsonw_u64(w, "bytes", link->busiest_B);
        jsonw_double(w, "of_capacity", timeline_link_share(link, test->result.time_ps));
        jsonw_close_object(w);
    }
    jsonw_close_array(w);
}

static void write_json(const Test *test, Text *out) {
    JsonWriter w = {.text = out};
    jsonw_open_object(&w, NULL);
    jsonw_string(&w, "moesim", "collective");
    jsonw_u64(&w, "version", 1);
    jsonw_string(&w, "machine", test->inputs.topology_name);
    jsonw_string(&w, "collective", collective_names[test->collective]);
    jsonw_string(&w, "algorithm", algorithm_names[test->algorithm]);
    if (test->algorithm == ALGORITHM_HIERARCHICAL) jsonw_u64(&w, "inner", test->inner);
    write_choice(test, &w);
    jsonw_u64(&w, "first_gpu", test->first_gpu);
    jsonw_u64(&w, "ranks", test->ranks);
    write_bytes(test, &w);
    jsonw_string(&w, "network", test->network == NETWORK_FLOW ? "flow" : "packet");
    jsonw_u64(&w, "calls", test->count);
    jsonw_i64(&w, "time_ps", test->result.time_ps);
    jsonw_i64(&w, "time_per_call_ps", time_per_call_ps(test));
    if (test->built_ps > 0) {
        jsonw_i64(&w, "time_as_built_ps", test->built_ps);
        jsonw_u64(&w, "ranks_as_built", test->built_ranks);
    }
    jsonw_i64(&w, "time_lower_bound_ps", test->bound_ps);
    jsonw_double(&w, "ratio_to_bound", bound_ratio(test));
    jsonw_i64(&w, "steps_lower_bound_ps", test->result.bound_ps);
    if (test->matrix.bytes == NULL) {
        jsonw_u64(&w, "algorithm_B_per_s", algorithm_Bps(test));
        jsonw_u64(&w, "bus_B_per_s", bus_Bps(test));
    }
    if (test->network == NETWORK_PACKET)
        simulate_network_json(&test->inputs.fabric, &test->packet, &test->result, &w);
    else
        flow_eps_write(&w, test->inputs.flow_eps_ppb, test->result.flow_eps_error_ppb);
    jsonw_bool(&w, "folded", test->folded);
    write_busiest(test, &w);
    jsonw_close_object(&w);
    jsonw_finish(&w);
}

static bool check_args(const CliArgs *args, Err *err) {
    if (args->operand_count > 0)
        return err_set(err, "simulate: expected a plan or --collective, found both");
    if (cli_is_given(args, "mover"))
        return err_set(err, "--mover: a collective says itself what moves its bytes, expected "
                            "--transfers with it");
    bool has_size = cli_is_given(args, "size"), has_matrix = cli_is_given(args, "matrix");
    if (!cli_is_given(args, "topo") || (!has_size && !has_matrix))
        return err_set(err, "simulate --collective: expected --topo and --size or --matrix");
    if (has_size && has_matrix)
        return err_set(err, "simulate --collective: expected --size or --matrix, found both");
    return true;
}

int simulate_collective_command(const CliArgs *args) {
    Test test = {0};
    Err err = {0};
    Text out = {0};
    uint32_t eps_ppb;
    if (!check_args(args, &err) || !flow_eps_read(args, &eps_ppb, &err) ||
        !inputs_load_machine(args, &test.inputs, &err))
        return output_bad(&err);
    test.inputs.flow_eps_ppb = eps_ppb;
    if (cli_is_given(args, "nominal")) make_nominal(&test.inputs.calib);
    bool done = parse(args, &test, &err) && choose(&test, &err) && run(&test, &err) &&
                find_bound(&test, &err);
    if (done && cli_choice(args, "format") == 0) show(&test, &out);
    if (done && cli_choice(args, "format") == 1) write_json(&test, &out);
    mem_free(test.matrix.bytes);
    choose_close(test.chooser);
    inputs_free(&test.inputs);
    return done ? output_text(&out, OUTPUT_OK) : output_bad(&err);
}

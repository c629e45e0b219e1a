// The command bench: rounds of samples until each case is known well enough, then a table and
// records.
//
// A round is one run of the back end. It goes through its cases again and again, each time in
// another order, so that what changes slowly on the machine does not lie on one case; the first
// times are warm-ups. In a sample all ranks start at the same instant; it ends with the last rank.
//
// Invariant: a case gets samples until the 95 % interval of its median is narrow enough, or it has
// all that it may have; none is left out. Source: T. Hoefler, R. Belli, "Scientific Benchmarking of
// Parallel Computing Systems", SC 2015.
#include "exec/bench.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "exec/backends.h"
#include "exec/bench_cases.h"
#include "exec/bench_figures.h"
#include "exec/bench_kernel.h"
#include "exec/bench_noise.h"
#include "exec/bench_program.h"
#include "exec/measure.h"
#include "exec/mpi/mpirun.h"
#include "exec/net/hosts.h"
#include "exec/program.h"
#include "model/base/file.h"
#include "model/base/rng.h"
#include "model/base/table.h"

#define SAMPLES_MAX     10000
#define TIME_OUT_MAX_PS (3600 * PS_PER_SECOND)

typedef struct Samples {
    Time *ps; // heap
    uint32_t count, capacity;
} Samples;

// What every process of a round knows alike.
typedef struct Round {
    uint32_t number, warm_ups, samples;
    uint32_t *cases; // that take part
    uint32_t count;
} Round;

typedef struct Bench {
    const CliArgs *args;
    const BackEndKind *back_end;
    Arena arena;
    BenchGround ground;
    BenchList list;
    BenchProgram program; // of cases that communicate
    BenchKernels kernels; // of the others
    Samples *samples;     // [list.count]
    Samples late;         // of each sample, how long after the first rank the last one started
    uint32_t warm_ups, most;
    double width; // of the interval, as a part of the median
    Time time_out_ps;
    char machine[128];
    bool is_silent; // another process prints
} Bench;

static void add_sample(Samples *samples, Time ps) {
    samples->ps = mem_grow(samples->ps, &samples->capacity, samples->count + 1, sizeof ps);
    samples->ps[samples->count++] = ps;
}

// ---- The order of a round

static uint32_t repeats_of(const Round *round) {
    return (round->warm_ups + round->samples) * round->count;
}

// Heap: the case of each repeat.
static uint32_t *make_order(const Bench *bench, const Round *round) {
    uint32_t *order = mem_alloc(repeats_of(round), sizeof *order), sweeps;
    Rng rng;
    rng_seed(&rng, hash_u64(hash_u64(HASH_START, bench->ground.seed), round->number));
    sweeps = round->warm_ups + round->samples;
    for (uint32_t s = 0; s < sweeps; s++) {
        uint32_t *own = order + (size_t)s * round->count;
        memcpy(own, round->cases, round->count * sizeof *own);
        for (uint32_t i = round->count; i > 1; i--) { // Fisher and Yates
            uint32_t k = (uint32_t)rng_below(&rng, i), last = own[i - 1];
            own[i - 1] = own[k];
            own[k] = last;
        }
    }
    return order;
}

static bool is_sample(const Round *round, uint32_t repeat) {
    return repeat >= round->warm_ups * round->count;
}

// ---- A round of kernels

static void run_kernels(Bench *bench, const Round *round, const uint32_t *order) {
    for (uint32_t r = 0; r < repeats_of(round); r++) {
        Time took_ps = bench_kernel_run(&bench->kernels, &bench->list.cases[order[r]]);
        if (is_sample(round, r)) add_sample(&bench->samples[order[r]], took_ps);
    }
    snprintf(bench->machine, sizeof bench->machine, "one core");
}

// ---- A round of communication

// NUMBER:WARM_UPS:SAMPLES:CASES, a digit for each case.
static void write_round(const Bench *bench, const Round *round, Text *out) {
    char *cases = mem_alloc(bench->list.count + 1, 1);
    memset(cases, '0', bench->list.count);
    for (uint32_t i = 0; i < round->count; i++) cases[round->cases[i]] = '1';
    text_addf(out, "%u:%u:%u:%s", round->number, round->warm_ups, round->samples, cases);
    mem_free(cases);
}

static bool read_round(const Bench *bench, Arena *arena, const char *text, Round *out, Err *err) {
    Round round = {.cases = arena_alloc(arena, bench->list.count, sizeof *round.cases)};
    uint32_t *numbers[] = {&round.number, &round.warm_ups, &round.samples};
    char *next = arena_string(arena, text);
    for (uint32_t i = 0; i < 3; i++) {
        char *colon = strchr(next, ':');
        uint64_t value;
        if (colon == NULL) return err_set(err, "--round: expected three numbers and the cases");
        *colon = '\0';
        if (!text_parse_u64(next, &value) || value > SAMPLES_MAX)
            return err_set(err, "--round: expected numbers up to %d", SAMPLES_MAX);
        *numbers[i] = (uint32_t)value;
        next = colon + 1;
    }
    if (strlen(next) != bench->list.count || strspn(next, "01") != bench->list.count)
        return err_set(err, "--round: expected 0 or 1 for each of %u cases", bench->list.count);
    for (uint32_t i = 0; i < bench->list.count; i++)
        if (next[i] == '1') round.cases[round.count++] = i;
    *out = round;
    return true;
}

// The words of this program, and which round it is, for an agent.
static CliArgs args_of(const Bench *bench, const Round *round, Arena *arena) {
    CliArgs args = *bench->args;
    Text text = {0};
    if (cli_is_given(&args, "join")) return args;
    write_round(bench, round, &text);
    args.words = arena_alloc(arena, args.word_count + 2, sizeof *args.words);
    memcpy(args.words, bench->args->words, args.word_count * sizeof *args.words);
    args.words[args.word_count++] = arena_string(arena, "--round");
    args.words[args.word_count++] = arena_string(arena, text_string(&text));
    text_free(&text);
    return args;
}

static void take_samples(Bench *bench, const Round *round, const uint32_t *order,
                         const InterpResult *result) {
    Time *took_ps = mem_alloc(result->repeats, sizeof *took_ps);
    Time *late_ps = mem_alloc(result->repeats, sizeof *late_ps);
    measure_times(result, took_ps);
    for (uint64_t i = 0; i < result->span_count; i++) {
        const InterpSpan *span = &result->spans[i];
        Time late = span->start_ps - result->begin_ps[span->repeat];
        if (late > late_ps[span->repeat]) late_ps[span->repeat] = late;
    }
    for (uint32_t r = 0; r < result->repeats; r++) {
        if (!is_sample(round, r)) continue;
        add_sample(&bench->samples[order[r]], took_ps[r]);
        add_sample(&bench->late, late_ps[r]);
    }
    mem_free(took_ps);
    mem_free(late_ps);
}

static bool run_ranks(Bench *bench, const Round *round, const uint32_t *order, Err *err) {
    Arena arena = {0};
    CliArgs args = args_of(bench, round, &arena);
    ComputeUnit nothing = {.name = "skip"};
    InterpOptions options = {.drill = bench_program_drill,
                             .context = &bench->program,
                             .spans = true,
                             .repeats = repeats_of(round)};
    BackEndRequest request = {.job = &bench->program.job,
                              .compute = &nothing,
                              .options = &options,
                              .time_out_ps = bench->time_out_ps,
                              .args = &args};
    BackEndAnswer answer = {0};
    bench->program.order = order;
    bool good = bench->back_end->run(&request, &answer, err);
    bench->is_silent = answer.is_silent;
    if (good && !answer.is_silent) take_samples(bench, round, order, &answer.result);
    snprintf(bench->machine, sizeof bench->machine, "%s", answer.machine);
    interp_free(&answer.result);
    arena_free(&arena);
    return good;
}

static bool run_round(Bench *bench, const Round *round, Err *err) {
    uint32_t *order = make_order(bench, round);
    bool good = true;
    if (bench->list.communicates)
        good = run_ranks(bench, round, order, err);
    else
        run_kernels(bench, round, order);
    mem_free(order);
    return good;
}

// ---- Rounds

static bool is_settled(const Bench *bench, uint32_t which) {
    Samples *samples = &bench->samples[which];
    return samples->count >= bench->most ||
           (samples->count > 0 &&
            bench_figures_of(samples->ps, samples->count).interval < bench->width);
}

// As many samples again as there are: all that may be when no width ends it, or when there is but
// one round.
static uint32_t samples_of(const Bench *bench, uint32_t have) {
    uint32_t next = have > 0 ? have : BENCH_FIGURES_LEAST;
    if (!(bench->width > 0) || bench->back_end->is_once) next = bench->most;
    return next < bench->most - have ? next : bench->most - have;
}

static bool run_rounds(Bench *bench, Err *err) {
    Round round = {.warm_ups = bench->warm_ups,
                   .cases = arena_alloc(&bench->arena, bench->list.count, sizeof *round.cases)};
    for (uint32_t have = 0;; have += round.samples) {
        round.number++;
        round.count = 0;
        for (uint32_t i = 0; i < bench->list.count; i++)
            if (!is_settled(bench, i)) round.cases[round.count++] = i;
        if (round.count == 0) return true;
        round.samples = samples_of(bench, have);
        if (!run_round(bench, &round, err)) return false;
        if (bench->is_silent) return true;
    }
}

static bool run_joined(Bench *bench, Err *err) {
    const char *text = cli_text(bench->args, "round");
    Round round;
    if (text == NULL) return err_set(err, "--join: expected --round with it");
    return read_round(bench, &bench->arena, text, &round, err) && run_round(bench, &round, err);
}

// ---- What is asked

static bool read_count(const CliArgs *args, const char *name, uint32_t *out, Err *err) {
    uint64_t count = cli_count(args, name);
    if (count > SAMPLES_MAX)
        return err_set(err, "--%s: expected at most %d, found %" PRIu64, name, SAMPLES_MAX, count);
    *out = (uint32_t)count;
    return true;
}

static bool read_limits(Bench *bench, Err *err) {
    const CliArgs *args = bench->args;
    const char *text = cli_text(args, "timeout"), *width = cli_text(args, "interval");
    if (!read_count(args, "warm-up", &bench->warm_ups, err) ||
        !read_count(args, "samples", &bench->most, err))
        return false;
    if (bench->most == 0) return err_set(err, "--samples: expected at least 1");
    if (!text_parse_double(width, &bench->width) || bench->width < 0)
        return err_set(err, "--interval: expected a percentage of 0 or more, found %s", width);
    bench->width /= 100;
    if (!units_parse_time(text, &bench->time_out_ps, err)) return err_prefix(err, "--timeout");
    return (bench->time_out_ps > 0 && bench->time_out_ps <= TIME_OUT_MAX_PS) ||
           err_set(err, "--timeout: expected a time up to an hour, found %s", text);
}

static bool read_ground(Bench *bench, Err *err) {
    const CliArgs *args = bench->args;
    const char *list = cli_text(args, "hosts");
    uint64_t count = cli_count(args, "ranks");
    Hosts hosts = {0};
    if (!cli_is_given(args, "ranks") && mpirun_size() > 1) count = mpirun_size();
    if (list != NULL && cli_is_given(args, "ranks"))
        return err_set(err, "--ranks: expected either this or --hosts, which says it too");
    if (count == 0 || count > HOSTS_RANKS_MAX)
        return err_set(err, "--ranks: expected 1 to %d, found %" PRIu64, HOSTS_RANKS_MAX, count);
    if (list == NULL)
        hosts_one((uint32_t)count, &hosts);
    else if (!hosts_parse(list, &hosts, err))
        return err_prefix(err, "--hosts");
    uint32_t *of = arena_alloc(&bench->arena, hosts.ranks, sizeof *of);
    for (uint32_t i = 0; i < hosts.ranks; i++) of[i] = hosts_of_rank(&hosts, i);
    bench->ground =
        (BenchGround){.ranks = hosts.ranks, .hosts = of, .seed = cli_count(args, "seed")};
    hosts_free(&hosts);
    return true;
}

static bool open_bench(Bench *bench, Err *err) {
    if (!read_limits(bench, err) || !read_ground(bench, err) ||
        !bench_cases_read(cli_text(bench->args, "cases"), &bench->ground, &bench->arena,
                          &bench->list, err))
        return false;
    bench->samples = arena_alloc(&bench->arena, bench->list.count, sizeof *bench->samples);
    if (bench->list.communicates)
        return bench_program_open(&bench->list, bench->ground.ranks, &bench->program, err);
    if (!backends_alone("kernels are measured by", err)) return false;
    bench_kernel_open(&bench->list, &bench->kernels);
    return true;
}

// ---- For people

static const char *interval_text(double interval, char *buffer, size_t size) {
    if (isinf(interval)) return "-";
    snprintf(buffer, size, "%.2f %%", interval * 100);
    return buffer;
}

static void add_bus_rate(const BenchCase *one, double rate_Bps, Table *table) {
    char text[UNITS_TEXT_MAX];
    double factor = bench_case_bus_factor(one);
    table_cell(table, factor > 0 ? units_format_rate((uint64_t)(rate_Bps * factor), text) : "-");
}

static void add_row(const Bench *bench, uint32_t which, Table *table) {
    const BenchCase *one = &bench->list.cases[which];
    Samples *samples = &bench->samples[which];
    BenchFigures figures = bench_figures_of(samples->ps, samples->count);
    char text[UNITS_TEXT_MAX];
    Text name = {0};
    bench_case_name(one, &name);
    table_cell(table, text_string(&name));
    table_cellf(table, "%u", figures.count);
    table_cell(table, units_format_time(figures.min_ps, text));
    table_cell(table, units_format_time(figures.p25_ps, text));
    table_cell(table, units_format_time(figures.median_ps, text));
    table_cell(table, interval_text(figures.interval, text, sizeof text));
    double least_s = units_seconds(figures.min_ps), bytes = (double)one->bytes;
    if (one->op == BENCH_GEMM)
        table_cellf(table, "%.3g Gflop/s", 2e-9 * one->m * one->n * one->k / least_s);
    else
        table_cell(table, units_format_rate((uint64_t)(bytes / least_s), text));
    if (bench->list.communicates) add_bus_rate(one, bytes / least_s, table);
    text_free(&name);
}

static void print_noise(Bench *bench, const BenchShares *shares, Text *out) {
    char most[UNITS_TEXT_MAX], usual[UNITS_TEXT_MAX];
    text_addf(out, "\nnoise: %.1f %% of the processors' time stolen, %.1f %% taken by others",
              shares->stolen * 100, shares->foreign * 100);
    if (bench->late.count > 0) {
        BenchFigures late = bench_figures_of(bench->late.ps, bench->late.count);
        text_addf(out, "; starts late by %s (median) to %s",
                  units_format_time(late.median_ps, usual),
                  units_format_time(bench->late.ps[late.count - 1], most));
    }
    text_add_char(out, '\n');
}

static void print(Bench *bench, const BenchShares *shares, Text *out) {
    static const char *const columns[] = {"samples", "min", "p25", "median", "interval", NULL};
    Table table = {0};
    if (bench->list.communicates)
        text_addf(out, "%u cases on %u ranks of the %s back end: %s; ", bench->list.count,
                  bench->ground.ranks, bench->back_end->name, bench->machine);
    else
        text_addf(out, "%u cases on %s; ", bench->list.count, bench->machine);
    text_addf(out, "seed %" PRIu64 ", %u warm-ups\n\n", bench->ground.seed, bench->warm_ups);
    table_column(&table, "case", TABLE_LEFT);
    for (uint32_t i = 0; columns[i] != NULL; i++) table_column(&table, columns[i], TABLE_RIGHT);
    table_column(&table, bench->list.communicates ? "algbw" : "rate", TABLE_RIGHT);
    if (bench->list.communicates) table_column(&table, "busbw", TABLE_RIGHT);
    for (uint32_t i = 0; i < bench->list.count; i++) add_row(bench, i, &table);
    table_print(&table, out);
    table_free(&table);
    print_noise(bench, shares, out);
    text_addf(out, "interval: 95 %% interval of the median over the median; %s\n",
              bench->list.communicates
                  ? "algbw and busbw: by the minimum, as nccl-tests define them; of alltoallv the "
                    "bytes of all ranks"
                  : "rate: by the minimum");
}

// ---- Records

// A cell without commas and quotes.
static void make_cell(char *text) {
    for (; *text != '\0'; text++)
        if (*text == ',' || *text == '"') *text = ' ';
}

static bool write_records(const Bench *bench, Err *err) {
    const char *path = cli_text(bench->args, "output");
    char date[11] = "", machine[sizeof bench->machine], library[64];
    time_t now = time(NULL);
    struct tm day;
    if (path == NULL) return true;
    if (gmtime_r(&now, &day) != NULL) strftime(date, sizeof date, "%Y-%m-%d", &day);
    snprintf(machine, sizeof machine, "%s", bench->machine);
    make_cell(machine);
    snprintf(library, sizeof library, "%s %s %s", program_moesim_run.name,
             program_moesim_run.version, bench->list.communicates ? bench->back_end->name : "");
    BenchRow row = {.date = date, .device = "CPU core", .fabric = machine, .library = library};
    Text text = {0};
    bench_case_write_header(bench->list.communicates ? RECORD_COMM : RECORD_KERNEL, &text);
    for (uint32_t i = 0; i < bench->list.count; i++)
        for (uint32_t k = 0; k < bench->samples[i].count; k++) {
            row.id++;
            row.latency_s = units_seconds(bench->samples[i].ps[k]);
            bench_case_write(&bench->list.cases[i], &row, &text);
        }
    bool good = file_write(path, text_string(&text), text.length, err);
    text_free(&text);
    return good;
}

// ---- The command

static void close_bench(Bench *bench) {
    for (uint32_t i = 0; bench->samples != NULL && i < bench->list.count; i++)
        mem_free(bench->samples[i].ps);
    mem_free(bench->late.ps);
    bench_program_close(&bench->program);
    bench_kernel_close(&bench->kernels);
    arena_free(&bench->arena);
}

bool bench_command(const CliArgs *args, Text *out, Err *err) {
    Bench bench = {.args = args};
    static const char *const of_net[] = {"hosts", "interface", "agent", "join", NULL};
    bool joins = cli_is_given(args, "join");
    if (!joins && cli_is_given(args, "round"))
        return err_set(err, "--round: expected --join with it, which an agent is given");
    bool good =
        backends_can_write(args, "output", err) && backends_choose(args, &bench.back_end, err) &&
        backends_check_options(args, bench.back_end, of_net, err) && open_bench(&bench, err);
    BenchNoise begin = bench_noise_now();
    good = good && (joins ? run_joined : run_rounds)(&bench, err);
    BenchNoise end = bench_noise_now();
    BenchShares shares = bench_noise_between(&begin, &end);
    if (good && !bench.is_silent) {
        good = write_records(&bench, err);
        if (good) print(&bench, &shares, out);
    }
    close_bench(&bench);
    return good;
}

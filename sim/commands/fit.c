// The command fit: reads a model, machines and a plan, or makes simple plans, and says what fits.
//
// Invariant: the exit status is 1 when nothing that was asked for fits.
#include "sim/commands/fit.h"

#include <string.h>

#include "model/base/text.h"
#include "model/plan/memory_format.h"
#include "sim/commands/fit_plan.h"
#include "sim/commands/fit_show.h"
#include "sim/commands/output.h"

#define DEFAULT_CONTEXT 8192
#define FORMATS_MAX     NUMFMT_COUNT
#define ROWS_MAX        1024
#define SEQUENCES_MAX   (UINT64_C(1) << 40)

// All that was read. Pointers inside point into it: not copied, not moved.
typedef struct Fit {
    Arena arena;
    DeviceCatalogue catalogue;
    MemoryEngines engines;
    Arch arch;
    Arch formats[FORMATS_MAX + 1]; // as it is, or re-quantised; borrow from arch
    const char *format_names[FORMATS_MAX + 1];
    uint32_t format_count;
    FitMachine *machines;
    uint32_t machine_count;
    PlanFile plan_file;
    bool has_plan; // --plan or one of --tp, --pp, --dp, --ep
    uint32_t tp, pp, dp, ep;
    FitAsk ask;
    FitPeaks peaks;
    FitRow *rows;
    uint32_t row_count;
} Fit;

static void free_fit(Fit *fit) {
    plan_file_free(&fit->plan_file);
    arch_free(&fit->arch);
    memory_engine_free(&fit->engines);
    device_free(&fit->catalogue);
    arena_free(&fit->arena);
}

// ---- Options

static bool read_count(const CliArgs *args, const char *name, uint64_t least, uint64_t most,
                       uint64_t otherwise, uint64_t *out, Err *err) {
    *out = otherwise;
    if (!cli_is_given(args, name)) return true;
    uint64_t value = cli_count(args, name);
    if (value < least || value > most)
        return err_set(err, "--%s: expected %llu to %llu, found %llu", name,
                       (unsigned long long)least, (unsigned long long)most,
                       (unsigned long long)value);
    *out = value;
    return true;
}

static bool read_ways(const CliArgs *args, const char *name, uint32_t otherwise, uint32_t *out,
                      Err *err) {
    uint64_t value;
    if (!read_count(args, name, 1, POOL_RANKS_MAX, otherwise, &value, err)) return false;
    *out = (uint32_t)value;
    return true;
}

static bool read_formats(const CliArgs *args, Fit *fit, Err *err) {
    const char *list = cli_text(args, "formats");
    fit->formats[0] = fit->arch;
    if (cli_is_given(args, "expand-latent"))
        memory_format_expand(&fit->arch, &fit->arena, &fit->formats[0]);
    fit->format_names[0] = "";
    fit->format_count = 1;
    if (list == NULL) return true;
    char *rest = arena_string(&fit->arena, list);
    while (rest != NULL) {
        char *name = rest, *comma = strchr(rest, ',');
        rest = comma != NULL ? comma + 1 : NULL;
        if (comma != NULL) *comma = '\0';
        uint32_t format = 0;
        while (format < NUMFMT_COUNT && strcmp(numfmt_names[format], name) != 0) format++;
        if (format == NUMFMT_COUNT || fit->format_count > FORMATS_MAX)
            return err_set(err, "--formats: expected formats such as bf16,fp8,fp4, found \"%s\"",
                           list);
        memory_format_change(&fit->formats[0], (NumFmt)format, &fit->arena,
                             &fit->formats[fit->format_count]);
        fit->format_names[fit->format_count++] = numfmt_names[format];
    }
    return true;
}

// "weights=100GB,kv=20GB", of one GPU.
static bool read_offload(const CliArgs *args, Fit *fit, Err *err) {
    const char *text = cli_text(args, "offload");
    if (text == NULL) return true;
    char *rest = arena_string(&fit->arena, text);
    while (rest != NULL) {
        char *item = rest, *comma = strchr(rest, ',');
        rest = comma != NULL ? comma + 1 : NULL;
        if (comma != NULL) *comma = '\0';
        bool weights = strncmp(item, "weights=", 8) == 0, kv = strncmp(item, "kv=", 3) == 0;
        if (!weights && !kv)
            return err_set(err, "--offload: expected weights=SIZE or kv=SIZE, found \"%s\"", item);
        uint64_t *out = weights ? &fit->ask.away_weights_B : &fit->ask.away_kv_B;
        if (!units_parse_bytes(item + (weights ? 8 : 3), out, err))
            return err_prefix(err, "--offload");
    }
    return true;
}

static bool read_machines(const CliArgs *args, Fit *fit, Err *err) {
    const char *topo = cli_text(args, "topo"), *devices = cli_text(args, "devices");
    bool away = fit->ask.away_weights_B > 0 || fit->ask.away_kv_B > 0;
    uint32_t gpus;
    if ((topo == NULL) == (devices == NULL))
        return err_set(err, "expected either --topo MACHINE or --devices NAME");
    if (devices == NULL)
        return fit_machine_load(args, away ? cli_text(args, "offload-to") : NULL, &fit->catalogue,
                                &fit->arena, &fit->machines, &fit->machine_count, err);
    if (cli_is_given(args, "device"))
        return err_set(err,
                       "--device: expected --topo, whose GPUs it names; --devices names its own");
    if (away) return err_set(err, "--offload needs --topo, which says over which link");
    return read_ways(args, "gpus", 8, &gpus, err) &&
           fit_machine_devices(devices, gpus, &fit->catalogue, &fit->arena, &fit->machines,
                               &fit->machine_count, err);
}

// --memory, of each GPU.
static bool read_memory(const CliArgs *args, Fit *fit, Err *err) {
    const char *text = cli_text(args, "memory");
    uint64_t memory_B = 0;
    if (text == NULL) return true;
    if (!units_parse_bytes_down(text, &memory_B, err)) return err_prefix(err, "--memory");
    if (memory_B == 0) return err_set(err, "--memory: expected more than 0 B");
    for (uint32_t i = 0; i < fit->machine_count; i++) fit->machines[i].memory_B = memory_B;
    return true;
}

static bool check_offload(const Fit *fit, Err *err) {
    uint64_t away = fit->ask.away_weights_B + fit->ask.away_kv_B;
    for (uint32_t i = 0; away > 0 && i < fit->machine_count; i++) {
        const FitTier *tier = &fit->machines[i].tier;
        char has[UNITS_TEXT_MAX];
        if (away > tier->share_B || away < fit->ask.away_kv_B)
            return err_set(err, "--offload: %s of %s has %s for each GPU", tier->name,
                           fit->machines[i].name, units_format_bytes(tier->share_B, has));
    }
    return true;
}

static bool read_plan(const CliArgs *args, Fit *fit, Err *err) {
    bool named = cli_is_given(args, "tp") || cli_is_given(args, "pp") || cli_is_given(args, "dp") ||
                 cli_is_given(args, "ep");
    bool dealt = cli_is_given(args, "dcp");
    const char *path = cli_text(args, "plan");
    fit->has_plan = named || path != NULL;
    if (!read_ways(args, "tp", 1, &fit->tp, err) || !read_ways(args, "pp", 1, &fit->pp, err) ||
        !read_ways(args, "dp", 1, &fit->dp, err) || !read_ways(args, "ep", 1, &fit->ep, err) ||
        !read_ways(args, "dcp", 1, &fit->ask.dcp, err))
        return false;
    if (path == NULL) {
        if ((uint64_t)fit->tp * fit->dp % fit->ep != 0)
            return err_set(err, "--ep: %u does not divide tp %u x dp %u", fit->ep, fit->tp,
                           fit->dp);
        return true;
    }
    if (named || dealt) return err_set(err, "--plan says tp, pp, dp, ep and dcp already");
    if (!plan_read(path, &fit->plan_file, err)) return false;
    if (fit->plan_file.plan.pool_count != 1)
        return err_set(err, "%s: expected one pool, found %u", path,
                       fit->plan_file.plan.pool_count);
    return true;
}

static bool read_fraction(const CliArgs *args, FitAsk *ask, Err *err) {
    double fraction;
    const char *text = cli_text(args, "memory-fraction");
    if (text == NULL) return true;
    if (!text_parse_double(text, &fraction) || !(fraction >= 0.001 && fraction <= 1))
        return err_set(err, "--memory-fraction: expected 0.001 to 1, found %s", text);
    ask->memory_permille = (uint32_t)(fraction * 1000 + 0.5);
    return true;
}

static bool read_context(const CliArgs *args, Fit *fit, Err *err) {
    FitAsk *ask = &fit->ask;
    uint64_t isl, osl,
        limit = fit->arch.max_context > 0 ? fit->arch.max_context : MEMORY_TOKENS_MAX;
    if (!read_count(args, "isl", 1, MEMORY_TOKENS_MAX, 0, &isl, err) ||
        !read_count(args, "osl", 1, MEMORY_TOKENS_MAX, 0, &osl, err) ||
        !read_count(args, "concurrency", 1, SEQUENCES_MAX, 1, &ask->concurrency, err) ||
        !read_count(args, "chunk", 1, MEMORY_TOKENS_MAX, 0, &ask->chunk, err))
        return false;
    if (isl + osl > 0 && cli_is_given(args, "context"))
        return err_set(err, "--context is the sum of --isl and --osl, expected one of the two");
    uint64_t otherwise = DEFAULT_CONTEXT < limit ? DEFAULT_CONTEXT : limit;
    if (!read_count(args, "context", 1, MEMORY_TOKENS_MAX, isl + osl > 0 ? isl + osl : otherwise,
                    &ask->context, err))
        return false;
    if (ask->context > limit)
        return err_set(err, "%llu tokens of context, the model has at most %llu",
                       (unsigned long long)ask->context, (unsigned long long)limit);
    return true;
}

static bool read_lengths(const CliArgs *args, Fit *fit, Err *err) {
    const char *text = cli_text(args, "lengths");
    if (text != NULL)
        return memory_lengths_read(text, &fit->arena, &fit->ask.lengths, err) ||
               err_prefix(err, "--lengths");
    fit->ask.lengths = (MemoryLengths){.count = 1, .first = fit->ask.context};
    return true;
}

static bool read_all(const CliArgs *args, Fit *fit, Err *err) {
    FitAsk *ask = &fit->ask;
    if (!device_load(&fit->catalogue, err) || !memory_engine_load(&fit->engines, err) ||
        !arch_load_assuming(args->operands[0], cli_text(args, "assume"), &fit->arch, err))
        return false;
    ask->arch = ask->base = &fit->arch;
    ask->with_mtp = cli_is_given(args, "mtp");
    ask->engine = memory_engine_find(&fit->engines, cli_text(args, "engine"), err);
    ask->grouping = cli_text(args, "grouping") != NULL
                        ? (MemoryGrouping)cli_choice(args, "grouping")
                        : MEMORY_GROUPING_COUNT;
    ask->kv_format = cli_choice(args, "kv-format") == 0 ? NUMFMT_BF16 : NUMFMT_FP8;
    return ask->engine != NULL && read_formats(args, fit, err) && read_plan(args, fit, err) &&
           read_fraction(args, ask, err) && read_context(args, fit, err) &&
           read_lengths(args, fit, err) && read_offload(args, fit, err) &&
           read_machines(args, fit, err) && read_memory(args, fit, err) && check_offload(fit, err);
}

// ---- Rows

static bool weigh_named(Fit *fit, const FitMachine *machine, FitRow *row, Err *err) {
    bool is_saved = fit->plan_file.plan.pool_count > 0;
    row->machine = machine;
    row->plan = is_saved ? fit->plan_file.plan
                         : fit_plan_make(&fit->ask, fit->tp, fit->pp, fit->dp, fit->ep);
    uint64_t gpus =
        is_saved ? pool_ranks(&row->plan.pools[0]) : (uint64_t)fit->tp * fit->pp * fit->dp;
    if (gpus > machine->gpus)
        return err_set(err, "%s: the plan uses %llu GPUs, the machine has %u", machine->name,
                       (unsigned long long)gpus, machine->gpus);
    return fit_plan_weigh(&fit->ask, &fit->peaks, &fit->arena, row, err);
}

static bool add_rows(Fit *fit, const FitMachine *machine, bool best_only, Err *err) {
    FitRow named = {0}, *rows = &named;
    uint32_t count = 1;
    if (fit->has_plan) {
        if (!weigh_named(fit, machine, &named, err)) return false;
    } else if (!fit_plan_simple(&fit->ask, &fit->peaks, machine, &fit->arena, &rows, &count, err))
        return false;
    const FitRow *best = best_only ? fit_plan_best(rows, count) : NULL;
    for (uint32_t i = 0; i < count && fit->row_count < ROWS_MAX; i++)
        if (best == NULL || best == &rows[i]) fit->rows[fit->row_count++] = rows[i];
    return true;
}

static bool find_rows(Fit *fit, bool best_only, Err *err) {
    fit->rows = arena_alloc(&fit->arena, ROWS_MAX, sizeof *fit->rows);
    uint32_t first = fit->format_count > 1 ? 1 : 0; // formats were named: only those
    for (uint32_t i = 0; i < fit->machine_count; i++) {
        for (uint32_t f = first; f < fit->format_count; f++) {
            fit->ask.arch = &fit->formats[f];
            fit->ask.format = fit->format_names[f];
            if (!add_rows(fit, &fit->machines[i], best_only, err)) return false;
        }
    }
    if (fit->row_count > 0) return true;
    return err_set(err, "no simple plan is legal for this model, name one with --tp");
}

static int show(const CliArgs *args, Fit *fit, bool best_only) {
    const char *lengths = cli_text(args, "lengths");
    FitHead head = {.ask = &fit->ask,
                    .lengths = lengths != NULL ? lengths
                                               : arena_printf(&fit->arena, "fixed:%llu",
                                                              (unsigned long long)fit->ask.context),
                    .default_context = !cli_is_given(args, "context") &&
                                       !cli_is_given(args, "isl") && !cli_is_given(args, "osl"),
                    .is_best = best_only};
    Text out = {0};
    switch (cli_choice(args, "format")) {
    case 0: fit_show_table(&head, fit->rows, fit->row_count, &out); break;
    case 1: fit_show_json(&head, fit->rows, fit->row_count, &out); break;
    default: fit_show_csv(&head, fit->rows, fit->row_count, &out); break;
    }
    bool any = false;
    for (uint32_t i = 0; i < fit->row_count; i++) any = any || fit->rows[i].fits;
    return output_text(&out, any ? OUTPUT_OK : OUTPUT_NO);
}

int fit_command(const CliArgs *args) {
    Fit fit = {0};
    Err err = {0};
    int status;
    bool ok = read_all(args, &fit, &err);
    bool best_only = fit.machine_count > 1 || fit.format_count > 1;
    if (ok && find_rows(&fit, best_only, &err))
        status = show(args, &fit, best_only);
    else
        status = output_bad(&err);
    free_fit(&fit);
    return status;
}

// The back ends and the compute units that moesim-run has.
//
// Invariant: BACKENDS_CHOICES has the names of the table in its order (a test compares them).
#include "exec/backends.h"

#include <stdio.h>
#include <string.h>

#include "exec/forward_command.h"
#include "exec/host/host.h"
#include "exec/mpi/mpirun.h"
#include "exec/net/launch.h"
#include "exec/timed.h"
#include "model/base/file.h"

// ---- Back ends

static bool run_host(const BackEndRequest *request, BackEndAnswer *out, Err *err) {
    BackEnd back_end;
    host_open(request->job->schedule->rank_count, request->time_out_ps, &back_end);
    snprintf(out->machine, sizeof out->machine, "%s", back_end.machine);
    bool good =
        interp_run(request->job, &back_end, request->compute, request->options, &out->result, err);
    host_close(&back_end);
    return good;
}

// Of an option that not every command has.
static const char *text_of(const CliArgs *args, const char *name) {
    for (const CliOption *option = args->command->options; option->name != NULL; option++)
        if (strcmp(option->name, name) == 0) return cli_text(args, name);
    return NULL;
}

static void print_notes(const char *lines) {
    while (*lines != '\0') {
        size_t length = strcspn(lines, "\n");
        fprintf(stderr, "moesim-run: %.*s\n", (int)length, lines);
        lines += length + (lines[length] != '\0');
    }
}

// With --join or --join-at this process is one host of a run that another process prints.
static bool run_net(const BackEndRequest *request, BackEndAnswer *out, Err *err) {
    const CliArgs *args = request->args;
    const char *at = text_of(args, "join-at");
    LaunchOptions options = {.hosts = cli_text(args, "hosts"),
                             .interface = cli_text(args, "interface"),
                             .agent = cli_text(args, "agent"),
                             .by_hand = text_of(args, "by-hand"),
                             .words = args->words,
                             .word_count = args->word_count,
                             .time_out_ps = request->time_out_ps};
    LaunchFacts facts = {0};
    out->is_silent = at != NULL || cli_is_given(args, "join");
    if (out->is_silent)
        return launch_join(request->job, request->compute, request->options, &options, at, err);
    bool good = launch_run(request->job, request->compute, request->options, &options, &out->result,
                           &facts, err);
    snprintf(out->machine, sizeof out->machine, "%s", text_string(&facts.machine));
    print_notes(text_string(&facts.notes));
    launch_free(&facts);
    return good;
}

static const BackEndKind back_ends[] = {
    {.name = "host", .run = run_host},
    {.name = "net", .run = run_net},
    {.name = "mpi", .run = mpirun_job, .is_once = true},
};

const BackEndKind *backends_kind(uint32_t choice) {
    return choice < sizeof back_ends / sizeof *back_ends ? &back_ends[choice] : NULL;
}

bool backends_choose(const CliArgs *args, const BackEndKind **out, Err *err) {
    const BackEndKind *kind = backends_kind(cli_choice(args, "backend"));
    if (mpirun_size() > 1 && kind->run != mpirun_job) {
        if (cli_is_given(args, "backend"))
            return err_set(err,
                           "--backend %s: expected mpi in each of %u processes of one launcher",
                           kind->name, mpirun_size());
        for (kind = back_ends; kind->run != mpirun_job;) kind++;
    }
    *out = kind;
    return true;
}

bool backends_check_options(const CliArgs *args, const BackEndKind *kind, const char *const *of_net,
                            Err *err) {
    for (; kind->run != run_net && *of_net != NULL; of_net++)
        if (cli_is_given(args, *of_net))
            return err_set(err, "--%s: expected --backend net with it", *of_net);
    return true;
}

bool backends_can_write(const CliArgs *args, const char *option, Err *err) {
    const char *path = cli_text(args, option);
    bool writes = path != NULL && !cli_is_given(args, "join") && mpirun_size() <= 1;
    return !writes || file_can_write(path, err);
}

bool backends_alone(const char *what, Err *err) {
    return mpirun_size() <= 1 ||
           err_set(err, "%s one process, the launcher started %u: expected no launcher", what,
                   mpirun_size());
}

// ---- Compute units

static bool open_nothing(const char *file, const Job *job, const CliArgs *args, ComputeUnit *out,
                         Err *err) {
    (void)file;
    (void)job;
    (void)args;
    (void)err;
    *out = (ComputeUnit){.name = "skip"};
    return true;
}

static bool open_timed(const char *file, const Job *job, const CliArgs *args, ComputeUnit *out,
                       Err *err) {
    (void)args;
    return timed_open(file, job, out, err);
}

static const ComputeKind units[] = {
    {.name = "skip", .open = open_nothing},
    {.name = "timed", .takes_file = true, .open = open_timed, .close = timed_close},
    {.name = "model",
     .open = forward_command_open,
     .finish = forward_command_finish,
     .close = forward_command_close},
};

#define UNITS_COUNT (sizeof units / sizeof *units)

static const char *usage(const ComputeKind *kind, char *buffer, size_t size) {
    snprintf(buffer, size, "%s%s", kind->name, kind->takes_file ? ":FILE" : "");
    return buffer;
}

bool backends_compute(const char *text, const ComputeKind **kind, const char **file, Err *err) {
    const char *colon = strchr(text, ':');
    size_t length = colon != NULL ? (size_t)(colon - text) : strlen(text);
    Text choices = {0};
    char quoted[TEXT_QUOTE_MAX], word[64];
    for (uint32_t i = 0; i < UNITS_COUNT; i++) {
        const ComputeKind *unit = &units[i];
        if (strlen(unit->name) == length && memcmp(unit->name, text, length) == 0 &&
            unit->takes_file == (colon != NULL && colon[1] != '\0')) {
            *kind = unit;
            *file = colon != NULL ? colon + 1 : NULL;
            return true;
        }
    }
    for (uint32_t i = 0; i < UNITS_COUNT; i++)
        text_addf(&choices, "%s%s",
                  i == 0                ? ""
                  : i + 1 < UNITS_COUNT ? ", "
                                        : " or ",
                  usage(&units[i], word, sizeof word));
    err_set(err, "--compute: expected %s, found %s", text_string(&choices),
            text_quote(text, quoted));
    text_free(&choices);
    return false;
}

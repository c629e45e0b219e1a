// Conformance of back ends that need other programs: net across the emulated cluster of
// tests/cluster.sh, and mpi under mpirun. What moesim-run prints of the data has to be what it
// prints on the host back end, byte for byte, and the times that it writes have to be causal.
// Skipped by name where there is no such thing.
#include "tests/check.h"

#include <sys/wait.h>
#include <unistd.h>

#include "model/report/timeline_file.h"
#include "tests/exec/conformance.h"

#define COMMAND_MAX 32768

// A folder of its own, and what is run in it.
typedef struct Place {
    char build[2048];  // where the programs are
    char folder[2112]; // in it
    Conformance conformance;
    char arguments[8192];
} Place;

static void open_place(Place *place) {
    *place = (Place){0};
    // BUILD/tests/exec/test_conformance_programs
    ssize_t length = readlink("/proc/self/exe", place->build, sizeof place->build - 1);
    assert_true(length > 0);
    for (uint32_t i = 0; i < 3; i++) *strrchr(place->build, '/') = '\0';
    snprintf(place->folder, sizeof place->folder, "%s/conformance-XXXXXX", place->build);
    assert_non_null(mkdtemp(place->folder));
}

static int run_shell(const char *command) {
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void close_place(Place *place) {
    char command[2200];
    snprintf(command, sizeof command, "rm -rf '%s'", place->folder);
    assert_int_equal(run_shell(command), 0);
}

static void write_text(const Place *place, const char *name, Text *text) {
    Arena arena = {0};
    Err err = {0};
    check_ok(file_write(arena_printf(&arena, "%s/%s", place->folder, name), text->data,
                        text->length, &err),
             &err);
    arena_free(&arena);
    text_free(text);
}

static char *read_text(const Place *place, const char *name, Arena *arena) {
    char *text = NULL;
    size_t count;
    Err err = {0};
    check_ok(file_read(arena_printf(arena, "%s/%s", place->folder, name), FILE_CAP_B, arena, &text,
                       &count, &err),
             &err);
    return text;
}

static void open_case(Place *place, uint32_t index) {
    Text schedule = {0}, load = {0};
    conformance_open(index, &place->conformance);
    schedule_write(&place->conformance.schedule, &schedule);
    write_text(place, "schedule.json", &schedule);
    snprintf(place->arguments, sizeof place->arguments,
             "run '%s/schedule.json' --format json --timeline '%s/times.json' --timeout '20 s'",
             place->folder, place->folder);
    if (place->conformance.load.kind != LOAD_RECORDED) return;
    load_write(&place->conformance.load, &load);
    write_text(place, "load.json", &load);
    size_t used = strlen(place->arguments);
    snprintf(place->arguments + used, sizeof place->arguments - used, " --load '%s/load.json'",
             place->folder);
}

// Runs `before` BUILD/PROGRAM ARGUMENTS `after` into a file; a failure shows what it said.
static void run_program(const Place *place, const char *before, const char *program,
                        const char *after, const char *file) {
    static char command[COMMAND_MAX];
    Arena arena = {0};
    snprintf(command, sizeof command, "%s '%s/%s' %s %s >'%s/%s' 2>'%s/said' </dev/null", before,
             place->build, program, place->arguments, after, place->folder, file, place->folder);
    if (run_shell(command) != 0)
        fail_msg("%s: %s\n%s", place->conformance.name, command, read_text(place, "said", &arena));
    arena_free(&arena);
}

static void check_times(const Place *place, const char *who) {
    Arena arena = {0};
    TimelineFile file = {0};
    Err err = {0};
    check_ok(timeline_file_read(arena_printf(&arena, "%s/times.json", place->folder), &file, &err),
             &err);
    assert_true(file.is_complete);
    ConformanceSpan *spans = arena_alloc(&arena, file.span_count, sizeof *spans);
    for (uint32_t i = 0; i < file.span_count; i++) {
        const TimelineFileSpan *span = &file.spans[i];
        spans[i] = (ConformanceSpan){span->op, file.members[span->member].first_rank,
                                     span->start_ps, span->end_ps};
    }
    conformance_check(&place->conformance, who, spans, file.span_count);
    timeline_file_free(&file);
    arena_free(&arena);
}

// From the line after the one that names the back end to the one of the times.
static const char *data_of(const char *text, Arena *arena) {
    const char *begin = strstr(text, "\"schedule\":"), *end = strstr(text, "\"time\":");
    assert_true(begin != NULL && end != NULL);
    return arena_printf(arena, "%.*s", (int)(end - begin), begin);
}

static void check_same_data(const Place *place) {
    Arena arena = {0};
    const char *want = read_text(place, "host.json", &arena);
    const char *got = read_text(place, "got.json", &arena);
    check_text_equals(data_of(got, &arena), data_of(want, &arena));
    arena_free(&arena);
}

// `starter` is NULL, or runs a program when the number of ranks and its words follow.
static void run_case(Place *place, uint32_t index, const char *who, const char *starter,
                     const char *program, const char *after_of_four, const char *after_of_eight) {
    char before[256] = "";
    open_case(place, index);
    uint32_t ranks = place->conformance.schedule.rank_count;
    if (starter != NULL) snprintf(before, sizeof before, "%s %u", starter, ranks);
    run_program(place, "", "moesim-run", "--backend host", "host.json");
    run_program(place, before, program, ranks == 4 ? after_of_four : after_of_eight, "got.json");
    check_same_data(place);
    check_times(place, who);
    conformance_close(&place->conformance);
}

// ---- The emulated cluster

// Up while this program lives: what keeps it up ends when nobody writes to it any more.
typedef struct Cluster {
    int to;
    FILE *from;
    pid_t process;
} Cluster;

static void be_cluster(const Place *place, const int to[2], const int from[2]) {
    char state[2200], log[2200];
    snprintf(state, sizeof state, "%s/cluster", place->folder);
    snprintf(log, sizeof log, "%s/cluster.log", place->folder);
    dup2(to[0], STDIN_FILENO);
    dup2(from[1], STDOUT_FILENO);
    for (uint32_t i = 0; i < 2; i++) {
        close(to[i]);
        close(from[i]);
    }
    if (freopen(log, "w", stderr) == NULL) _exit(1);
    execl("tests/cluster.sh", "cluster.sh", "with", state, "--hosts", "4", "--", "cat", NULL);
    _exit(127);
}

// False with what it said when there can be none.
static bool open_cluster(const Place *place, Cluster *cluster) {
    int to[2], from[2];
    char line[16];
    assert_true(pipe(to) == 0 && pipe(from) == 0);
    cluster->process = fork();
    if (cluster->process == 0) be_cluster(place, to, from);
    close(to[0]);
    close(from[1]);
    cluster->to = to[1];
    cluster->from = fdopen(from[0], "r");
    assert_int_equal(write(cluster->to, "up\n", 3), 3);
    return fgets(line, sizeof line, cluster->from) != NULL;
}

static int close_cluster(Cluster *cluster) {
    int status;
    close(cluster->to);
    fclose(cluster->from);
    assert_true(waitpid(cluster->process, &status, 0) == cluster->process);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_conformance_programs_cluster(void **state) {
    (void)state;
    static char after[2][4096];
    static const char *const hosts[] = {"h0,h1,h2,h3", "h0:2,h1:2,h2:2,h3:2"};
    Place place;
    Cluster cluster;
    open_place(&place);
    if (!open_cluster(&place, &cluster)) {
        Arena arena = {0};
        assert_int_equal(close_cluster(&cluster), 77);
        print_error("skip %s: %s", __func__, read_text(&place, "cluster.log", &arena));
        arena_free(&arena);
        close_place(&place);
        skip();
    }
    for (uint32_t i = 0; i < 2; i++)
        snprintf(after[i], sizeof after[i],
                 "--backend net --hosts %s --interface e0 --agent 'tests/cluster.sh enter "
                 "%s/cluster'",
                 hosts[i], place.folder);
    for (uint32_t i = 0; i < CONFORMANCE_CASES; i++)
        run_case(&place, i, "net on the cluster", NULL, "moesim-run", after[0], after[1]);
    assert_int_equal(close_cluster(&cluster), 0);
    close_place(&place);
}

// ---- MPI

#define MPI_STARTER                                                                                \
    "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ASAN_OPTIONS=detect_leaks=0 "       \
    "mpirun --oversubscribe --bind-to none -n"

// The tiny model in the first plans that are found with tp 2 and dp 2, 3 texts of one token each
// (the fourth sequence is padding): the same logits and loads as on the host, byte for byte.
static void run_model(const Place *place) {
    static const char script[] =
        "set -eu; cp tests/golden/tiny_moe.json \"$1\"; cd \"$1\"; PATH=\"$2:$PATH\"\n"
        "moesim rank --topo switch:4,450GB/s --model tiny_moe.json --isl 16 --osl 8 "
        "--concurrency 16 --top 40 --save saved >/dev/null\n"
        "plans=$(grep -l '\"tp\": 2' $(grep -l '\"dp\": 2' saved/plan-*.json) | head -n 3)\n"
        "test -n \"$plans\"\n"
        "for plan in $plans; do\n"
        "moesim simulate $plan --schedule s.json >/dev/null\n"
        "words=\"run s.json --tokens 2 --sequences 2 --kv-tokens 40 --qk-pairs 40 --compute model "
        "--model tiny_moe.json --plan $plan --texts 3\"\n"
        "moesim-run $words --logits host.csv --write-load host.json >host.txt\n"
        "env " MPI_STARTER " 4 moesim-run-mpi $words --backend mpi --logits mpi.csv --write-load "
        "mpi.json >mpi.txt\n"
        "cmp host.csv mpi.csv; cmp host.json mpi.json\n"
        "tail -n 1 host.txt >host.ties; tail -n 1 mpi.txt | cmp - host.ties\n"
        "done\n";
    Arena arena = {0};
    Text text = {0};
    text_add(&text, script);
    write_text(place, "model.sh", &text);
    const char *command = arena_printf(&arena, "sh '%s/model.sh' '%s' '%s' >'%s/said' 2>&1",
                                       place->folder, place->folder, place->build, place->folder);
    if (run_shell(command) != 0) fail_msg("%s\n%s", command, read_text(place, "said", &arena));
    arena_free(&arena);
}

static void test_conformance_programs_mpi(void **state) {
    (void)state;
    Place place;
    char program[2112];
    open_place(&place);
    snprintf(program, sizeof program, "%s/moesim-run-mpi", place.build);
    if (access(program, X_OK) != 0 || run_shell("command -v mpirun >/dev/null") != 0) {
        close_place(&place);
        print_error("skip %s: no mpirun, or no MPI to build with\n", __func__);
        skip();
    }
    for (uint32_t i = 0; i < CONFORMANCE_CASES; i++)
        run_case(&place, i, "mpi", MPI_STARTER, "moesim-run-mpi", "--backend mpi", "--backend mpi");
    run_model(&place);
    close_place(&place);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conformance_programs_cluster),
        cmocka_unit_test(test_conformance_programs_mpi),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// The mpi back end when something goes wrong, under mpirun. Skipped by name where there is none.
#include "tests/check.h"

#include <sys/wait.h>
#include <unistd.h>

#include "model/base/file.h"
#include "model/report/timeline_file.h"

// Where the programs are, and a folder of its own in it.
typedef struct Place {
    char build[2048], folder[2112];
} Place;

static int run_shell(const char *command) {
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void open_place(Place *place, const char *test) {
    char program[2112];
    // BUILD/tests/exec/test_mpirun
    ssize_t length = readlink("/proc/self/exe", place->build, sizeof place->build - 1);
    assert_true(length > 0);
    place->build[length] = '\0';
    for (uint32_t i = 0; i < 3; i++) *strrchr(place->build, '/') = '\0';
    snprintf(program, sizeof program, "%s/moesim-run-mpi", place->build);
    if (access(program, X_OK) != 0 || run_shell("command -v mpirun >/dev/null") != 0) {
        print_error("skip %s: no mpirun, or no MPI to build with\n", test);
        skip();
    }
    snprintf(place->folder, sizeof place->folder, "%s/mpirun-XXXXXX", place->build);
    assert_non_null(mkdtemp(place->folder));
}

static void close_place(const Place *place) {
    char command[2200];
    snprintf(command, sizeof command, "rm -rf '%s'", place->folder);
    assert_int_equal(run_shell(command), 0);
}

// What was said on stderr, and the exit status. mpirun of Open MPI 4.1.4 itself dies now and then
// when it cleans up after an abort (a signal, in PMIx_server_finalize): that says nothing of what
// it ran, which is then run again. Of a rank that dies it says so.
static int run_mpi(const Place *place, const char *programs, Arena *arena, char **said) {
    Err err = {0};
    size_t count;
    int status = 0;
    char *command = arena_printf(
        arena,
        "cd '%s' && OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
        "ASAN_OPTIONS=detect_leaks=0 PATH=\"%s:$PATH\" timeout 100 mpirun --oversubscribe "
        "--bind-to none %s >out 2>said </dev/null",
        place->folder, place->build, programs);
    for (uint32_t i = 0; i < 3; i++) {
        status = run_shell(command);
        check_ok(file_read(arena_printf(arena, "%s/said", place->folder), FILE_CAP_B, arena, said,
                           &count, &err),
                 &err);
        if (status <= 128 || strstr(*said, "mpirun noticed that process") != NULL) break;
    }
    return status;
}

static uint32_t count_lines_of_ours(const char *said) {
    uint32_t count = 0;
    for (const char *at = strstr(said, "moesim-run: "); at != NULL;
         at = strstr(at + 1, "moesim-run: "))
        count++;
    return count;
}

// Three ranks run a ring of four 400 times, the fourth 50 times: then it is silent, and the others
// fail alike. Rank 0 says so, once, and keeps what it has, marked as a part.
static void test_mpirun_keeps_a_part_when_ranks_fail(void **state) {
    (void)state;
    Place place;
    Arena arena = {0};
    TimelineFile part = {0};
    Err err = {0};
    char *said, root[2048];
    open_place(&place, __func__);
    assert_non_null(getcwd(root, sizeof root));
    const char *schedule = arena_printf(&arena, "%s/tests/golden/schedule_ring.json", root);
    const char *run = arena_printf(
        &arena, "moesim-run-mpi run '%s' --backend mpi --timeout '500 ms' --timeline t.json",
        schedule);
    int status = run_mpi(
        &place,
        arena_printf(&arena, "-n 3 %s --iterations 400 : -n 1 %s --iterations 50", run, run),
        &arena, &said);
    if (status != 2 || strstr(said, "silent for 500 ms") == NULL || count_lines_of_ours(said) != 1)
        fail_msg("status %d: %s", status, said);
    check_ok(timeline_file_read(arena_printf(&arena, "%s/t.json", place.folder), &part, &err),
             &err);
    assert_false(part.is_complete);
    timeline_file_free(&part);
    close_place(&place);
    arena_free(&arena);
}

// More ranks than the schedule has, and fewer: one line, at once.
static void test_mpirun_refuses_other_numbers_of_ranks(void **state) {
    (void)state;
    Place place;
    Arena arena = {0};
    char *said, root[2048];
    open_place(&place, __func__);
    assert_non_null(getcwd(root, sizeof root));
    for (uint32_t ranks = 3; ranks <= 5; ranks += 2) {
        const char *want = arena_printf(
            &arena, ": mpirun started %u processes, the schedule has 4 ranks\n", ranks);
        int status =
            run_mpi(&place,
                    arena_printf(&arena,
                                 "-n %u moesim-run-mpi run '%s/tests/golden/schedule_ring.json' "
                                 "--backend mpi",
                                 ranks, root),
                    &arena, &said);
        if (status != 2 || strstr(said, want) == NULL || count_lines_of_ours(said) != 1)
            fail_msg("status %d: %s", status, said);
    }
    close_place(&place);
    arena_free(&arena);
}

// Rank 2 of a ring of four is stopped on the way: all others wait, for it or for one that does. It
// alone cannot answer, and is named, once. 10000 runs start 1 ms apart and so last longer than 3 s.
static void test_mpirun_names_the_rank_that_is_silent(void **state) {
    (void)state;
    Place place;
    Arena arena = {0};
    char *said, root[2048];
    Err err = {0};
    open_place(&place, __func__);
    assert_non_null(getcwd(root, sizeof root));
    const char *script = arena_printf(
        &arena,
        "if [ \"${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\" = 2 ]; then (sleep 3; kill -STOP $$) & fi\n"
        "exec moesim-run-mpi run '%s/tests/golden/schedule_ring.json' --iterations 10000 "
        "--timeout '500 ms'\n",
        root);
    check_ok(
        file_write(arena_printf(&arena, "%s/rank.sh", place.folder), script, strlen(script), &err),
        &err);
    int status = run_mpi(&place, "-n 4 sh rank.sh", &arena, &said);
    if (status != 2 || strstr(said, "schedule_ring.json: rank 2 gives no answer: ") == NULL ||
        strstr(said, "silent for 500 ms") == NULL || count_lines_of_ours(said) != 1)
        fail_msg("status %d: %s", status, said);
    close_place(&place);
    arena_free(&arena);
}

// What goes wrong before the ranks meet is said by rank 0: once when it is the same everywhere,
// with the rank when it is not. Four host runs at once are nothing that was meant.
static void test_mpirun_refuses_once_before_the_run(void **state) {
    (void)state;
    static const struct {
        const char *programs, *want;
    } cases[] = {
        {"-n 3 moesim-run-mpi bench --cases none",
         "moesim-run: unknown set of cases \"none\", expected"},
        {"-n 3 moesim-run-mpi run none.json", "moesim-run: none.json: no such file or folder"},
        {"-n 1 moesim-run-mpi bench --cases p2p --ranks 2 : -n 1 moesim-run-mpi run none.json",
         "moesim-run: rank 1: none.json: no such file or folder"},
        {"-n 3 moesim-run-mpi bench --backend host",
         "moesim-run: --backend host: expected mpi in each of 3 processes of one launcher"},
        {"-n 2 moesim-run-mpi bench --cases copy",
         "moesim-run: kernels are measured by one process, the launcher started 2"},
        {"-n 2 moesim-run-mpi detect",
         "moesim-run: a machine is described by one process, the launcher started 2"},
    };
    Place place;
    Arena arena = {0};
    open_place(&place, __func__);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *said;
        int status = run_mpi(&place, cases[i].programs, &arena, &said);
        if (status != 2 || strstr(said, cases[i].want) == NULL || count_lines_of_ours(said) != 1)
            fail_msg("status %d: %s", status, said);
    }
    close_place(&place);
    arena_free(&arena);
}

// No --backend: mpi in four processes, one result; host in one.
static void test_mpirun_takes_the_mpi_back_end_by_itself(void **state) {
    (void)state;
    Place place;
    Arena arena = {0};
    Err err = {0};
    char *said, *printed, root[2048];
    open_place(&place, __func__);
    assert_non_null(getcwd(root, sizeof root));
    for (uint32_t ranks = 1; ranks <= 4; ranks += 3) {
        size_t length;
        const char *want =
            arena_printf(&arena, "on 4 ranks of the %s back end\n", ranks == 1 ? "host" : "mpi");
        const char *run = arena_printf(
            &arena, "-n %u moesim-run-mpi run '%s/tests/golden/schedule_ring.json'", ranks, root);
        int status = run_mpi(&place, run, &arena, &said);
        check_ok(file_read(arena_printf(&arena, "%s/out", place.folder), FILE_CAP_B, &arena,
                           &printed, &length, &err),
                 &err);
        const char *at = strstr(printed, want);
        if (status != 0 || at == NULL || strstr(at + strlen(want), " back end\n") != NULL)
            fail_msg("status %d: %s%s", status, said, printed);
    }
    close_place(&place);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mpirun_keeps_a_part_when_ranks_fail),
        cmocka_unit_test(test_mpirun_names_the_rank_that_is_silent),
        cmocka_unit_test(test_mpirun_refuses_other_numbers_of_ranks),
        cmocka_unit_test(test_mpirun_refuses_once_before_the_run),
        cmocka_unit_test(test_mpirun_takes_the_mpi_back_end_by_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

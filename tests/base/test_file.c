// Files in a temporary folder: reading, writing, and the search for shipped data.
#include "model/base/file.h"
#include "tests/check.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// The folder of a test, its arena, and the current folder to come back to.
typedef struct Fixture {
    Arena arena;
    char folder[256], start[4096];
} Fixture;

static int open_fixture(void **state) {
    Fixture *f = calloc(1, sizeof *f);
    const char *base = getenv("TMPDIR");
    if (f == NULL) return -1;
    snprintf(f->folder, sizeof f->folder, "%.200s/moesim_XXXXXX", base != NULL ? base : "/tmp");
    *state = f;
    bool good = mkdtemp(f->folder) != NULL && getcwd(f->start, sizeof f->start) != NULL &&
                chdir(f->folder) == 0;
    return good ? 0 : -1;
}

static int close_fixture(void **state) {
    Fixture *f = *state;
    char command[300];
    bool good = chdir(f->start) == 0;
    snprintf(command, sizeof command, "rm -r '%s'", f->folder);
    good = system(command) == 0 && good;
    unsetenv("MOESIM_DATA");
    arena_free(&f->arena);
    free(f);
    return good ? 0 : -1;
}

static void put(const char *path, const char *text) {
    Err err = {0};
    check_ok(file_write(path, text, strlen(text), &err), &err);
}

static bool exists(const char *path) {
    return access(path, F_OK) == 0;
}

static void test_file_read_gives_all_bytes(void **state) {
    Fixture *f = *state;
    Err err = {0};
    char *bytes;
    size_t count;
    check_ok(file_write("a", "x\0y\n", 4, &err), &err);
    check_ok(file_read("a", 4, &f->arena, &bytes, &count, &err), &err);
    assert_int_equal(count, 4);
    assert_memory_equal(bytes, "x\0y\n", 5);
    put("empty", "");
    check_ok(file_read("empty", 4, &f->arena, &bytes, &count, &err), &err);
    assert_int_equal(count, 0);
    assert_string_equal(bytes, "");
}

static void test_file_read_refuses_what_is_not_a_file(void **state) {
    Fixture *f = *state;
    Err err = {0};
    char *bytes;
    size_t count;
    assert_int_equal(mkdir("folder", 0777), 0);
    assert_int_equal(mkfifo("pipe", 0666), 0); // would hang a reader that waits for a writer
    put("plain", "x");
    const struct {
        const char *path, *message;
    } cases[] = {
        {"folder", "folder: is a directory, expected a file"},
        {"pipe", "pipe: is not a regular file"},
        {"/dev/zero", "/dev/zero: is not a regular file"},
        {"absent", "absent: no such file or folder"},
        {"plain/x", "plain/x: a part of the path is not a folder"},
        {"", "\"\": no such file or folder"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_fails(file_read(cases[i].path, 9, &f->arena, &bytes, &count, &err), &err,
                    cases[i].message);
    }
}

static void test_file_read_stops_at_the_cap(void **state) {
    Fixture *f = *state;
    Err err = {0};
    char *bytes;
    size_t count;
    put("five", "12345");
    check_ok(file_read("five", 5, &f->arena, &bytes, &count, &err), &err);
    check_fails(file_read("five", 4, &f->arena, &bytes, &count, &err), &err,
                "five: file over the limit of 4 B");
}

// A file of 1 TiB that occupies no space: refused after 1 MiB of reading, not by an allocation.
static void test_file_read_memory_follows_what_is_read(void **state) {
    Fixture *f = *state;
    Err err = {0};
    char *bytes;
    size_t count;
    put("huge", "");
    if (truncate("huge", (off_t)1 << 40) != 0) {
        print_error("skip %s: the file system has no sparse files\n", __func__);
        skip();
    }
    check_fails(file_read("huge", 1 << 20, &f->arena, &bytes, &count, &err), &err,
                "huge: file over the limit of 1 MiB");
}

static void test_file_write_replaces_and_leaves_nothing_else(void **state) {
    Fixture *f = *state;
    Err err = {0};
    char *bytes;
    size_t count;
    put("out", "old and long");
    put("out", "new");
    check_ok(file_read("out", 99, &f->arena, &bytes, &count, &err), &err);
    assert_string_equal(bytes, "new");
    assert_false(exists("out.tmp0"));
    put("out.tmp0", "somebody's own"); // not overwritten
    put("out", "newer");
    check_ok(file_read("out.tmp0", 99, &f->arena, &bytes, &count, &err), &err);
    assert_string_equal(bytes, "somebody's own");
}

static void test_file_write_fails_with_the_path(void **state) {
    (void)state;
    Err err = {0};
    assert_int_equal(mkdir("folder", 0777), 0);
    check_fails(file_write("absent/x", "1", 1, &err), &err,
                "absent/x: cannot be written: no such file or folder");
    check_fails(file_write("folder", "1", 1, &err), &err,
                "folder: cannot be written: is a directory, expected a file");
}

// A device is written to; renaming a file over it would destroy it.
static void test_file_can_write_tells_before(void **state) {
    (void)state;
    Err err = {0};
    struct stat info;
    check_ok(file_can_write("fresh", &err), &err);
    assert_int_not_equal(stat("fresh", &info), 0); // nothing is left
    assert_int_not_equal(stat("fresh.tmp0", &info), 0);
    check_ok(file_can_write("/dev/null", &err), &err);
    check_ok(file_can_write("-", &err), &err);
    check_fails(file_can_write("absent/x", &err), &err,
                "absent/x: cannot be written: no such file or folder");
    check_fails(file_can_write("", &err), &err, "\"\": cannot be written: no such file or folder");
    assert_int_equal(mkdir("place", 0777), 0);
    check_fails(file_can_write("place", &err), &err,
                "place: cannot be written: is a directory, expected a file");
}

static void test_file_write_keeps_devices(void **state) {
    (void)state;
    Err err = {0};
    struct stat info;
    check_ok(file_write("/dev/null", "1", 1, &err), &err);
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
}

// stdout is a pipe for the length of the call.
static void test_file_write_dash_is_stdout(void **state) {
    (void)state;
    Err err = {0};
    int ends[2], saved = dup(STDOUT_FILENO);
    char text[8] = {0};
    fflush(stdout);
    assert_int_equal(pipe(ends), 0);
    dup2(ends[1], STDOUT_FILENO);
    close(ends[1]);
    bool good = file_write("-", "table\n", 6, &err);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    check_ok(good, &err);
    assert_int_equal(read(ends[0], text, sizeof text), 6);
    close(ends[0]);
    assert_string_equal(text, "table\n");
    assert_false(exists("-"));
}

static void test_file_beside(void **state) {
    Fixture *f = *state;
    assert_string_equal(file_beside("a/b.json", "c", &f->arena), "a/c");
    assert_string_equal(file_beside("b.json", "c", &f->arena), "./c");
    assert_string_equal(file_beside("/b.json", "c", &f->arena), "/c");
}

static void test_file_name_is_what_follows_the_folder(void **state) {
    (void)state;
    assert_string_equal(file_name("a/b/c.json"), "c.json");
    assert_string_equal(file_name("c.json"), "c.json");
    assert_string_equal(file_name("/c"), "c");
    assert_string_equal(file_name("a/"), "");
}

static void make_data(void) {
    const char *folders[] = {"data", "data/topologies", "data/scenarios", "data/scenarios/models"};
    for (size_t i = 0; i < 4; i++) assert_int_equal(mkdir(folders[i], 0777), 0);
    put("data/topologies/nvl72.json", "{}");
    put("data/scenarios/chat.json", "{}");
    put("data/scenarios/models/kimi.json", "{}");
    setenv("MOESIM_DATA", "data", 1);
}

static void test_file_find_looks_here_then_in_the_data(void **state) {
    Fixture *f = *state;
    Err err = {0};
    const char *path;
    make_data();
    const struct {
        const char *name, *path;
    } cases[] = {
        {"nvl72.json", "data/topologies/nvl72.json"},
        {"nvl72", "data/topologies/nvl72.json"},
        {"chat", "data/scenarios/chat.json"},
        {"kimi", "data/scenarios/models/kimi.json"},
        {"./nvl72.json", "./nvl72.json"}, // a path is itself, found or not
        {"data", "data"},                 // a folder only when nothing is shipped under the name
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_ok(file_find(cases[i].name, &f->arena, &path, &err), &err);
        assert_string_equal(path, cases[i].path);
    }
    put("nvl72.json", "{}");
    check_ok(file_find("nvl72.json", &f->arena, &path, &err), &err);
    assert_string_equal(path, "nvl72.json");
}

static void test_file_find_names_the_nearest(void **state) {
    Fixture *f = *state;
    Err err = {0};
    const char *path;
    make_data();
    check_fails(file_find("nlv72.json", &f->arena, &path, &err), &err,
                "nlv72.json: no such file here or in the shipped data, did you mean \"nvl72\"?");
    check_fails(file_find("h100", &f->arena, &path, &err), &err,
                "h100: no such file here or in the shipped data");
    check_fails(file_find("", &f->arena, &path, &err), &err,
                "\"\": no such file here or in the shipped data");
}

// The copy in the plan's folder first; without one, the name alone, here or in the data.
static void test_file_find_beside_prefers_the_folder(void **state) {
    Fixture *f = *state;
    Err err = {0};
    const char *path;
    make_data();
    assert_int_equal(mkdir("saved", 0777), 0);
    put("saved/nvl72.json", "{}");
    check_ok(file_find_beside("saved/plan.json", "nvl72.json", &f->arena, &path, &err), &err);
    assert_string_equal(path, "saved/nvl72.json");
    check_ok(file_find_beside("saved/plan.json", "chat", &f->arena, &path, &err), &err);
    assert_string_equal(path, "data/scenarios/chat.json");
    assert_false(file_find_beside("saved/plan.json", "absent.json", &f->arena, &path, &err));
}

static void test_file_shipped_lists_names_in_order(void **state) {
    Fixture *f = *state;
    const char **names;
    make_data();
    put("data/topologies/hgx.json", "{}");
    put("data/topologies/notes.txt", "");
    assert_int_equal(file_shipped("topologies", &f->arena, &names), 2);
    assert_string_equal(names[0], "hgx");
    assert_string_equal(names[1], "nvl72");
    assert_int_equal(file_shipped("absent", &f->arena, &names), 0);
}

static void test_file_data_names_the_full_path(void **state) {
    Fixture *f = *state;
    Err err = {0};
    const char *path;
    make_data();
    check_ok(file_data("topologies/nvl72.json", &f->arena, &path, &err), &err);
    assert_string_equal(path, "data/topologies/nvl72.json");
    check_fails(file_data("topologies/x.json", &f->arena, &path, &err), &err,
                "data/topologies/x.json: no such file in the shipped data");
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, open_fixture, close_fixture)

#define MANY_B (1 << 22)

static uint32_t count_names(void) {
    uint32_t count = 0;
    DIR *folder = opendir(".");
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

// A program that writes one file again and again, each time with one letter throughout, is ended
// while it does: the file is whole, of one letter, and nothing lies beside it.
static void test_file_write_is_whole_when_interrupted(void **state) {
    Fixture *f = *state;
    char *bytes;
    size_t count;
    Err err = {0};
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGINT, SIG_DFL);
        char *text = malloc(MANY_B);
        if (text == NULL) _exit(2);
        for (int i = 0;; i++) {
            memset(text, 'a' + i % 26, MANY_B);
            file_write("many", text, MANY_B, &err);
        }
    }
    const struct timespec moment = {.tv_nsec = 1000000}, while_it_writes = {.tv_nsec = 20000000};
    while (!exists("many")) nanosleep(&moment, NULL);
    nanosleep(&while_it_writes, NULL);
    kill(child, SIGINT);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(count_names(), 1);
    check_ok(file_read("many", MANY_B, &f->arena, &bytes, &count, &err), &err);
    assert_int_equal(count, MANY_B);
    for (size_t i = 1; i < count; i++)
        if (bytes[i] != bytes[0]) fail_msg("byte %zu is another letter", i);
}

static bool apart(const char *read, const char *a, const char *b, Err *err) {
    const FileUse uses[] = {
        {"INPUT", read, FILE_READ}, {"--a", a, FILE_WRITTEN}, {"--b", b, FILE_WRITTEN}};
    return file_check_apart(uses, 3, err);
}

// One file by another spelling and by a link is one; names of files to be made count with their
// folder.
static void test_file_check_apart_knows_one_file_by_its_names(void **state) {
    (void)state;
    Err err = {0};
    check_ok(file_write("in", "x", 1, &err), &err);
    check_ok(apart("in", "out", "other", &err), &err);
    check_ok(apart("in", NULL, NULL, &err), &err);
    check_ok(apart("in", "/dev/null", "/dev/null", &err), &err);
    check_ok(apart("-", "-", "out", &err), &err); // a file of that name is read
    check_ok(apart("absent", "absent", NULL, &err), &err);
    check_fails(apart("in", "out", "./in", &err), &err,
                "--b: ./in is INPUT too, expected a file of its own");
    assert_int_equal(link("in", "linked"), 0);
    check_fails(apart("in", "linked", NULL, &err), &err,
                "--a: linked is INPUT too, expected a file of its own");
    check_fails(apart("in", "out", "./out", &err), &err,
                "--b: ./out is --a too, expected a file of its own");
    check_fails(apart("in", "-", "-", &err), &err,
                "--b: standard output is --a too, expected a file of its own");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_file_read_gives_all_bytes),
        IN_FOLDER(test_file_read_refuses_what_is_not_a_file),
        IN_FOLDER(test_file_read_stops_at_the_cap),
        IN_FOLDER(test_file_read_memory_follows_what_is_read),
        IN_FOLDER(test_file_write_replaces_and_leaves_nothing_else),
        IN_FOLDER(test_file_write_fails_with_the_path),
        IN_FOLDER(test_file_can_write_tells_before),
        IN_FOLDER(test_file_write_keeps_devices),
        IN_FOLDER(test_file_write_dash_is_stdout),
        IN_FOLDER(test_file_name_is_what_follows_the_folder),
        IN_FOLDER(test_file_beside),
        IN_FOLDER(test_file_find_looks_here_then_in_the_data),
        IN_FOLDER(test_file_find_names_the_nearest),
        IN_FOLDER(test_file_find_beside_prefers_the_folder),
        IN_FOLDER(test_file_shipped_lists_names_in_order),
        IN_FOLDER(test_file_data_names_the_full_path),
        IN_FOLDER(test_file_write_is_whole_when_interrupted),
        IN_FOLDER(test_file_check_apart_knows_one_file_by_its_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

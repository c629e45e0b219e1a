// Folders that appear whole, in a temporary one.
#include "model/base/folder.h"
#include "tests/check.h"

#include <sys/stat.h>
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

// The names in the current folder, each with a blank after it.
static const char *here(Fixture *f) {
    const char **names, *all = "";
    uint32_t count;
    Err err = {0};
    check_ok(folder_list(".", &f->arena, &names, &count, &err), &err);
    for (uint32_t i = 0; i < count; i++) all = arena_printf(&f->arena, "%s%s ", all, names[i]);
    return all;
}

static void test_folder_appears_whole(void **state) {
    Fixture *f = *state;
    Err err = {0};
    const char *work;
    check_ok(folder_begin("plans", &f->arena, &work, &err), &err);
    assert_string_equal(work, "plans.tmp0");
    put("plans.tmp0/1.json", "{}");
    assert_string_equal(here(f), "plans.tmp0 ");
    check_ok(folder_end(work, "plans", &err), &err);
    assert_string_equal(here(f), "plans ");
    assert_true(exists("plans/1.json"));
}

// A slash at the end names the same folder: what is made stands beside it, not in it.
static void test_folder_replaces_an_empty_one(void **state) {
    Fixture *f = *state;
    Err err = {0};
    const char *work;
    assert_int_equal(mkdir("empty", 0777), 0);
    check_ok(folder_begin("empty//", &f->arena, &work, &err), &err);
    assert_string_equal(work, "empty.tmp0");
    put("empty.tmp0/1.json", "{}");
    check_ok(folder_end(work, "empty/", &err), &err);
    assert_true(exists("empty/1.json"));
    check_ok(folder_begin("empty", &f->arena, &work, &err), &err);
    check_fails(folder_end(work, "empty", &err), &err,
                "empty: cannot be made: the folder is not empty");
    assert_string_equal(here(f), "empty ");
}

static void test_folder_abandoned_leaves_nothing(void **state) {
    Fixture *f = *state;
    Err err = {0};
    const char *work;
    check_ok(folder_begin("plans", &f->arena, &work, &err), &err);
    put("plans.tmp0/1.json", "{}");
    put("plans.tmp0/.hidden", "{}");
    folder_abandon(work);
    assert_string_equal(here(f), "");
}

// A working folder that somebody else left is not touched: the next number is taken.
static void test_folder_keeps_what_others_left(void **state) {
    Fixture *f = *state;
    Err err = {0};
    const char *work;
    assert_int_equal(mkdir("plans.tmp0", 0777), 0);
    check_ok(folder_begin("plans", &f->arena, &work, &err), &err);
    assert_string_equal(work, "plans.tmp1");
    check_ok(folder_end(work, "plans", &err), &err);
    assert_string_equal(here(f), "plans plans.tmp0 ");
}

static void test_folder_replace_puts_the_old_one_aside(void **state) {
    Fixture *f = *state;
    Err err = {0};
    const char *work, *aside;
    assert_int_equal(mkdir("plans", 0777), 0);
    put("plans/old.json", "{}");
    check_ok(folder_begin("plans", &f->arena, &work, &err), &err);
    put("plans.tmp0/new.json", "{}");
    check_ok(folder_replace(work, "plans", &f->arena, &aside, &err), &err);
    assert_string_equal(here(f), "plans plans.old0 ");
    assert_true(exists("plans.old0/old.json"));
    folder_abandon(aside);
    assert_string_equal(here(f), "plans ");
    assert_true(exists("plans/new.json"));
    assert_false(exists("plans/old.json"));
}

// The old one is put aside only when the new one is on the disk.
static void test_folder_replace_that_fails_keeps_the_old(void **state) {
    Fixture *f = *state;
    Err err = {0};
    const char *aside;
    assert_int_equal(mkdir("plans", 0777), 0);
    put("plans/old.json", "{}");
    check_fails(folder_replace("gone", "plans", &f->arena, &aside, &err), &err,
                "gone: cannot be read: no such file or folder");
    assert_string_equal(here(f), "plans ");
    assert_true(exists("plans/old.json"));
}

static void test_folder_probe_tells_and_leaves_nothing(void **state) {
    Fixture *f = *state;
    Err err = {0};
    FolderState got;
    assert_int_equal(mkdir("empty", 0777) + mkdir("full", 0777), 0);
    put("full/1", "");
    put("file", "");
    assert_int_equal(symlink("empty", "link"), 0);
    check_ok(folder_probe("new", &got, &err), &err);
    assert_int_equal(got, FOLDER_ABSENT);
    check_ok(folder_probe("empty", &got, &err), &err);
    assert_int_equal(got, FOLDER_EMPTY);
    check_ok(folder_probe("full/", &got, &err), &err);
    assert_int_equal(got, FOLDER_FULL);
    check_fails(folder_probe("file", &got, &err), &err, "file: is a file, expected a folder");
    check_fails(folder_probe("link", &got, &err), &err,
                "link: is a symbolic link, expected a folder");
    check_fails(folder_probe("a/b", &got, &err), &err,
                "a/b: cannot be made: no such file or folder");
    check_fails(folder_probe("", &got, &err), &err, "\"\": cannot be made: no such file or folder");
    check_fails(folder_probe("full/..", &got, &err), &err,
                "full/..: expected the name of a folder that can be made or replaced");
    assert_string_equal(here(f), "empty file full link ");
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, open_fixture, close_fixture)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_folder_appears_whole),
        IN_FOLDER(test_folder_replaces_an_empty_one),
        IN_FOLDER(test_folder_abandoned_leaves_nothing),
        IN_FOLDER(test_folder_keeps_what_others_left),
        IN_FOLDER(test_folder_replace_puts_the_old_one_aside),
        IN_FOLDER(test_folder_replace_that_fails_keeps_the_old),
        IN_FOLDER(test_folder_probe_tells_and_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

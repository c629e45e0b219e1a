// The program moesim-run, in memory: a schedule in a file does what the same schedule does in
// memory.
#define _GNU_SOURCE // unshare
#include "tests/check.h"

#include <dirent.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec/host/host.h"
#include "exec/program.h"
#include "model/base/json.h"
#include "model/base/rng.h"
#include "tests/plan/hand_schedule.h"

// A file in a folder of its own, which the test removes.
typedef struct TemporaryFile {
    char folder[200], path[256];
} TemporaryFile;

static void write_schedule(const Schedule *schedule, TemporaryFile *file) {
    Text text = {0};
    Err err = {0};
    const char *base = getenv("TMPDIR");
    snprintf(file->folder, sizeof file->folder, "%s/moesim-XXXXXX", base != NULL ? base : "/tmp");
    assert_non_null(mkdtemp(file->folder));
    snprintf(file->path, sizeof file->path, "%s/s.json", file->folder);
    schedule_write(schedule, &text);
    check_ok(file_write(file->path, text_string(&text), text.length, &err), &err);
    text_free(&text);
}

static void remove_file(const TemporaryFile *file) {
    unlink(file->path);
    rmdir(file->folder);
}

static bool start(const char *const *words, int count, Text *out, Err *err) {
    char copies[8][256];
    char *argv[9] = {NULL};
    for (int i = 0; i < count; i++) {
        snprintf(copies[i], sizeof copies[i], "%s", words[i]);
        argv[i] = copies[i];
    }
    return program_start(count, argv, out, err);
}

// Digest of a buffer in the program's JSON, as text.
static void printed_digest(const Text *out, uint32_t buffer, char *digest) {
    Json json = {0};
    Err err = {0};
    JsonNode buffers;
    const char *text;
    check_ok(json_parse("out", out->data, out->length, &json, &err), &err);
    check_ok(json_array(json_root(&json), "buffers", &buffers, &err), &err);
    check_ok(json_string(json_at(buffers, buffer), "digest", &text, &err), &err);
    snprintf(digest, 17, "%s", text);
    json_free(&json);
}

// Bytes of the program for seed 7, format f32: a whole number from -8 to 7 by the top four bits of
// each random number. Told again here, so that the file run is compared with a run of our own.
static void fill(void *context, BufferId buffer, uint32_t rank, uint8_t *bytes, uint64_t count) {
    (void)context;
    Rng rng;
    rng_seed(&rng, hash_u64(hash_u64(hash_u64(HASH_START, 7), buffer), rank));
    for (uint64_t i = 0; i < count; i += sizeof(float)) {
        float value = (float)(rng_next(&rng) >> 60) - 8;
        memcpy(bytes + i, &value, sizeof value);
    }
}

static void test_program_runs_a_file_as_memory_does(void **state) {
    (void)state;
    TemporaryFile file;
    Schedule schedule;
    InterpResult result = {0};
    Load load = load_uniform();
    HostInit init = {.fill = fill};
    StepShape shape = {.tokens = 1, .sequences = 1, .kv_tokens = 1, .qk_pairs = 1};
    Err err = {0};
    Text out = {0};
    hand_ring(5, 2, &schedule);
    write_schedule(&schedule, &file);
    check_ok(host_run(&schedule, &shape, &load, &init, &result, &err), &err);
    const char *const words[] = {"moesim-run", "run", file.path, "--seed=7", "--format", "json"};
    check_ok(start(words, 6, &out, &err), &err);
    for (BufferId id = 0; id < schedule.buffer_count; id++) {
        char got[17], want[17];
        printed_digest(&out, id, got);
        hash_format(interp_digest(&result, &schedule, id), want);
        assert_string_equal(got, want);
    }
    text_free(&out);
    interp_free(&result);
    schedule_free(&schedule);
    remove_file(&file);
}

// `moesim run FILE` starts `moesim-run FILE`: the word run is understood.
static void test_program_takes_a_file_without_a_command(void **state) {
    (void)state;
    TemporaryFile file;
    Schedule schedule;
    Err err = {0};
    Text with = {0}, without = {0};
    hand_experts(24, &schedule);
    write_schedule(&schedule, &file);
    const char *const words[] = {"moesim-run", "run", file.path};
    const char *const fewer[] = {"moesim-run", file.path};
    check_ok(start(words, 3, &with, &err), &err);
    check_ok(start(fewer, 2, &without, &err), &err);
    check_text_equals(text_string(&without), text_string(&with));
    text_free(&with);
    text_free(&without);
    schedule_free(&schedule);
    remove_file(&file);
}

// ---- A file system that is really full

typedef enum FullEnd { FULL_GOOD, FULL_BAD, FULL_NOT_PERMITTED } FullEnd;

static bool write_line(const char *path, const char *line) {
    FILE *file = fopen(path, "w");
    bool good = file != NULL && fputs(line, file) >= 0;
    return file != NULL && fclose(file) == 0 && good;
}

// Who has no rights may have them in a namespace of users of one's own.
static bool take_namespace(void) {
    char users[64], groups[64];
    snprintf(users, sizeof users, "0 %u 1\n", (unsigned)getuid());
    snprintf(groups, sizeof groups, "0 %u 1\n", (unsigned)getgid());
    return unshare(CLONE_NEWNS) == 0 ||
           (unshare(CLONE_NEWNS | CLONE_NEWUSER) == 0 &&
            write_line("/proc/self/setgroups", "deny\n") &&
            write_line("/proc/self/uid_map", users) && write_line("/proc/self/gid_map", groups));
}

// In a process of its own: a file system of 16 KiB in a namespace that nobody else sees, which is
// gone with the process.
static bool mount_small(const char *folder) {
    if (!take_namespace()) return false;
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("none", folder, "tmpfs", 0, "size=16k") == 0;
}

static uint32_t count_files(const char *folder) {
    DIR *files = opendir(folder);
    uint32_t count = 0;
    if (files == NULL) return UINT32_MAX;
    for (const struct dirent *file = readdir(files); file != NULL; file = readdir(files))
        count += *file->d_name != '.';
    closedir(files);
    return count;
}

// Nothing that was written stays, so that there is room again.
static FullEnd run_where_it_is_full(const char *schedule, const char *folder, const char *backend) {
    char timeline[300], want[400];
    Text out = {0};
    Err err = {0};
    if (!mount_small(folder)) return FULL_NOT_PERMITTED;
    snprintf(timeline, sizeof timeline, "%s/t.json", folder);
    snprintf(want, sizeof want, "%s: cannot be written: no space left", timeline);
    const char *const words[] = {"moesim-run", "run",        schedule, "--backend",
                                 backend,      "--timeline", timeline};
    bool good = start(words, 7, &out, &err);
    text_free(&out);
    if (!good && strcmp(err.text, want) == 0 && count_files(folder) == 0) return FULL_GOOD;
    print_error("%s: %s, %u files\n", backend, good ? "succeeded" : err.text, count_files(folder));
    return FULL_BAD;
}

// 200 passes of a ring on 4 ranks: 800 operations and more, each a line of 20 bytes and more.
static void test_program_names_a_full_disk(void **state) {
    (void)state;
    static const char *const backends[] = {"host", "net"};
    TemporaryFile file;
    Schedule schedule;
    char folder[256];
    int status = 0;
    hand_ring(200, 2, &schedule);
    write_schedule(&schedule, &file);
    snprintf(folder, sizeof folder, "%s/full", file.folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    for (uint32_t i = 0; i < 2; i++) {
        pid_t child = fork();
        if (child == 0) _exit((int)run_where_it_is_full(file.path, folder, backends[i]));
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != FULL_GOOD) break;
    }
    rmdir(folder);
    remove_file(&file);
    schedule_free(&schedule);
    if (WIFEXITED(status) && WEXITSTATUS(status) == FULL_NOT_PERMITTED) {
        print_error("skip test_program_names_a_full_disk: no rights to mount a file system\n");
        skip();
    }
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == FULL_GOOD);
}

static void test_program_prints_version_and_help(void **state) {
    (void)state;
    Err err = {0};
    Text out = {0};
    const char *const words[] = {"moesim-run", "--version"};
    check_ok(start(words, 2, &out, &err), &err);
    check_text_equals(text_string(&out), "moesim-run 0.1.0\n");
    const char *const bad[] = {"moesim-run", "help", "rum"};
    check_fails(start(bad, 3, &out, &err), &err, "unknown command \"rum\", did you mean \"run\"?");
    text_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_program_runs_a_file_as_memory_does),
        cmocka_unit_test(test_program_takes_a_file_without_a_command),
        cmocka_unit_test(test_program_prints_version_and_help),
        cmocka_unit_test(test_program_names_a_full_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

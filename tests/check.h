// What every test file includes: cmocka with the headers that it wants before it, and checks that
// say what differs.
//
// Tests run with the root of the tree as current folder. A test of a file in the shared folder
// begins with check_shared, and is skipped where that folder does not exist.
#ifndef TESTS_CHECK_H
#define TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"

// cmocka's assert_float_equal compares floats: 1.0 and 1.0 + 1e-9 would be equal there. Here two
// doubles differ by at most `rel` times the wanted one; rel 0 asks for the same value. NaN is never
// close.
#define check_close(got, want, rel) check_close_at((got), (want), (rel), #got, __FILE__, __LINE__)

// A call that must succeed; `err` is what was passed to it.
#define check_ok(call, err)                                                                        \
    do {                                                                                           \
        if (!(call)) fail_msg("%s: %s", #call, (err)->text);                                       \
    } while (0)

// A call that must fail with exactly this message.
#define check_fails(call, err, message)                                                            \
    do {                                                                                           \
        if (call) fail_msg("%s: succeeded, expected \"%s\"", #call, (message));                    \
        if (strcmp((err)->text, (message)) != 0)                                                   \
            fail_msg("%s:\n  got  \"%s\"\n  want \"%s\"", #call, (err)->text, (message));          \
    } while (0)

// Two texts must be equal; the first line that differs is printed.
#define check_text_equals(got, want) check_text_at((got), (want), "the text", __FILE__, __LINE__)

// A text must equal the file at `path`, such as "tests/golden/ring.txt". UPDATE_GOLDEN=1 in the
// environment writes it instead.
#define check_golden(got, path) check_golden_at((got), (path), __FILE__, __LINE__)

static inline void check_close_at(double got, double want, double rel, const char *what,
                                  const char *file, int line) {
    if (fabs(got - want) <= rel * fabs(want)) return;
    print_error("%s: got %.17g, want %.17g within %g\n", what, got, want, rel);
    _fail(file, line);
}

static inline void check_text_at(const char *got, const char *want, const char *what,
                                 const char *file, int line) {
    int number = 1;
    while (*got != '\0' || *want != '\0') {
        size_t got_length = strcspn(got, "\n"), want_length = strcspn(want, "\n");
        bool same = got_length == want_length && memcmp(got, want, got_length) == 0 &&
                    got[got_length] == want[want_length];
        if (!same) {
            print_error("%s differs in line %d:\n  got  \"%.*s\"%s\n  want \"%.*s\"%s\n", what,
                        number, (int)got_length, got, got[got_length] == '\0' ? " (end)" : "",
                        (int)want_length, want, want[want_length] == '\0' ? " (end)" : "");
            _fail(file, line);
        }
        got += got_length + (got[got_length] == '\n');
        want += want_length + (want[want_length] == '\n');
        number++;
    }
}

static inline void check_golden_at(const char *got, const char *path, const char *file, int line) {
    Err err = {0};
    Arena arena = {0};
    char *want = NULL;
    size_t count = 0;
    const char *update = getenv("UPDATE_GOLDEN");
    bool done = update != NULL && strcmp(update, "1") == 0
                    ? file_write(path, got, strlen(got), &err)
                    : file_read(path, FILE_CAP_B, &arena, &want, &count, &err);
    if (!done) {
        print_error("%s\n", err.text);
        _fail(file, line);
    }
    if (want != NULL) check_text_at(got, want, path, file, line);
    arena_free(&arena);
}

// The full path of a file in the shared folder ($MOESIM_SHARED, ../shared by default), or the end
// of this test as skipped, with one line. The string is valid until the next call.
#define check_shared(path) check_shared_at((path), __func__)

static inline const char *check_shared_at(const char *path, const char *test) {
    static char full[4096];
    const char *folder = getenv("MOESIM_SHARED");
    snprintf(full, sizeof full, "%s/%s", folder != NULL ? folder : "../shared", path);
    FILE *file = fopen(full, "r");
    if (file == NULL) {
        print_error("skip %s: shared/%s not found\n", test, path);
        skip();
    } else {
        fclose(file);
    }
    return full;
}

#endif

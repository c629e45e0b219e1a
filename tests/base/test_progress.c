// Progress: silent unless stderr is a terminal.
#include "model/base/progress.h"
#include "tests/check.h"

#include <unistd.h>

static void test_progress_is_silent_without_a_terminal(void **state) {
    (void)state;
    int ends[2], saved = dup(STDERR_FILENO);
    assert_int_equal(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    Progress progress;
    progress_start(&progress, "simulating plans", 1000);
    for (uint64_t i = 0; i <= 1000; i++) progress_step(&progress, i);
    progress_end(&progress);
    dup2(saved, STDERR_FILENO);
    close(saved);
    char text[64];
    assert_int_equal(read(ends[0], text, sizeof text), 0); // end of the pipe, nothing before it
    close(ends[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_progress_is_silent_without_a_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// Signals that are noted, ignored, and sent again. What the program would have died of is seen by a
// child process.
#include "model/base/interrupt.h"
#include "tests/check.h"

#include <sys/wait.h>
#include <unistd.h>

static void test_interrupt_is_noted_until_the_end(void **state) {
    (void)state;
    Interrupt interrupt;
    pid_t child = fork();
    if (child == 0) {
        interrupt_begin(&interrupt);
        if (interrupt_came()) _exit(1);
        raise(SIGTERM);
        if (!interrupt_came()) _exit(2);
        interrupt_end(&interrupt); // ends the program here
        _exit(3);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGTERM);
}

static void test_interrupt_leaves_no_trace_when_none_came(void **state) {
    (void)state;
    Interrupt interrupt;
    struct sigaction before, after;
    sigaction(SIGINT, NULL, &before);
    interrupt_begin(&interrupt);
    assert_false(interrupt_came());
    interrupt_end(&interrupt);
    sigaction(SIGINT, NULL, &after);
    assert_ptr_equal((void *)(uintptr_t)before.sa_handler, (void *)(uintptr_t)after.sa_handler);
}

// As under nohup.
static void test_interrupt_ignored_signals_stay_ignored(void **state) {
    (void)state;
    Interrupt interrupt;
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    sigaction(SIGHUP, &ignore, &before);
    interrupt_begin(&interrupt);
    raise(SIGHUP);
    assert_false(interrupt_came());
    interrupt_end(&interrupt);
    sigaction(SIGHUP, &before, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interrupt_is_noted_until_the_end),
        cmocka_unit_test(test_interrupt_leaves_no_trace_when_none_came),
        cmocka_unit_test(test_interrupt_ignored_signals_stay_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// Signals as a flag.
//
// Invariant: the handler does nothing but note the number. That note is the program's one variable
// that changes outside of any function's hands: a signal handler has no argument of ours (POSIX.1,
// signal concepts), and a sig_atomic_t is what it may write.
#include "model/base/interrupt.h"

#include <stddef.h>

static volatile sig_atomic_t interrupt_number; // 0: none came

static const int numbers[INTERRUPT_SIGNALS] = {SIGINT, SIGTERM, SIGHUP};

static void note(int number) {
    interrupt_number = number;
}

void interrupt_begin(Interrupt *out) {
    struct sigaction action = {.sa_handler = note};
    sigemptyset(&action.sa_mask);
    interrupt_number = 0;
    for (size_t i = 0; i < INTERRUPT_SIGNALS; i++) {
        sigaction(numbers[i], NULL, &out->before[i]);
        if (out->before[i].sa_handler != SIG_IGN) sigaction(numbers[i], &action, NULL);
    }
}

bool interrupt_came(void) {
    return interrupt_number != 0;
}

void interrupt_end(Interrupt *interrupt) {
    for (size_t i = 0; i < INTERRUPT_SIGNALS; i++)
        sigaction(numbers[i], &interrupt->before[i], NULL);
    if (interrupt_number != 0) raise(interrupt_number);
}

// Ctrl-C while files are being written: the request is noted, and looked at where the work can stop
// and clean up.
//
//     interrupt_begin(&interrupt);
//     for (...) if (interrupt_came()) { clean up; break; }
//     interrupt_end(&interrupt);
#ifndef MODEL_BASE_INTERRUPT_H
#define MODEL_BASE_INTERRUPT_H

#include <signal.h>
#include <stdbool.h>

enum { INTERRUPT_SIGNALS = 3 }; // SIGINT, SIGTERM, SIGHUP

// What happened on these signals before.
typedef struct Interrupt {
    struct sigaction before[INTERRUPT_SIGNALS];
} Interrupt;

// From here to the end, the signals that would end the program only set a flag; those that were
// ignored stay so. Not nested.
void interrupt_begin(Interrupt *out);
bool interrupt_came(void);
// As before; a signal that came is sent again, which as a rule ends the program, as its caller
// expects of a program that was interrupted.
void interrupt_end(Interrupt *interrupt);

#endif

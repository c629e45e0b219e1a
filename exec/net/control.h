// Messages between the processes of one run that are not its traffic: from a rank to the process
// that forked it, from there to the first process, and back. They go over pipes or local sockets,
// never over the network that is measured.
#ifndef EXEC_NET_CONTROL_H
#define EXEC_NET_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/text.h"
#include "model/base/units.h"

#define CONTROL_DATA_MAX ((size_t)1 << 20) // bytes of one message; longer data are several

// Each with what it carries; `from` is a rank, or 0.
#define CONTROL_LIST(X)                                                                            \
    X(SETUP, "setup")         /* to a host: a ServeSetup */                                        \
    X(LISTENING, "listening") /* address and kernel of a host */                                   \
    X(PEERS, "peers")         /* to a host: those of all hosts */                                  \
    X(CONNECTED, "connected") /* how far off its clock may be */                                   \
    X(ARRIVED, "arrived")     /* all ranks of a host, and when */                                  \
    X(START, "start")         /* to a host: round and time */                                      \
    X(STOP, "stop")           /* to a host: end soon */                                            \
    X(NOTE, "note")           /* a line for people */                                              \
    X(RESULT, "result")       /* bytes of result_pack, part by part */                             \
    X(FAILED, "failed")       /* why a rank failed; the host, when `from` is CONTROL_HOST */       \
    X(KILLED, "killed")       /* a ServeDeath */                                                   \
    X(DONE, "done")           /* the last of a rank, and of a host that ends by itself */          \
    X(ALIVE, "alive")         /* between a host and the first process, both ways, again and again */
typedef enum ControlKind {
#define X(name, text) CONTROL_##name,
    CONTROL_LIST(X)
#undef X
        CONTROL_KIND_COUNT
} ControlKind;
extern const char *const control_names[CONTROL_KIND_COUNT];

#define CONTROL_HOST UINT32_MAX

typedef struct ControlMessage {
    ControlKind kind;
    uint32_t from;
    const uint8_t *data; // borrowed until the next call
    size_t count;
} ControlMessage;

// What has come so far. A zeroed reader is empty.
typedef struct ControlReader {
    uint8_t *bytes; // heap
    size_t count, used, capacity;
} ControlReader;

// Waits until all is written. False when the other side is gone.
bool control_write(int descriptor, ControlKind kind, uint32_t from, const void *data, size_t count,
                   Err *err);
bool control_write_text(int descriptor, ControlKind kind, uint32_t from, const char *text,
                        Err *err);

// Reads once from a descriptor that is ready; *is_open is false after the last byte.
bool control_read(ControlReader *reader, int descriptor, bool *is_open, Err *err);
// The next whole message of what has been read; *has is false when there is none.
bool control_next(ControlReader *reader, ControlMessage *out, bool *has, Err *err);
void control_free(ControlReader *reader);

// Waits for one message of a kind, of exactly `count` bytes, copied to `data`. What says no more
// than that it is alive is passed over; false when the other side says nothing for `quiet_ps`.
bool control_expect(ControlReader *reader, int descriptor, ControlKind kind, void *data,
                    size_t count, Time quiet_ps, Err *err);

// Signs of life over one connection. Each side looks after every poll, which waits control_beat_ms
// at most. A process that was itself stopped or late begins anew to count the silence of the other.
typedef struct ControlPulse {
    Time quiet_ps; // so long may the other side say nothing
    Time looked_ps, told_ps, heard_ps;
} ControlPulse;

// How long a process may say nothing in a run whose ranks wait `time_out_ps` for each other.
Time control_quiet_ps(Time time_out_ps);
void control_start_pulse(ControlPulse *pulse, Time quiet_ps);
int control_beat_ms(const ControlPulse *pulse);
// Tells the other side that this one is alive when it is time to. False when the other side was
// silent too long.
bool control_look(ControlPulse *pulse, int descriptor, Err *err);

#endif

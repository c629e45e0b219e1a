// Hosts of a run that people start by hand: the first process waits for them at an address and says
// what to type on each; what was typed connects to it.
#ifndef EXEC_NET_HAND_H
#define EXEC_NET_HAND_H

#include <stdbool.h>
#include <stdint.h>

#include "exec/net/address.h"
#include "exec/net/frame.h"
#include "exec/net/hosts.h"
#include "model/base/err.h"
#include "model/base/text.h"
#include "model/base/units.h"

#define HAND_OPTION    "--join-at"
#define HAND_TIME_OUTS 10 // of a rank: as long may people take to type

#define HAND_ADDRESS_MAX 256

typedef struct HandPlan {
    const Hosts *hosts;
    Address where; // the first process listens
    const uint8_t *token;
    char *const *words; // of the program: the command and all after it
    uint32_t word_count;
    Time time_out_ps; // for all to come
} HandPlan;

// The line to type on a host, for a shell.
void hand_command(const HandPlan *plan, uint32_t host, Text *out);

// Waits until all hosts but the first have come: sockets[hosts->count], blocking; that of the first
// is left alone. On failure, which names the host, the port and what to type, none is left open.
// Strangers are refused, with lines added to `notes`.
bool hand_wait(const HandPlan *plan, int listener, int *sockets, Text *notes, Err *err);

// What stands behind HAND_OPTION: "10.99.0.1:7000/1/TOKEN", the token of hexadecimal digits.
typedef struct HandWhere {
    char address[HAND_ADDRESS_MAX]; // without brackets
    uint16_t port;
    uint32_t host;
    uint8_t token[FRAME_TOKEN_B];
} HandWhere;
bool hand_read_where(const char *text, HandWhere *out, Err *err);

// On the other side: `where` is what follows HAND_OPTION. A blocking socket to the first process,
// which has taken this one as that host.
bool hand_join(const char *where, Time time_out_ps, int *out_socket, Err *err);

#endif

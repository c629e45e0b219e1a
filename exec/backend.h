// What a back end adds to the interpreter (interp.h): how bytes get from rank to rank, and what the
// time is. Control flow, step lists, computation and the timeline are not its business, so that
// host, net and mpi are the same program, and one more (CUDA with NCCL) is one more table.
#ifndef EXEC_BACKEND_H
#define EXEC_BACKEND_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "exec/job.h"
#include "model/base/err.h"
#include "model/base/units.h"

// POST: the bytes are taken over (copied where need be) and travel by themselves. SEND: ends when
// the bytes may be written again, and not long before the peer has them: a step of a list, and the
// operation that it belongs to, is not over while its bytes still load a link. RECV: ends when all
// bytes are there. COPY: inside the rank, while the others are on their way; none of them writes
// what it reads, or reads or writes what it writes.
typedef enum MessageKind { MESSAGE_POST, MESSAGE_SEND, MESSAGE_RECV, MESSAGE_COPY } MessageKind;

// `tag` is equal at both ends and used once between two ranks in one direction. A receive whose
// message has another length is an error that names both lengths. Zero bytes are a message too.
typedef struct Message {
    MessageKind kind;
    uint32_t peer; // rank; of COPY the rank itself
    uint64_t tag;
    uint8_t *bytes; // of SEND and POST: read only
    uint64_t count;
    const uint8_t *from; // of COPY, which goes to `bytes`
} Message;

// What a back end does in `exchange` when all else is under way.
static inline void message_copy_all(const Message *messages, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (messages[i].kind == MESSAGE_COPY && messages[i].count > 0)
            memcpy(messages[i].bytes, messages[i].from, messages[i].count);
}

// One run of a back end. Functions may be called by several threads at once, one for each stream of
// each rank of this process; `rank` is the caller. All but `now` may wait, never longer than the
// time-out that the back end was opened with, and then fail with one line that names the peer.
// NULL where it says so.
typedef struct BackEnd {
    const char *name;    // "host"
    const char *machine; // for the timeline: "2 hosts x 4 ranks, tcp and shared memory"
    void *self;
    // Whether collectives of this algorithm run here; NULL: all of collective.h, by step lists.
    bool (*supports)(void *self, const Op *op, Err *err);
    // A group: all messages at once, in any order. Returns when each has ended as its kind says.
    bool (*exchange)(void *self, uint32_t rank, const Message *messages, uint32_t count, Err *err);
    // A collective of the library's own; NULL: by step lists over `exchange` (collective.h).
    bool (*collective)(void *self, const OpInstance *instance, Err *err);
    // Called by a stream before an operation that waits for instance `number` of operation `on` on
    // another stream, which has been issued. NULL when what was issued has ended.
    bool (*wait)(void *self, const OpInstance *instance, OpId on, uint64_t number, Err *err);
    // Picoseconds of one clock of all ranks of the run.
    Time (*now)(void *self);
    // Every rank of the run comes here before the first operation and waits for all others; returns
    // at the instant that all agreed on.
    bool (*start)(void *self, uint32_t rank, Err *err);
    // Some rank failed: all that waits in this back end ends with an error soon.
    void (*abort)(void *self, uint32_t rank, const Err *why);
} BackEnd;

#endif

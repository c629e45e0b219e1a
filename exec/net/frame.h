// What goes over the wires of the net back end: a greeting when a connection is made, then messages
// that each begin with a frame. Little-endian on every machine.
#ifndef EXEC_NET_FRAME_H
#define EXEC_NET_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/hash.h"

#define FRAME_B          24
#define FRAME_GREETING_B 48
#define FRAME_TOKEN_B    16

#define FRAME_COUNT_MAX (UINT64_C(4) << 30) // bytes of one message

// Of a message, followed by its `count` bytes.
typedef struct Frame {
    uint64_t tag, count;
} Frame;

// Who connects to whom, in which run, about which job.
typedef struct FrameGreeting {
    uint8_t token[FRAME_TOKEN_B];
    uint32_t from, to; // ranks
    Digest job;
} FrameGreeting;

void frame_write(const Frame *frame, uint8_t bytes[FRAME_B]);
// Refused: anything else than a frame, a message over FRAME_COUNT_MAX.
bool frame_read(const uint8_t bytes[FRAME_B], Frame *out, Err *err);

void frame_write_greeting(const FrameGreeting *greeting, uint8_t bytes[FRAME_GREETING_B]);
bool frame_read_greeting(const uint8_t bytes[FRAME_GREETING_B], FrameGreeting *out, Err *err);
// Whether a greeting belongs to this run: token and job are compared, the ranks are not.
bool frame_same_run(const FrameGreeting *got, const FrameGreeting *want, Err *err);

void frame_put(uint8_t *bytes, uint64_t value, uint32_t count); // `count` bytes, the lowest first
uint64_t frame_get(const uint8_t *bytes, uint32_t count);

#endif

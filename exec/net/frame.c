// What goes over the wires of the net back end, as bytes and back.
//
// Invariant: bytes that do not begin with the right mark and version are refused, whatever follows;
// nothing is allocated here.
#include "exec/net/frame.h"

#include <inttypes.h>
#include <string.h>

#define FRAME_MARK    UINT64_C(0x656d6172666f6f6d)
#define GREETING_MARK UINT64_C(0x7465656e69736f6d)
#define VERSION       UINT32_C(1)

void frame_put(uint8_t *bytes, uint64_t value, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) bytes[i] = (uint8_t)(value >> (8 * i));
}

uint64_t frame_get(const uint8_t *bytes, uint32_t count) {
    uint64_t value = 0;
    for (uint32_t i = 0; i < count; i++) value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

void frame_write(const Frame *frame, uint8_t bytes[FRAME_B]) {
    frame_put(bytes, FRAME_MARK, 8);
    frame_put(bytes + 8, frame->tag, 8);
    frame_put(bytes + 16, frame->count, 8);
}

bool frame_read(const uint8_t bytes[FRAME_B], Frame *out, Err *err) {
    uint64_t mark = frame_get(bytes, 8);
    if (mark != FRAME_MARK)
        return err_set(err, "malformed frame: begins with %016" PRIx64 ", expected %016" PRIx64,
                       mark, FRAME_MARK);
    Frame frame = {.tag = frame_get(bytes + 8, 8), .count = frame_get(bytes + 16, 8)};
    if (frame.count > FRAME_COUNT_MAX)
        return err_set(err, "malformed frame: a message of %" PRIu64 " bytes, at most %" PRIu64,
                       frame.count, FRAME_COUNT_MAX);
    *out = frame;
    return true;
}

void frame_write_greeting(const FrameGreeting *greeting, uint8_t bytes[FRAME_GREETING_B]) {
    frame_put(bytes, GREETING_MARK, 8);
    frame_put(bytes + 8, VERSION, 4);
    frame_put(bytes + 12, greeting->from, 4);
    frame_put(bytes + 16, greeting->to, 4);
    frame_put(bytes + 20, 0, 4);
    frame_put(bytes + 24, greeting->job, 8);
    memcpy(bytes + 32, greeting->token, FRAME_TOKEN_B);
}

bool frame_read_greeting(const uint8_t bytes[FRAME_GREETING_B], FrameGreeting *out, Err *err) {
    uint32_t version = (uint32_t)frame_get(bytes + 8, 4);
    if (frame_get(bytes, 8) != GREETING_MARK) return err_set(err, "not a greeting of moesim-run");
    if (version != VERSION)
        return err_set(err, "greets with version %" PRIu32 ", expected %" PRIu32, version, VERSION);
    if (frame_get(bytes + 20, 4) != 0) return err_set(err, "malformed greeting");
    *out = (FrameGreeting){.from = (uint32_t)frame_get(bytes + 12, 4),
                           .to = (uint32_t)frame_get(bytes + 16, 4),
                           .job = frame_get(bytes + 24, 8)};
    memcpy(out->token, bytes + 32, FRAME_TOKEN_B);
    return true;
}

bool frame_same_run(const FrameGreeting *got, const FrameGreeting *want, Err *err) {
    uint8_t differ = 0; // all bytes are looked at: how many are right shall not show in the time
    for (uint32_t i = 0; i < FRAME_TOKEN_B; i++) differ |= got->token[i] ^ want->token[i];
    if (differ != 0) return err_set(err, "wrong run token");
    char mine[17], theirs[17];
    if (got->job != want->job)
        return err_set(err, "runs another job: digest %s, expected %s",
                       hash_format(got->job, theirs), hash_format(want->job, mine));
    return true;
}

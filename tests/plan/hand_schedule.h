// Small schedules written by hand, for tests of the check, of the file form and of back ends.
#ifndef TESTS_PLAN_HAND_SCHEDULE_H
#define TESTS_PLAN_HAND_SCHEDULE_H

#include "model/plan/schedule.h"

// A collective on n ranks of one role: buffer 0 is read, buffer 1 written, both `room_B` long.
typedef struct HandCollective {
    Collective collective;
    Algorithm algorithm;
    uint32_t n, inner;
    uint64_t bytes, room_B;
    uint32_t element;
    NumFmt format;
} HandCollective;
void hand_collective(const HandCollective *hand, Schedule *out);

// Four roles of one rank in a ring: in each of `passes` passes role r receives a 4-byte token from
// role r - 1, adds its own number to it and sends it on to role r + 1. The first role's receive is
// `lag` passes behind, as in decoding, where a stage starts its next token with what the last stage
// made of one before. Role r has buffer 2 r, the token, and 2 r + 1, its number.
void hand_ring(uint32_t passes, uint32_t lag, Schedule *out);

// 100 experts on 8 ranks: role 0 has ranks 0 to 3 with 13 experts each, role 1 ranks 4 to 7
// with 12. Each rank sends `pairs` elements of 4 bytes to their experts (channel 0) and gets them
// back (channel 1). Buffers of role 0: 0 tokens, 1 received, 2 results; of role 1: 3, 4, 5.
void hand_experts(uint64_t pairs, Schedule *out);

// To the operation added last: `bytes` of a buffer from `offset` on.
void hand_slice(Schedule *schedule, BufferId buffer, SliceAccess access, uint64_t offset,
                uint64_t bytes);
BufferId hand_buffer(Schedule *schedule, RoleId role, const char *name, uint64_t bytes);
// On one stream, without slices and waits.
OpId hand_memory(Schedule *schedule, const char *name, uint32_t stream);
OpId hand_message(Schedule *schedule, OpKind kind, const char *name, RoleId peer, uint32_t channel,
                  uint64_t bytes);

#endif

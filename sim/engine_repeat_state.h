// The state of a simulation as numbers, to be compared with what it was: engine_repeat.c and its
// parts only.
#ifndef SIM_ENGINE_REPEAT_STATE_H
#define SIM_ENGINE_REPEAT_STATE_H

#include "sim/engine.h"
#include "sim/engine_repeat.h"

// What repeats: iterations and segments inside a pass, or passes.
typedef enum RepeatLevel { REPEAT_PROGRAM, REPEAT_PASSES, REPEAT_LEVELS } RepeatLevel;

// A growing list of numbers that describe a state.
typedef struct Words {
    uint64_t *words;
    uint32_t count, capacity;
} Words;

// What one period adds to an OpTotal.
typedef struct OpSum {
    uint64_t instances;
    Time busy_ps, transfer_ps, exposed_ps, bound_ps;
} OpSum;

// Sums at the last time of comparison, to know what one period adds.
typedef struct Sums {
    uint32_t *done;          // [member][op]
    OpSum *totals;           // [member][op]
    TimeShare *shares;       // [member]
    ScheduleCursor *cursors; // [member][SCHEDULE_STREAMS_MAX]
    uint64_t *counts;        // [meeting] delivered and received
} Sums;

// How far a member's program went in a period: iterations of one segment, whole segments, or whole
// passes.
typedef struct Went {
    uint32_t iterations, segments, passes;
} Went;

struct EngineRepeat {
    RepeatLevel level;
    bool has_leader, has_begun; // begun: the leader has begun a period in this instant
    uint32_t submission, member, stream;
    uint32_t pass, segment, last_segment; // where it leads
    uint32_t stride;                      // segments of a period; 0: one iteration of `segment`
                                          // (not of passes)
    uint32_t tries;
    bool is_done; // nothing more is left out for this leader
    Time at;
    Words last, next;
    Sums *sums; // by submission
    uint32_t sum_count;
    Wide *links; // what each resource carried
    uint32_t link_count, link_capacity;
    FlowLeft *flows;
    uint32_t flow_capacity;
    Event *events;
    uint32_t event_capacity;
};

// The state, up to a shift of time and of the place in the programs.
void engine_repeat_state_describe(Sim *sim, EngineRepeat *repeat, Words *words);

// The stream whose cursor stands for the program of the member, or NULL when it has ended.
const Stream *engine_repeat_state_base(const Submission *submission, const Member *member);
// Where a stream was at the last comparison.
const ScheduleCursor *engine_repeat_state_last(const EngineRepeat *repeat, uint32_t s, uint32_t m,
                                               uint32_t at);
// Whether a stream has waited for one and the same operation since the last comparison: it waits
// through all the repeats.
bool engine_repeat_state_stays(const EngineRepeat *repeat, uint32_t s, uint32_t m, uint32_t at,
                               const Stream *stream);
static inline bool engine_repeat_state_is_beside(const ScheduleCursor *cursor,
                                                 const ScheduleCursor *base) {
    return cursor->segment == base->segment && cursor->pass == base->pass;
}

#endif

// Symmetry found by refinement, for every placement, machine, fault and load: which ranks,
// meetings, transfers and links are alike, so that one of each class can be simulated for all,
// exactly.
//
// The transfers of all ranks are listed with their links, without simulating. Then ranks, meetings,
// transfers and links are told apart until all of a class see the same: transfers of a meeting
// start together, are of one size and latency and load alike links; links of a class carry as many
// transfers of each class. Rates, and so times, are then equal within each class. That it is so is
// counted again at the end, exactly.
#ifndef SIM_REFINE_H
#define SIM_REFINE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/hash.h"
#include "model/base/mem.h"
#include "model/cost/calib.h"
#include "model/machine/fabric.h"
#include "model/plan/load.h"
#include "model/plan/schedule.h"
#include "sim/tier.h"

// STABLE: the coarsest classes that are exact. NOTHING: every rank, meeting, transfer and link is a
// class of its own.
typedef enum RefineMerge { REFINE_STABLE, REFINE_NOTHING } RefineMerge;

typedef struct RefineInput {
    const Fabric *fabric;     // borrowed, as the others
    const Schedule *schedule; // that passes schedule_check
    const StepShape *shape;
    const Load *load;
    uint32_t first_gpu;     // rank r is on live GPU first_gpu + r, or on
    const uint32_t *places; // live GPU places[r]; NULL: as above
    RefineMerge merge;
    uint32_t most_classes;       // of transfers, above which a run is refused; 0: no limit
    struct RefineMemory *memory; // of the fabric (refine_memory.h); NULL: none
} RefineInput;

typedef struct RefineMember {
    RoleId role;
    uint32_t rank, ranks; // the first of its ranks, and how many
} RefineMember;

typedef struct RefineParticipant {
    uint32_t member;
    OpId op;
} RefineParticipant;

typedef struct RefineFlow {
    uint32_t path;      // into paths
    uint64_t bytes;     // of one transfer
    uint64_t transfers; // of the class in one gathering of the meeting
} RefineFlow;

typedef struct RefineStep {
    uint32_t repeat; // equal steps in a row
    uint32_t first_flow, flow_count;
} RefineStep;

// A class of groups, or of pairs of sender and receiver (those two are its participants).
typedef struct RefineMeeting {
    uint32_t channel; // meetings of one channel are neighbours
    uint32_t first_participant, participant_count;
    uint32_t first_step, step_count;
    uint32_t senders; // ranks of one group; 1 of a pair
} RefineMeeting;

// A class of links.
typedef struct RefineLink {
    uint64_t links;              // how many
    uint32_t first_id, id_count; // into link_ids: those that were looked at, the lowest first
} RefineLink;

// Load of one transfer on one link of a class: coefficient / scale.
typedef struct RefineEdge {
    uint32_t link; // into links
    uint64_t coefficient;
} RefineEdge;

typedef struct RefinePath {
    uint32_t first_edge, edge_count;
    uint64_t scale;
    Time latency_ps;
    CalibParam step_param;
    TierShape tier;
} RefinePath;

// A zeroed Refined is empty. All arrays are the arena's.
typedef struct Refined {
    Arena arena;
    RefineMember *members;
    uint32_t member_count;
    RefineMeeting *meetings;
    uint32_t meeting_count;
    RefineParticipant *participants;
    uint32_t *meeting_of; // [member_count][op_count], SCHEDULE_NONE: no communication of its role
    RefineStep *steps;
    RefineFlow *flows;
    uint32_t flow_count;
    RefinePath *paths;
    uint32_t path_count;
    RefineEdge *edges;
    RefineLink *links;
    uint32_t link_count;
    LinkId *link_ids;
    Digest cells;        // of how cells were told apart; two runs with equal ones may share links
    uint32_t cell_kinds; // of which one cell each was looked at
    uint32_t cell_ranks; // ranks of a cell
    uint32_t transfers;  // that were looked at
    uint32_t rounds;     // of the refinement
} Refined;

// Refused: more transfers than can be listed, more classes of them than are wanted, ranks that are
// not connected, in-switch collectives without a switch between all ranks.
bool refine_run(const RefineInput *input, Refined *out, Err *err);
void refine_free(Refined *refined);

// Communication operations of a schedule, in order of their channels, then of themselves.
typedef struct RefineChannelOp {
    uint32_t channel;
    OpId op;
} RefineChannelOp;
typedef struct RefineChannelIndex {
    RefineChannelOp *items; // the arena's
    uint32_t count;
} RefineChannelIndex;
void refine_channel_index(const Schedule *schedule, Arena *arena, RefineChannelIndex *out);

// Operations that carry the same transfers as a collective or a SEND: those of its channel in which
// the same is sent, of all roles; the receives of a send follow its sends. Writes them in order;
// returns how many.
uint32_t refine_channel_ops(const Schedule *schedule, const RefineChannelIndex *index,
                            const StepShape *shape, OpId op, OpId *out);

#endif

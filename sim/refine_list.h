// Which ranks, groups, transfers and links there are (refine_cell.c, refine_list.c, refine_link.c).
// Internal to refine*.c.
#ifndef SIM_REFINE_LIST_H
#define SIM_REFINE_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/refine.h"
#include "sim/refine_route.h"

// ---- Cells (refine_cell.c)

// Ranks fall into cells of `size` that follow each other, alike but for faults and their place. The
// place of a cell is its digits: the outer digits of the shape, the last one divided by `divisor`.
// Values of a digit that may be exchanged are a class; cells whose values are of the same classes
// are a kind, and only the first cell of each kind is looked at.
typedef struct RefineKind {
    uint32_t first_rank;
    uint32_t cells;                    // of this kind
    uint32_t alike[FABRIC_DIGITS_MAX]; // by digit: values in the class
} RefineKind;

typedef struct RefineCells {
    uint32_t size;
    uint32_t digit_count, divisor;
    RefineKind *kinds; // of the arena
    uint32_t kind_count;
} RefineCells;

// The cells of a schedule; one of all ranks when there are no smaller ones. Without the forms of
// the routes of a cell, as if there were no faults.
void refine_cells_find(const RefineInput *input, const RefineRoutes *routes, Arena *arena,
                       RefineCells *out);
void refine_cells_whole(const RefineInput *input, Arena *arena, RefineCells *out);
Digest refine_cells_digest(const RefineCells *cells);

// ---- What there is (refine_list.c)

typedef struct RefineRank {
    uint32_t rank, gpu, kind;
    RoleId role;
    uint64_t fixed; // colour at the start
} RefineRank;

// A channel: operations that carry the same transfers, at most one of each role.
typedef struct RefineChannel {
    const OpId *ops;
    uint32_t op_count;
    const OpId *op_of_role; // [role_count], SCHEDULE_NONE: not in it
    uint32_t first_step, step_count;
} RefineChannel;

// A group, or a sender and its receiver.
typedef struct RefineGathering {
    uint32_t channel;
    uint32_t first_member, member_count; // into members: indices of ranks; of a send: from, to
    uint32_t first_transfer, transfer_count;
    uint32_t kind;
} RefineGathering;

typedef struct RefineTransfer {
    uint32_t gathering, step; // step of its channel
    uint32_t pair;
    uint64_t bytes;
} RefineTransfer;

// Two ends of transfers and their links.
typedef struct RefinePair {
    uint32_t from, to; // indices of ranks
    uint32_t form;
    uint32_t first_use, use_count;
} RefinePair;

// A pair loads a link with weight / scale of its transfers, and so do as many alike pairs as
// `many`, this one included.
typedef struct RefineUse {
    uint32_t link, weight;
    uint32_t many;
} RefineUse;

typedef struct RefineLinkNode {
    LinkId link;
    uint32_t planes; // links in one, this one included
    const LinkId *others;
    uint64_t copies; // as many are alike by exchanging cells, this one included
    FabricLink of;
} RefineLinkNode;

typedef struct RefineList {
    RefineRank *ranks;
    uint32_t rank_count;
    uint32_t *index_of; // [schedule ranks], SCHEDULE_NONE: in a cell that is not looked at
    RefineChannel *channels;
    uint32_t channel_count;
    uint32_t *repeats; // by step of a channel
    uint32_t step_count, step_capacity;
    RefineGathering *gatherings;
    uint32_t gathering_count, gathering_capacity;
    uint32_t *members;
    uint32_t member_count, member_capacity;
    RefineTransfer *transfers;
    uint32_t transfer_count, transfer_capacity;
    RefinePair *pairs;
    uint32_t pair_count, pair_capacity;
    RefineUse *uses;
    uint32_t use_count, use_capacity;
    RefineLinkNode *links;
    uint32_t link_count, link_capacity;
} RefineList;

bool refine_list_fill(const RefineInput *input, const RefineCells *cells, RefineRoutes *routes,
                      Arena *arena, RefineList *out, Err *err);
// The links of all pairs, after the routes were bundled. False in *is_split when two edges share
// some of the links that they bundle: then nothing may be bundled.
bool refine_list_links(const RefineInput *input, const RefineCells *cells,
                       const RefineRoutes *routes, RefineList *list, bool *is_split, Err *err);
void refine_list_free(RefineList *list);
// Rows of a GROUPED_GEMM of a rank under the load.
uint64_t refine_list_rows(const RefineInput *input, OpId op, uint32_t rank);

#endif

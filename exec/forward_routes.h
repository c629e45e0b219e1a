// Feed-forward parts of the forward pass, and the routed tokens of a rank.
#ifndef EXEC_FORWARD_ROUTES_H
#define EXEC_FORWARD_ROUTES_H

#include <stdbool.h>
#include <stdint.h>

#include "exec/compute.h"
#include "model/base/err.h"

typedef struct Forward Forward;         // forward.h
typedef struct ForwardRank ForwardRank; // forward_internal.h
typedef struct ForwardStep ForwardStep;

// The routed tokens of one layer on one rank, and of one part of them where they are cut: from the
// choice of experts to the sum of their results. Arrays are heap memory with room for the run.
typedef struct ForwardRoutes {
    uint64_t tokens;              // that were permuted, or whose results are summed
    uint32_t *experts;            // [tokens][top_k]
    float *weights;               // the same
    uint32_t *order;              // pairs by expert
    uint32_t *sent;               // [experts] pairs by expert
    uint32_t *next;               // [experts]
    uint32_t *arrived;            // [sources][experts held]
    uint64_t inputs;              // rows that this rank's experts read,
    uint64_t rows;                // and rows that they compute
    uint64_t skipped;             // pairs of `order` before the first of them
    uint32_t *first;              // [experts held + 1] into the next two
    uint32_t *in_rows, *out_rows; // of each row, where it comes from and where it goes
} ForwardRoutes;

// What one OpWork each does; false with a message.
bool forward_swiglu(ForwardStep *step);
bool forward_router(ForwardStep *step);
bool forward_top_k(ForwardStep *step);
bool forward_permute(ForwardStep *step);
bool forward_experts(ForwardStep *step);
bool forward_experts_swiglu(ForwardStep *step);
bool forward_weighted_sum(ForwardStep *step);
bool forward_expert_sum(ForwardStep *step);

// Takes memory for the run's tokens.
void forward_open_routes(Forward *forward, ForwardRank *rank, ForwardRoutes *routes);
void forward_close_routes(ForwardRoutes *routes);

// Routing (compute.h) of a free run; `self` is the Forward.
bool forward_rows(void *self, const OpInstance *dispatch, uint32_t *rows, Err *err);
bool forward_arrives(void *self, const OpInstance *dispatch, uint32_t source, const uint32_t *rows,
                     uint32_t count, Err *err);
uint64_t forward_room_B(void *self, const Job *job, BufferId buffer, uint64_t scheduled_B);

// Experts of a choice that follows the Load (forward_forced.c): of this rank's `tokens`, [top_k]
// each; and what arrives from each source.
bool forward_force(ForwardStep *step, uint64_t tokens, uint32_t *experts);
void forward_force_arrivals(ForwardStep *step, ForwardRoutes *routes);

#endif

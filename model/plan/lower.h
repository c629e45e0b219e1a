// From a plan to its schedules: what each rank does in a prefill step and in a decode step.
#ifndef MODEL_PLAN_LOWER_H
#define MODEL_PLAN_LOWER_H

#include <stdint.h>

#include "model/moe/arch.h"
#include "model/plan/plan.h"
#include "model/plan/schedule.h"

typedef enum Phase { PHASE_PREFILL, PHASE_DECODE } Phase;

// Streams of a lowered schedule. TP collectives lie on COMPUTE, as in engines: nothing runs beside
// them. COMM has what moves routed tokens, beside the shared experts.
enum { LOWER_STREAM_COMPUTE, LOWER_STREAM_COMM, LOWER_STREAM_PIPELINE, LOWER_STREAM_COUNT };

// How routed tokens move, after what the plan says and what its sizes leave of it: with one EP
// position every rank has all experts, and tokens are gathered, whatever the plan calls it.
typedef enum LowerRouting { LOWER_LOCAL, LOWER_GATHER, LOWER_ALL_TO_ALL } LowerRouting;
LowerRouting lower_routing(const Pool *pool, const Arch *arch);

// Builds the schedule of one pool for one phase. PREFILL: `steps` chunks pass through the stages
// one after the other (passes = steps). DECODE: the pool's micro-batches go round `steps` times;
// the first stage's pass p waits for the last stage's pass p - micro_batches (sampled tokens,
// lag = micro_batches), so that the time of the last round is the steady TPOT. The shape is per
// micro-batch.
// Operations, per layer kind: norms, attention projections and attention by kind (MLA absorbed in
// decode, expanded in prefill), TP collectives, router, dispatch, shared and routed experts,
// combine, dense MLP; embedding on the first stage, head and sampling on the last.
// What lies beside the all-to-all, in how many chunks it goes and which SMs it takes are the pool's
// (two batches: model/plan/lower.c).
// The plan must be legal for the arch. Sizes: model/plan/lower.c opens with the table of
// operations. `out` is overwritten, freed by schedule_free.
void lower_plan(const Plan *plan, uint32_t pool, const Arch *arch, Phase phase, uint32_t steps,
                Schedule *out);

// Refuses a model of which some matrix is read by no known operation, so that no part of it would
// be left out of a price; one line that names it.
bool lower_check(const Arch *arch, Err *err);

// Experts that compute something, of those that a token chooses. Experts that compute nothing are
// assumed to be chosen like the others: of 12 among 512 and 256 that compute nothing it is 8, which
// is what LongCat-Flash is trained to (arXiv:2509.01322, section 2.1). Rounded up.
uint32_t lower_chosen(const MlpSpec *mlp);

// Equal for plans that differ in nothing that the schedules of a phase depend on.
Digest lower_digest(const Plan *plan, Phase phase);

#endif

// One plan, simulated: prefill and decode, and the figures of the table.
//
// Workload: a closed loop of equal requests. Every attention-DP rank holds `sequences` sequences
// per micro-batch; all are prefilled, then all decode together at the mean context isl + osl / 2,
// and again. Nothing queues, so there are no percentiles.
#ifndef SIM_SEARCH_EVALUATE_H
#define SIM_SEARCH_EVALUATE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/cost/price.h"
#include "model/machine/fabric.h"
#include "model/moe/arch.h"
#include "model/plan/lower.h"
#include "model/plan/plan.h"
#include "model/plan/scenario.h"
#include "model/plan/schedule.h"
#include "model/report/timeline.h"
#include "sim/search/choose.h"
#include "sim/sim.h"

// What time goes to: the constants of the price model, then idle time and the latency of wires.
enum { EVALUATE_WAIT = CALIB_COUNT, EVALUATE_LATENCY, EVALUATE_PARTS };

// Seconds by part.
typedef struct EvaluateParts {
    double part_s[EVALUATE_PARTS];
} EvaluateParts;

// A simulated phase that was kept: the schedule, what ran, and for which shape.
typedef struct EvaluatePhase {
    Schedule schedule;
    StepShape shape;
    Timeline timeline;
    ChooseLog choices; // algorithms that the plan left to simulation
} EvaluatePhase;

typedef struct Evaluation {
    Time ttft_ps; // unloaded: one prompt on every attention-DP rank at once, all its chunks through
                  // all stages, the head and sampling of the last one included
    Time tpot_ps; // steady decode step: from the end of the last but one round of all micro-batches
                  // to the end of the last
    Time ttft_bound_ps, tpot_bound_ps; // lower bounds: roofline and narrowest links, no
                                       // efficiencies, no fixed costs
    Time prefill_ps;      // of a closed-loop cycle: until all sequences of an attention-DP rank are
                          // prefilled
    uint64_t requests;    // in flight: the concurrency, not the batch rounded up to equal ranks
    double output_tok_s;  // whole machine: requests x osl / (prefill_ps + (osl - 1) x tpot_ps)
    double tok_s_per_gpu; // of all GPUs that are paid for: what ranks plans
    double tok_s_per_user; // 1 / tpot
    double usd_per_mtok;   // price of a million output tokens; 0 when the price of a GPU is unknown
    EvaluateParts prefill, decode;          // prefill_ps and tpot_ps by what governs them
    EvaluateParts cycle;                    // prefill + (osl - 1) x decode
    double prefill_overlap, decode_overlap; // of the time in which communication moves, over all
                                            // ranks, the part that lies beside computing; 0: none
    uint32_t bottleneck;                    // part with the largest share of the cycle
    Provenance confidence;            // weakest among the constants that carry time in the cycle
    uint64_t events;                  // of the simulator, all runs together
    uint64_t flow_eps_error_ppb;      // the largest of all runs
    double balance_in_order, balance; // of the load over EP positions, see Placed
    Digest timelines;                 // of all runs, in order
    EvaluatePhase prefill_phase;      // when kept: the last full chunk of the prompt
    EvaluatePhase decode_phase;
} Evaluation;

// Whose GPUs tok/s/GPU and the price count: those of the machine, idle ones too, or those of the
// plan.
typedef enum EvaluatePaid { EVALUATE_PAID_MACHINE, EVALUATE_PAID_PLAN } EvaluatePaid;

typedef struct EvaluateInput {
    const Fabric *fabric;
    const Arch *arch;
    const PriceModel *model;
    const Scenario *scenario;
    SimForm form;
    const Load *load;      // of experts; NULL: uniform
    const Load *expected;  // for which EPLB placed the experts; NULL: the load
    uint32_t load_classes; // different ranks, as load_classes_reduce makes them, the layers of a
                           // block as one; 0: as they are, and an operation for each layer
    struct EvaluateMemory *memory; // what plans of this input share; NULL: each plan is on its own
    bool keep_phases, keep_spans;
    uint32_t flow_eps_ppb; // of SimOptions; algorithms are chosen by exact times
    uint32_t most_classes; // of SimOptions
    EvaluatePaid paid;
} EvaluateInput;

// Remembers from plan to plan what is simulated alike for several: same figures, less time.
typedef struct EvaluateMemory EvaluateMemory;
EvaluateMemory *evaluate_memory_open(const EvaluateInput *input); // borrows machine and model
void evaluate_memory_close(EvaluateMemory *memory);               // NULL is allowed

// `sequences` per attention-DP rank and micro-batch. *out is freed by evaluate_free.
bool evaluate_plan(const EvaluateInput *input, const Plan *plan, uint64_t sequences,
                   Evaluation *out, Err *err);
// The same without simulating: no time is longer, and no rate lower, than evaluate_plan finds;
// parts are those of the chain that bounds. Takes about a tenth of the time.
bool evaluate_bound(const EvaluateInput *input, const Plan *plan, uint64_t sequences,
                    Evaluation *out, Err *err);
// One phase alone: its times, parts and overlap, and what is kept of it; the rest of *out is 0.
bool evaluate_one_phase(const EvaluateInput *input, const Plan *plan, Phase phase,
                        uint64_t sequences, Evaluation *out, Err *err);
void evaluate_free(Evaluation *evaluation);

// The load as plans are simulated with it: on the pool's slots, its ranks in classes if the input
// asks for that. Freed by load_free.
bool evaluate_load(const EvaluateInput *input, const Pool *pool, Load *out, Err *err);

// Scale-up domains (else nodes) that an EP group lies on, 1 when it lies unevenly or out of order.
uint32_t evaluate_nodes(const Fabric *fabric, const Pool *pool);

// Factors of one draw of all constants, the same for every plan; waiting and latency keep 1.
void evaluate_draw(const Calib *calib, uint64_t seed, uint32_t draw, EvaluateParts *factors);

// Length of the cycle, or of any parts, when each part is scaled by its factor (first order);
// waiting scales like the rest.
double evaluate_drawn_s(const EvaluateParts *parts, const EvaluateParts *factors);
double evaluate_drawn_cycle_s(const Evaluation *evaluation, const EvaluateParts *factors);

// "memory bandwidth", "compute fp8", "nvlink bandwidth", "waiting", ... for tables.
const char *evaluate_part_name(uint32_t part);

#endif

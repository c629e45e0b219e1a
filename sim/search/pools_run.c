// One plan of two pools, simulated: prefill, transfer, decode alone and beside the transfer.
//
// Invariant: figures depend on the plan, the batch and the inputs alone, so that a saved plan gives
// them again.
#include "model/base/num.h"
#include "model/base/wide.h"
#include "model/cost/gpus.h"
#include "sim/search/pools_internal.h"

#define PS             1e-12
#define SLOWDOWN_LEAST 1e-3 // of a step; what transfers add below it is left out

uint64_t pools_run_prompts(const Scenario *scenario, const Pool *pool) {
    uint64_t slots = (uint64_t)pool->dp * pool->micro_batches;
    uint64_t prompts = scenario->prefill_chunk / scenario->isl;
    uint64_t most = wide_div_up_u64(scenario->concurrency, slots);
    if (prompts > most) prompts = most;
    return prompts > 0 ? prompts : 1;
}

// ---- Memory

static StepShape largest_step(const Scenario *scenario, Phase phase, uint64_t sequences) {
    uint64_t chunk = scenario->prefill_chunk, isl = scenario->isl;
    if (phase == PHASE_DECODE) return step_shape_decode(sequences, isl + scenario->osl);
    return isl >= chunk ? step_shape_prefill(chunk, isl - chunk)
                        : step_shape_prompts(sequences, isl);
}

uint64_t pools_run_buffers_B(const EvaluateInput *input, const Plan *plan, uint32_t pool,
                             uint64_t sequences) {
    Phase phase = plan->pools[pool].kind == POOL_PREFILL ? PHASE_PREFILL : PHASE_DECODE;
    StepShape whole = largest_step(input->scenario, phase, sequences);
    StepShape step = step_shape_cp(&whole, plan->pools[pool].cp);
    Schedule schedule;
    uint64_t most = 0;
    lower_plan(plan, pool, input->arch, phase, 1, &schedule);
    for (RoleId role = 0; role < schedule.role_count; role++) {
        uint64_t peak = schedule_peak_B(&schedule, role, &step);
        if (peak > most) most = peak;
    }
    schedule_free(&schedule);
    return most;
}

// Of `held` sequences on an attention-DP rank, buffers for steps of `sequences`.
static void use_memory(const EvaluateInput *input, const Device *device, const PoolsRow *row,
                       uint32_t pool, uint64_t sequences, uint64_t held, MemoryUse *out) {
    Scenario scenario = *input->scenario;
    if (row->plan.pools[pool].kind == POOL_PREFILL) scenario.osl = 0;
    memory_use(&row->plan, pool, input->arch, device, &scenario, held,
               pools_run_buffers_B(input, &row->plan, pool, sequences), out);
}

// Sequences of an attention-DP rank that are on their way while `requests_s` pass all ranks.
static uint64_t staging_of(double requests_s, const Pool *pool, Time hold_ps) {
    double ranks = (double)pool->replicas * pool->dp;
    uint64_t slots = pools_round_up(requests_s / ranks * (double)hold_ps * PS);
    return slots > 1 ? slots : 1;
}

static void add_memory(const EvaluateInput *input, const Device *device, Time hold_ps,
                       PoolsRow *row) {
    const Pool *prefill = &row->plan.pools[0], *decode = &row->plan.pools[1];
    // what a step of prefill adds is held until its transfer has ended
    row->prefill.staging = staging_of(row->requests_s, prefill, row->move.exposed_ps);
    row->decode.staging = staging_of(row->requests_s, decode, hold_ps);
    use_memory(input, device, row, 0, row->prefill.sequences,
               row->prefill.sequences * prefill->pp + row->prefill.staging, &row->prefill.memory);
    use_memory(input, device, row, 1, row->decode.sequences,
               row->decode.sequences * decode->micro_batches + row->decode.staging,
               &row->decode.memory);
}

// ---- Phases

static Plan instance_of(const Plan *plan, uint32_t pool) {
    Plan one = {.pool_count = 1};
    one.pools[0] = plan->pools[pool];
    one.pools[0].replicas = 1;
    return one;
}

static bool run_prefill(const EvaluateInput *input, PoolsRow *row, Err *err) {
    Plan one = instance_of(&row->plan, 0);
    const Pool *pool = &one.pools[0];
    Evaluation e;
    row->prefill.sequences = pools_run_prompts(input->scenario, pool);
    if (!evaluate_one_phase(input, &one, PHASE_PREFILL, row->prefill.sequences, &e, err))
        return false;
    double prompts = (double)pool->dp * pool->micro_batches * (double)row->prefill.sequences;
    row->prefill.requests_s = row->plan.pools[0].replicas * prompts / ((double)e.prefill_ps * PS);
    row->prefill_ps = e.ttft_ps;
    row->prefill.step = e.prefill;
    evaluate_free(&e);
    return true;
}

// Part of a step that more bytes on the links could lengthen: what bandwidth governs, and waiting.
static double shared_part(const Evaluation *e) {
    static const CalibParam links[] = {
        CALIB_NVLINK,       CALIB_C2C,         CALIB_PCIE,      CALIB_IB,
        CALIB_ETH,          CALIB_NVLINK_COPY, CALIB_IN_SWITCH, CALIB_TIER_COLLISIONS,
        CALIB_TIER_BUFFERS, CALIB_TIER_PACKETS};
    double shared_s = e->decode.part_s[EVALUATE_WAIT];
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        shared_s += e->decode.part_s[links[i]];
    return shared_s / ((double)e->tpot_ps * PS);
}

// By how much transfers can lengthen the mean step. Links are shared fairly, a rank receives one
// cache at a time and decode exchanges with several ranks: what it moves meanwhile takes twice as
// long at most, and the caches have the links for themselves in the rest of the step.
static double most_slowdown(const EvaluateInput *input, const PoolsRow *row, const Evaluation *e) {
    const Pool *pool = &row->plan.pools[1];
    double shared = shared_part(e), tpot_s = (double)e->tpot_ps * PS;
    double caches_s = (double)pool->micro_batches * (double)row->decode.sequences /
                      ((double)input->scenario->osl * tpot_s); // to each attention-DP rank
    if (shared >= 1) return 1;
    double busy = caches_s * (double)row->move.transfer_ps * PS / (1 - shared);
    return busy < 1 ? busy * shared : shared;
}

static bool run_decode(const EvaluateInput *input, PoolsBeside *memory, PoolsRow *row,
                       Time *out_round_ps, Err *err) {
    Plan one = instance_of(&row->plan, 1);
    Evaluation e;
    PoolsMove *move = &row->move;
    uint64_t batch = row->decode.sequences;
    if (!evaluate_one_phase(input, &one, PHASE_DECODE, batch, &e, err)) return false;
    row->tpot_ps = move->tpot_alone_ps = move->tpot_beside_ps = e.tpot_ps;
    row->decode.step = e.decode;
    double most = most_slowdown(input, row, &e);
    evaluate_free(&e);
    *out_round_ps = move->transfer_ps;
    if (most < SLOWDOWN_LEAST) {
        err_set(&move->beside_reason, "they lengthen a step by %.3f %% at most", 100 * most);
        return true;
    }
    move->has_beside = pools_beside_run(input, &row->plan, batch, move->moved_B, memory);
    if (move->has_beside)
        move->tpot_beside_ps += memory->slower_ps;
    else
        move->beside_reason = memory->reason;
    if (move->has_beside) *out_round_ps = memory->round_ps;
    return true;
}

// ---- Figures

static double least_of(const PoolsRow *row, double loop_s, PoolsLimit full, PoolsLimit *out) {
    const double rates[] = {loop_s, row->prefill.requests_s, row->decode.requests_s,
                            row->move.requests_s};
    const PoolsLimit limits[] = {POOLS_BY_CONCURRENCY, POOLS_BY_PREFILL, full, POOLS_BY_TRANSFER};
    uint32_t least = 0;
    for (uint32_t i = 1; i < 4; i++)
        if (rates[i] < rates[least]) least = i;
    *out = limits[least];
    return rates[least];
}

// What bounds a decode pool that is slower than all else. A step grows at most as its batch does,
// so that one more sequence keeps the limit of TPOT for certain when growth in proportion does.
static PoolsLimit decode_limit(const EvaluateInput *input, const PoolsRow *row) {
    const PoolsSide *decode = &row->decode;
    Time limit = input->scenario->tpot_limit_ps;
    uint64_t next = decode->sequences + 1;
    if (next * row->plan.pools[1].micro_batches + decode->staging > decode->memory.most_sequences)
        return POOLS_BY_MEMORY;
    bool keeps = limit == 0 ||
                 (double)row->tpot_ps * (double)next <= (double)limit * (double)decode->sequences;
    return keeps ? POOLS_BY_BATCH : POOLS_BY_TPOT;
}

// With the step time known: what the requests in flight, the batch, prefill and links allow.
static void add_up(const EvaluateInput *input, PoolsRow *row) {
    const Scenario *scenario = input->scenario;
    const Pool *decode = &row->plan.pools[1];
    double tpot_s = (double)row->tpot_ps * PS, tokens = (double)scenario->osl;
    double outside_s = (double)(row->prefill_ps + row->move.exposed_ps) * PS;
    double slots = (double)decode->replicas * decode->dp * decode->micro_batches;
    double loop_s = (double)scenario->concurrency / (outside_s + tokens * tpot_s);
    row->decode.requests_s = slots * (double)row->decode.sequences / (tokens * tpot_s);
    row->loop_requests_s = loop_s;
    row->requests_s = least_of(row, loop_s, decode_limit(input, row), &row->limit);
    row->ttft_ps = row->prefill_ps + row->move.exposed_ps + row->tpot_ps;
}

static void add_rates(const EvaluateInput *input, PoolsRow *row) {
    bool is_own = input->paid == EVALUATE_PAID_PLAN;
    double gpus = is_own ? plan_gpus(&row->plan) : input->fabric->gpu_count;
    row->output_tok_s = row->requests_s * (double)input->scenario->osl;
    row->tok_s_per_gpu = row->output_tok_s / gpus;
    row->tok_s_per_user = 1 / ((double)row->tpot_ps * PS);
    double usd_per_s = (double)input->scenario->price_uusd_per_gpu_hour * 1e-6 * gpus / 3600;
    row->usd_per_mtok = usd_per_s / row->output_tok_s * 1e6;
    row->idle = fabric_live_gpu_count(input->fabric) - plan_gpus(&row->plan);
}

// Steps beside transfers are as many as the time of all rounds that come in.
static void slow_down(PoolsRow *row, Time round_ps) {
    const Pool *decode = &row->plan.pools[1];
    double rounds_s = row->requests_s / ((double)decode->replicas * decode->dp);
    double busy = rounds_s * (double)round_ps * PS;
    row->move.busy = busy < 1 ? busy : 1;
    row->tpot_ps +=
        num_round(row->move.busy * (double)(row->move.tpot_beside_ps - row->move.tpot_alone_ps));
}

bool pools_run_plan(const EvaluateInput *input, const Plan *plan, uint64_t batch,
                    PoolsBeside *memory, PoolsRow *out, Err *err) {
    PoolsRow row = {.plan = *plan, .decode = {.sequences = batch}};
    const Device *device;
    Time hold_ps, round_ps;
    if (!gpus_device(input->fabric, input->fabric->topology->name, GPUS_NEED_MEMORY, &device, err))
        return false;
    if (plan->pool_count != 2 || plan->transfer_count != 1 || plan->pools[0].kind != POOL_PREFILL ||
        plan->pools[1].kind != POOL_DECODE || plan->transfers[0].from_pool != 0)
        return err_set(err, "expected a prefill pool, then a decode pool, and one transfer between "
                            "them");
    if (!run_prefill(input, &row, err) ||
        !pools_move_run(input, plan, row.prefill_ps, &row.move, &hold_ps, err) ||
        !run_decode(input, memory, &row, &round_ps, err))
        return false;
    add_up(input, &row);
    slow_down(&row, round_ps);
    add_up(input, &row);
    add_memory(input, device, hold_ps, &row);
    add_up(input, &row);
    add_rates(input, &row);
    *out = row;
    return true;
}

bool pools_evaluate(const EvaluateInput *input, const Plan *plan, uint64_t batch, PoolsRow *out,
                    Err *err) {
    PoolsBeside memory = {0};
    return pools_run_plan(input, plan, batch, &memory, out, err);
}

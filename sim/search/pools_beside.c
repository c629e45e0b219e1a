// Decode steps while caches come in: both in one simulation, on the same links.
//
// Every attention-DP rank of a decode instance receives one cache after the other, each rank its
// part, at whatever rate the links leave beside the traffic of decode. Senders are ranks of the
// prefill pool, in order; where they are fewer than the receivers each sends to as many as it
// takes. Their own prefill is not simulated meanwhile.
//
// Invariant: without a link that both use, decode steps take as long as alone, to the picosecond.
#include "sim/search/pools_internal.h"

#include "model/base/num.h"
#include "model/base/wide.h"

#define WARM_STEPS   1     // until both are in step
#define STEPS        1     // that is measured
#define PASSES_MAX   20000 // rounds of transfers
#define EXPANDED_MAX 64    // ranks of an instance that are simulated one by one
#define FANOUT_MAX   64    // receivers of one sender

typedef struct Beside {
    const EvaluateInput *input;
    Pool decode; // one instance
    Schedule *steps;
    StepShape shape;
    Load load;
    Schedule rounds;
    uint32_t first_gpu; // of the ranks of `rounds`
} Beside;

// ---- The schedule of transfers

typedef struct Ends {
    uint32_t first_sender, first_receiver; // ranks of the schedule
    uint32_t senders, fanout;
    uint64_t bytes; // to each receiver
} Ends;

static RankSet run_of(uint32_t first, uint32_t count) {
    return (RankSet){.first = first, .count = count, .period = count, .repeat = 1};
}

static void add_message(Schedule *schedule, OpKind kind, RoleId peer, uint32_t channel,
                        uint32_t stream, BufferId buffer, uint64_t bytes) {
    bool sends = kind == OP_SEND;
    schedule_add_op(schedule, &(Op){.kind = kind,
                                    .op_class = OP_CLASS_OTHER,
                                    .name = sends ? "send cache" : "receive cache",
                                    .stream = stream,
                                    .comm = {.peer = peer,
                                             .channel = channel,
                                             .bytes = extent_fixed(bytes),
                                             .element = 1,
                                             .format = NUMFMT_FP8}});
    schedule_add_slice(schedule, &(Slice){.buffer = buffer,
                                          .access = sends ? SLICE_READ : SLICE_WRITE,
                                          .bytes = extent_fixed(bytes)});
}

static BufferId add_buffer(Schedule *schedule, RoleId role, uint64_t bytes) {
    return schedule_add_buffer(schedule, &(Buffer){.name = "cache",
                                                   .role = role,
                                                   .format = NUMFMT_FP8,
                                                   .life = BUFFER_STEP,
                                                   .bytes = extent_fixed(bytes)});
}

// Ranks between the pools do nothing.
static void add_idle(Schedule *schedule, const Ends *ends, uint32_t passes) {
    uint32_t receivers = ends->senders * ends->fanout;
    uint32_t senders_end = ends->first_sender + ends->senders;
    uint32_t receivers_end = ends->first_receiver + receivers;
    uint32_t from = senders_end < ends->first_receiver ? senders_end : receivers_end;
    uint32_t to = senders_end < ends->first_receiver ? ends->first_receiver : ends->first_sender;
    if (to > from) schedule_add_role(schedule, "idle", run_of(from, to - from), passes);
}

static void build_rounds(Schedule *schedule, const Ends *ends, uint32_t passes) {
    uint32_t receivers = ends->senders * ends->fanout;
    uint32_t senders_end = ends->first_sender + ends->senders;
    uint32_t receivers_end = ends->first_receiver + receivers;
    schedule_init(schedule, "caches", senders_end > receivers_end ? senders_end : receivers_end);
    RoleId sender =
        schedule_add_role(schedule, "prefill", run_of(ends->first_sender, ends->senders), passes);
    BufferId out = add_buffer(schedule, sender, ends->bytes);
    for (uint32_t i = 0; i < ends->fanout; i++) {
        uint32_t first = ends->first_receiver + i * ends->senders;
        RoleId receiver =
            schedule_add_role(schedule, "decode", run_of(first, ends->senders), passes);
        BlockId block = schedule_add_block(schedule, receiver, "caches");
        BufferId in = add_buffer(schedule, receiver, ends->bytes);
        add_message(schedule, OP_RECV, sender, i, 0, in, ends->bytes);
        schedule_add_segment(schedule, receiver, block, 1);
    }
    BlockId block = schedule_add_block(schedule, sender, "caches");
    for (uint32_t i = 0; i < ends->fanout; i++)
        add_message(schedule, OP_SEND, sender + 1 + i, i, i % SCHEDULE_STREAMS_MAX, out,
                    ends->bytes);
    schedule_add_segment(schedule, sender, block, 1);
    add_idle(schedule, ends, passes);
    schedule_finish(schedule);
}

static Ends find_ends(const Plan *plan, uint64_t moved_B, uint32_t *out_first_gpu) {
    const Pool *from = &plan->pools[plan->transfers[0].from_pool];
    const Pool *to = &plan->pools[plan->transfers[0].to_pool];
    uint32_t receivers = pool_replica_ranks(to), senders = pool_ranks(from);
    uint32_t first = from->first_gpu < to->first_gpu ? from->first_gpu : to->first_gpu;
    if (senders > receivers) senders = receivers;
    while (receivers % senders != 0) senders--;
    *out_first_gpu = first;
    return (Ends){.first_sender = from->first_gpu - first,
                  .first_receiver = to->first_gpu - first,
                  .senders = senders,
                  .fanout = receivers / senders,
                  .bytes = wide_div_up_u64(moved_B, to->tp * to->pp)};
}

// ---- Runs

static bool submit(Sim *sim, const Beside *beside, SimForm form, uint32_t *steps, uint32_t *rounds,
                   Err *err) {
    SimOptions options = {.form = form, .first_gpu = beside->decode.first_gpu};
    if (!sim_submit(sim, beside->steps, &beside->shape, &beside->load, &options, 0, steps, err))
        return false;
    options.first_gpu = beside->first_gpu;
    return rounds == NULL || sim_submit(sim, &beside->rounds, &beside->shape, &beside->load,
                                        &options, 0, rounds, err);
}

// Both together in the least folded form that is needed, or decode alone.
static bool run(const Beside *beside, Timeline *steps, Timeline *rounds, Err *err) {
    static const SimForm forms[] = {SIM_FOLDED, SIM_REFINED, SIM_EXPANDED};
    uint32_t of_steps = 0, of_rounds = 0;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (forms[i] == SIM_EXPANDED && pool_ranks(&beside->decode) > EXPANDED_MAX) break;
        Sim *sim = sim_open(beside->input->fabric, beside->input->model);
        bool is_open =
            submit(sim, beside, forms[i], &of_steps, rounds == NULL ? NULL : &of_rounds, err);
        bool done = is_open && sim_advance(sim, err);
        if (done) sim_timeline(sim, of_steps, steps);
        if (done && rounds != NULL) sim_timeline(sim, of_rounds, rounds);
        sim_close(sim);
        if (is_open) return done;
    }
    return false;
}

static Time step_of(const Beside *beside, const Timeline *steps) {
    uint32_t last = steps->round_count - 1, passes = STEPS * beside->decode.micro_batches;
    return (steps->round_ps[last] - steps->round_ps[last - passes]) / STEPS;
}

// Mean of the rounds that end while decode runs, or the first one.
static Time round_of(const Timeline *steps, const Timeline *rounds) {
    uint32_t done = 0;
    while (done < rounds->round_count && rounds->round_ps[done] <= steps->end_ps) done++;
    return done == 0 ? rounds->round_ps[0] : rounds->round_ps[done - 1] / done;
}

static bool time_round(const Beside *beside, Time *out, Err *err) {
    SimOptions options = {.first_gpu = beside->first_gpu};
    Timeline timeline;
    if (!sim_run(beside->input->fabric, beside->input->model, &beside->rounds, &beside->shape,
                 &beside->load, &options, &timeline, err))
        return false;
    *out = timeline.end_ps;
    timeline_free(&timeline);
    return true;
}

static bool measure(Beside *beside, const Ends *ends, PoolsBeside *out, Err *err) {
    Timeline steps = {0}, rounds = {0};
    Time round_ps;
    if (!run(beside, &steps, NULL, err)) return false;
    Time alone_ps = step_of(beside, &steps), end_ps = steps.end_ps;
    timeline_free(&steps);
    build_rounds(&beside->rounds, ends, 1);
    if (!time_round(beside, &round_ps, err)) return false;
    // decode may take twice as long, and rounds no less than alone
    uint64_t passes = 2 * (uint64_t)end_ps / ((uint64_t)round_ps + 1) + 2;
    if (passes > PASSES_MAX)
        return err_set(err, "%llu caches in a few steps are too many to simulate",
                       (unsigned long long)passes);
    schedule_set_passes(&beside->rounds, (uint32_t)passes);
    if (!run(beside, &steps, &rounds, err)) return false;
    out->slower_ps = step_of(beside, &steps) - alone_ps;
    if (out->slower_ps < 0) out->slower_ps = 0;
    out->round_ps = round_of(&steps, &rounds);
    timeline_free(&steps);
    timeline_free(&rounds);
    return true;
}

static bool simulate(Beside *beside, const Ends *ends, const Plan *alone, uint64_t sequences,
                     PoolsBeside *out, Err *err) {
    EvaluateInput keeping = *beside->input;
    Evaluation evaluation = {0};
    keeping.keep_phases = true;
    if (ends->fanout > FANOUT_MAX)
        return err_set(err, "one prefill rank sends to %u decode ranks, at most %d are simulated",
                       ends->fanout, FANOUT_MAX);
    if (!evaluate_load(beside->input, &alone->pools[0], &beside->load, err)) return false;
    bool done = evaluate_one_phase(&keeping, alone, PHASE_DECODE, sequences, &evaluation, err);
    if (done) {
        beside->steps = &evaluation.decode_phase.schedule;
        beside->shape = evaluation.decode_phase.shape;
        schedule_set_passes(beside->steps, (WARM_STEPS + STEPS) * alone->pools[0].micro_batches);
        done = measure(beside, ends, out, err);
    }
    schedule_free(&beside->rounds);
    evaluate_free(&evaluation);
    load_free(&beside->load);
    return done;
}

// Of all that the simulation depends on besides the inputs.
static Digest key_of(const Plan *alone, const Ends *ends, uint32_t first_gpu, uint64_t sequences) {
    const uint64_t numbers[] = {ends->first_sender, ends->first_receiver, ends->senders,
                                ends->fanout,       ends->bytes,          first_gpu,
                                sequences};
    Digest key = plan_digest(alone);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) key = hash_u64(key, numbers[i]);
    return key;
}

bool pools_beside_run(const EvaluateInput *input, const Plan *plan, uint64_t sequences,
                      uint64_t moved_B, PoolsBeside *memory) {
    Plan alone = {.pool_count = 1};
    alone.pools[0] = plan->pools[plan->transfers[0].to_pool];
    alone.pools[0].replicas = 1;
    Beside beside = {.input = input, .decode = alone.pools[0]};
    Ends ends = find_ends(plan, moved_B, &beside.first_gpu);
    Digest key = key_of(&alone, &ends, beside.first_gpu, sequences);
    if (memory->is_set && memory->key == key) return memory->is_done;
    *memory = (PoolsBeside){.is_set = true, .key = key};
    memory->is_done = simulate(&beside, &ends, &alone, sequences, memory, &memory->reason);
    return memory->is_done;
}

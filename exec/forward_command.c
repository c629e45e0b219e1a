// The model as a compute unit of the command line.
//
// Invariant: a schedule is run as the model of a plan only when lowering the plan gives that
// schedule, so that the weights of every rank are those that its operations name.
#include "exec/forward_command.h"

#include <inttypes.h>
#include <math.h>

#include "exec/forward.h"
#include "model/base/file.h"
#include "model/base/wide.h"
#include "model/plan/lower.h"
#include "model/plan/plan.h"
#include "model/plan/schedule_unroll.h"

typedef struct ForwardCommand {
    Arch arch;
    ForwardConfig config;
    PlanFile file;
    const Pool *pool;
    Forward *forward;
    ComputeUnit unit;
} ForwardCommand;

static bool need(const CliArgs *args, const char *option, const char **out, Err *err) {
    *out = cli_text(args, option);
    return *out != NULL || err_set(err, "--compute model: expected --%s", option);
}

// ---- Which pool and phase the schedule is of.

// Of a schedule, whatever algorithms its collectives use: "auto" of a plan is another in the
// schedule that was simulated.
static Digest digest_of(const Schedule *schedule) {
    Schedule plain = *schedule;
    plain.ops = mem_alloc(schedule->op_count, sizeof *plain.ops);
    for (OpId id = 0; id < schedule->op_count; id++) {
        plain.ops[id] = schedule->ops[id];
        plain.ops[id].comm.algorithm = ALGORITHM_AUTO;
        plain.ops[id].comm.inner = plain.ops[id].comm.rail_ppm = 0;
    }
    schedule_finish(&plain);
    mem_free(plain.ops);
    return plain.digest;
}

static bool is_schedule_of(const ForwardCommand *command, uint32_t pool, Phase phase,
                           const Schedule *wanted) {
    uint32_t passes = wanted->role_count > 0 ? wanted->roles[0].passes : 0;
    uint32_t batches = phase == PHASE_DECODE ? command->file.plan.pools[pool].micro_batches : 1;
    Schedule schedule = {0}, unrolled = {0};
    Err ignored = {0};
    if (passes == 0 || passes % batches != 0) return false;
    lower_plan(&command->file.plan, pool, &command->arch, phase, passes / batches, &schedule);
    Digest digest = digest_of(wanted);
    bool same = digest_of(&schedule) == digest;
    if (!same && schedule_unroll_layers(&schedule, &unrolled, &ignored))
        same = digest_of(&unrolled) == digest;
    schedule_free(&unrolled);
    schedule_free(&schedule);
    return same;
}

static bool find_pool(ForwardCommand *command, const Schedule *schedule, const char *path,
                      Err *err) {
    const Plan *plan = &command->file.plan;
    if (!plan_legal(plan, &command->arch, err) || !lower_check(&command->arch, err))
        return err_prefix(err, "%s", path);
    for (uint32_t i = 0; i < plan->pool_count; i++) {
        if (pool_ranks(&plan->pools[i]) != schedule->rank_count) continue;
        if (!is_schedule_of(command, i, PHASE_PREFILL, schedule) &&
            !is_schedule_of(command, i, PHASE_DECODE, schedule))
            continue;
        command->pool = &plan->pools[i];
        return true;
    }
    return err_set(err, "%s: the schedule is not one of this plan and model", path);
}

static bool read_inputs(ForwardCommand *command, const Job *job, const CliArgs *args, Err *err) {
    const char *model, *plan;
    return need(args, "model", &model, err) && need(args, "plan", &plan, err) &&
           arch_load_assuming(model, cli_text(args, "assume"), &command->arch, err) &&
           plan_read(plan, &command->file, err) && find_pool(command, job->schedule, plan, err) &&
           forward_check(&command->arch, command->pool, err) &&
           forward_config_read(model, &command->arch, &command->config, err);
}

// ---- The unit.

static bool prepare(void *self, const Job *job, TimelineFileWork *works, Err *err) {
    const ForwardCommand *command = self;
    return command->unit.prepare(command->unit.self, job, works, err);
}

static void hold(void *self, const uint32_t *ranks, uint32_t rank_count) {
    const ForwardCommand *command = self;
    command->unit.hold(command->unit.self, ranks, rank_count);
}

static uint64_t memory_B(void *self, const Job *job, Text *parts) {
    const ForwardCommand *command = self;
    return command->unit.memory_B(command->unit.self, job, parts);
}

static bool run(void *self, const OpInstance *instance, Err *err) {
    const ForwardCommand *command = self;
    return command->unit.run(command->unit.self, instance, err);
}

static uint64_t share_B(void *self, const OpInstance *instance, uint32_t rank) {
    const ForwardCommand *command = self;
    return command->unit.share_B(command->unit.self, instance, rank);
}

static void leave(void *self, uint32_t rank, Text *out) {
    const ForwardCommand *command = self;
    command->unit.leave(command->unit.self, rank, out);
}

static bool take(void *self, const Job *job, uint32_t rank, const uint8_t *bytes, uint64_t count,
                 Err *err) {
    const ForwardCommand *command = self;
    return forward_take(command->forward, job, rank, bytes, count, err);
}

// Tokens of a sequence: cached ones before the run, and with those of all passes.
static bool read_texts(const ForwardCommand *command, const Job *job, ForwardOptions *options,
                       Err *err) {
    const StepShape *shape = &job->shape;
    uint64_t passes = job->schedule->roles[0].passes, batches = command->pool->micro_batches;
    uint64_t rounds = passes < batches ? 1 : passes / batches;
    if (shape->sequences == 0 || shape->tokens < shape->sequences ||
        shape->kv_tokens < shape->tokens)
        return err_set(err,
                       "%" PRIu64 " new tokens and %" PRIu64 " cached ones of %" PRIu64
                       " sequences, expected one or more new ones of each, and the new ones among "
                       "those that are cached",
                       shape->tokens, shape->kv_tokens, shape->sequences);
    uint64_t before = shape->kv_tokens - shape->tokens, cached = before / shape->sequences;
    uint64_t longest = wide_div_up_u64(shape->tokens, shape->sequences);
    uint64_t context = wide_div_up_u64(before, shape->sequences) + rounds * longest;
    if (context > UINT32_MAX) return err_set(err, "a context of %" PRIu64 " tokens", context);
    options->cached_longer = (uint32_t)(before % shape->sequences);
    options->cached = (uint32_t)cached;
    options->context = (uint32_t)context;
    return true;
}

bool forward_command_open(const char *file, const Job *job, const CliArgs *args, ComputeUnit *out,
                          Err *err) {
    ForwardCommand *command = mem_alloc(1, sizeof *command);
    uint64_t texts = cli_count(args, "texts");
    ForwardOptions options = {.seed = cli_count(args, "seed"),
                              .texts = texts < UINT32_MAX ? (uint32_t)texts : UINT32_MAX,
                              .routing = (ForwardRouting)cli_choice(args, "routing")};
    (void)file;
    *command = (ForwardCommand){0};
    *out = (ComputeUnit){.name = "model",
                         .self = command,
                         .hold = hold,
                         .prepare = prepare,
                         .memory_B = memory_B,
                         .run = run,
                         .share_B = share_B,
                         .leave = leave,
                         .take = take};
    if (!read_inputs(command, job, args, err) || !read_texts(command, job, &options, err) ||
        !forward_open(&command->arch, &command->config, command->pool, &options, &command->forward,
                      err))
        return false;
    command->unit = forward_unit(command->forward);
    out->routing = command->unit.routing;
    return true;
}

void forward_command_close(ComputeUnit *unit) {
    ForwardCommand *command = unit->self;
    if (command == NULL) return;
    forward_close(command->forward);
    plan_file_free(&command->file);
    arch_free(&command->arch);
    mem_free(command);
    *unit = (ComputeUnit){0};
}

// ---- What it leaves.

static uint32_t most_probable(const float *logits, uint32_t vocab) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < vocab; i++)
        if (logits[i] > logits[best]) best = i;
    return best;
}

// Rows of sequence, round, the most probable token, and the logits of all.
static bool write_logits(const ForwardCommand *command, const char *path, Err *err) {
    const Forward *forward = command->forward;
    uint32_t vocab = command->arch.vocab;
    Text text = {0};
    bool good = true;
    text_add(&text, "sequence,round,token");
    for (uint32_t i = 0; i < vocab; i++) text_addf(&text, ",%u", i);
    text_add_char(&text, '\n');
    uint32_t rows = forward_texts(forward) * forward_rounds(forward);
    for (uint32_t row = 0; good && row < rows; row++) {
        uint32_t sequence = row / forward_rounds(forward), round = row % forward_rounds(forward);
        const float *logits = forward_logits(forward, sequence, round);
        good = logits != NULL ||
               err_set(err, "--logits: text %u was computed in another process", sequence);
        if (!good) break;
        text_addf(&text, "%u,%u,%u", sequence, round, most_probable(logits, vocab));
        for (uint32_t i = 0; i < vocab; i++) {
            text_add_char(&text, ',');
            text_add_double(&text, (double)logits[i]);
        }
        text_add_char(&text, '\n');
    }
    good = good && file_write(path, text_string(&text), text.length, err);
    text_free(&text);
    return good;
}

static bool write_load(const ForwardCommand *command, const char *path, Err *err) {
    Load load = {0};
    Text text = {0};
    if (!forward_load(command->forward, &load, err)) return err_prefix(err, "--write-load");
    load_write(&load, &text);
    bool good = file_write(path, text_string(&text), text.length, err);
    text_free(&text);
    load_free(&load);
    return good;
}

static void print_ties(const ForwardCommand *command, Text *out) {
    ForwardTies ties = forward_ties(command->forward);
    if (ties.choices == 0) return;
    text_addf(out,
              "\nchoices of experts: %" PRIu64 ", near a tie (scores within %g): %" PRIu64 "\n",
              ties.choices, (double)ties.within, ties.near);
}

bool forward_command_finish(const ComputeUnit *unit, const CliArgs *args, Text *out, Err *err) {
    const ForwardCommand *command = unit->self;
    const char *logits = cli_text(args, "logits"), *load = cli_text(args, "write-load");
    if ((logits != NULL && !write_logits(command, logits, err)) ||
        (load != NULL && !write_load(command, load, err)))
        return false;
    if (cli_choice(args, "format") == 0) print_ties(command, out);
    return true;
}

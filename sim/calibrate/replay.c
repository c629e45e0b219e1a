// Joins measured timelines with simulations of the same schedule (compare.h).
//
// Invariant: predicted and measured times are reduced by the same code, so that a timeline that the
// simulator made under other constants gives these constants back.
#include "sim/calibrate/replay.h"

#include <math.h>
#include <string.h>

#include "model/base/mem.h"
#include "model/report/compare.h"

static bool simulate(const Replay *replay, const Calib *calib, TimelineFile *out, Err *err) {
    EvaluateInput input = replay->input;
    PriceModel model = *input.model;
    Evaluation evaluation = {0};
    if (calib != NULL) model.calib = calib;
    input.model = &model;
    input.keep_phases = input.keep_spans = true;
    if (!evaluate_one_phase(&input, replay->plan, replay->phase, replay->sequences, &evaluation,
                            err))
        return false;
    const EvaluatePhase *phase =
        replay->phase == PHASE_PREFILL ? &evaluation.prefill_phase : &evaluation.decode_phase;
    TimelineFileFacts facts = {.machine = "the price model"};
    bool done = timeline_file_build(&phase->timeline, &phase->schedule, &facts, out, err);
    evaluate_free(&evaluation);
    return done;
}

static bool join(const Replay *replay, const Calib *calib, const TimelineFile *measured,
                 const char *name, Comparison *out, TimelineFile *predicted, Err *err) {
    return simulate(replay, calib, predicted, err) &&
           compare_timelines(predicted, "the simulation", measured, name, out, err);
}

static bool refuse(const TimelineFile *file, const char *name, Err *err) {
    if (!file->is_complete) return err_set(err, "%s: part of a run, expected a whole one", name);
    for (OpId id = 0; id < file->op_count; id++)
        if (file->ops[id].work == TIMELINE_FILE_STAND_IN)
            return err_set(err,
                           "%s: something stood in for operation \"%s\": nothing is fitted to "
                           "that",
                           name, file->ops[id].name);
    return true;
}

// Largest less smallest over the files, as a part of the smallest, for what interval there is.
static double noise_of(const double *times_s, uint32_t count) {
    double least = times_s[0], most = times_s[0];
    for (uint32_t i = 1; i < count; i++) {
        if (times_s[i] < least) least = times_s[i];
        if (times_s[i] > most) most = times_s[i];
    }
    return least > 0 ? (most - least) / least / sqrt(count) : 0;
}

// Times of each operation in each file: [op_count * file_count]; and by the prior: [op_count].
static bool read_times(const Replay *replay, const TimelineFile *files, const char *const *names,
                       uint32_t file_count, double *times_s, double *prior_s, Err *err) {
    uint32_t ops = files[0].op_count;
    for (uint32_t f = 0; f < file_count; f++) {
        Comparison comparison = {0};
        TimelineFile predicted = {0};
        bool done = refuse(&files[f], names[f], err) &&
                    join(replay, NULL, &files[f], names[f], &comparison, &predicted, err);
        for (OpId id = 0; done && id < ops; id++) {
            times_s[id * file_count + f] =
                comparison.ops[id].has_error ? comparison.ops[id].time.measured_s : 0;
            prior_s[id] = comparison.ops[id].time.predicted_s;
        }
        compare_free(&comparison);
        timeline_file_free(&predicted);
        if (!done) return false;
    }
    return true;
}

bool replay_items(Replay *replay, const TimelineFile *files, const char *const *names,
                  uint32_t file_count, Arena *arena, CalibrateItem **out, uint32_t *out_count,
                  Err *err) {
    uint32_t ops = files[0].op_count, count = 0;
    double *times_s = arena_alloc(arena, (size_t)ops * file_count, sizeof *times_s);
    double *prior_s = arena_alloc(arena, ops, sizeof *prior_s);
    CalibrateItem *items = arena_alloc(arena, ops, sizeof *items);
    OpId *of = arena_alloc(arena, ops, sizeof *of);
    if (!read_times(replay, files, names, file_count, times_s, prior_s, err)) return false;
    for (OpId id = 0; id < ops; id++) {
        const TimelineFileOp *op = &files[0].ops[id];
        const double *own = &times_s[id * file_count];
        double least = own[0];
        for (uint32_t f = 1; f < file_count; f++)
            if (own[f] < least) least = own[f];
        if (!(least > 0)) continue;
        items[count] = (CalibrateItem){
            .name = arena_printf(arena, "%s of role %s", op->name, op->role_name),
            .shape = arena_printf(arena, "%s %s", schedule_class_names[op->op_class],
                                  op->implementation),
            .size = id,
            .samples = file_count,
            .measured_s = least,
            .prior_s = prior_s[id],
            .noise = noise_of(own, file_count)};
        of[count++] = id;
    }
    if (count == 0) return err_set(err, "%s: no operation was measured", names[0]);
    replay->measured = &files[0];
    replay->measured_name = names[0];
    replay->ops = of;
    *out = items;
    *out_count = count;
    return true;
}

bool replay_predict(void *context, const Calib *calib, const uint32_t *items, uint32_t count,
                    double *out_s, Err *err) {
    const Replay *replay = context;
    Comparison comparison = {0};
    TimelineFile predicted = {0};
    bool done =
        join(replay, calib, replay->measured, replay->measured_name, &comparison, &predicted, err);
    for (uint32_t i = 0; done && i < count; i++)
        out_s[i] = comparison.ops[replay->ops[items[i]]].time.predicted_s;
    compare_free(&comparison);
    timeline_file_free(&predicted);
    return done;
}

// Compute that runs while communication occupies SMs of the same GPU.
//
// A kernel of a member takes max(compute x n / (n - k), memory) + fixed while k of the n SMs of its
// GPU are occupied (only its arithmetic is slowed: HBM is fed by fewer SMs than there are). When k
// changes, the work done so far is kept and the rest goes on at the new pace.
//
// Invariant: work is counted in 2^-20 ps of the unhindered kernel; what is done is rounded down and
// the end is rounded up, once per change, so that members with equal events have equal ends. An
// event of an end that was posted for another pace carries an older version, and is dropped.
// Source of the effect: DeepSeek-V3, arXiv:2412.19437, section 3.2.2 (20 of 132 SMs are given to
// communication and no longer compute).
#include "sim/engine_compute.h"

#include "model/base/wide.h"

#define WORK_BITS 20
// 2.5 hours: the product of two such times and 2^20 fits 128 bits. No kernel runs as long; one that
// does is not slowed.
#define SLOWED_MAX_PS ((Time)1 << 53)

static uint32_t gpu_sms(const Sim *sim) {
    return sim->model->device != NULL ? sim->model->device->compute_units : 0;
}

bool engine_compute_check(const Sim *sim, const Submission *submission, Err *err) {
    const Schedule *schedule = submission->schedule;
    for (OpId o = 0; o < schedule->op_count; o++) {
        const Op *op = &schedule->ops[o];
        if (!schedule_op_is_comm(op->kind) || op->comm.sms == 0) continue;
        if (gpu_sms(sim) == 0)
            return err_set(
                err, "operation \"%s\" occupies %u SMs, and how many the GPU has is not known",
                op->name, op->comm.sms);
        if (op->comm.sms >= gpu_sms(sim))
            return err_set(err,
                           "operation \"%s\" occupies %u SMs, expected fewer than the GPU's %u",
                           op->name, op->comm.sms, gpu_sms(sim));
    }
    return true;
}

// SMs that communication occupies; one is left to compute, however many kernels there are.
static uint32_t occupied_sms(const Sim *sim, const Member *member) {
    return member->sms < gpu_sms(sim) ? member->sms : gpu_sms(sim) - 1;
}

// How long the whole of a kernel takes beside what runs on the member now.
static Time duration_of(const Sim *sim, const Member *member, const Price *price) {
    if (member->sms == 0 || price->time_ps >= SLOWED_MAX_PS) return price->time_ps;
    uint32_t sms = gpu_sms(sim), left = sms - occupied_sms(sim, member);
    uint64_t slowed = wide_mul_div_up((uint64_t)price->compute_ps, sms, left);
    if (slowed >= (uint64_t)SLOWED_MAX_PS) return price->time_ps;
    Time slower = (Time)slowed > price->memory_ps ? (Time)slowed : price->memory_ps;
    Time duration = slower + price->fixed_ps;
    return duration > price->time_ps ? duration : price->time_ps;
}

// Until the rest of the work is done at the present pace.
static Time time_left(const Stream *stream, const Price *price) {
    Time whole = price->time_ps;
    if (stream->duration == whole)
        return (Time)wide_div_up(stream->work_left, (Wide)1 << WORK_BITS);
    return (Time)wide_div_up(stream->work_left * (uint64_t)stream->duration,
                             (Wide)(uint64_t)whole << WORK_BITS);
}

static void post_end(Sim *sim, uint32_t s, uint32_t member, uint32_t at) {
    Submission *submission = sim->submissions[s];
    Stream *stream = &submission->members[member].streams[at];
    engine_push(sim, &(Event){.time = sim->now + time_left(stream, engine_price(submission, member,
                                                                                stream->cursor.op)),
                              .kind = EVENT_ENDED,
                              .submission = s,
                              .index = member,
                              .detail = at,
                              .version = stream->version});
}

void engine_compute_start(Sim *sim, uint32_t s, uint32_t member, uint32_t at) {
    Submission *submission = sim->submissions[s];
    Member *m = &submission->members[member];
    Stream *stream = &m->streams[at];
    const Price *price = engine_price(submission, member, stream->cursor.op);
    stream->work_left = (Wide)(uint64_t)price->time_ps << WORK_BITS;
    stream->paced = sim->now;
    stream->duration = duration_of(sim, m, price);
    post_end(sim, s, member, at);
}

static void change_pace(Sim *sim, uint32_t s, uint32_t member, uint32_t at) {
    Submission *submission = sim->submissions[s];
    Member *m = &submission->members[member];
    Stream *stream = &m->streams[at];
    const Price *price = engine_price(submission, member, stream->cursor.op);
    Time duration = duration_of(sim, m, price);
    if (duration == stream->duration) return;
    Wide elapsed = (Wide)(uint64_t)(sim->now - stream->paced) << WORK_BITS;
    Wide done = elapsed;
    if (stream->duration != price->time_ps)
        done = elapsed * (uint64_t)price->time_ps / (uint64_t)stream->duration;
    stream->work_left = done < stream->work_left ? stream->work_left - done : 0;
    stream->paced = sim->now;
    stream->duration = duration;
    stream->version++;
    post_end(sim, s, member, at);
}

static void change_sms(Sim *sim, uint32_t s, uint32_t member, uint32_t sms) {
    Submission *submission = sim->submissions[s];
    Member *m = &submission->members[member];
    if (m->sms == sms) return;
    m->sms = sms;
    for (uint32_t at = 0; at < submission->schedule->stream_count; at++) {
        const Stream *stream = &m->streams[at];
        if (stream->state == STREAM_RUNNING && !engine_is_comm(submission, stream->cursor.op))
            change_pace(sim, s, member, at);
    }
}

void engine_compute_take_sms(Sim *sim, uint32_t s, uint32_t member, OpId op) {
    const Submission *submission = sim->submissions[s];
    change_sms(sim, s, member,
               submission->members[member].sms + submission->schedule->ops[op].comm.sms);
}

void engine_compute_give_sms(Sim *sim, uint32_t s, uint32_t member, OpId op) {
    const Submission *submission = sim->submissions[s];
    change_sms(sim, s, member,
               submission->members[member].sms - submission->schedule->ops[op].comm.sms);
}

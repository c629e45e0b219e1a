// Where the time of a member goes: compute first; else the communication that runs; else waiting.
// The parts of a member add up to its time exactly. A step of communication is settled when it
// ends, by the path of the transfer that ended last: what was exposed before that transfer began to
// move is fixed, software and hardware latency; the rest is the bandwidth of the narrowest link of
// its path.
#include "sim/engine_account.h"

#include "model/base/wide.h"

static Time part(Time total, Time piece, Time whole) {
    if (whole <= 0) return 0;
    if (total == whole) return piece;
    return (Time)wide_mul_div((uint64_t)total, (uint64_t)piece, (uint64_t)whole);
}

// A kernel that communication slows is bound by its arithmetic.
static void charge_compute(TimeShare *share, const Price *price, Time duration, Time elapsed) {
    Time fixed = part(elapsed, price->fixed_ps, duration);
    bool is_arithmetic = price->compute_ps >= price->memory_ps || duration > price->time_ps;
    CalibParam bound = is_arithmetic ? price->compute_param : CALIB_MEMORY;
    share->param_ps[CALIB_KERNEL] += fixed;
    share->param_ps[bound] += elapsed - fixed;
}

// Whether the communication of a stream has all its partners and is under way.
static bool moves(Submission *submission, const Member *member, const Stream *stream) {
    OpId op = stream->cursor.op;
    return stream->state == STREAM_RUNNING && engine_is_comm(submission, op) &&
           engine_meeting(submission, member, op)->is_running;
}

// Nothing computes: all that moves is exposed, though the time is charged to one of them only.
static void expose_all(Submission *submission, uint32_t index, Time elapsed) {
    const Member *member = &submission->members[index];
    for (uint32_t s = 0; s < submission->schedule->stream_count; s++) {
        const Stream *stream = &member->streams[s];
        if (!moves(submission, member, stream)) continue;
        engine_account_total(submission, index, stream->cursor.op)->exposed_ps += elapsed;
    }
}

void engine_account_member(Submission *submission, uint32_t index, Time now) {
    Member *member = &submission->members[index];
    Time elapsed = now - member->accounted;
    member->accounted = now;
    if (elapsed <= 0) return;
    const Stream *compute = NULL, *communication = NULL;
    for (uint32_t s = 0; s < submission->schedule->stream_count; s++) {
        const Stream *stream = &member->streams[s];
        if (stream->state != STREAM_RUNNING) continue;
        if (!engine_is_comm(submission, stream->cursor.op)) {
            if (compute == NULL) compute = stream;
        } else if (communication == NULL && moves(submission, member, stream))
            communication = stream;
    }
    if (compute != NULL) {
        charge_compute(&member->share, engine_price(submission, index, compute->cursor.op),
                       compute->duration, elapsed);
    } else if (communication != NULL) {
        engine_meeting(submission, member, communication->cursor.op)
            ->participants[communication->participant]
            .exposed_ps += elapsed;
        expose_all(submission, index, elapsed);
    } else
        member->share.wait_ps += elapsed;
}

void engine_account_transfer(Submission *submission, uint32_t member, OpId op, Time since,
                             Time now) {
    engine_account_total(submission, member, op)->transfer_ps += now - since;
}

void engine_account_meeting(Submission *submission, const Meeting *meeting, Time now) {
    for (uint32_t i = 0; i < meeting->participant_count; i++)
        engine_account_member(submission, meeting->participants[i].member, now);
}

void engine_account_settle(Sim *sim, Submission *submission, Meeting *meeting,
                           const TrafficFlow *last) {
    const TrafficStep *step = &meeting->traffic.steps[meeting->step];
    const TrafficLatency *latency =
        &meeting->traffic.latencies[step->first_latency + last->latency];
    Time software_ps = engine_param_ps(sim, latency->step_param);
    Time whole = meeting->fixed_ps + software_ps + latency->hardware_ps;
    engine_account_meeting(submission, meeting, sim->now);
    for (uint32_t i = 0; i < meeting->participant_count; i++) {
        Participant *participant = &meeting->participants[i];
        TimeShare *share = &submission->members[participant->member].share;
        Time before = participant->exposed_before[last->latency];
        Time fixed = part(before, meeting->fixed_ps, whole);
        Time software = part(before, software_ps, whole);
        share->param_ps[CALIB_COLLECTIVE] += fixed;
        share->param_ps[latency->step_param] += software;
        share->latency_ps += before - fixed - software;
        share->param_ps[net_bandwidth_param(last->narrowest)] += participant->exposed_ps - before;
        participant->exposed_ps = 0;
    }
}

// Where the time of a member goes: compute first; else the communication that runs; else waiting.
// The parts of a member add up to its time exactly. A step of communication is settled when it
// ends, by the path of the transfer that ended last: what was exposed before that transfer began to
// move is fixed, software and hardware latency; the rest is the bandwidth of the narrowest link of
// its path.
#include "sim/engine.h"

#include "model/base/num.h"
#include "model/base/wide.h"

static Time part(Time total, Time piece, Time whole) {
    if (whole <= 0) return 0;
    return (Time)wide_mul_div((uint64_t)total, (uint64_t)piece, (uint64_t)whole);
}

static void charge_compute(TimeShare *share, const Price *price, Time elapsed) {
    Time fixed = part(elapsed, price->fixed_ps, price->time_ps);
    CalibParam bound = price->compute_ps >= price->memory_ps ? price->compute_param : CALIB_MEMORY;
    share->param_ps[CALIB_KERNEL] += fixed;
    share->param_ps[bound] += elapsed - fixed;
}

Time engine_param_ps(const Sim *sim, CalibParam param) {
    return num_round(sim->model->calib->values[param].value * (double)PS_PER_SECOND);
}

void engine_account(Submission *submission, uint32_t index, Time now) {
    Member *member = &submission->members[index];
    Time elapsed = now - member->accounted;
    member->accounted = now;
    if (elapsed <= 0) return;
    OpId compute = SCHEDULE_NONE;
    const Stream *communication = NULL;
    for (uint32_t s = 0; s < submission->schedule->stream_count; s++) {
        const Stream *stream = &member->streams[s];
        if (stream->state != STREAM_RUNNING) continue;
        if (submission->first_meeting[stream->cursor.op] == SCHEDULE_NONE) {
            if (compute == SCHEDULE_NONE) compute = stream->cursor.op;
        } else if (communication == NULL &&
                   engine_meeting(submission, member, stream->cursor.op)->is_running)
            communication = stream;
    }
    if (compute != SCHEDULE_NONE) {
        charge_compute(&member->share, &submission->prices[compute], elapsed);
    } else if (communication != NULL) {
        OpId op = communication->cursor.op;
        engine_meeting(submission, member, op)
            ->participants[communication->participant]
            .exposed_ps += elapsed;
        submission->totals[(uint64_t)index * submission->schedule->op_count + op].exposed_ps +=
            elapsed;
    } else
        member->share.wait_ps += elapsed;
}

void engine_account_meeting(Submission *submission, const Meeting *meeting, Time now) {
    for (uint32_t i = 0; i < meeting->participant_count; i++)
        engine_account(submission, meeting->participants[i].member, now);
}

void engine_settle(Sim *sim, Submission *submission, Meeting *meeting, const TrafficFlow *last) {
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

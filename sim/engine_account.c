// Where the time of a member goes: compute first; else the communication that runs; else waiting.
// The parts of a member add up to its time exactly.
#include <assert.h>

#include "model/base/wide.h"
#include "sim/engine.h"

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

static void charge_communication(Submission *submission, Member *member, const Meeting *meeting,
                                 Time elapsed) {
    TimeShare *share = &member->share;
    const TrafficStep *step = &meeting->traffic.steps[meeting->step];
    if (meeting->phase == MEETING_MOVING) {
        share->param_ps[net_bandwidth_param(step->narrowest)] += elapsed;
        return;
    }
    Time whole = meeting->fixed_ps + meeting->step_ps + meeting->hardware_ps;
    Time fixed = part(elapsed, meeting->fixed_ps, whole);
    Time software = part(elapsed, meeting->step_ps, whole);
    CalibParam param = submission->traffic.net ? meeting->traffic.flows[step->first_flow].step_param
                                               : CALIB_NVLINK_STEP;
    share->param_ps[CALIB_COLLECTIVE] += fixed;
    share->param_ps[param] += software;
    share->latency_ps += elapsed - fixed - software;
}

void engine_account(Submission *submission, uint32_t index, Time now) {
    Member *member = &submission->members[index];
    Time elapsed = now - member->accounted;
    member->accounted = now;
    if (elapsed <= 0) return;
    OpId compute = SCHEDULE_NONE, communication = SCHEDULE_NONE;
    for (uint32_t s = 0; s < submission->schedule->stream_count; s++) {
        const Stream *stream = &member->streams[s];
        if (stream->state != STREAM_RUNNING) continue;
        if (submission->first_meeting[stream->cursor.op] == SCHEDULE_NONE) {
            if (compute == SCHEDULE_NONE) compute = stream->cursor.op;
        } else if (communication == SCHEDULE_NONE &&
                   engine_meeting(submission, member, stream->cursor.op)->phase != MEETING_IDLE)
            communication = stream->cursor.op;
    }
    if (compute != SCHEDULE_NONE) {
        charge_compute(&member->share, &submission->prices[compute], elapsed);
    } else if (communication != SCHEDULE_NONE) {
        const Meeting *meeting = engine_meeting(submission, member, communication);
        charge_communication(submission, member, meeting, elapsed);
        uint64_t cell = (uint64_t)index * submission->schedule->op_count + communication;
        submission->totals[cell].exposed_ps += elapsed;
    } else
        member->share.wait_ps += elapsed;
}

// What happened, or would: spans of operations, and what went over which kind of link. Made by the
// simulator or by a back end.
#ifndef MODEL_REPORT_TIMELINE_H
#define MODEL_REPORT_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/hash.h"
#include "model/base/mem.h"
#include "model/base/text.h"
#include "model/base/units.h"
#include "model/cost/price.h"
#include "model/machine/topology.h"
#include "model/plan/schedule.h"

// What a member of a Timeline is: all ranks of a role, a class of ranks of one role that are alike,
// or one rank.
#define TIMELINE_FORM_LIST(X) X(FOLDED, "folded") X(REFINED, "refined") X(EXPANDED, "expanded")
typedef enum TimelineForm {
#define X(name, text) TIMELINE_##name,
    TIMELINE_FORM_LIST(X)
#undef X
        TIMELINE_FORM_COUNT
} TimelineForm;
extern const char *const timeline_form_names[TIMELINE_FORM_COUNT];

typedef struct TimelineMember {
    RoleId role;
    uint32_t first_rank, ranks;
} TimelineMember;

// One instance of an operation on one member.
typedef struct Span {
    OpId op;
    uint32_t member;
    uint32_t pass, iteration; // of the role's program; of the segment
    Time start_ps, end_ps;
} Span;

// Sums over all instances of one operation on one rank of a member.
typedef struct OpTotal {
    uint64_t instances;
    Time busy_ps;     // sum of (end - start)
    Time transfer_ps; // of communication: with all partners there, its fixed time included
    Time exposed_ps;  // of that: while no compute of the member ran; the rest is hidden
    Time bound_ps;    // lower bound of the same work: roofline, or bytes over the narrowest link
    Price price;      // of one instance (compute only)
    uint64_t bytes;   // of one instance: of a communication its comm.bytes, else read and written
} OpTotal;

typedef struct LinkTotal {
    uint64_t bytes;       // over all links of the class, both directions
    uint64_t busiest_B;   // over the busiest directed link
    uint64_t busiest_Bps; // its capacity, and what it passes at once beyond it (a token bucket)
    uint64_t busiest_burst_B;
    char busiest_name[96]; // "rack.tray[0].gpu[0] -> rack.nvswitch[0]"
} LinkTotal;

// Time of the whole run by what governed it, along the member that ends last: parts sum to
// `end_ps`.
typedef struct TimeShare {
    Time param_ps[CALIB_COUNT]; // compute, memory, link bandwidth and fixed parts by the constant
                                // that scales them
    Time wait_ps;               // idle: pipeline bubbles, waiting for others
    Time latency_ps;            // hardware latency of exposed transfers
} TimeShare;

// All arrays are the arena's.
typedef struct Timeline {
    Arena arena;
    const char *maker; // "simulator"
    Digest schedule, shape, load, fabric, calibration;
    Time end_ps;
    Span *spans; // NULL unless asked for
    uint64_t span_count;
    TimelineForm form;
    TimelineMember *members;
    OpTotal *totals; // [member_count][op_count], row-major
    uint32_t member_count, op_count;
    LinkTotal links[LINK_CLASS_COUNT];
    TimeShare share;
    Time *round_ps; // end of each pass, over all members, [round_count]
    uint32_t round_count;
    uint64_t events; // of the simulator
    // Ends of transfers that the simulator put together, and the most that one was moved for it:
    // parts of 10^9. 0: exact.
    uint32_t flow_eps_ppb;
    uint64_t flow_eps_error_ppb;
} Timeline;

void timeline_free(Timeline *timeline);
// What the busiest link carried, of all that it could in this time, its burst included; 0 when
// there is no time.
double timeline_link_share(const LinkTotal *link, Time time_ps);
// Whose program a member runs.
RoleId timeline_role(const Timeline *timeline, uint32_t member);
// Of all that it says, spans included.
Digest timeline_digest(const Timeline *timeline);

// Chrome / Perfetto trace (JSON array form): a process per member, a thread per stream; ts and dur
// in microseconds, exact to the picosecond as decimals. Needs the spans.
void timeline_write_chrome(const Timeline *timeline, const Schedule *schedule, Text *out);

#endif

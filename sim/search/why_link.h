// Which link a step fills most, and which operations put bytes on it.
#ifndef SIM_SEARCH_WHY_LINK_H
#define SIM_SEARCH_WHY_LINK_H

#include "sim/search/why.h"

// All communication of one name, of one pass; on a link: the one named below.
typedef struct WhyComm {
    const char *name; // the schedule's
    OpClass op_class;
    uint64_t fullest_B;   // over the link that it fills most by itself
    uint64_t fullest_Bps; // nominal rate of that link
    LinkClass fullest_class;
    uint64_t bottleneck_B; // over the link that all together fill most
} WhyComm;

#define WHY_LINK_NAME 96
typedef struct WhyLinks {
    WhyComm *comms; // heap, in order of the schedule
    uint32_t count;
    bool has_bottleneck;          // false: nothing moves
    char name[WHY_LINK_NAME];     // of the link that all together fill most
    uint64_t bytes, capacity_Bps; // over it in one pass; nominal rate
    LinkClass link_class;
    const char *source; // of its rate, the topology's
    Time pass_ps;       // mean length of a pass
} WhyLinks;

// The transfers of a kept phase, as they were simulated. Freed by why_link_free.
bool why_link_read(const WhyPlan *plan, const EvaluatePhase *phase, WhyLinks *out, Err *err);
void why_link_free(WhyLinks *links);

// The row of a name, or NULL.
const WhyComm *why_link_find(const WhyLinks *links, const char *name);

#endif

// What explain says of communication: the objective of the field with its simulated parts, each
// collective against its link, and the link that is filled most.
#ifndef SIM_COMMANDS_EXPLAIN_LINK_H
#define SIM_COMMANDS_EXPLAIN_LINK_H

#include "model/base/text.h"
#include "sim/commands/explain_plan.h"

// time = compute + communication - overlapped + waiting, of the busiest member in a step.
void explain_link_objective(const ExplainStep *step, Text *out);
// By name: volume on the fullest link, effective and nominal bandwidth, bound, overlap.
void explain_link_collectives(const ExplainStep *step, Text *out);
// One line: which link, how full, whose bytes; `name` before it.
void explain_link_bottleneck(const ExplainStep *step, const char *name, Text *out);
// Of the link that is filled most, over a pass: part of its nominal rate.
double explain_link_fullness(const WhyLinks *links);

#endif

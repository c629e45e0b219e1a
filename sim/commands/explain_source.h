// Where the numbers of an explanation come from: constants, rates of links, figures of the device,
// sizes of the model.
#ifndef SIM_COMMANDS_EXPLAIN_SOURCE_H
#define SIM_COMMANDS_EXPLAIN_SOURCE_H

#include "model/base/jsonw.h"
#include "model/base/text.h"
#include "sim/commands/explain_plan.h"

// Constants that govern some of the cycle, each with value, interval, provenance and source.
void explain_source_constants(const ExplainPlan *plan, Text *out);
// Rules of links of the classes that carry something in the step, with their sources; the device;
// the sizes that the model's config gives.
void explain_source_machine(const ExplainPlan *plan, Text *out);
void explain_source_model(const ExplainPlan *plan, Text *out);
// The members "constants", "link_rates", "device", "device_source" and "sizes" of the open object.
void explain_source_write(JsonWriter *writer, const ExplainPlan *plan);

#endif

// The option --flow-eps: ends of transfers that are close together become one.
#ifndef SIM_COMMANDS_FLOW_EPS_H
#define SIM_COMMANDS_FLOW_EPS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/cli.h"
#include "model/base/err.h"
#include "model/base/jsonw.h"
#include "model/base/text.h"

// Parts of 10^9; 0, which is exact, without the option. Refused: less than 0 or more than 0.1.
bool flow_eps_read(const CliArgs *args, uint32_t *out_ppb, Err *err);

// "0 (exact)", or the value and the most that it moved the end of a transfer by.
void flow_eps_add(uint32_t ppb, uint64_t error_ppb, Text *out);
// The members "flow_eps" and "flow_eps_error" of the open object, parts of one.
void flow_eps_write(JsonWriter *writer, uint32_t ppb, uint64_t error_ppb);

#endif

// What calibrate prints of a fit.
#ifndef SIM_COMMANDS_CALIBRATE_SHOW_H
#define SIM_COMMANDS_CALIBRATE_SHOW_H

#include "model/base/text.h"
#include "sim/calibrate/calibrate.h"

void calibrate_show_text(const CalibrateInput *input, const CalibrateResult *result, Text *out);
void calibrate_show_json(const CalibrateInput *input, const CalibrateResult *result, Text *out);

#endif

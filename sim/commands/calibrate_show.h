// What calibrate prints of a fit.
#ifndef SIM_COMMANDS_CALIBRATE_SHOW_H
#define SIM_COMMANDS_CALIBRATE_SHOW_H

#include "model/base/text.h"
#include "sim/calibrate/calibrate.h"

// `statistic` is what stands for samples: "min".
void calibrate_show_text(const CalibrateInput *input, const CalibrateResult *result,
                         const char *statistic, Text *out);
void calibrate_show_json(const CalibrateInput *input, const CalibrateResult *result,
                         const char *statistic, Text *out);

#endif

// The option --load of commands that simulate plans.
#ifndef SIM_COMMANDS_LOAD_OPTION_H
#define SIM_COMMANDS_LOAD_OPTION_H

#include <stdbool.h>

#include "model/base/cli.h"
#include "model/base/err.h"
#include "model/moe/arch.h"
#include "model/plan/load.h"
#include "model/plan/routing.h"

// How the MoE layers of a model route, and how many there are. Refuses a model without experts, and
// one whose layers route differently.
bool load_option_rule(const Arch *arch, RoutingRule *out, uint32_t *out_layers, Err *err);

// The load that --load names: a law, "uniform", "zipf:S" or "lognormal:SIGMA", whose expected
// shares are taken with seed 1, or a file, which must be of the model. Uniform when the option is
// absent.
bool load_option_read(const CliArgs *args, const Arch *arch, Load *out, Err *err);

#endif

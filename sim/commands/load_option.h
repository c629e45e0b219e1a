// The option --load of commands that simulate plans, and what they say of it.
#ifndef SIM_COMMANDS_LOAD_OPTION_H
#define SIM_COMMANDS_LOAD_OPTION_H

#include <stdbool.h>

#include "model/base/cli.h"
#include "model/base/err.h"
#include "model/moe/arch.h"
#include "model/plan/load.h"
#include "model/plan/plan.h"
#include "model/plan/routing.h"
#include "sim/search/evaluate.h"

// How the MoE layers of a model route, and how many there are. Refuses a model without experts, and
// one whose layers route differently.
bool load_option_rule(const Arch *arch, RoutingRule *out, uint32_t *out_layers, Err *err);

// The load that --load names: a law, "uniform", "zipf:S" or "lognormal:SIGMA", whose expected
// shares are taken with seed 1, or a file, which must be of the model. Uniform when the option is
// absent.
bool load_option_read(const CliArgs *args, const Arch *arch, Load *out, Err *err);

// The law that --load names, with its rule, layers and seed; one source, no tokens yet. Refuses a
// file, and that there is none.
bool load_option_law(const CliArgs *args, const Arch *arch, RoutingSpec *out, Err *err);

// Whether --load names a law; and then the command that writes its load to a file, for programs
// that read files alone. `assume` is "" when nothing was assumed.
bool load_option_is_law(const CliArgs *args);
void load_option_show_command(const CliArgs *args, const char *model, const char *assume,
                              const char *out_path, Text *out);

// Its origin, "recorded" when that is not known.
const char *load_option_name(const Load *load);

// One line: the experts on each rank and how even their load is, in order and as placed; nothing
// where all is even and in order.
void load_option_show_experts(const Arch *arch, const Pool *pool, const Evaluation *evaluation,
                              Text *out);

#endif

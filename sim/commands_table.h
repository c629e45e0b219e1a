// The options of every command of moesim: part of the table in commands.c.
#ifndef SIM_COMMANDS_TABLE_H
#define SIM_COMMANDS_TABLE_H

#include "model/base/cli.h"

// Each ends with a zeroed entry.
extern const CliOption commands_rank_options[];
extern const CliOption commands_compare_options[];
extern const CliOption commands_simulate_options[];
extern const CliOption commands_explain_options[];
extern const CliOption commands_emit_options[];
extern const CliOption commands_import_plan_options[];
extern const CliOption commands_topo_options[];
extern const CliOption commands_model_options[];
extern const CliOption commands_load_options[];
extern const CliOption commands_validate_options[];
extern const CliOption commands_calibrate_options[];
extern const CliOption commands_scale_options[];
extern const CliOption commands_shard_options[];
extern const CliOption commands_fit_options[];
extern const CliOption commands_check_options[];
extern const CliOption commands_tenants_options[];
extern const CliOption commands_whatif_options[];
extern const CliOption commands_plan_capacity_options[];
extern const CliOption commands_no_options[];

#endif

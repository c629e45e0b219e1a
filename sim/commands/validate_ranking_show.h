// How `moesim validate` prints rankings: groups, reasons, means by metric, and the last line.
#ifndef SIM_COMMANDS_VALIDATE_RANKING_SHOW_H
#define SIM_COMMANDS_VALIDATE_RANKING_SHOW_H

#include "model/base/text.h"
#include "sim/commands/validate_ranking.h"

void validate_ranking_show_table(const ValidateRanking *ranking, Text *out);
void validate_ranking_show_json(const ValidateRanking *ranking, Text *out);
void validate_ranking_show_csv(const ValidateRanking *ranking, Text *out); // groups alone

#endif

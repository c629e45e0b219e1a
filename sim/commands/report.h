// A ranking as pictures and as a page of its own.
#ifndef SIM_COMMANDS_REPORT_H
#define SIM_COMMANDS_REPORT_H

#include <stdint.h>

#include "model/base/jsonw.h"
#include "model/base/table.h"
#include "model/base/text.h"
#include "sim/commands/inputs.h"
#include "sim/search/rank.h"

// The rows that no other one equals or exceeds in both tok/s/GPU and tok/s/user, slowest user
// first. `out` has room for row_count. Returns how many there are.
uint32_t report_front(const Ranking *ranking, uint32_t *out);

// rank --pareto: the front among all plans as characters, and the table of its plans; the same as a
// picture; and the member "pareto_front", the ranks of its plans with their two figures.
void report_show_front(const Ranking *ranking, Text *out);
void report_draw_front(const Ranking *ranking, Text *out);
void report_write_front(JsonWriter *writer, const Ranking *ranking);

// Parts of a page, each of which frees what it shows.
void report_add_table(Text *out, const char *heading, Table *table);
void report_add_text(Text *out, Text *text);
void report_add_picture(Text *out, Text *svg, const char *caption);

// The page: inputs, table of the first `plans` rows, TPOT and tok/s/GPU of all plans with the
// front, memory and step time of the leading plans by part, what is not in the table and why.
// Figures are those of the table, by the same functions.
void report_html(const Inputs *inputs, const Ranking *ranking, uint32_t plans, Text *out);

#endif

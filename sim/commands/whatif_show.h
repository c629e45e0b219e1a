// A sweep as people and programs read it.
#ifndef SIM_COMMANDS_WHATIF_SHOW_H
#define SIM_COMMANDS_WHATIF_SHOW_H

#include "model/base/text.h"
#include "sim/commands/whatif_machines.h"
#include "sim/search/sweep.h"

// Resolved inputs, the table of all cells, of two axes the grid of winners, and where they change.
void whatif_show_text(const WhatifMachines *machines, const SweepSpec *spec, const Sweep *sweep,
                      Text *out);
void whatif_show_csv(const WhatifMachines *machines, const Sweep *sweep, Text *out);
void whatif_show_json(const WhatifMachines *machines, const SweepSpec *spec, const Sweep *sweep,
                      Text *out);

// A line chart of one axis, a map of winners of two.
void whatif_show_svg(const WhatifMachines *machines, const Sweep *sweep, Text *out);

// "A" to "Z", then "AA" and so on; "-" for none. `buffer` has at least 8 bytes.
char *whatif_show_letter(uint32_t winner, char *buffer);
// The label of a winner's plan, and of several machines the one that it is on. The arena's.
const char *whatif_show_winner(const WhatifMachines *machines, const SweepWinner *winner,
                               Arena *arena);

#endif

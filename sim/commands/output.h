// How commands end: results on stdout, one line on stderr; numbers as people read them.
#ifndef SIM_COMMANDS_OUTPUT_H
#define SIM_COMMANDS_OUTPUT_H

#include "model/base/err.h"
#include "model/base/jsonw.h"
#include "model/base/text.h"
#include "model/machine/topology.h"
#include "model/report/timeline.h"

#define OUTPUT_OK  0 // yes
#define OUTPUT_NO  1 // nothing feasible, a comparison failed
#define OUTPUT_BAD 2 // bad use or bad input

// Writes the text to stdout and frees it; returns `status`, or OUTPUT_BAD with a message when
// stdout cannot be written.
int output_text(Text *text, int status);

// Prints "moesim: MESSAGE" on stderr.
void output_message(const char *message);
int output_bad(const Err *err); // the same, returns OUTPUT_BAD

// Three significant digits, no exponent: "0.0123", "1.23", "123", "12300". Returns buffer of
// OUTPUT_NUMBER_MAX bytes.
#define OUTPUT_NUMBER_MAX 48
char *output_number(double value, char *buffer);

// Volume by class of link, and how full the busiest link of each was over the whole run.
void output_links(const Timeline *timeline, Text *out);
// The member "links" of the open object: the same, exactly.
void output_write_links(const LinkTotal links[LINK_CLASS_COUNT], JsonWriter *writer);

// The note of a topology, each line after `label`, padded to `width`: of a dump a line for each
// finding.
void output_topology_note(const Topology *topology, int width, Text *out);

#endif

// Lists of transfers as people write them.
//
// A line is a transfer, or several: FROM, TO, BYTES [, START], with commas or blanks between
// (sim/fields.h). FROM and TO name parts from the root of the machine, as messages do:
// "tray[3].superchip[0].gpu[1]"; a number is a GPU as built. They are patterns like those of links
// (topology.h): "gpu[*], dram[0], 1GiB" is a transfer from every GPU, "gpu[i], dram[i/4], 1GiB" one
// to the memory of each. Two patterns without a letter stand for all pairs of their parts; a part
// with itself is left out. BYTES is of each transfer; START a time such as "10us", 0 without one.
#ifndef SIM_TRANSFERS_FILE_H
#define SIM_TRANSFERS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/machine/fabric.h"
#include "sim/transfers.h"

// A zeroed TransfersFile is empty.
typedef struct TransfersFile {
    NetTransfer *list; // heap; transfers_check accepts it
    uint32_t count, capacity;
} TransfersFile;

// In the order of the lines, and in one of them by FROM, then by TO, as parts are numbered. Besides
// what transfers_check refuses: parts that do not exist, pairs that are not connected, and more
// than TRANSFERS_MAX transfers. Messages begin with "NAME:LINE:COLUMN: " or "NAME: ".
bool transfers_file_parse(const Fabric *fabric, const char *name, const char *bytes, size_t count,
                          TransfersFile *out, Err *err);
void transfers_file_free(TransfersFile *file);

#endif

// The tables of rocm-smi and amd-smi: one square of words for each property of a pair of GPUs.
#ifndef MODEL_MACHINE_IMPORT_SMI_H
#define MODEL_MACHINE_IMPORT_SMI_H

#include <stdbool.h>
#include <stdint.h>

#include "model/machine/import_line.h"
#include "model/machine/import_node.h"

#define IMPORT_SMI_GPUS_MAX 128

typedef enum ImportSmiTable {
    IMPORT_SMI_WEIGHT,
    IMPORT_SMI_HOPS,
    IMPORT_SMI_TYPE,
    IMPORT_SMI_ACCESS,
    IMPORT_SMI_BANDWIDTH,
    IMPORT_SMI_TABLE_COUNT
} ImportSmiTable;

// What introduces a table: the first words of its title.
typedef struct ImportSmiTitle {
    const char *text;
    ImportSmiTable table;
} ImportSmiTitle;

typedef struct ImportSmi {
    uint32_t count;                             // GPUs
    const char **cells[IMPORT_SMI_TABLE_COUNT]; // count x count, NULL for a table that is missing
    uint32_t lines[IMPORT_SMI_TABLE_COUNT];     // of the titles
    uint32_t numa[IMPORT_SMI_GPUS_MAX];         // IMPORT_NONE when not given
} ImportSmi;

// Reads every table with one of the titles; a line "GPU[i] ... Numa Node: k" gives a NUMA node.
bool import_smi_parse(Import *import, const ImportSmiTitle *titles, uint32_t title_count,
                      ImportSmi *out, Err *err);
// The machine, into the graph (import_smi_build.c).
bool import_smi_build(Import *import, const ImportSmi *smi, Err *err);

#endif

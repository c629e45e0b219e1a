// The matrix of `nvidia-smi topo -m`, as printed. Grammar: nvidia-smi(1), "topo"; the legend that
// the tool prints; header names may run into each other and into "CPU Affinity".
#ifndef MODEL_MACHINE_IMPORT_NVIDIA_TOPO_H
#define MODEL_MACHINE_IMPORT_NVIDIA_TOPO_H

#include <stdbool.h>
#include <stdint.h>

#include "model/machine/import_node.h"

#define IMPORT_TOPO_NAMES_MAX   512
#define IMPORT_TOPO_NVLINKS_MAX 36 // of one GPU, NVLink 6

// Nearest first, but for NV#, which is counted beside.
#define IMPORT_CELL_LIST(X)                                                                        \
    X(NONE, "")                                                                                    \
    X(SELF, "X")                                                                                   \
    X(NV, "NV")                                                                                    \
    X(PIX, "PIX")                                                                                  \
    X(PXB, "PXB")                                                                                  \
    X(PHB, "PHB")                                                                                  \
    X(NODE, "NODE")                                                                                \
    X(SYS, "SY"                                                                                    \
           "S")
typedef enum ImportCellKind {
#define X(name, text) IMPORT_CELL_##name,
    IMPORT_CELL_LIST(X)
#undef X
        IMPORT_CELL_COUNT
} ImportCellKind;
extern const char *const import_nvidia_topo_cells[IMPORT_CELL_COUNT];

typedef struct ImportCell {
    ImportCellKind kind; // NONE: the row is missing or too short
    uint32_t links;      // of NV#
} ImportCell;

// Rows and columns 0 to gpus - 1 are GPUs, the rest NICs, in the order of the header.
typedef struct ImportMatrix {
    uint32_t gpus, nics, count; // count: gpus + nics
    const char **names;         // as in the header
    const char **devices; // of NICs: from the legend, else the name; of GPUs "" or the product
    const char **cpus, **numa, **gpu_numa; // of GPUs; "" when not given
    ImportCell *cells;                     // count x count
    uint32_t *lines;                       // of rows, 0 when missing
} ImportMatrix;

bool import_nvidia_topo_parse(Import *import, ImportMatrix *out, Err *err);

ImportCell import_nvidia_topo_cell(const ImportMatrix *matrix, uint32_t row, uint32_t column);
// The worse of both directions.
ImportCell import_nvidia_topo_worse(const ImportMatrix *matrix, uint32_t a, uint32_t b);
bool import_nvidia_topo_same(ImportCell a, ImportCell b);

// The nearest NICs of a GPU: their kind, and which, in order; NONE without NICs.
ImportCellKind import_nvidia_topo_nearest(const ImportMatrix *matrix, uint32_t gpu, uint32_t *nics,
                                          uint32_t *out_count);

// The number of the NVLink island of each GPU, IMPORT_NONE for a GPU without NVLinks; returns how
// many islands there are. One direction is enough to belong to one.
uint32_t import_nvidia_topo_islands(const ImportMatrix *matrix, uint32_t *island);

// The machine of a matrix, into the graph of the import (import_nvidia_topo_build.c).
bool import_nvidia_topo_build(Import *import, const ImportMatrix *matrix, Err *err);

#endif

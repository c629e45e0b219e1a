// What importers know that no dump says: topologies/imports/known.json.
#ifndef MODEL_MACHINE_IMPORT_FACT_H
#define MODEL_MACHINE_IMPORT_FACT_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/units.h"
#include "model/machine/topology.h"

#define IMPORT_PLANES_MAX 64

#define IMPORT_TABLE_LIST(X)                                                                       \
    X(GPU_NAME, "gpu-name")   /* part of a printed name: device */                                 \
    X(PCI, "pci")             /* "vendor:device": device */                                        \
    X(PCI_NAME, "pci-name")   /* "vendor:device": remark, a product outside the catalogue */       \
    X(NIC_RATE, "nic-rate")   /* "vendor:device": rate of a NIC outside the catalogue */           \
    X(SM, "sm")               /* compute capability: device */                                     \
    X(PLANES, "planes")       /* GPU device: switch device, links to each switch */                \
    X(SIGNATURE, "signature") /* how GPUs are joined: device that is assumed */                    \
    X(PCIE, "pcie")           /* GT/s: rate of 16 lanes */                                         \
    X(HOST, "host")           /* Device.host: rate */                                              \
    X(LINK, "link")           /* what a link is: rate that is assumed, latency */                  \
    X(CPU, "cpu")             /* vendor or architecture: rate and latency between two CPUs */      \
    X(IB_LANE, "ib-lane")     /* SDR to XDR: rate of one lane */                                   \
    X(ASSUMED_HOST, "assumed-host") /* device, number of GPUs */
typedef enum ImportTable {
#define X(name, text) IMPORT_TABLE_##name,
    IMPORT_TABLE_LIST(X)
#undef X
        IMPORT_TABLE_COUNT
} ImportTable;

// Fields that a row does not give are "" and 0.
typedef struct ImportFact {
    ImportTable table;
    const char *key, *device, *remark, *source;
    uint64_t rate_Bps;
    Time latency_ps;
    char confidence;
    uint32_t links[IMPORT_PLANES_MAX], link_count;
} ImportFact;

typedef struct ImportFacts {
    Arena arena;
    ImportFact *facts;
    uint32_t count;
} ImportFacts;

bool import_fact_load(ImportFacts *out, Err *err);
void import_fact_free(ImportFacts *facts);

// The row of that key (exact), or NULL.
const ImportFact *import_fact_find(const ImportFacts *facts, ImportTable table, const char *key);
// The row with the longest key that occurs in `text`, or NULL.
const ImportFact *import_fact_within(const ImportFacts *facts, ImportTable table, const char *text);
// A link of the given class as the row of table "link" describes it; it must exist.
LinkRule import_fact_link(const ImportFacts *facts, LinkClass link_class, const char *key);

#endif

// Records of ibnetdiscover and ibsim: switches and channel adapters with their cables.
#ifndef MODEL_MACHINE_IMPORT_IBNETDISCOVER_H
#define MODEL_MACHINE_IMPORT_IBNETDISCOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "model/machine/import_node.h"

#define IMPORT_IB_NODES_MAX 262144
#define IMPORT_IB_LINKS_MAX 2000000

typedef struct ImportIbNode {
    const char *id;          // "S-0200..." or a name
    const char *description; // "" when not given
    uint32_t line;
    bool is_switch;
    uint32_t cables; // to others
    ImportEnd end;
} ImportIbNode;

// A cable, once: (a, port of a) comes before (b, port of b).
typedef struct ImportIbLink {
    uint32_t a, a_port, b, b_port;
    uint64_t rate_Bps; // 0 when not given
    uint32_t line;
} ImportIbLink;

typedef struct ImportIb {
    Import *import;
    ImportIbNode *nodes; // by id
    ImportIbLink *links; // by ends
    uint32_t node_count, link_count;
    LinkClass link_class; // of all cables
} ImportIb;

// The machine; also of fabrics that another tool describes so.
bool import_ibnetdiscover_build(ImportIb *ib, Err *err);

#endif

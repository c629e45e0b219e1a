// The elements of a NCCL or RCCL topology file that matter, in the order of the file. Grammar: NCCL
// 2.30.7, src/graph/xml.cc; RCCL, tools/topo_expl/models.
#ifndef MODEL_MACHINE_IMPORT_NCCL_XML_H
#define MODEL_MACHINE_IMPORT_NCCL_XML_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/xml.h"
#include "model/machine/import_node.h"

#define IMPORT_NCCL_DEVICES_MAX 4096

typedef enum ImportNcclKind {
    IMPORT_NCCL_BRIDGE,
    IMPORT_NCCL_GPU,
    IMPORT_NCCL_NIC,
    IMPORT_NCCL_OTHER
} ImportNcclKind;

typedef struct ImportNcclDevice {
    ImportNcclKind kind;
    uint32_t element;    // <pci>, or a <nic> without one
    uint32_t gpu;        // its <gpu>, or XML_NONE
    uint32_t parent;     // a device, or IMPORT_NONE below a CPU
    uint32_t cpu;        // number of its <cpu>
    uint32_t children;   // live ones: GPUs, NICs, bridges with such below them
    uint64_t rate_Bps;   // of its link to the parent; 0 when the file gives none that is sure
    const char *bus;     // "" when not given
    const Device *model; // in the catalogue, NULL when unknown
    ImportEnd end;       // of kept ones
} ImportNcclDevice;

typedef struct ImportNccl {
    Import *import;
    Xml xml;
    ImportNcclDevice *devices;
    uint32_t count;
    uint32_t cpus, gpus, nics; // how many
    uint32_t hosts;
    bool is_shell;      // no <gpu>: GPUs and NVLinks are found when the library runs
    uint32_t guessed;   // the first <pci> without class, taken for a NIC; XML_NONE
    const char *vendor; // of the CPUs, as in table "cpu"
} ImportNccl;

// import_nccl_xml_links.c: NVLinks, xGMI and C2C.
bool import_nccl_xml_links(ImportNccl *nccl, Err *err);
// import_nccl_xml_build.c: parts, PCIe and NICs.
bool import_nccl_xml_build(ImportNccl *nccl, Err *err);
// A number of an attribute, at most `most`; absent or not a number: false.
bool import_nccl_xml_number(const ImportNccl *nccl, uint32_t element, const char *name,
                            uint32_t most, uint32_t *out);
// A kept bridge is a part; others have one live thing below them and vanish.
bool import_nccl_xml_is_kept(const ImportNcclDevice *device);
LinkRule import_nccl_xml_scale_up(const ImportNccl *nccl, LinkClass link_class, const char *key,
                                  const Device *model);

#endif

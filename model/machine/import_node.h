// What all importers are called with, and the parts of a host that they build alike.
#ifndef MODEL_MACHINE_IMPORT_NODE_H
#define MODEL_MACHINE_IMPORT_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/machine/device.h"
#include "model/machine/import.h"
#include "model/machine/import_fact.h"
#include "model/machine/import_graph.h"
#include "model/machine/topology.h"

// One file being read. Template 0 of the graph is the whole machine.
typedef struct Import {
    Arena arena; // of whatever the importer needs
    const char *origin, *bytes;
    size_t count;
    const DeviceCatalogue *catalogue;
    const ImportFacts *facts;
    ImportGraph graph;
} Import;

#define IMPORT_GPUS_MAX 1024 // of one host

// "FILE:LINE: " + the message, or "FILE: " for line 0. Returns false.
bool import_node_error(const Import *import, uint32_t line, Err *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

// A new copy of a part of template `in`. With _model, those of another device have another part.
ImportEnd import_node_model(Import *import, uint32_t in, PartKind kind, const char *name,
                            const char *device);
ImportEnd import_node_add(Import *import, uint32_t in, PartKind kind, const char *name,
                          const char *device);
ImportEnd import_node_gpu(Import *import, uint32_t in, const char *device);

// The catalogue's device of that name, or NULL.
const Device *import_node_device(const Import *import, const char *name);
// The device that a printed product name means ("NVIDIA H100 80GB HBM3"), or NULL with a finding.
const Device *import_node_named(Import *import, const char *name);

// A link of table "link", at the rate of the host link of `gpu` where the catalogue gives one.
LinkRule import_node_pcie(const Import *import, const char *key, const Device *gpu);
// One NVLink of that device, direct or into a switch.
LinkRule import_node_nvlink(const Import *import, const char *key, const Device *gpu);

// GPUs of one NVLink domain and the switch chips of their machine: links[i] of GPU i, spread over
// the chips as those of the device are.
void import_node_planes(Import *import, uint32_t in, const ImportEnd *gpus, const uint32_t *links,
                        uint32_t count, const Device *device);

// CPUs (or NUMA nodes) number 0 to count - 1, each joined with each. Vendor as in table "cpu".
void import_node_cpus(Import *import, uint32_t in, uint32_t count, const char *vendor);

// The network beyond the NICs of one host: one switch, since a dump of a host cannot know more.
void import_node_network(Import *import, uint32_t in, ImportEnd nic, uint32_t ports,
                         uint64_t port_Bps, LinkClass link_class, const char *source);

// A template of a host of which only the number of GPUs and NICs is known or assumed: GPU i and NIC
// i below one PCIe switch. Its GPUs have the NVLinks of their device after _planes.
uint32_t import_node_host(Import *import, const char *name, const char *device, uint32_t gpus,
                          uint32_t nics);
void import_node_host_planes(Import *import, uint32_t host, const char *device);

// "0-3,8" of ascending numbers; lives in the arena of the import.
const char *import_node_list(Import *import, const uint32_t *numbers, uint32_t count);

// The grammars. Each fills the graph; import_parse closes it.
#define X(name, text, function) bool function(Import *import, Err *err);
IMPORT_GRAMMAR_LIST(X)
#undef X

#endif

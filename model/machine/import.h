// Dumps of real machines, as their tools print them, read into a Topology.
//
// What a dump does not say (rates of a link generation, switches inside a box) is taken from the
// device catalogue and topologies/imports/known.json, and is marked: a link by its confidence, the
// rest by a sentence in the note of the topology, which also lists what is degraded, tied, missing
// or unknown. What cannot be a machine is refused with one line: file, line, found, expected.
#ifndef MODEL_MACHINE_IMPORT_H
#define MODEL_MACHINE_IMPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "model/base/err.h"
#include "model/machine/device.h"
#include "model/machine/import_fact.h"
#include "model/machine/topology.h"

#define IMPORT_GRAMMAR_LIST(X)                                                                     \
    X(NVIDIA_TOPO, "nvidia-smi topo -m", import_nvidia_topo_read)                                  \
    X(NVIDIA_NVLINK, "nvidia-smi nvlink -s", import_nvidia_nvlink_read)                            \
    X(ROCM, "rocm-smi --showtopo", import_rocm_read)                                               \
    X(AMD, "amd-smi topology", import_amd_read)                                                    \
    X(NCCL_XML, "NCCL or RCCL topology XML", import_nccl_xml_read)                                 \
    X(NCCL_GRAPH, "NCCL graph XML", import_nccl_graph_read)                                        \
    X(HWLOC, "hwloc XML", import_hwloc_read)                                                       \
    X(IBNETDISCOVER, "ibnetdiscover or ibsim", import_ibnetdiscover_read)                          \
    X(SLURM_CONF, "Slurm topology.conf", import_slurm_conf_read)                                   \
    X(SLURM_YAML, "Slurm topology.yaml", import_slurm_yaml_read)                                   \
    X(TOPOGRAPH, "topograph model", import_topograph_read)                                         \
    X(NS3, "SimAI or ASTRA-sim ns-3 topology", import_ns3_read)                                    \
    X(ANALYTICAL, "ASTRA-sim analytical network", import_analytical_read)                          \
    X(LOGICAL, "ASTRA-sim logical dimensions", import_logical_read)                                \
    X(HTSIM, "htsim topology", import_htsim_read)                                                  \
    X(NETQ, "NetQ topology graph", import_netq_read)                                               \
    X(NMX, "NMX-C compute nodes", import_nmx_read)
typedef enum ImportGrammar {
#define X(name, text, function) IMPORT_##name,
    IMPORT_GRAMMAR_LIST(X)
#undef X
        IMPORT_GRAMMAR_COUNT
} ImportGrammar;
extern const char *const import_grammar_names[IMPORT_GRAMMAR_COUNT];

// True when the bytes look like a dump; a topology file of moesim's own is none.
bool import_recognise(const char *bytes, size_t count, ImportGrammar *out);

// Reads bytes of a known grammar; `name` is used in messages.
bool import_parse(ImportGrammar grammar, const char *name, const char *bytes, size_t count,
                  Topology *out, Err *err);

// The same, for many files: with the devices and facts that import_parse loads for each.
typedef struct ImportBytes {
    const char *name, *bytes;
    size_t count;
} ImportBytes;
bool import_parse_with(const DeviceCatalogue *catalogue, const ImportFacts *facts,
                       ImportGrammar grammar, ImportBytes dump, Topology *out, Err *err);

#endif

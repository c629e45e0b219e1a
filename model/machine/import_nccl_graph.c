// The other XML of NCCL: not a machine, but what its search made of one.
#include "model/machine/import_node.h"

bool import_nccl_graph_read(Import *import, Err *err) {
    return import_node_error(import, 0, err,
                             "a graph file of NCCL (<graphs>: channels that its search found), "
                             "expected a topology file (<system>, NCCL_TOPO_DUMP_FILE)");
}

// ASTRA-sim's logical dimensions: how ranks are arranged, not what joins them.
#include "model/machine/import_node.h"

bool import_logical_read(Import *import, Err *err) {
    return import_node_error(import, 0, err,
                             "logical dimensions of ranks (\"logical-dims\") without a link: "
                             "expected a physical topology (ns-3 or analytical network file)");
}

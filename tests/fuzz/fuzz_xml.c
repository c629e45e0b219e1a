// XML from bytes: what is accepted is a tree in document order.
#include <stdint.h>
#include <stdlib.h>

#include "model/base/xml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_tree(const Xml *xml) {
    if (xml->count == 0 || xml->elements[0].end != xml->count) abort();
    for (uint32_t i = 1; i < xml->count; i++) {
        const XmlElement *e = &xml->elements[i];
        if (e->parent >= i || e->end <= i || e->end > xml->elements[e->parent].end) abort();
        if (e->depth != xml->elements[e->parent].depth + 1 || e->depth >= XML_DEPTH_MAX) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Xml xml = {0};
    Err err = {{0}};
    if (!xml_parse("input", (const char *)data, size, &xml, &err)) {
        if (!err_is_set(&err)) abort();
        return 0;
    }
    check_tree(&xml);
    xml_free(&xml);
    return 0;
}

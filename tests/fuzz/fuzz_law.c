// Laws of popularity from hostile text: what is parsed reads back to the same law.
#include <stdint.h>
#include <stdlib.h>

#include "model/plan/routing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    RoutingLaw law = {0}, again = {0};
    Err err = {0};
    Text text = {0}, written = {0};
    text_add_bytes(&text, (const char *)data, size);
    if (routing_parse_law(text_string(&text), &law, &err)) {
        routing_add_law(&law, &written);
        if (!routing_parse_law(text_string(&written), &again, &err)) abort();
        if (again.kind != law.kind || again.skew < law.skew || again.skew > law.skew) abort();
    }
    text_free(&text);
    text_free(&written);
    return 0;
}

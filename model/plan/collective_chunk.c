// How the data of a collective is cut: into equal chunks, or by shares.
//
// Invariant: the parts of one rank follow each other and cover its data; whole elements only.
#include "model/plan/collective.h"

#include <assert.h>

#include "model/base/wide.h"

void collective_chunk(uint64_t bytes, uint32_t element, uint32_t n, uint32_t c, uint64_t *first,
                      uint64_t *count) {
    assert(n > 0 && c < n);
    uint64_t size = element == 0 ? 1 : element;
    uint64_t elements = wide_div_up_u64(bytes, size);
    uint64_t each = elements / n, longer = elements % n;
    uint64_t begin = each * c + (c < longer ? c : longer);
    uint64_t end = begin + each + (c < longer);
    // only the end of the last element lies beyond the data, and only there can the product wrap
    uint64_t begin_B = begin == elements ? bytes : begin * size;
    uint64_t end_B = end == elements ? bytes : end * size;
    *first = begin_B;
    *count = end_B - begin_B;
}

// Numbers below `end` that leave the remainder `source` when divided by n.
static uint64_t dealt_below(Wide end, uint32_t n, uint32_t source) {
    return end <= source ? 0 : (uint64_t)((end - source - 1) / n + 1);
}

uint64_t collective_share_count(uint64_t elements, uint32_t n, uint32_t source,
                                const CollectiveShare *destination) {
    assert(n > 0 && source < n && destination->whole > 0);
    assert(destination->part <= destination->whole - destination->before);
    // n * elements * share may exceed 128 bits: whole multiples of `whole` apart, it cannot
    Wide total = wide_mul(elements, n);
    uint64_t whole = destination->whole, end = destination->before + destination->part;
    Wide each = total / whole, rest = total % whole;
    Wide first_slot = each * destination->before + rest * destination->before / whole;
    Wide end_slot = each * end + rest * end / whole;
    return dealt_below(end_slot, n, source) - dealt_below(first_slot, n, source);
}

// Walks the tensor classes of an Arch and writes names.
//
// Invariant: it gives exactly arch->totals.tensors tensors, no name twice.
#include "model/moe/inventory.h"

#include <string.h>

// Classes outside of the layers stand before them (tables, norms), or after them (drafts, vision):
// the order of the arch's list, cut at the first class of a layer.
typedef enum Stage { STAGE_BEFORE, STAGE_LAYERS, STAGE_AFTER, STAGE_END } Stage;

// Digits of a number, without snprintf: names are most of the work of a listing.
static char *put_number(char *at, const char *end, uint32_t number) {
    char digits[10];
    uint32_t count = 0;
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    while (count > 0 && at < end) *at++ = digits[--count];
    return at;
}

static bool is_mark(const char *at) {
    return at[0] == '{' && at[1] != '\0' && at[2] == '}';
}

// The pattern from `from` up to `until` with numbers for its marks; returns where it ends.
static char *put_pattern(const char *from, const char *until, uint32_t layer, uint32_t member,
                         char *at, const char *end) {
    while (from < until && at < end) {
        if (is_mark(from)) {
            at = put_number(at, end, from[1] == 'L' ? layer : member);
            from += 3;
        } else {
            *at++ = *from++;
        }
    }
    return at;
}

void inventory_name(const TensorClass *class, uint32_t layer, uint32_t member,
                    char name[INVENTORY_NAME_MAX]) {
    const char *pattern = class->pattern;
    *put_pattern(pattern, pattern + strlen(pattern), layer, member, name,
                 name + INVENTORY_NAME_MAX - 1) = '\0';
}

// Where the pattern has the number of an expert or of a block; its end when it has none.
static const char *member_mark(const char *pattern) {
    while (*pattern != '\0' && !(is_mark(pattern) && pattern[1] != 'L')) pattern++;
    return pattern;
}

static uint32_t first_of_layers(const Arch *arch) {
    uint32_t i = 0;
    while (i < arch->tensor_count && arch->tensors[i].layer_kind == INVENTORY_NONE) i++;
    return i;
}

static uint32_t after_layers(const Arch *arch) {
    uint32_t i = arch->tensor_count;
    while (i > 0 && arch->tensors[i - 1].layer_kind == INVENTORY_NONE) i--;
    return i;
}

// The next class that belongs to the current stage and layer; false when the stage is over.
static bool seek(Inventory *at) {
    const Arch *arch = at->arch;
    switch ((Stage)at->stage) {
    case STAGE_BEFORE: return at->class < first_of_layers(arch);
    case STAGE_LAYERS:
        for (; at->layer < arch->layers; at->layer++, at->class = 0)
            for (; at->class < arch->tensor_count; at->class ++)
                if (arch->tensors[at->class].layer_kind == arch->kind_of_layer[at->layer])
                    return true;
        return false;
    case STAGE_AFTER: return at->class < arch->tensor_count;
    case STAGE_END: break;
    }
    return false;
}

static void enter_stage(Inventory *at, Stage stage) {
    at->stage = stage;
    at->class = stage == STAGE_AFTER ? after_layers(at->arch) : 0;
    at->layer = at->member = 0;
}

// All members of a class share what comes before their number.
static void begin_class(Inventory *at, const TensorClass *class) {
    at->rest = member_mark(class->pattern);
    const char *end = put_pattern(class->pattern, at->rest, at->layer, 0, at->stem,
                                  at->stem + INVENTORY_NAME_MAX - 1);
    at->stem_length = (uint32_t)(end - at->stem);
}

bool inventory_next(Inventory *at, InventoryTensor *out) {
    while (at->member == 0 && !seek(at)) {
        if (at->stage == STAGE_END) return false;
        enter_stage(at, at->stage + 1);
    }
    const TensorClass *class = &at->arch->tensors[at->class];
    if (at->member == 0) begin_class(at, class);
    out->class = class;
    out->layer = at->stage == STAGE_LAYERS ? at->layer : INVENTORY_NONE;
    out->member = *at->rest != '\0' ? at->member : INVENTORY_NONE;
    memcpy(out->name, at->stem, at->stem_length);
    *put_pattern(at->rest, at->rest + strlen(at->rest), at->layer, at->member,
                 out->name + at->stem_length, out->name + INVENTORY_NAME_MAX - 1) = '\0';
    if (++at->member == class->per_layer) {
        at->member = 0;
        at->class ++;
    }
    return true;
}

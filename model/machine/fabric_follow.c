// Moves one digit of one endpoint at a time and compares the links at equal positions of the
// routes.
//
// Two GPUs that share a NIC are an example of what fails: the link behind the NIC is the same for
// some values of the digit and another for the rest, so a load on it is neither spread over all
// values nor kept for one. Of a symmetric level three values stand for all, because any permutation
// of the others leaves the machine as it is; of other levels all values are tried.
//
// Invariant: links correspond by position because fabric_route orders edges by distance and link,
// and links are numbered in the order of digits.
#include "model/machine/fabric_follow.h"

#include "model/machine/fabric_rule.h"

#define VALUES_MAX 64 // of a digit

// Values of one digit, as levels of the GPU class; value 0 is all zero.
typedef struct Values {
    uint32_t count;
    uint32_t levels[VALUES_MAX][FABRIC_DIGITS_MAX];
} Values;

typedef struct Probe {
    const Fabric *fabric;
    const FabricDigits *digits;
    Values *values;                   // of each digit
    uint32_t from[FABRIC_DIGITS_MAX]; // levels of the endpoints
    uint32_t to[FABRIC_DIGITS_MAX];
    Route first, next;
    LinkId *links; // row by row, one row per value
    uint32_t rows, capacity;
} Probe;

static uint32_t options(const Fabric *fabric, const FabricDigits *digits, uint32_t level) {
    uint32_t size = fabric->classes[0].shape[level];
    return (digits->symmetric >> level & 1) != 0 && size > 3 ? 3 : size;
}

static bool list_values(const Fabric *fabric, const FabricDigits *digits, uint32_t digit,
                        Values *out) {
    uint64_t total = 1;
    for (uint32_t level = digits->first[digit]; level <= digits->last[digit]; level++) {
        total *= options(fabric, digits, level);
        if (total > VALUES_MAX) return false;
    }
    out->count = (uint32_t)total;
    for (uint32_t i = 0; i < out->count; i++) {
        uint32_t rest = i;
        for (uint32_t level = digits->last[digit] + 1; level-- > digits->first[digit];) {
            out->levels[i][level] = rest % options(fabric, digits, level);
            rest /= options(fabric, digits, level);
        }
    }
    return true;
}

static void set_value(const Probe *probe, uint32_t digit, uint32_t value, uint32_t *levels) {
    for (uint32_t level = probe->digits->first[digit]; level <= probe->digits->last[digit];
         level++) {
        levels[level] = probe->values[digit].levels[value][level];
    }
}

// Adds the links of the route between the endpoints as a row. False when it differs in form from
// the first.
static bool add_row(Probe *probe) {
    const VertexClass *gpus = &probe->fabric->classes[0];
    Route *route = probe->rows == 0 ? &probe->first : &probe->next;
    Err err = {{0}};
    VertexId from = fabric_rule_vertex(gpus, probe->from), to = fabric_rule_vertex(gpus, probe->to);
    if (!fabric_route(probe->fabric, from, to, route, &err)) return false;
    if (route->count != probe->first.count) return false;
    uint32_t need = (probe->rows + 1) * route->count;
    probe->links = mem_grow(probe->links, &probe->capacity, need, sizeof *probe->links);
    for (uint32_t i = 0; i < route->count; i++) {
        if (route->edges[i].weight != probe->first.edges[i].weight) return false;
        probe->links[probe->rows * route->count + i] = route->edges[i].link;
    }
    probe->rows++;
    return true;
}

// All links of a column are equal, or no two are.
static bool check_column(const Probe *probe, uint32_t column) {
    uint32_t width = probe->first.count, equal = 0;
    for (uint32_t i = 0; i < probe->rows; i++) {
        for (uint32_t k = 0; k < i; k++) {
            equal += probe->links[i * width + column] == probe->links[k * width + column];
        }
    }
    return equal == 0 || equal == probe->rows * (probe->rows - 1) / 2;
}

typedef enum Moved { MOVED_FROM, MOVED_TO, MOVED_BOTH } Moved;

// Takes all values of a digit at the moved endpoints, but for the value that the other one has.
static bool check_move(Probe *probe, uint32_t digit, Moved moved) {
    bool done = true;
    probe->rows = 0;
    for (uint32_t value = 0; done && value < probe->values[digit].count; value++) {
        if (moved == MOVED_FROM && value == 1) continue;
        if (moved == MOVED_TO && value == 0) continue;
        if (moved != MOVED_TO) set_value(probe, digit, value, probe->from);
        if (moved != MOVED_FROM) set_value(probe, digit, value, probe->to);
        done = add_row(probe);
    }
    for (uint32_t i = 0; done && i < probe->first.count; i++) done = check_column(probe, i);
    return done;
}

// The routes between GPUs that differ in a set of digits: value 0 at the source, 1 at the
// destination.
static bool check_set(Probe *probe, uint32_t differ) {
    for (uint32_t digit = 0; digit < probe->digits->count; digit++) {
        bool differs = (differ >> digit & 1) != 0;
        for (uint32_t k = 0; k < probe->digits->count; k++) {
            set_value(probe, k, 0, probe->from);
            set_value(probe, k, differ >> k & 1, probe->to);
        }
        if (!differs && !check_move(probe, digit, MOVED_BOTH)) return false;
        if (differs && !check_move(probe, digit, MOVED_FROM)) return false;
        set_value(probe, digit, 0, probe->from);
        if (differs && !check_move(probe, digit, MOVED_TO)) return false;
    }
    return true;
}

bool fabric_follow_holds(const Fabric *fabric, const FabricDigits *digits) {
    Probe probe = {.fabric = fabric, .digits = digits};
    bool holds = true;
    probe.values = mem_alloc(digits->count, sizeof *probe.values);
    for (uint32_t i = 0; holds && i < digits->count; i++) {
        holds = list_values(fabric, digits, i, &probe.values[i]);
    }
    for (uint32_t differ = 1; holds && differ < UINT32_C(1) << digits->count; differ++) {
        holds = check_set(&probe, differ);
    }
    fabric_route_free(&probe.first);
    fabric_route_free(&probe.next);
    mem_free(probe.links);
    mem_free(probe.values);
    return holds;
}

#include "tests/machine/routes.h"

static void first_path(const Fabric *fabric, const Route *route, Text *out) {
    VertexId at = FABRIC_NONE;
    for (uint32_t i = 0; i < route->count; i++) {
        FabricLink link = fabric_link(fabric, route->edges[i].link);
        if (at == FABRIC_NONE) {
            fabric_vertex_name(fabric, link.from, out);
        } else if (link.from != at) {
            continue;
        }
        text_add_char(out, ' ');
        fabric_vertex_name(fabric, link.to, out);
        at = link.to;
    }
}

void routes_check_path(const Fabric *fabric, const Route *route, const char *want) {
    Text text = {0};
    first_path(fabric, route, &text);
    assert_string_equal(text_string(&text), want);
    text_free(&text);
}

// What holds for every route: its links are alive, edges join the source to the destination, as
// much arrives at a vertex as leaves it, and at every distance the weights add up to the total; no
// edge's share of the bandwidth is over its capacity, and one is filled.
static void check_route(const Fabric *fabric, VertexId from, VertexId to, const Route *route) {
    uint64_t sum = 0, at_distance = 0, least = UINT64_MAX;
    int64_t *balance = mem_alloc(fabric->vertex_count, sizeof *balance);
    assert_true(route->weight_total > 0);
    for (uint32_t i = 0; i < route->count; i++) {
        FabricLink link = fabric_link(fabric, route->edges[i].link);
        uint32_t weight = route->edges[i].weight;
        assert_true(weight > 0 && link.capacity_Bps > 0);
        assert_false(fabric_is_dead(fabric, link.from) || fabric_is_dead(fabric, link.to));
        balance[link.from] -= weight;
        balance[link.to] += weight;
        sum += weight;
        at_distance += weight;
        assert_true(at_distance <= route->weight_total);
        if (at_distance == route->weight_total) at_distance = 0;
        uint64_t room = (uint64_t)((double)link.capacity_Bps * route->weight_total / weight);
        if (room < least) least = room;
    }
    assert_int_equal(at_distance, 0);
    assert_int_equal(sum, (uint64_t)route->hops * route->weight_total);
    check_close((double)route->bandwidth_Bps, (double)least, 1e-9);
    for (VertexId vertex = 0; vertex < fabric->vertex_count; vertex++) {
        int64_t want = vertex == from ? -(int64_t)route->weight_total
                       : vertex == to ? (int64_t)route->weight_total
                                      : 0;
        assert_int_equal(balance[vertex], want);
    }
    mem_free(balance);
}

void routes_find(const Fabric *fabric, VertexId from, VertexId to, Route *route) {
    Err err = {{0}};
    check_ok(fabric_route(fabric, from, to, route, &err), &err);
    check_route(fabric, from, to, route);
}

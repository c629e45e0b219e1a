// Dimension-order routes. Chip (x, y, z) of torus:4x4x4 is number 16 x + 4 y + z, and z comes
// first. 100 GB/s and 500 ns a link.
#include "tests/machine/machine.h"
#include "tests/machine/routes.h"

#include "model/machine/fabric_axis.h"
#include "model/machine/fabric_summary.h"

#define GBPS(n) ((n)*UINT64_C(1000000000))

// (0,0,0) to (1,1,1): along the row, then the plane, then the cube, on one path.
static void test_fabric_axis_innermost_comes_first(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    machine_open(&machine, "torus:4x4x4,100GB/s");
    routes_find(&machine.fabric, 0, 16 + 4 + 1, &route);
    routes_check_path(&machine.fabric, &route,
                      "x[0].y[0].gpu[0] x[0].y[0].gpu[1] x[0].y[1].gpu[1] x[1].y[1].gpu[1]");
    assert_int_equal(route.weight_total, 1);
    assert_int_equal(route.bandwidth_Bps, GBPS(100));
    assert_int_equal(route.latency_ps, 3 * 500000);
    routes_find(&machine.fabric, 0, 48 + 3, &route); // backwards is shorter
    routes_check_path(&machine.fabric, &route,
                      "x[0].y[0].gpu[0] x[0].y[0].gpu[3] x[3].y[0].gpu[3]");
    fabric_route_free(&route);
    machine_close(&machine);
}

// (0,0,0) to (0,1,2): opposite in its row, so half goes each way round, 2 links; then all of it on
// one link. 5 edges, and that link is the narrowest: 100 GB/s.
static void test_fabric_axis_ties_are_halved(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    static const uint32_t weights[] = {1, 1, 1, 1, 2};
    machine_open(&machine, "torus:4x4x4,100GB/s");
    routes_find(&machine.fabric, 0, 4 + 2, &route);
    assert_int_equal(route.count, 5);
    assert_int_equal(route.weight_total, 2);
    for (uint32_t i = 0; i < 5; i++) assert_int_equal(route.edges[i].weight, weights[i]);
    assert_int_equal(route.bandwidth_Bps, GBPS(100));
    assert_int_equal(route.narrowest, LINK_ICI);
    fabric_route_free(&route);
    machine_close(&machine);
}

// A pod of 8,960: the farthest chip is 14 + 10 + 8 = 32 links away, half each way in every ring.
static void test_fabric_axis_far_corners_of_a_pod(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    machine_open(&machine, "torus:16x20x28,100GB/s");
    routes_find(&machine.fabric, 0, (14 * 20 + 10) * 16 + 8, &route);
    assert_int_equal(route.hops, 32);
    assert_int_equal(route.count, 64);
    assert_int_equal(route.bandwidth_Bps, GBPS(200));
    fabric_route_free(&route);
    machine_close(&machine);
}

static void open_grid(Machine *machine, const char *row, const char *plane) {
    char json[2048];
    snprintf(json, sizeof json,
             "{\"moesim\": \"topology\", \"version\": 1, \"name\": \"grid\", \"machine\": \"m\", "
             "\"templates\": {\"row\": {\"parts\": {\"gpu\": {\"kind\": \"gpu\", \"count\": 4}}, "
             "\"links\": [{%s, \"class\": \"ici\", \"policy\": \"dimension-order\", \"bandwidth\": "
             "\"100 GB/s\", \"latency\": \"500 ns\"}]}, \"m\": {\"parts\": {\"row\": "
             "{\"template\": \"row\", \"count\": 3}}, \"links\": [{%s, \"class\": \"ici\", "
             "\"policy\": \"dimension-order\", \"bandwidth\": \"100 GB/s\", \"latency\": "
             "\"500 ns\"}]}}}",
             row, plane);
    machine_parse(machine, json);
}

// The farthest chip of any is found from one of them: 32 links of 500 ns. A mesh, and a torus with
// a fault, look different from each chip.
static void test_fabric_axis_torus_looks_the_same_from_every_chip(void **state) {
    (void)state;
    Machine machine;
    FabricSummary summary;
    Err err = {{0}};
    machine_open(&machine, "torus:16x20x28,100GB/s");
    assert_true(fabric_axis_is_torus(&machine.fabric));
    check_ok(fabric_summary_make(&machine.fabric, &summary, &err), &err);
    assert_true(summary.has_diameter);
    assert_int_equal(summary.diameter_hops, 32);
    assert_int_equal(summary.diameter_ps, 32 * 500000);
    machine_close(&machine);
    // half of a ring of 65536; routes to all of it would have 65536 x 16384 links
    machine_open(&machine, "torus:65536,100GB/s");
    check_ok(fabric_summary_make(&machine.fabric, &summary, &err), &err);
    assert_int_equal(summary.diameter_hops, 32768);
    machine_close(&machine);
    machine_open(&machine, "torus:4x5x2,100GB/s");
    assert_true(fabric_axis_is_torus(&machine.fabric));
    machine_close(&machine);
    machine_degraded(&machine, "torus:4x5x2,100GB/s", "x[0].y[0].gpu[0]:50%");
    assert_false(fabric_axis_is_torus(&machine.fabric));
    machine_close(&machine);
    open_grid(&machine, "\"from\": \"gpu[i]\", \"to\": \"gpu[(i+1)%4]\"",
              "\"from\": \"row[i=0-1].gpu[j]\", \"to\": \"row[i+1].gpu[j]\"");
    assert_false(fabric_axis_is_torus(&machine.fabric));
    machine_close(&machine);
}

// All pairs of 4 x 4: in a ring of 4 a chip is 1, 1 and 2 links from the others. 16 sources x 4
// links x 4 values of the other digit = 256 uses of the 32 directed links of each level: 8 each.
static void test_fabric_axis_all_to_all_is_even(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    uint32_t halves[64] = {0};
    machine_open(&machine, "torus:4x4,100GB/s");
    assert_int_equal(machine.fabric.link_count, 64);
    for (VertexId from = 0; from < 16; from++)
        for (VertexId to = 0; to < 16; to++) {
            if (from == to) continue;
            routes_find(&machine.fabric, from, to, &route);
            for (uint32_t i = 0; i < route.count; i++)
                halves[route.edges[i].link] += route.edges[i].weight * (2 / route.weight_total);
        }
    for (LinkId link = 0; link < 64; link++) assert_int_equal(halves[link], 16);
    fabric_route_free(&route);
    machine_close(&machine);
}

// A mesh has no way around: 3 links along the row, 2 across.
static void test_fabric_axis_mesh(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    open_grid(&machine, "\"from\": \"gpu[i=0-2]\", \"to\": \"gpu[i+1]\"",
              "\"from\": \"row[i=0-1].gpu[j]\", \"to\": \"row[i+1].gpu[j]\"");
    routes_find(&machine.fabric, 11, 0, &route);
    routes_check_path(&machine.fabric, &route,
                      "row[2].gpu[3] row[2].gpu[2] row[2].gpu[1] row[2].gpu[0] row[1].gpu[0] "
                      "row[0].gpu[0]");
    assert_int_equal(route.count, 5);
    fabric_route_free(&route);
    machine_close(&machine);
}

// (0,0) to (1,1) of 4 x 4. Without the link (0,0)-(0,1): the other way round the row, 3 links.
static void test_fabric_axis_dead_link_goes_the_other_way_round(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    machine_degraded(&machine, "torus:4x4,100GB/s", "x[0].gpu[0]>x[0].gpu[1]:down");
    routes_find(&machine.fabric, 0, 4 + 1, &route);
    routes_check_path(&machine.fabric, &route,
                      "x[0].gpu[0] x[0].gpu[3] x[0].gpu[2] x[0].gpu[1] x[1].gpu[1]");
    fabric_route_free(&route);
    machine_close(&machine);
}

// Without the corner (0,1): the other corner.
static void test_fabric_axis_dead_corner_takes_another_order(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    machine_degraded(&machine, "torus:4x4,100GB/s", "x[0].gpu[1]:down");
    routes_find(&machine.fabric, 0, 4 + 1, &route);
    routes_check_path(&machine.fabric, &route, "x[0].gpu[0] x[1].gpu[0] x[1].gpu[1]");
    fabric_route_free(&route);
    machine_close(&machine);
}

// (0,0) to (0,2) with both (0,1) and (0,3) dead: the row is cut, and all live shortest paths are
// taken: over row 1 and over row 3, 4 links each.
static void test_fabric_axis_cut_ring_takes_the_shortest_live_paths(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    machine_degraded(&machine, "torus:4x4,100GB/s", "x[0].gpu[1,3]:down");
    routes_find(&machine.fabric, 0, 2, &route);
    assert_int_equal(route.hops, 4);
    assert_int_equal(route.bandwidth_Bps, GBPS(200));
    fabric_route_free(&route);
    machine_close(&machine);
}

// A ring at half its rate on one side: still half of the transfer each way, so the slow way sets
// the pace: 2 x 50 GB/s.
static void test_fabric_axis_slow_link_keeps_its_half(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    machine_degraded(&machine, "torus:4x4,100GB/s", "x[0].gpu[0]>x[0].gpu[1]:50%");
    routes_find(&machine.fabric, 0, 2, &route);
    assert_int_equal(route.weight_total, 2);
    assert_int_equal(route.bandwidth_Bps, GBPS(100));
    fabric_route_free(&route);
    machine_close(&machine);
}

#define STRIPED(from, to) MACHINE_LINK(from, to, "ici", 1, "100 GB/s")

// The same pod with the links of a plain graph. Between opposite corners there are
// 32! / (14! 10! 8!) orders of 32 steps, over 10^13: not counted, and the message says what to do.
static void test_fabric_axis_is_the_way_out_of_too_many_paths(void **state) {
    (void)state;
    static const char pod[] =
        "{\"moesim\": \"topology\", \"version\": 1, \"name\": \"pod\", \"machine\": \"pod\", "
        "\"templates\": {\"row\": {\"parts\": {\"gpu\": {\"kind\": \"gpu\", \"count\": 16}}, "
        "\"links\": [" STRIPED(
            "gpu[k]",
            "gpu[(k+1)%16]") "]}, \"plane\": {\"parts\": {\"row\": "
                             "{\"template\": \"row\", \"count\": 20}}, \"links\": [" STRIPED(
                                 "row[j].gpu[k]",
                                 "row[(j+1)%20].gpu[k]") "]}, \"pod\": {\"parts\": {\"plane\": "
                                                         "{\"template\": \"plane\", \"count\": "
                                                         "28}}, \"links\": [" STRIPED(
                                                             "plane[i].row[j].gpu[k]",
                                                             "plane[(i+1)%28].row[j].gpu[k]") "]}}"
                                                                                              "}";
    Machine machine;
    Route route = {0};
    Err err = {{0}};
    machine_parse(&machine, pod);
    check_fails(fabric_route(&machine.fabric, 0, (14 * 20 + 10) * 16 + 8, &route, &err), &err,
                "plane[0].row[0].gpu[0] to plane[14].row[10].gpu[8]: more than 2147483648 shortest "
                "paths: give its links the policy hash, or dimension-order in a torus or mesh of "
                "GPUs");
    fabric_route_free(&route);
    machine_close(&machine);
}

static void check_refused(const char *parts, const char *links, const char *want) {
    char json[2048];
    Machine machine = {0};
    Err err = {{0}};
    snprintf(json, sizeof json,
             "{\"moesim\": \"topology\", \"version\": 1, \"name\": \"bad\", \"machine\": \"m\", "
             "\"templates\": {\"m\": {\"parts\": {%s}, \"links\": [%s]}}}",
             parts, links);
    check_ok(topology_parse("text", json, strlen(json), &machine.topology, &err), &err);
    check_ok(device_load(&machine.catalogue, &err), &err);
    check_fails(fabric_build(&machine.topology, &machine.catalogue, &machine.fabric, &err), &err,
                want);
    machine_close(&machine);
}

#define ORDERED(from, to)                                                                          \
    "{\"from\": \"" from "\", \"to\": \"" to                                                       \
    "\", \"class\": \"ici\", \"policy\": \"dimension-order\", \"bandwidth\": \"1 GB/s\", "         \
    "\"latency\": \"1 us\"}"

static void test_fabric_axis_refuses_what_is_no_line(void **state) {
    (void)state;
    static const char gpus[] = MACHINE_PART("gpu", "gpu", 6);
    check_refused(MACHINE_PART("gpu", "gpu", 6) ", " MACHINE_PART("sw", "switch", 1),
                  ORDERED("gpu[*]", "sw"),
                  "text: link \"gpu[*]\" to \"sw\": policy dimension-order: expected a ring or "
                  "line of GPUs along one level, such as gpu[i] to gpu[(i+1)%4], or gpu[0] to "
                  "gpu[1]");
    check_refused(gpus, ORDERED("gpu[*]", "gpu[*]"),
                  "text: link \"gpu[*]\" to \"gpu[*]\": policy dimension-order: expected a ring or "
                  "line of GPUs along one level, such as gpu[i] to gpu[(i+1)%4], or gpu[0] to "
                  "gpu[1]");
    check_refused(gpus, ORDERED("gpu[i]", "gpu[(i+1)%6]") ", " ORDERED("gpu[j]", "gpu[(j+2)%6]"),
                  "text: link \"gpu[j]\" to \"gpu[(j+2)%6]\": policy dimension-order: expected one "
                  "such link for each level, found two");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fabric_axis_innermost_comes_first),
        cmocka_unit_test(test_fabric_axis_ties_are_halved),
        cmocka_unit_test(test_fabric_axis_far_corners_of_a_pod),
        cmocka_unit_test(test_fabric_axis_torus_looks_the_same_from_every_chip),
        cmocka_unit_test(test_fabric_axis_all_to_all_is_even),
        cmocka_unit_test(test_fabric_axis_mesh),
        cmocka_unit_test(test_fabric_axis_dead_link_goes_the_other_way_round),
        cmocka_unit_test(test_fabric_axis_dead_corner_takes_another_order),
        cmocka_unit_test(test_fabric_axis_cut_ring_takes_the_shortest_live_paths),
        cmocka_unit_test(test_fabric_axis_slow_link_keeps_its_half),
        cmocka_unit_test(test_fabric_axis_is_the_way_out_of_too_many_paths),
        cmocka_unit_test(test_fabric_axis_refuses_what_is_no_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

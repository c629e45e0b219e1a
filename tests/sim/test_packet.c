// The packet model as worked examples. Packets of 900 B and a header of 100 B take 10 ns on a link
// of 100 GB/s.
#include "tests/check.h"

#include "model/base/rng.h"
#include "sim/packet.h"
#include "tests/sim/net_machine.h"

#define PS_PER_NS 1000

static const PacketOptions small = {.policy = ROUTE_STRIPE, .mtu_B = 900, .header_B = 100};

// A run that must succeed.
typedef struct Run {
    NetMachine machine;
    Arena arena;
    TransfersResult result;
    PacketReport report;
} Run;

static void run(Run *run, const char *machine, const NetTransfer *list, uint32_t count,
                const PacketOptions *options) {
    Err err = {0};
    *run = (Run){0};
    net_machine_open(&run->machine, machine);
    check_ok(
        packet_run(&run->machine.fabric, list, count, options, &run->result, &run->report, &err),
        &err);
}

static void end(Run *run) {
    net_machine_close(&run->machine);
    transfers_result_free(&run->result);
    packet_report_free(&run->report);
    arena_free(&run->arena);
}

static Time finish_ns(const Run *run, uint32_t transfer) {
    assert_int_equal(run->result.finish[transfer] % PS_PER_NS, 0);
    return run->result.finish[transfer] / PS_PER_NS;
}

// The link from one vertex to another, by name.
static const PacketLink *link_of(const Run *run, const char *name) {
    for (uint32_t i = 0; i < run->report.link_count; i++) {
        FabricLink link = fabric_link(&run->machine.fabric, run->report.links[i].link);
        Text text = {0};
        fabric_vertex_name(&run->machine.fabric, link.from, &text);
        text_add(&text, " -> ");
        fabric_vertex_name(&run->machine.fabric, link.to, &text);
        bool is_it = strcmp(text_string(&text), name) == 0;
        text_free(&text);
        if (is_it) return &run->report.links[i];
    }
    fail_msg("no packet can use a link %s", name);
    return NULL;
}

// Two GPUs on a switch, each by a link of its own rate, 250 ns long.
static char *two_rates(Arena *arena, const char *first, const char *second) {
    return arena_printf(
        arena,
        "{\"moesim\": \"topology\", \"version\": 1, \"name\": \"t\", \"source\": \"test\","
        "\"templates\": {\"box\": {\"parts\": {\"gpu\": {\"kind\": \"gpu\", \"count\": 2},"
        "\"hub\": {\"kind\": \"switch\"}}, \"links\": ["
        "{\"from\": \"gpu[0]\", \"to\": \"hub\", \"class\": \"nvlink\", \"bandwidth\": \"%s\","
        "\"latency\": \"250 ns\"},"
        "{\"from\": \"gpu[1]\", \"to\": \"hub\", \"class\": \"nvlink\", \"bandwidth\": \"%s\","
        "\"latency\": \"250 ns\"}]}}, \"machine\": \"box\"}",
        first, second);
}

// GPUs that are joined by planes of 100 GB/s and 250 ns a link.
static char *planes(Arena *arena, uint32_t gpus, uint32_t count) {
    return arena_printf(
        arena,
        "{\"moesim\": \"topology\", \"version\": 1, \"name\": \"t\", \"source\": \"test\","
        "\"templates\": {\"box\": {\"parts\": {\"gpu\": {\"kind\": \"gpu\", \"count\": %u},"
        "\"plane\": {\"kind\": \"switch\", \"count\": %u}}, \"links\": [{\"from\": \"gpu[*]\","
        "\"to\": \"plane[*]\", \"class\": \"nvlink\", \"bandwidth\": \"100 GB/s\","
        "\"latency\": \"250 ns\"}]}}, \"machine\": \"box\"}",
        gpus, count);
}

// 250 ns, the switch sends on what comes in, 250 ns, and the 10 ns of the packet once: cut-through.
static void test_packet_alone_is_cut_through(void **state) {
    (void)state;
    Run r;
    NetTransfer list[] = {{0, 1, 900, 0}};
    run(&r, "switch:2,100GB/s,latency=250ns", list, 1, &small);
    assert_int_equal(finish_ns(&r, 0), 510);
    assert_int_equal(r.result.end_ps, 510 * PS_PER_NS);
    // without the header: 500 ns + 900 B / 100 GB/s
    assert_int_equal(r.result.bound_ps, 509 * PS_PER_NS);
    end(&r);
}

// 20 ns on a link of 50 GB/s. Onto the slower link it goes at once; onto the faster one 10 ns after
// its first bit came, so that it does not run dry. Both ways 500 + 20 ns.
static void test_packet_meets_links_of_other_rates(void **state) {
    (void)state;
    Run r;
    Arena arena = {0};
    NetTransfer there[] = {{0, 1, 900, 0}}, back[] = {{1, 0, 900, 0}};
    run(&r, two_rates(&arena, "100 GB/s", "50 GB/s"), there, 1, &small);
    assert_int_equal(finish_ns(&r, 0), 520);
    end(&r);
    run(&r, two_rates(&arena, "100 GB/s", "50 GB/s"), back, 1, &small);
    assert_int_equal(finish_ns(&r, 0), 520);
    end(&r);
    arena_free(&arena);
}

// A packet takes 1000 B / 3 GB/s = 333333 1/3 ps; 3000 of them take 1 ms, not a picosecond less or
// more.
static void test_packet_rate_is_exact_over_many(void **state) {
    (void)state;
    Run r;
    NetTransfer list[] = {{0, 1, 3000 * 900, 0}};
    run(&r, "switch:2,3GB/s,latency=250ns", list, 1, &small);
    assert_int_equal(finish_ns(&r, 0), 1000000 + 500);
    end(&r);
}

// 10 packets each from GPUs 1 and 2 to GPU 0: from 250 ns on the switch sends 20 packets in turn,
// 10 ns each. The last but one, of GPU 1, is there at 250 + 190 + 250 ns.
static void test_packet_two_into_one_port_take_turns(void **state) {
    (void)state;
    Run r;
    NetTransfer list[] = {{1, 0, 9000, 0}, {2, 0, 9000, 0}};
    run(&r, "switch:3,100GB/s,latency=250ns", list, 2, &small);
    assert_int_equal(finish_ns(&r, 0), 690);
    assert_int_equal(finish_ns(&r, 1), 700);
    end(&r);
}

// A source serves its transfers in turn, beginning with the GPU after itself: from GPU 1 the packet
// to GPU 2 leaves at 0 ns, the one to GPU 0 at 10 ns.
static void test_packet_source_begins_with_the_next_gpu(void **state) {
    (void)state;
    Run r;
    NetTransfer list[] = {{1, 0, 900, 0}, {1, 2, 900, 0}};
    run(&r, "switch:3,100GB/s,latency=250ns", list, 2, &small);
    assert_int_equal(finish_ns(&r, 1), 510);
    assert_int_equal(finish_ns(&r, 0), 520);
    end(&r);
}

// A transfer of nothing takes the latency; one that starts at 1 us is there 1 us later.
static void test_packet_starts_when_told(void **state) {
    (void)state;
    Run r;
    NetTransfer list[] = {{0, 1, 900, 1000 * PS_PER_NS}, {2, 1, 0, 0}};
    run(&r, "switch:3,100GB/s,latency=250ns", list, 2, &small);
    assert_int_equal(finish_ns(&r, 0), 1510);
    assert_int_equal(finish_ns(&r, 1), 500);
    end(&r);
}

// Eight GPUs send 10 packets each into one port, with room for 2 packets behind each link. The port
// sends two from 250 ns on and has to wait for the first credit: 10 ns of the packet, 250 ns on the
// way and 250 ns for the credit to come back. So 80 packets go in 40 rounds of 510 ns, the last two
// from 250 + 39 x 510 on, and are there at 20140 + 20 + 250 ns. The rooms at the switch fill and
// the senders stand. With room for all the port never waits: 250 + 800 + 250.
static void test_packet_incast_blocks_with_finite_buffers(void **state) {
    (void)state;
    Run r;
    NetTransfer list[8];
    for (uint32_t i = 0; i < 8; i++) list[i] = (NetTransfer){i + 1, 0, 9000, 0};
    PacketOptions tight = small;
    tight.buffer_B = 2000;
    run(&r, "switch:9,100GB/s,latency=250ns", list, 8, &tight);
    assert_int_equal(r.result.end_ps, 20410 * PS_PER_NS);
    const PacketLink *up = link_of(&r, "gpu[3] -> switch");
    assert_int_equal(up->buffer_B, 2000);
    assert_int_equal(up->peak_B, 2000);
    assert_true(up->blocked_ps > 0);
    end(&r);
    tight.buffer_B = 1000000;
    run(&r, "switch:9,100GB/s,latency=250ns", list, 8, &tight);
    assert_int_equal(r.result.end_ps, 1300 * PS_PER_NS);
    assert_int_equal(link_of(&r, "gpu[3] -> switch")->blocked_ps, 0);
    end(&r);
}

// GPU 1 sends 100 packets to GPU 0 and 100 to GPU 9, in turn; GPUs 2 to 8 send 100 each to GPU 0.
// The port to GPU 0 gives GPU 1 every eighth packet. With ample buffers the packets to GPU 9 do not
// notice: they leave GPU 1 every 20 ns, the first (GPU 9 comes before GPU 0 in its turn) at 0, and
// the last is there at 99 x 20 + 10 + 20 ns. With room for 4 packets the buffer fills with
// packets to GPU 0, and GPU 1 can send only as fast as those leave: every 80 ns one to each. The
// last ones to GPU 9 wait for nearly all of 100 x 80 ns.
static void test_packet_victim_waits_behind_a_full_buffer(void **state) {
    (void)state;
    Run r;
    NetTransfer list[9] = {{1, 9, 90000, 0}};
    for (uint32_t i = 0; i < 8; i++) list[i + 1] = (NetTransfer){i + 1, 0, 90000, 0};
    PacketOptions options = small;
    options.buffer_B = 1000000;
    run(&r, "switch:10,100GB/s,latency=10ns", list, 9, &options);
    assert_int_equal(finish_ns(&r, 0), 2010);
    end(&r);
    options.buffer_B = 4000;
    run(&r, "switch:10,100GB/s,latency=10ns", list, 9, &options);
    assert_in_range(finish_ns(&r, 0), 7500, 8000);
    // the port itself never idles: 800 packets
    assert_int_equal(r.result.end_ps, (10 + 8000 + 10) * PS_PER_NS);
    for (uint32_t i = 0; i < r.report.link_count; i++)
        assert_true(r.report.links[i].peak_B <= r.report.links[i].buffer_B);
    end(&r);
}

// GPUs 0 and 1 send 100 packets each to GPU 2 over one of two planes. On different planes each
// takes 250 + 1000 + 250 ns; on the same one the last of 200 packets comes 1000 ns later. Which it
// is depends on the seed alone; of 64 seeds about half collide (fewer than 16 or more than 48: once
// in 10^5).
static void test_packet_hashed_transfers_collide(void **state) {
    (void)state;
    Arena arena = {0};
    NetTransfer list[] = {{0, 2, 90000, 0}, {1, 2, 90000, 0}};
    PacketOptions hash = small;
    hash.policy = ROUTE_HASH;
    uint32_t collisions = 0;
    for (hash.seed = 0; hash.seed < 64; hash.seed++) {
        Run r;
        run(&r, planes(&arena, 3, 2), list, 2, &hash);
        uint64_t first = link_of(&r, "plane[0] -> gpu[2]")->wire_B;
        bool collide = first == 200000 || first == 0;
        assert_int_equal(r.result.end_ps, (collide ? 2500 : 1500) * PS_PER_NS);
        collisions += collide;
        end(&r);
    }
    assert_in_range(collisions, 16, 48);
    arena_free(&arena);
}

// The same two transfers, their packets dealt over both planes or sent where less is queued: 100
// packets come over each plane.
static void test_packet_spread_transfers_do_not_collide(void **state) {
    (void)state;
    Arena arena = {0};
    NetTransfer list[] = {{0, 2, 90000, 0}, {1, 2, 90000, 0}};
    PacketOptions options = small;
    const RoutePolicy policies[] = {ROUTE_STRIPE, ROUTE_ADAPTIVE};
    for (int i = 0; i < 2; i++) {
        Run r;
        options.policy = policies[i];
        run(&r, planes(&arena, 3, 2), list, 2, &options);
        assert_int_equal(link_of(&r, "plane[0] -> gpu[2]")->wire_B, 100000);
        assert_int_equal(link_of(&r, "plane[1] -> gpu[2]")->wire_B, 100000);
        assert_int_equal(r.result.end_ps, 1500 * PS_PER_NS);
        end(&r);
    }
    arena_free(&arena);
}

// Between two GPUs of an HGX H100 there are 18 NVLinks over 4 switches, 4, 5, 5 and 4 of them: of
// 180 packets 40, 50, 50 and 40.
static void test_packet_spray_follows_the_weights(void **state) {
    (void)state;
    Run r;
    NetTransfer list[] = {{0, 5, 180 * 900, 0}};
    run(&r, "hgx-h100.json", list, 1, &small);
    const uint64_t want[] = {40000, 50000, 50000, 40000};
    for (uint32_t i = 0; i < 4; i++) {
        char name[64];
        snprintf(name, sizeof name, "gpu[0] -> nvswitch[%u]", i);
        assert_int_equal(link_of(&r, name)->wire_B, want[i]);
        snprintf(name, sizeof name, "nvswitch[%u] -> gpu[5]", i);
        assert_int_equal(link_of(&r, name)->wire_B, want[i]);
    }
    end(&r);
}

// A list of random transfers between 16 GPUs of a fat tree.
static void random_list(NetTransfer *list, uint32_t count, uint32_t gpus) {
    Rng rng;
    rng_seed(&rng, 7);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t from = (uint32_t)rng_below(&rng, gpus);
        uint32_t to = (from + 1 + (uint32_t)rng_below(&rng, gpus - 1)) % gpus;
        Time start = (Time)rng_below(&rng, 3) * 500 * PS_PER_NS;
        list[i] = (NetTransfer){from, to, rng_below(&rng, 20000), start};
    }
}

// What goes over the last links is the bytes and a header for each packet: none is lost, none is
// sent twice, whatever the policy.
static void test_packet_conserves_bytes(void **state) {
    (void)state;
    Arena arena = {0};
    NetTransfer list[200];
    random_list(list, 200, 32);
    uint64_t want = 0, packets = 0;
    for (uint32_t i = 0; i < 200; i++) {
        uint64_t of_one = (list[i].bytes + 899) / 900;
        packets += of_one;
        want += list[i].bytes + 100 * of_one;
    }
    PacketOptions options = small;
    options.buffer_B = 3000;
    for (uint32_t policy = 0; policy < ROUTE_POLICY_COUNT; policy++) {
        Run r;
        uint64_t got = 0;
        options.policy = (RoutePolicy)policy;
        run(&r, net_machine_fat_tree(&arena, 4, 3), list, 200, &options);
        for (uint32_t i = 0; i < r.report.link_count; i++) {
            VertexId to = fabric_link(&r.machine.fabric, r.report.links[i].link).to;
            if (fabric_class(&r.machine.fabric, to)->kind == PART_GPU)
                got += r.report.links[i].wire_B;
        }
        assert_int_equal(got, want);
        assert_int_equal(r.report.packets, packets);
        assert_true(r.result.end_ps >= r.result.bound_ps);
        end(&r);
    }
    arena_free(&arena);
}

// The list backwards: the same transfers end at the same times.
static void test_packet_order_of_the_list_does_not_matter(void **state) {
    (void)state;
    Arena arena = {0};
    NetTransfer list[200], back[200];
    random_list(list, 200, 32);
    for (uint32_t i = 0; i < 200; i++) back[i] = list[199 - i];
    for (uint32_t policy = 0; policy < ROUTE_POLICY_COUNT; policy++) {
        Run a, b;
        PacketOptions options = small;
        options.policy = (RoutePolicy)policy;
        run(&a, net_machine_fat_tree(&arena, 4, 3), list, 200, &options);
        run(&b, net_machine_fat_tree(&arena, 4, 3), back, 200, &options);
        for (uint32_t i = 0; i < 200; i++)
            assert_int_equal(a.result.finish[i], b.result.finish[199 - i]);
        end(&a);
        end(&b);
    }
    arena_free(&arena);
}

// All pairs of `gpus`, sizes uniform within the skew around the mean.
static NetTransfer *skewed(Arena *arena, uint32_t gpus, uint64_t mean, double skew,
                           uint32_t *count) {
    NetTransfer *list = arena_alloc(arena, (size_t)gpus * gpus, sizeof *list);
    Rng rng;
    rng_seed(&rng, 3);
    *count = 0;
    for (uint32_t from = 0; from < gpus; from++)
        for (uint32_t to = 0; to < gpus; to++) {
            if (from == to) continue;
            double size = (double)mean * (1 + skew * (2 * rng_unit(&rng) - 1));
            list[(*count)++] = (NetTransfer){from, to, (uint64_t)size, 0};
        }
    return list;
}

// On one switch both models agree within 2 %, sizes equal or not, from a quarter of a packet to
// sixteen.
static void test_packet_agrees_with_flow_on_a_crossbar(void **state) {
    (void)state;
    const uint64_t sizes[] = {1024, 7168, 65536};
    const double skews[] = {0, 0.5, 0.9};
    NetMachine machine;
    net_machine_open(&machine, "switch:36,500GB/s,latency=250ns");
    PacketOptions options = packet_defaults();
    TransfersOptions counted = {.mtu_B = options.mtu_B, .header_B = options.header_B};
    for (int i = 0; i < 9; i++) {
        Arena arena = {0};
        Err err = {0};
        TransfersResult flow = {0}, packet = {0};
        uint32_t count;
        NetTransfer *list = skewed(&arena, 36, sizes[i / 3], skews[i % 3], &count);
        check_ok(transfers_run(&machine.fabric, list, count, &counted, &flow, &err), &err);
        check_ok(packet_run(&machine.fabric, list, count, &options, &packet, NULL, &err), &err);
        check_close((double)packet.end_ps, (double)flow.end_ps, 0.02);
        assert_int_equal(packet.bound_ps, flow.bound_ps);
        transfers_result_free(&flow);
        transfers_result_free(&packet);
        arena_free(&arena);
    }
    net_machine_close(&machine);
}

// Five GPUs in a ring, each sends to the one after the next, with room for one packet behind each
// link: all first packets are one link away and each waits for the room that the next one takes.
static void test_packet_deadlock_names_who_waits(void **state) {
    (void)state;
    NetMachine machine;
    Err err = {0};
    TransfersResult result = {0};
    NetTransfer list[5];
    for (uint32_t i = 0; i < 5; i++) list[i] = (NetTransfer){i, (i + 2) % 5, 9000, 0};
    net_machine_open(&machine, "ring:5,100GB/s,latency=250ns");
    PacketOptions options = small;
    options.buffer_B = 1000;
    check_fails(packet_run(&machine.fabric, list, 5, &options, &result, NULL, &err), &err,
                "no packet can move after 250 ns, 50 have not arrived: waiting for room behind "
                "gpu[0] -> gpu[1], which waits for gpu[1] -> gpu[2], which waits for gpu[2] -> "
                "gpu[3], which waits for gpu[3] -> gpu[4], which waits for gpu[4] -> gpu[0], which "
                "waits for the first");
    net_machine_close(&machine);
}

// With more room the ring goes round. Each link sends its own 10 packets by 100 ns and those of its
// neighbour as they come in, from 250 to 350 ns: 350 + 250.
static void test_packet_ring_moves_with_room(void **state) {
    (void)state;
    Run r;
    NetTransfer list[5];
    for (uint32_t i = 0; i < 5; i++) list[i] = (NetTransfer){i, (i + 2) % 5, 9000, 0};
    run(&r, "ring:5,100GB/s,latency=250ns", list, 5, &small);
    assert_int_equal(r.result.end_ps, 600 * PS_PER_NS);
    end(&r);
}

static void test_packet_refuses(void **state) {
    (void)state;
    NetMachine machine;
    Err err = {0};
    TransfersResult result = {0};
    net_machine_open(&machine, "switch:4,100GB/s");
    const NetTransfer good = {0, 1, 900, 0}, far = {0, 5, 900, 0},
                      huge = {0, 1, UINT64_C(1) << 40, 0};
    PacketOptions options = small;
#define REFUSES(list, message)                                                                     \
    check_fails(packet_run(&machine.fabric, &(list), 1, &options, &result, NULL, &err), &err,      \
                message)
    REFUSES(far, "transfer 0: part 5 is not there: the machine has GPUs 0 to 3 and parts to 4");
    REFUSES(huge, "the transfers have over 134217728 packets: expected fewer bytes or a larger MTU "
                  "than 900 B");
    options.buffer_B = 999;
    REFUSES(good, "expected a buffer of at least a packet (1000 B) and at most "
                  "1152921504606846976 B, found 999 B");
    options.mtu_B = 0;
    REFUSES(good, "expected an MTU of 1 to 1048576 B, found 0 B");
#undef REFUSES
    net_machine_close(&machine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packet_alone_is_cut_through),
        cmocka_unit_test(test_packet_meets_links_of_other_rates),
        cmocka_unit_test(test_packet_rate_is_exact_over_many),
        cmocka_unit_test(test_packet_two_into_one_port_take_turns),
        cmocka_unit_test(test_packet_source_begins_with_the_next_gpu),
        cmocka_unit_test(test_packet_starts_when_told),
        cmocka_unit_test(test_packet_incast_blocks_with_finite_buffers),
        cmocka_unit_test(test_packet_victim_waits_behind_a_full_buffer),
        cmocka_unit_test(test_packet_hashed_transfers_collide),
        cmocka_unit_test(test_packet_spread_transfers_do_not_collide),
        cmocka_unit_test(test_packet_spray_follows_the_weights),
        cmocka_unit_test(test_packet_conserves_bytes),
        cmocka_unit_test(test_packet_order_of_the_list_does_not_matter),
        cmocka_unit_test(test_packet_agrees_with_flow_on_a_crossbar),
        cmocka_unit_test(test_packet_deadlock_names_who_waits),
        cmocka_unit_test(test_packet_ring_moves_with_room),
        cmocka_unit_test(test_packet_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

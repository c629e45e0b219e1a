// Random machines, schedules, loads and faults for the simulator, each from one number.
#include "tests/sim/random_case.h"

#include "tests/check.h"

#include "model/base/text.h"

#define RANKS_MAX 40

typedef struct Draw {
    Rng rng;
    RandomCase *out;
} Draw;

static uint32_t below(Draw *draw, uint32_t bound) {
    return (uint32_t)rng_below(&draw->rng, bound);
}

static uint32_t between(Draw *draw, uint32_t low, uint32_t high) {
    return low + below(draw, high - low + 1);
}

static bool one_in(Draw *draw, uint32_t n) {
    return below(draw, n) == 0;
}

// ---- Machines

// Boxes of two kinds on one leaf, and switches of two speeds: no two digits to tell GPUs by.
static char *mixed_machine(Draw *draw) {
    return arena_printf(
        &draw->out->arena,
        "{\"moesim\": \"topology\", \"version\": 1, \"name\": \"mixed\", \"source\": \"test\","
        "\"templates\": {\"big\": {\"parts\": {\"gpu\": {\"kind\": \"gpu\", \"count\": %u},"
        "\"plane\": {\"kind\": \"switch\", \"count\": 2}, \"nic\": {\"kind\": \"nic\", \"count\": "
        "1}},"
        "\"links\": [{\"from\": \"gpu[*]\", \"to\": \"plane[0]\", \"class\": \"nvlink\","
        "\"bandwidth\": \"100 GB/s\", \"latency\": \"250 ns\"},"
        "{\"from\": \"gpu[*]\", \"to\": \"plane[1]\", \"class\": \"nvlink\","
        "\"bandwidth\": \"60 GB/s\", \"latency\": \"250 ns\"},"
        "{\"from\": \"gpu[*]\", \"to\": \"nic[0]\", \"class\": \"pcie\", \"bandwidth\": \"63 "
        "GB/s\","
        "\"latency\": \"300 ns\"}]},"
        "\"small\": {\"parts\": {\"gpu\": {\"kind\": \"gpu\", \"count\": %u},"
        "\"nic\": {\"kind\": \"nic\", \"count\": 1}},"
        "\"links\": [{\"from\": \"gpu[*]\", \"to\": \"gpu[*]\", \"class\": \"nvlink\","
        "\"bandwidth\": \"50 GB/s\", \"latency\": \"200 ns\"},"
        "{\"from\": \"gpu[*]\", \"to\": \"nic[0]\", \"class\": \"pcie\", \"bandwidth\": \"32 "
        "GB/s\","
        "\"latency\": \"300 ns\"}]},"
        "\"hall\": {\"parts\": {\"big\": {\"template\": \"big\", \"count\": %u},"
        "\"small\": {\"template\": \"small\", \"count\": %u},"
        "\"leaf\": {\"kind\": \"switch\", \"count\": 1}},"
        "\"links\": [{\"from\": \"big[*].nic[0]\", \"to\": \"leaf[0]\", \"class\": \"ib\","
        "\"bandwidth\": \"50 GB/s\", \"latency\": \"300 ns\"},"
        "{\"from\": \"small[*].nic[0]\", \"to\": \"leaf[0]\", \"class\": \"ib\","
        "\"bandwidth\": \"25 GB/s\", \"latency\": \"300 ns\"}]}}, \"machine\": \"hall\"}",
        between(draw, 2, 4), between(draw, 2, 4), between(draw, 1, 2), between(draw, 1, 2));
}

// One fault, on a link of a GPU (or what stands for it), a plane or the GPU; NULL for none.
static char *one_fault(Draw *draw, const char *gpu, const char *plane, uint32_t planes) {
    Arena *arena = &draw->out->arena;
    const char *left[] = {"\"state\": \"down\"", "\"capacity\": \"50 %\"", "\"capacity\": \"3/7\""};
    const char *state = left[below(draw, 3)];
    switch (below(draw, 4)) {
    case 0:
        return arena_printf(arena, "{\"from\": \"%s\", \"to\": \"%s[%u]\", %s}", gpu, plane,
                            below(draw, planes), state);
    case 1:
        return arena_printf(arena, "{\"part\": \"%s[%u]\", %s}", plane, below(draw, planes), state);
    case 2: return arena_printf(arena, "{\"part\": \"%s\", %s}", gpu, state);
    default: break;
    }
    return NULL;
}

static char *fault_of(Draw *draw, const char *gpu, const char *plane, uint32_t planes) {
    char *first = one_fault(draw, gpu, plane, planes);
    char *second = one_in(draw, 2) ? one_fault(draw, gpu, plane, planes) : NULL;
    if (first == NULL || second == NULL) return first;
    return arena_printf(&draw->out->arena, "%s, %s", first, second);
}

static char *add_faults(Draw *draw, char *json, const char *fault) {
    size_t length = strlen(json);
    if (fault == NULL) return json;
    text_addf(&draw->out->text, ", fault %s", fault);
    json[length - 1] = '\0';
    return arena_printf(&draw->out->arena, "%s, \"faults\": [%s]}", json, fault);
}

static char *switch_machine(Draw *draw, char **fault) {
    uint32_t gpus = between(draw, 2, 16), planes = between(draw, 1, 5);
    text_addf(&draw->out->text, "switch of %u GPUs, %u planes", gpus, planes);
    *fault = fault_of(draw, arena_printf(&draw->out->arena, "gpu[%u]", below(draw, gpus)), "plane",
                      planes);
    return sim_machine_switch(&draw->out->arena, gpus, planes, "37 GB/s");
}

static char *rails_machine(Draw *draw, char **fault) {
    uint32_t units = between(draw, 1, 3), nodes = between(draw, 1, 4), gpus = between(draw, 1, 4);
    uint32_t spines = between(draw, 1, 4), unit = below(draw, units);
    text_addf(&draw->out->text, "rails of %u units, %u nodes, %u GPUs, %u spines", units, nodes,
              gpus, spines);
    char *gpu =
        arena_printf(&draw->out->arena, "unit[%u].node[%u].%s[%u]", unit, below(draw, nodes),
                     one_in(draw, 2) ? "gpu" : "nic", below(draw, gpus));
    if (one_in(draw, 3))
        *fault = fault_of(
            draw, arena_printf(&draw->out->arena, "unit[%u].leaf[%u]", unit, below(draw, gpus)),
            "spine", spines);
    else
        *fault = fault_of(draw, gpu,
                          one_in(draw, 2)
                              ? arena_printf(&draw->out->arena, "unit[%u].leaf", unit)
                              : arena_printf(&draw->out->arena, "unit[%u].node[0].plane", unit),
                          1);
    return sim_machine_rails(&draw->out->arena, units, nodes, gpus, spines);
}

static char *racks_machine(Draw *draw, char **fault) {
    uint32_t racks = between(draw, 1, 5), trays = between(draw, 1, 5), rack = below(draw, racks);
    text_addf(&draw->out->text, "%u racks of %u trays", racks, trays);
    char *gpu = arena_printf(&draw->out->arena, "rack[%u].tray[%u].gpu[%u]", rack,
                             below(draw, trays), below(draw, 2));
    *fault = fault_of(draw, gpu, arena_printf(&draw->out->arena, "rack[%u].plane", rack), 3);
    return sim_machine_racks(&draw->out->arena, racks, trays);
}

// The same machine with hashed paths over its network: no formulas for routes.
static char *with_hashes(Draw *draw, char *json) {
    static const char plain[] = "\"class\": \"ib\",";
    Text text = {0};
    for (const char *at = json, *found; *at != '\0'; at = found + strlen(plain)) {
        found = strstr(at, plain);
        if (found == NULL) {
            text_add(&text, at);
            break;
        }
        text_add_bytes(&text, at, (size_t)(found - at));
        text_addf(&text, "%s \"policy\": \"hash\",", plain);
    }
    char *hashed = arena_string(&draw->out->arena, text_string(&text));
    text_add(&draw->out->text, ", hashed");
    text_free(&text);
    return hashed;
}

static const char *line_machine(Draw *draw) {
    Arena *arena = &draw->out->arena;
    switch (below(draw, 5)) {
    case 0: return arena_printf(arena, "ring:%u,50GB/s", between(draw, 2, 12));
    case 1: return arena_printf(arena, "mesh:%u,50GB/s", between(draw, 2, 9));
    case 2:
        return arena_printf(arena, "torus:%ux%u,50GB/s", between(draw, 2, 4), between(draw, 2, 4));
    case 3: return "fattree:k=4,50GB/s";
    default: break;
    }
    return "dragonfly:p=1,a=2,h=1,50GB/s";
}

static bool build_fabric(RandomCase *out) {
    Err err = {0};
    if (fabric_build(&out->bench.topology, &out->bench.catalogue, &out->bench.fabric, &err))
        return true;
    text_addf(&out->text, " (not: %s)", err.text);
    return false;
}

static void open_machine(Draw *draw) {
    RandomCase *out = draw->out;
    char *json = NULL, *fault = NULL;
    const char *line = NULL;
    switch (below(draw, 6)) {
    case 0: json = switch_machine(draw, &fault); break;
    case 1: json = rails_machine(draw, &fault); break;
    case 2:
    case 3: json = racks_machine(draw, &fault); break;
    case 4:
        json = mixed_machine(draw);
        text_add(&out->text, "mixed");
        break;
    default:
        line = line_machine(draw);
        text_add(&out->text, line);
        break;
    }
    Err err = {0};
    sim_machine_init(&out->bench);
    if (json != NULL && one_in(draw, 5)) json = with_hashes(draw, json);
    if (line != NULL) {
        check_ok(device_load(&out->bench.catalogue, &err), &err);
        check_ok(topology_load(line, &out->bench.topology, &err), &err);
        check_ok(
            fabric_build(&out->bench.topology, &out->bench.catalogue, &out->bench.fabric, &err),
            &err);
        return;
    }
    char *whole = arena_string(&out->arena, json), *broken = add_faults(draw, json, fault);
    check_ok(topology_parse("test", broken, strlen(broken), &out->bench.topology, &err), &err);
    if (build_fabric(out)) return;
    topology_free(&out->bench.topology); // the fault leaves no machine
    check_ok(topology_parse("test", whole, strlen(whole), &out->bench.topology, &err), &err);
    check_ok(fabric_build(&out->bench.topology, &out->bench.catalogue, &out->bench.fabric, &err),
             &err);
}

// ---- Schedules

static uint32_t divisor(Draw *draw, uint32_t number) {
    uint32_t found = 1 + below(draw, number);
    while (number % found != 0) found--;
    return found;
}

static GroupId draw_family(Draw *draw, uint32_t ranks) {
    uint32_t size = divisor(draw, ranks), stride = 1;
    while (one_in(draw, 2) && 2 * size <= ranks && ranks % (2 * size) == 0) size *= 2;
    uint32_t count = ranks / size;
    if (one_in(draw, 3)) stride = divisor(draw, count);
    return schedule_add_group(&draw->out->schedule,
                              &(GroupFamily){"group", size, stride, count, 0, ranks, count});
}

static Comm draw_collective(Draw *draw, GroupId group, uint32_t channel) {
    uint32_t n = draw->out->schedule.groups[group].size;
    Comm comm = {.group = group,
                 .channel = channel,
                 .bytes = extent_fixed(1 + below(draw, 3000000)),
                 .element = 2,
                 .format = NUMFMT_BF16,
                 .sms = one_in(draw, 3) ? 10 : 0};
    do {
        comm.collective = (Collective)below(draw, COLLECTIVE_COUNT);
        comm.algorithm = (Algorithm)below(draw, ALGORITHM_COUNT);
    } while (!collective_has(comm.collective, comm.algorithm));
    comm.inner = divisor(draw, n);
    if (comm.algorithm == ALGORITHM_HIERARCHICAL && n > 1 && comm.inner == 1) comm.inner = n;
    if (comm.algorithm == ALGORITHM_IN_SWITCH && one_in(draw, 2)) // few groups have a switch
        comm.algorithm = ALGORITHM_DIRECT;
    if (comm.collective != COLLECTIVE_ALL_TO_ALL || one_in(draw, 2) ||
        draw->out->schedule.role_count > 1 || draw->out->schedule.groups[group].stride > 1)
        return comm;
    comm.split = one_in(draw, 2) ? SPLIT_BY_DESTINATION : SPLIT_BY_SOURCE;
    comm.experts = 2;
    comm.experts_total = 2 * n;
    comm.rail_ppm = one_in(draw, 2) ? 700000 : 0;
    return comm;
}

// The same operations in every role, so that collectives meet; their compute may differ.
typedef struct Item {
    Op op;
    uint64_t bytes[2]; // of compute, by role
    uint32_t wait;     // an earlier item; SCHEDULE_NONE: none
} Item;

static Item draw_item(Draw *draw, uint32_t number, GroupId group) {
    Item item = {.wait = SCHEDULE_NONE};
    uint32_t stream = below(draw, 2);
    item.op = sim_machine_memory_op("compute", stream, 0);
    for (uint32_t r = 0; r < 2; r++) item.bytes[r] = below(draw, 5000000);
    if (one_in(draw, 2)) item.bytes[1] = item.bytes[0];
    if (number > 0 && one_in(draw, 2)) item.wait = below(draw, number);
    if (one_in(draw, 3)) return item;
    item.op.kind = OP_COLLECTIVE;
    item.op.name = "collective";
    item.op.compute = (Compute){0};
    item.op.comm = draw_collective(draw, group, number);
    text_addf(&draw->out->text, ", %s %s of %u by %u", algorithm_names[item.op.comm.algorithm],
              collective_names[item.op.comm.collective], draw->out->schedule.groups[group].size,
              draw->out->schedule.groups[group].stride);
    return item;
}

static void add_items(Draw *draw, RoleId role, uint32_t number, const Item *items, uint32_t count,
                      uint32_t repeat) {
    Schedule *schedule = &draw->out->schedule;
    BlockId block = schedule_add_block(schedule, role, "block");
    OpId first = schedule->op_count;
    for (uint32_t i = 0; i < count; i++) {
        Op op = items[i].op;
        if (op.kind == OP_MEMORY) op.compute.bytes = extent_fixed(items[i].bytes[number]);
        schedule_add_op(schedule, &op);
        if (items[i].wait != SCHEDULE_NONE) schedule_add_wait(schedule, first + items[i].wait);
    }
    schedule_add_segment(schedule, role, block, repeat);
}

// A transfer from role 0 to role 1 after everything else of the block.
static void add_message(Draw *draw, RoleId from, RoleId to, bool sends, uint64_t bytes) {
    Schedule *schedule = &draw->out->schedule;
    Op op = {.kind = sends ? OP_SEND : OP_RECV,
             .op_class = OP_CLASS_PIPELINE,
             .name = sends ? "send" : "receive",
             .stream = 1};
    op.comm = (Comm){.peer = sends ? to : from,
                     .channel = 99,
                     .bytes = extent_fixed(bytes),
                     .element = 2,
                     .format = NUMFMT_BF16};
    schedule_add_op(schedule, &op);
}

static void add_experts(Draw *draw) {
    Schedule *schedule = &draw->out->schedule;
    const Op *dispatch = NULL;
    for (OpId o = 0; o < schedule->op_count; o++)
        if (schedule->ops[o].kind == OP_COLLECTIVE && schedule->ops[o].comm.split != SPLIT_EVEN)
            dispatch = &schedule->ops[o];
    if (dispatch == NULL) return;
    uint32_t total = dispatch->comm.experts_total;
    Op op = {.kind = OP_GROUPED_GEMM, .op_class = OP_CLASS_EXPERTS, .name = "experts"};
    op.compute = (Compute){.m = extent_fixed(1 + below(draw, 100000)),
                           .n = 1024,
                           .k = 1024,
                           .batch = 1,
                           .weight_format = NUMFMT_BF16,
                           .math_format = NUMFMT_BF16,
                           .experts = 2,
                           .experts_total = total};
    BlockId block = schedule_add_block(schedule, 0, "experts");
    schedule_add_op(schedule, &op);
    schedule_add_segment(schedule, 0, block, 1);
}

// All ranks alike; or two roles: a front and a back part, or the two halves of every period.
static uint32_t draw_roles(Draw *draw, uint32_t ranks) {
    Schedule *schedule = &draw->out->schedule;
    uint32_t passes = between(draw, 1, 2);
    if (ranks == 1 || one_in(draw, 2)) {
        schedule_add_role(schedule, "all", (RankSet){0, ranks, ranks, 1}, passes);
        return 1;
    }
    uint32_t period = ranks / divisor(draw, ranks);
    if (period == 1) period = ranks;
    uint32_t first = period % 2 == 0 && one_in(draw, 2) ? period / 2 : between(draw, 1, period - 1);
    text_addf(&draw->out->text, ", roles of %u and %u", first, period - first);
    schedule_add_role(schedule, "front", (RankSet){0, first, period, ranks / period}, passes);
    schedule_add_role(schedule, "back", (RankSet){first, period - first, period, ranks / period},
                      passes);
    return 2;
}

static void open_schedule(Draw *draw, uint32_t ranks) {
    Schedule *schedule = &draw->out->schedule;
    Item items[6];
    uint32_t count = between(draw, 1, 5), repeat = between(draw, 1, 3);
    schedule_init(schedule, "random", ranks);
    uint32_t roles = draw_roles(draw, ranks);
    for (uint32_t i = 0; i < count; i++) items[i] = draw_item(draw, i, draw_family(draw, ranks));
    bool has_message = roles == 2 && one_in(draw, 2) &&
                       schedule_role_size(schedule, 0) == schedule_role_size(schedule, 1);
    uint64_t bytes = 1 + below(draw, 2000000);
    Item again = items[0]; // on the same channel, of another size, in a block of its own
    bool has_again = again.op.kind == OP_COLLECTIVE && one_in(draw, 3);
    again.op.comm.bytes = extent_fixed(1 + below(draw, 3000000));
    again.wait = SCHEDULE_NONE;
    if (has_again) text_add(&draw->out->text, ", the first again");
    for (RoleId r = 0; r < roles; r++) {
        add_items(draw, r, r, items, count, repeat);
        if (has_again) add_items(draw, r, r, &again, 1, 2);
        if (!has_message) continue;
        BlockId block = schedule_add_block(schedule, r, "message");
        add_message(draw, 0, 1, r == 0, bytes);
        schedule_add_segment(schedule, r, block, 1);
    }
    if (roles == 1) add_experts(draw);
    schedule_finish(schedule);
}

// Counts of few values, so that some ranks are alike.
static void open_load(Draw *draw) {
    RandomCase *out = draw->out;
    uint32_t experts = 0;
    out->load = load_uniform();
    for (OpId o = 0; o < out->schedule.op_count; o++) {
        const Op *op = &out->schedule.ops[o];
        if (op->kind != OP_COLLECTIVE || op->comm.split == SPLIT_EVEN) continue;
        if (experts != 0 && op->comm.experts_total != experts) return;
        experts = op->comm.experts_total;
    }
    if (experts == 0 || one_in(draw, 3)) return;
    uint32_t sources = one_in(draw, 2) ? 1 : 2;
    uint64_t *tokens = arena_alloc(&out->arena, (size_t)experts * sources, sizeof *tokens);
    for (uint32_t i = 0; i < experts * sources; i++) tokens[i] = 1 + below(draw, 3);
    Err err = {0};
    load_free(&out->load);
    check_ok(load_of_counts(1, sources, experts, tokens, "test", &out->load, &err), &err);
    text_addf(&out->text, ", skewed over %u experts", experts);
}

void random_case_open(RandomCase *out, uint64_t seed) {
    *out = (RandomCase){.shape = {1, 1, 1, 1}};
    Draw draw = {.out = out};
    rng_seed(&draw.rng, seed);
    text_addf(&out->text, "seed %llu: ", (unsigned long long)seed);
    open_machine(&draw);
    uint32_t gpus = fabric_live_gpu_count(&out->bench.fabric), ranks = gpus;
    if (ranks > RANKS_MAX) ranks = RANKS_MAX;
    if (one_in(&draw, 3)) ranks = 1 + below(&draw, ranks);
    if (gpus > ranks) out->first_gpu = below(&draw, gpus - ranks + 1);
    text_addf(&out->text, ", %u ranks from GPU %u on", ranks, out->first_gpu);
    open_schedule(&draw, ranks);
    open_load(&draw);
}

void random_case_close(RandomCase *drawn) {
    load_free(&drawn->load);
    schedule_free(&drawn->schedule);
    sim_machine_close(&drawn->bench);
    text_free(&drawn->text);
    arena_free(&drawn->arena);
}

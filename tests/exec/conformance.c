// The cases of conformance and the causality of their times.
#include "tests/exec/conformance.h"

#include "tests/check.h"
#include "tests/plan/hand_schedule.h"
#include "tests/plan/lower_plans.h"

static const StepShape one_token = {.tokens = 1, .sequences = 1, .kv_tokens = 1, .qk_pairs = 1};

// ---- Cases

typedef struct Builder {
    Schedule *schedule;
    RoleId role;
    uint32_t channel;
} Builder;

static Builder begin(Conformance *out, const char *name, uint32_t ranks) {
    out->name = name;
    schedule_init(&out->schedule, name, ranks);
    RankSet all = {.count = ranks, .repeat = 1};
    return (Builder){.schedule = &out->schedule,
                     .role = schedule_add_role(&out->schedule, "all", all, 1)};
}

static BufferId add_buffer(const Builder *builder, const char *name, NumFmt format,
                           uint64_t bytes) {
    Buffer buffer = {.name = name,
                     .role = builder->role,
                     .format = format,
                     .life = BUFFER_STEP,
                     .bytes = extent_fixed(bytes)};
    return schedule_add_buffer(builder->schedule, &buffer);
}

// Reads `bytes` of a buffer and writes at most `room_B` of the next one: the first chunks are the
// longest, so rank 0 of an all-to-all gets more than it sends when the elements do not divide.
static void add_collective(Builder *builder, const Comm *comm, BufferId buffer, uint64_t bytes,
                           uint64_t room_B) {
    Op op = {.kind = OP_COLLECTIVE,
             .op_class = OP_CLASS_TP_COMM,
             .name = collective_names[comm->collective],
             .comm = *comm};
    op.comm.channel = builder->channel++;
    op.comm.bytes = extent_fixed(bytes);
    schedule_add_op(builder->schedule, &op);
    hand_slice(builder->schedule, buffer, SLICE_READ, 0, bytes);
    hand_slice(builder->schedule, buffer + 1, SLICE_WRITE, 0, room_B);
}

// Every collective by every algorithm that there is for it, one after another, twice.
static void collectives(Conformance *out, const char *name, uint32_t ranks, NumFmt format,
                        uint32_t elements) {
    Builder builder = begin(out, name, ranks);
    uint32_t element = format == NUMFMT_BF16 ? 2 : 4;
    uint64_t bytes = (uint64_t)element * elements;
    uint64_t room_B = (uint64_t)element * ((elements + ranks - 1) / ranks) * ranks;
    GroupFamily family = {.name = "all", .size = ranks, .stride = 1, .count = 1};
    GroupId group = schedule_add_group(&out->schedule, &family);
    for (uint32_t i = 0; i < COLLECTIVE_COUNT * ALGORITHM_COUNT; i++) {
        add_buffer(&builder, "in", format, bytes);
        add_buffer(&builder, "out", format, room_B);
    }
    BlockId block = schedule_add_block(&out->schedule, builder.role, "block");
    for (uint32_t kind = 0; kind < COLLECTIVE_COUNT; kind++) {
        for (uint32_t how = 0; how < ALGORITHM_COUNT; how++) {
            Comm comm = {.collective = (Collective)kind,
                         .algorithm = (Algorithm)how,
                         .inner = 2,
                         .group = group,
                         .element = element,
                         .format = format};
            if (!collective_has(comm.collective, comm.algorithm)) continue;
            add_collective(&builder, &comm, 2 * (kind * ALGORITHM_COUNT + how), bytes, room_B);
        }
    }
    schedule_add_segment(&out->schedule, builder.role, block, 2);
}

static void f32_of_four(Conformance *out) {
    collectives(out, "collectives of 4 ranks, f32", 4, NUMFMT_F32, 1003);
}

static void bf16_of_four(Conformance *out) {
    collectives(out, "collectives of 4 ranks, bf16", 4, NUMFMT_BF16, 70001);
}

// 3 elements for 8 ranks: most chunks are empty.
static void few_of_eight(Conformance *out) {
    collectives(out, "collectives of 8 ranks, 3 elements", 8, NUMFMT_F32, 3);
}

// Neighbours, every second rank, and all: groups of one family at the same time.
static void groups(Conformance *out) {
    static const GroupFamily families[] = {
        {.name = "neighbours", .size = 2, .stride = 1, .count = 2},
        {.name = "every second", .size = 2, .stride = 2, .count = 2},
        {.name = "all", .size = 4, .stride = 1, .count = 1},
        {.name = "alone", .size = 1, .stride = 1, .count = 4}};
    Builder builder = begin(out, "groups", 4);
    for (uint32_t i = 0; i < 4; i++) {
        schedule_add_group(&out->schedule, &families[i]);
        add_buffer(&builder, "in", NUMFMT_F32, 4000);
        add_buffer(&builder, "out", NUMFMT_F32, 4000);
    }
    BlockId block = schedule_add_block(&out->schedule, builder.role, "block");
    for (uint32_t i = 0; i < 4; i++) {
        Comm comm = {.collective = COLLECTIVE_ALL_TO_ALL,
                     .algorithm = ALGORITHM_DIRECT,
                     .group = i,
                     .element = 4,
                     .format = NUMFMT_F32};
        add_collective(&builder, &comm, 2 * i, 4000, 4000);
    }
    schedule_add_segment(&out->schedule, builder.role, block, 3);
    out->meets_all = true;
}

static void ring(Conformance *out) {
    out->name = "ring of four";
    hand_ring(3, 1, &out->schedule);
}

// Four stages; the first is two passes ahead of what comes back from the last.
static void pipeline(Conformance *out) {
    out->name = "pipeline with a lag";
    hand_ring(7, 2, &out->schedule);
}

// Chunks: copied on one stream, sent on another, each after its copy, and taken by a third copy
// after it came.
static void overlap(Conformance *out) {
    enum { CHUNKS = 4, CHUNK_B = 16384 };
    Builder builder = begin(out, "overlap on two streams", 4);
    GroupFamily family = {.name = "all", .size = 4, .stride = 1, .count = 1};
    GroupId group = schedule_add_group(&out->schedule, &family);
    BufferId source = add_buffer(&builder, "source", NUMFMT_F32, CHUNKS * CHUNK_B);
    BufferId sent = add_buffer(&builder, "sent", NUMFMT_F32, CHUNKS * CHUNK_B);
    BufferId came = add_buffer(&builder, "came", NUMFMT_F32, CHUNKS * CHUNK_B);
    BufferId result = add_buffer(&builder, "result", NUMFMT_F32, CHUNKS * CHUNK_B);
    BlockId block = schedule_add_block(&out->schedule, builder.role, "block");
    for (uint32_t i = 0; i < CHUNKS; i++) {
        Op copy = {.kind = OP_COPY, .op_class = OP_CLASS_OTHER, .name = "copy"};
        copy.compute.bytes = extent_fixed(CHUNK_B);
        OpId packed = schedule_add_op(&out->schedule, &copy);
        // the chunk of the iteration before has gone: its all-to-all is 2 operations further down
        schedule_add_wait(&out->schedule, packed + 1);
        hand_slice(&out->schedule, source, SLICE_READ, i * CHUNK_B, CHUNK_B);
        hand_slice(&out->schedule, sent, SLICE_WRITE, i * CHUNK_B, CHUNK_B);
        Op exchange = {
            .kind = OP_COLLECTIVE, .op_class = OP_CLASS_DISPATCH, .name = "exchange", .stream = 1};
        exchange.comm = (Comm){.collective = COLLECTIVE_ALL_TO_ALL,
                               .algorithm = ALGORITHM_DIRECT,
                               .group = group,
                               .channel = i,
                               .bytes = extent_fixed(CHUNK_B),
                               .element = 4,
                               .format = NUMFMT_F32};
        schedule_add_op(&out->schedule, &exchange);
        schedule_add_wait(&out->schedule, packed);
        schedule_add_wait(&out->schedule, packed + 2);
        hand_slice(&out->schedule, sent, SLICE_READ, i * CHUNK_B, CHUNK_B);
        hand_slice(&out->schedule, came, SLICE_WRITE, i * CHUNK_B, CHUNK_B);
        copy.name = "take";
        copy.stream = 2;
        schedule_add_op(&out->schedule, &copy);
        schedule_add_wait(&out->schedule, packed + 1);
        hand_slice(&out->schedule, came, SLICE_READ, i * CHUNK_B, CHUNK_B);
        hand_slice(&out->schedule, result, SLICE_WRITE, i * CHUNK_B, CHUNK_B);
    }
    schedule_add_segment(&out->schedule, builder.role, block, 3);
    out->meets_all = true;
}

// 8 experts on 4 ranks, 2 each: dispatch and combine of `elements` of each rank.
static void routed(Conformance *out, const char *name, Algorithm algorithm, uint64_t elements) {
    Builder builder = begin(out, name, 4);
    GroupFamily family = {.name = "ep", .size = 4, .stride = 1, .count = 1};
    GroupId group = schedule_add_group(&out->schedule, &family);
    BufferId tokens = add_buffer(&builder, "tokens", NUMFMT_F32, 4 * elements);
    BufferId held = add_buffer(&builder, "held", NUMFMT_F32, 16 * elements);
    BufferId results = add_buffer(&builder, "results", NUMFMT_F32, 4 * elements);
    BlockId block = schedule_add_block(&out->schedule, builder.role, "block");
    for (uint32_t i = 0; i < 2; i++) {
        Op op = {.kind = OP_COLLECTIVE,
                 .op_class = i == 0 ? OP_CLASS_DISPATCH : OP_CLASS_COMBINE,
                 .name = i == 0 ? "dispatch" : "combine"};
        op.comm = (Comm){.collective = COLLECTIVE_ALL_TO_ALL,
                         .algorithm = algorithm,
                         .inner = 2,
                         .group = group,
                         .channel = i,
                         .bytes = extent_fixed(4 * elements),
                         .split = i == 0 ? SPLIT_BY_DESTINATION : SPLIT_BY_SOURCE,
                         .experts = 2,
                         .experts_total = 8,
                         .element = 4,
                         .format = NUMFMT_F32};
        schedule_add_op(&out->schedule, &op);
        hand_slice(&out->schedule, i == 0 ? tokens : held, SLICE_READ, 0,
                   i == 0 ? 4 * elements : 16 * elements);
        hand_slice(&out->schedule, i == 0 ? held : results, SLICE_WRITE, 0,
                   i == 0 ? 16 * elements : 4 * elements);
    }
    schedule_add_segment(&out->schedule, builder.role, block, 2);
}

// Rank 0 has most tokens, rank 1 none.
static void skew(Conformance *out) {
    const uint64_t tokens[8] = {61, 20, 0, 0, 7, 5, 4, 3};
    Err err = {0};
    check_ok(load_of_counts(1, 1, 8, tokens, "test", &out->load, &err), &err);
}

static void skewed(Conformance *out) {
    routed(out, "skewed all-to-all", ALGORITHM_DIRECT, 5003);
    skew(out);
}

static void empty(Conformance *out) {
    routed(out, "all-to-all of nothing", ALGORITHM_PAIRWISE, 0);
}

static void hierarchical(Conformance *out) {
    routed(out, "hierarchical all-to-all", ALGORITHM_HIERARCHICAL, 5003);
    skew(out);
}

// A lowered plan of Qwen3-235B on 4 ranks of 32 experts, of which rank 0 gets 24 of all 32 pairs of
// a layer: three times the even load that lowering makes room for. Tokens by expert fall as 1 / e.
static void lowered(Conformance *out) {
    enum { EXPERTS = 128 };
    uint64_t tokens[EXPERTS];
    Arch arch = lower_plans_load(QWEN);
    Plan plan = lower_plans_make(1, 1, 4, 4);
    Err err = {0};
    out->name = "lowered plan, skewed";
    out->schedule = lower_plans_lower(&plan, &arch, PHASE_DECODE, 1);
    for (uint32_t i = 0; i < EXPERTS; i++) tokens[i] = 1000000 / (i + 1);
    check_ok(load_of_counts(1, 1, EXPERTS, tokens, "test", &out->load, &err), &err);
    arch_free(&arch);
}

void conformance_open(uint32_t index, Conformance *out) {
    static void (*const cases[CONFORMANCE_CASES])(Conformance *) = {
        f32_of_four, bf16_of_four, few_of_eight, groups,       ring,   pipeline,
        overlap,     skewed,       empty,        hierarchical, lowered};
    Err err = {0};
    *out = (Conformance){.load = load_uniform()};
    cases[index](out);
    schedule_finish(&out->schedule);
    check_ok(job_open(&out->schedule, &one_token, &out->load, &out->job, &err), &err);
}

void conformance_close(Conformance *conformance) {
    job_close(&conformance->job);
    schedule_free(&conformance->schedule);
    load_free(&conformance->load);
}

void conformance_fill(void *context, BufferId buffer, uint32_t rank, uint8_t *bytes,
                      uint64_t count) {
    const Conformance *conformance = context;
    bool is_bf16 = conformance->schedule.buffers[buffer].format == NUMFMT_BF16;
    uint32_t size = is_bf16 ? 2 : 4;
    for (uint64_t i = 0; i + size <= count; i += size) {
        // bf16 is the upper half of a float, which has all whole numbers up to 256 exactly; sums of
        // 8 of these stay below
        float value = (float)((i / size * 7 + 3 * buffer + 5 * rank) % 32);
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        if (is_bf16) bits >>= 16;
        memcpy(bytes + i, &bits, size);
    }
}

// ---- Causality

typedef struct Checker {
    const Conformance *conformance;
    const char *who;
    const ConformanceSpan **first; // [op][rank] of its instances, or NULL
    uint64_t *counts;              // [op][rank]
    uint64_t *seen;                // [op] on the rank that is walked
} Checker;

static size_t place(const Checker *checker, OpId op, uint32_t rank) {
    return (size_t)op * checker->conformance->schedule.rank_count + rank;
}

static void wrong(const Checker *checker, OpId op, uint32_t rank, uint64_t number,
                  const char *what) {
    char text[SCHEDULE_TEXT_MAX];
    fail_msg("%s, %s: instance %llu of %s on rank %u %s", checker->conformance->name, checker->who,
             (unsigned long long)number,
             schedule_op_text(&checker->conformance->schedule, op, text), rank, what);
}

static const ConformanceSpan *span_of(const Checker *checker, OpId op, uint32_t rank,
                                      uint64_t number) {
    if (number >= checker->counts[place(checker, op, rank)])
        wrong(checker, op, rank, number, "did not run");
    return checker->first[place(checker, op, rank)] + number;
}

// The operation of the peer that this receive hears: cases have one on each channel.
static OpId sender_of(const Checker *checker, OpId receive) {
    const Schedule *schedule = &checker->conformance->schedule;
    const Comm *comm = &schedule->ops[receive].comm;
    RoleId role = schedule_op_role(schedule, receive);
    for (OpId id = 0; id < schedule->op_count; id++) {
        const Op *op = &schedule->ops[id];
        if (op->kind == OP_SEND && schedule_op_role(schedule, id) == comm->peer &&
            op->comm.peer == role && op->comm.channel == comm->channel)
            return id;
    }
    fail_msg("no sender");
    return SCHEDULE_NONE;
}

static void check_receive(const Checker *checker, const ConformanceSpan *span, uint64_t number) {
    const Job *job = &checker->conformance->job;
    const Op *op = &checker->conformance->schedule.ops[span->op];
    if (number < job->behind[span->op]) return;
    uint32_t peer = schedule_rank_at(&checker->conformance->schedule.roles[op->comm.peer].ranks,
                                     job->members[span->rank]);
    const ConformanceSpan *sent =
        span_of(checker, sender_of(checker, span->op), peer, number - job->behind[span->op]);
    if (span->end_ps < sent->start_ps)
        wrong(checker, span->op, span->rank, number, "ended before its send started");
}

static void check_collective(const Checker *checker, const ConformanceSpan *span, uint64_t number) {
    const Schedule *schedule = &checker->conformance->schedule;
    const GroupFamily *family = &schedule->groups[schedule->ops[span->op].comm.group];
    uint32_t group, position;
    if (!checker->conformance->meets_all) return;
    assert_true(schedule_group_of(family, span->rank, &group, &position));
    for (uint32_t j = 0; j < family->size; j++) {
        uint32_t member = schedule_group_member(family, group, j);
        if (span->end_ps < span_of(checker, span->op, member, number)->start_ps)
            wrong(checker, span->op, span->rank, number, "ended before its last member started");
    }
}

// One instance, after `before` on its stream.
static void check_instance(Checker *checker, const ScheduleCursor *cursor, uint32_t rank,
                           Time before_ps) {
    const Schedule *schedule = &checker->conformance->schedule;
    const Op *op = &schedule->ops[cursor->op];
    uint64_t number = checker->seen[cursor->op]++;
    const ConformanceSpan *span = span_of(checker, cursor->op, rank, number);
    if (span->start_ps < before_ps)
        wrong(checker, cursor->op, rank, number, "started before the one on its stream ended");
    if (span->end_ps < span->start_ps)
        wrong(checker, cursor->op, rank, number, "ended before it started");
    for (uint32_t i = 0; i < op->wait_count; i++) {
        OpId on = schedule->waits[op->first_wait + i];
        uint64_t earlier = schedule_index_earlier(&checker->conformance->job.index, cursor, on);
        if (earlier > 0 && span->start_ps < span_of(checker, on, rank, earlier - 1)->end_ps)
            wrong(checker, cursor->op, rank, number, "started before what it waits for ended");
    }
    if (op->kind == OP_RECV) check_receive(checker, span, number);
    if (op->kind == OP_COLLECTIVE) check_collective(checker, span, number);
}

static void check_rank(Checker *checker, uint32_t rank) {
    const Job *job = &checker->conformance->job;
    const Schedule *schedule = &checker->conformance->schedule;
    memset(checker->seen, 0, schedule->op_count * sizeof *checker->seen);
    for (uint32_t stream = 0; stream < SCHEDULE_STREAMS_MAX; stream++) {
        Time before_ps = 0;
        ScheduleCursor cursor = schedule_index_start(&job->index, job->roles[rank], stream);
        for (; cursor.op != SCHEDULE_NONE; schedule_index_next(&job->index, &cursor)) {
            check_instance(checker, &cursor, rank, before_ps);
            before_ps = span_of(checker, cursor.op, rank, checker->seen[cursor.op] - 1)->end_ps;
        }
    }
    for (OpId id = 0; id < schedule->op_count; id++) {
        if (checker->seen[id] != checker->counts[place(checker, id, rank)])
            wrong(checker, id, rank, checker->seen[id], "ran though it is not scheduled");
    }
}

void conformance_check(const Conformance *conformance, const char *who,
                       const ConformanceSpan *spans, uint64_t count) {
    const Schedule *schedule = &conformance->schedule;
    size_t places = (size_t)schedule->op_count * schedule->rank_count;
    Checker checker = {.conformance = conformance,
                       .who = who,
                       .first = mem_alloc(places, sizeof *checker.first),
                       .counts = mem_alloc(places, sizeof *checker.counts),
                       .seen = mem_alloc(schedule->op_count, sizeof *checker.seen)};
    for (uint64_t i = 0; i < count; i++) {
        size_t at = place(&checker, spans[i].op, spans[i].rank);
        if (checker.counts[at]++ == 0) checker.first[at] = &spans[i];
    }
    for (uint32_t rank = 0; rank < schedule->rank_count; rank++) check_rank(&checker, rank);
    mem_free(checker.seen);
    mem_free(checker.counts);
    mem_free(checker.first);
}

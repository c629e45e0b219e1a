// The Timeline as a value: freed, digested, exported for Chrome's and Perfetto's trace viewers.
//
// Invariant: the export is exact. Times are written as decimals of a microsecond with all six
// digits of the picosecond, never through a double, so that a reader gets the simulated times back.
// Source: "Trace Event Format" (Chromium project), complete events ("X") and metadata events ("M").
#include "model/report/timeline.h"

#include <assert.h>
#include <inttypes.h>

#define PS_PER_US INT64_C(1000000)

double timeline_link_share(const LinkTotal *link, Time time_ps) {
    double most_B =
        units_seconds(time_ps) * (double)link->busiest_Bps + (double)link->busiest_burst_B;
    return most_B > 0 ? (double)link->busiest_B / most_B : 0;
}

void timeline_free(Timeline *timeline) {
    arena_free(&timeline->arena);
    *timeline = (Timeline){0};
}

const char *const timeline_form_names[TIMELINE_FORM_COUNT] = {
#define X(name, text) text,
    TIMELINE_FORM_LIST(X)
#undef X
};

RoleId timeline_role(const Timeline *timeline, uint32_t member) {
    return timeline->members[member].role;
}

static Digest digest_time(Digest hash, Time ps) {
    return hash_u64(hash, (uint64_t)ps);
}

static Digest digest_total(Digest hash, const OpTotal *total) {
    hash = hash_u64(hash, total->instances);
    hash = digest_time(hash, total->busy_ps);
    hash = digest_time(hash, total->transfer_ps);
    hash = digest_time(hash, total->exposed_ps);
    hash = digest_time(hash, total->bound_ps);
    hash = digest_time(hash, total->price.time_ps);
    hash = hash_u64(hash, total->price.flop);
    hash = hash_u64(hash, total->price.bytes);
    return hash_u64(hash, total->bytes);
}

static Digest digest_span(Digest hash, const Span *span) {
    hash = hash_u64(hash, span->op);
    hash = hash_u64(hash, span->member);
    hash = hash_u64(hash, span->pass);
    hash = hash_u64(hash, span->iteration);
    hash = digest_time(hash, span->start_ps);
    return digest_time(hash, span->end_ps);
}

static Digest digest_link(Digest hash, const LinkTotal *link) {
    hash = hash_u64(hash, link->bytes);
    hash = hash_u64(hash, link->busiest_B);
    hash = hash_u64(hash, link->busiest_Bps);
    if (link->busiest_burst_B > 0) hash = hash_u64(hash, link->busiest_burst_B);
    return hash_string(hash, link->busiest_name);
}

static Digest digest_share(Digest hash, const TimeShare *share) {
    for (uint32_t i = 0; i < CALIB_COUNT; i++) hash = digest_time(hash, share->param_ps[i]);
    hash = digest_time(hash, share->wait_ps);
    return digest_time(hash, share->latency_ps);
}

Digest timeline_digest(const Timeline *timeline) {
    Digest hash = hash_string(HASH_START, timeline->maker == NULL ? "" : timeline->maker);
    const Digest inputs[] = {timeline->schedule, timeline->shape, timeline->load, timeline->fabric,
                             timeline->calibration};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) hash = hash_u64(hash, inputs[i]);
    hash = digest_time(hash, timeline->end_ps);
    hash = hash_u64(hash, timeline->span_count);
    for (uint64_t i = 0; i < timeline->span_count; i++)
        hash = digest_span(hash, &timeline->spans[i]);
    hash = hash_u64(hash, timeline->member_count);
    hash = hash_u64(hash, timeline->op_count);
    size_t totals = (size_t)timeline->member_count * timeline->op_count;
    for (size_t i = 0; i < totals; i++) hash = digest_total(hash, &timeline->totals[i]);
    for (uint32_t i = 0; i < LINK_CLASS_COUNT; i++) hash = digest_link(hash, &timeline->links[i]);
    hash = digest_share(hash, &timeline->share);
    hash = hash_u64(hash, timeline->round_count);
    for (uint32_t i = 0; i < timeline->round_count; i++)
        hash = digest_time(hash, timeline->round_ps[i]);
    for (uint32_t i = 0; i < timeline->member_count; i++) {
        hash = hash_u64(hash, timeline->members[i].role);
        hash = hash_u64(hash, timeline->members[i].first_rank);
        hash = hash_u64(hash, timeline->members[i].ranks);
    }
    hash = hash_u64(hash_u64(hash, timeline->flow_eps_ppb), timeline->flow_eps_error_ppb);
    return hash_u64(hash, timeline->form);
}

// ---- Chrome trace

static void add_string(Text *out, const char *string) {
    text_add_char(out, '"');
    for (const char *c = string; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\') {
            text_add_char(out, '\\');
            text_add_char(out, *c);
        } else if ((unsigned char)*c < 0x20) {
            text_addf(out, "\\u%04x", (unsigned)(unsigned char)*c);
        } else {
            text_add_char(out, *c);
        }
    }
    text_add_char(out, '"');
}

static void add_us(Text *out, const char *key, Time ps) {
    assert(ps >= 0);
    text_addf(out, ",\"%s\":%" PRId64 ".%06" PRId64, key, ps / PS_PER_US, ps % PS_PER_US);
}

// Events are separated here, so that none needs to know whether it is the last.
static void open_event(Text *out, const char *name) {
    text_add(out, text_string(out)[0] == '[' && out->length == 1 ? "\n" : ",\n");
    text_add(out, "{\"name\":");
    add_string(out, name);
}

static void write_name(Text *out, const char *what, uint32_t member, uint32_t stream,
                       const char *name) {
    open_event(out, what);
    text_addf(out,
              ",\"ph\":\"M\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32 ",\"args\":{\"name\":", member,
              stream);
    add_string(out, name);
    text_add(out, "}}");
}

// What a stream carries, from the operations on it.
static const char *stream_name(const Schedule *schedule, uint32_t stream) {
    const char *name = "idle";
    for (OpId i = 0; i < schedule->op_count; i++) {
        const Op *op = &schedule->ops[i];
        if (op->stream != stream) continue;
        switch (op->kind) {
        case OP_GEMM:
        case OP_GROUPED_GEMM:
        case OP_ATTENTION:
        case OP_MEMORY:
        case OP_COPY: return "compute";
        case OP_COLLECTIVE: name = "collectives"; break;
        case OP_SEND:
        case OP_RECV: name = "transfers"; break;
        case OP_KIND_COUNT: break;
        }
    }
    return name;
}

static void write_names(const Timeline *timeline, const Schedule *schedule, Text *out) {
    for (uint32_t member = 0; member < timeline->member_count; member++) {
        const TimelineMember *item = &timeline->members[member];
        const char *role = schedule->roles[item->role].name;
        Text name = {0};
        switch (timeline->form) {
        case TIMELINE_FOLDED: text_addf(&name, "%s (%" PRIu32 " ranks)", role, item->ranks); break;
        case TIMELINE_REFINED:
            text_addf(&name, "rank %" PRIu32 " and alike (%s, %" PRIu32 " ranks)", item->first_rank,
                      role, item->ranks);
            break;
        case TIMELINE_EXPANDED:
            text_addf(&name, "rank %" PRIu32 " (%s)", item->first_rank, role);
            break;
        case TIMELINE_FORM_COUNT: break;
        }
        write_name(out, "process_name", member, 0, text_string(&name));
        text_free(&name);
        for (uint32_t stream = 0; stream < schedule->stream_count; stream++)
            write_name(out, "thread_name", member, stream, stream_name(schedule, stream));
    }
}

static void write_span(const Timeline *timeline, const Schedule *schedule, const Span *span,
                       Text *out) {
    const Op *op = &schedule->ops[span->op];
    const OpTotal *total = &timeline->totals[(size_t)span->member * timeline->op_count + span->op];
    open_event(out, op->name);
    text_add(out, ",\"cat\":");
    add_string(out, schedule_class_names[op->op_class]);
    text_addf(out, ",\"ph\":\"X\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32, span->member, op->stream);
    add_us(out, "ts", span->start_ps);
    add_us(out, "dur", span->end_ps - span->start_ps);
    text_add(out, ",\"args\":{\"block\":");
    add_string(out, schedule->blocks[op->block].name);
    text_addf(out,
              ",\"pass\":%" PRIu32 ",\"iteration\":%" PRIu32 ",\"bytes\":%" PRIu64
              ",\"flop\":%" PRIu64 "}}",
              span->pass, span->iteration, total->bytes, total->price.flop);
}

void timeline_write_chrome(const Timeline *timeline, const Schedule *schedule, Text *out) {
    Text events = {0};
    text_add_char(&events, '[');
    write_names(timeline, schedule, &events);
    for (uint64_t i = 0; i < timeline->span_count; i++)
        write_span(timeline, schedule, &timeline->spans[i], &events);
    text_add(&events, "\n]\n");
    text_add_bytes(out, events.data, events.length);
    text_free(&events);
}

// Schedules from hostile files: parsing, all checks, the peak and both written forms. What is
// parsed must read back to the same digest, and what passes the check for a small shape must run.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exec/host/host.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const StepShape small = {.tokens = 3, .sequences = 2, .kv_tokens = 5, .qk_pairs = 7};

// A run that is allowed much would be slow, not wrong.
static bool is_small(const Schedule *schedule) {
    uint64_t work = schedule->rank_count;
    for (BufferId id = 0; id < schedule->buffer_count; id++) {
        const Buffer *buffer = &schedule->buffers[id];
        uint64_t bytes = extent_value(&buffer->bytes, &small);
        uint32_t ranks = schedule_role_size(schedule, buffer->role);
        if (bytes > 4096 || ranks > 64) return false;
        work += bytes * ranks;
    }
    for (RoleId id = 0; id < schedule->role_count; id++) {
        const Role *role = &schedule->roles[id];
        uint64_t repeats = 0;
        for (uint32_t i = 0; i < role->segment_count; i++)
            repeats += schedule->segments[role->first_segment + i].repeat;
        if (role->passes > 16 || repeats > 16) return false;
    }
    return work <= 65536;
}

static void run(const Schedule *schedule) {
    Load load = load_uniform();
    HostInit init = {0};
    InterpResult result = {0};
    Err err = {0};
    if (is_small(schedule) && host_run(schedule, &small, &load, &init, &result, &err)) {
        for (BufferId id = 0; id < schedule->buffer_count; id++)
            (void)interp_digest(&result, schedule, id);
    } else if (strstr(err.text, "within") != NULL) {
        abort(); // a time-out: the check had promised that the run ends
    }
    interp_free(&result);
}

static void read_back(const Schedule *schedule) {
    Text text = {0};
    Schedule again = {0};
    Err err = {0};
    schedule_write(schedule, &text);
    if (!schedule_parse("again", text.data, text.length, &again, &err)) abort();
    if (again.digest != schedule->digest) abort();
    schedule_free(&again);
    text_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Schedule schedule = {0};
    Err err = {0};
    if (!schedule_parse("fuzz", (const char *)data, size, &schedule, &err)) return 0;
    Text text = {0};
    schedule_print(&schedule, &text);
    text_free(&text);
    read_back(&schedule);
    for (RoleId id = 0; id < schedule.role_count && id < 8; id++)
        (void)schedule_peak_B(&schedule, id, &small);
    if (schedule_check(&schedule, &small, &err)) run(&schedule);
    schedule_free(&schedule);
    return 0;
}

// Messages between the processes of one run.
//
// Form: kind and sender (4 bytes each), length (8), data. Invariant: a length over CONTROL_DATA_MAX
// is refused before memory is taken for it.
#include "exec/net/control.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "exec/clock.h"
#include "exec/net/frame.h"
#include "model/base/file.h"
#include "model/base/mem.h"

#define HEAD_B ((size_t)16)

#define QUIET_MIN_PS (2 * PS_PER_SECOND) // for a process to get its turn on a busy machine
#define BEATS        4                   // in the time after which silence is an end

const char *const control_names[CONTROL_KIND_COUNT] = {
#define X(name, text) text,
    CONTROL_LIST(X)
#undef X
};

// A socket tells that its other end is gone without a signal; a pipe is written by processes that
// ignore it.
static ssize_t write_some(int descriptor, const uint8_t *bytes, size_t count) {
    ssize_t now = send(descriptor, bytes, count, MSG_NOSIGNAL);
    return now < 0 && errno == ENOTSOCK ? write(descriptor, bytes, count) : now;
}

static bool write_all(int descriptor, const uint8_t *bytes, size_t count, Err *err) {
    while (count > 0) {
        ssize_t now = write_some(descriptor, bytes, count);
        if (now < 0 && errno == EINTR) continue;
        if (now < 0) return err_set(err, "cannot tell another process: %s", file_reason(errno));
        bytes += now;
        count -= (size_t)now;
    }
    return true;
}

static bool write_one(int descriptor, ControlKind kind, uint32_t from, const uint8_t *data,
                      size_t count, Err *err) {
    uint8_t head[HEAD_B];
    frame_put(head, kind, 4);
    frame_put(head + 4, from, 4);
    frame_put(head + 8, count, 8);
    return write_all(descriptor, head, HEAD_B, err) && write_all(descriptor, data, count, err);
}

bool control_write(int descriptor, ControlKind kind, uint32_t from, const void *data, size_t count,
                   Err *err) {
    const uint8_t *bytes = data;
    do {
        size_t now = count < CONTROL_DATA_MAX ? count : CONTROL_DATA_MAX;
        if (!write_one(descriptor, kind, from, bytes, now, err)) return false;
        if (now == count) return true;
        bytes += now;
        count -= now;
    } while (true);
}

bool control_write_text(int descriptor, ControlKind kind, uint32_t from, const char *text,
                        Err *err) {
    return control_write(descriptor, kind, from, text, strlen(text), err);
}

// ---- In

bool control_read(ControlReader *reader, int descriptor, bool *is_open, Err *err) {
    if (reader->used > 0) {
        reader->count -= reader->used;
        memmove(reader->bytes, reader->bytes + reader->used, reader->count);
        reader->used = 0;
    }
    if (reader->bytes == NULL) {
        reader->capacity = HEAD_B + CONTROL_DATA_MAX;
        reader->bytes = mem_realloc(NULL, reader->capacity, 1);
    }
    for (;;) {
        ssize_t now =
            read(descriptor, reader->bytes + reader->count, reader->capacity - reader->count);
        if (now < 0 && errno == EINTR) continue;
        if (now < 0 && errno != ECONNRESET)
            return err_set(err, "cannot hear another process: %s", file_reason(errno));
        *is_open = now > 0;
        reader->count += now > 0 ? (size_t)now : 0;
        return true;
    }
}

bool control_next(ControlReader *reader, ControlMessage *out, bool *has, Err *err) {
    size_t left = reader->count - reader->used;
    *has = false;
    if (left < HEAD_B) return true;
    const uint8_t *head = reader->bytes + reader->used;
    uint64_t kind = frame_get(head, 4), count = frame_get(head + 8, 8);
    if (kind >= CONTROL_KIND_COUNT || count > CONTROL_DATA_MAX)
        return err_set(
            err, "another process said something malformed: kind %" PRIu64 ", %" PRIu64 " bytes",
            kind, count);
    if (left - HEAD_B < count) return true;
    *out = (ControlMessage){.kind = (ControlKind)kind,
                            .from = (uint32_t)frame_get(head + 4, 4),
                            .data = head + HEAD_B,
                            .count = (size_t)count};
    reader->used += HEAD_B + (size_t)count;
    *has = true;
    return true;
}

void control_free(ControlReader *reader) {
    mem_free(reader->bytes);
    *reader = (ControlReader){0};
}

static bool silent(Time quiet_ps, Err *err) {
    char text[UNITS_TEXT_MAX];
    return err_set(err, "said nothing within %s", units_format_time(quiet_ps, text));
}

// Reads as soon as there is something.
static bool read_soon(ControlReader *reader, int descriptor, Time quiet_ps, bool *is_open,
                      Err *err) {
    struct pollfd one = {.fd = descriptor, .events = POLLIN};
    Time deadline = clock_after(clock_now(), quiet_ps);
    int count;
    while ((count = poll(&one, 1, clock_poll_ms(deadline - clock_now()))) < 0 && errno == EINTR)
        continue;
    if (count > 0) return control_read(reader, descriptor, is_open, err);
    silent(quiet_ps, err);
    return err_prefix(err, "the first process");
}

bool control_expect(ControlReader *reader, int descriptor, ControlKind kind, void *data,
                    size_t count, Time quiet_ps, Err *err) {
    ControlMessage message;
    bool has = false, is_open = true;
    while (is_open) {
        if (!control_next(reader, &message, &has, err)) return false;
        if (has && message.kind != CONTROL_ALIVE) break;
        if (!has && !read_soon(reader, descriptor, quiet_ps, &is_open, err)) return false;
    }
    if (!has) return err_set(err, "the first process is gone");
    if (message.kind != kind || message.count != count)
        return err_set(err, "expected \"%s\" of %zu bytes, found \"%s\" of %zu",
                       control_names[kind], count, control_names[message.kind], message.count);
    if (count > 0) memcpy(data, message.data, count);
    return true;
}

// ---- Signs of life

Time control_quiet_ps(Time time_out_ps) {
    return time_out_ps > QUIET_MIN_PS ? time_out_ps : QUIET_MIN_PS;
}

void control_start_pulse(ControlPulse *pulse, Time quiet_ps) {
    Time now = clock_now();
    *pulse = (ControlPulse){quiet_ps, now, now - quiet_ps, now}; // the first sign goes out at once
}

int control_beat_ms(const ControlPulse *pulse) {
    return clock_poll_ms(pulse->quiet_ps / BEATS);
}

bool control_look(ControlPulse *pulse, int descriptor, Err *err) {
    Time now = clock_now();
    Err unheard = {0}; // that it is gone is seen by its end
    if (now - pulse->looked_ps > pulse->quiet_ps / 2) pulse->heard_ps = now;
    pulse->looked_ps = now;
    if (now - pulse->told_ps >= pulse->quiet_ps / BEATS) {
        pulse->told_ps = now;
        control_write(descriptor, CONTROL_ALIVE, 0, NULL, 0, &unheard);
    }
    return now - pulse->heard_ps <= pulse->quiet_ps || silent(pulse->quiet_ps, err);
}

// Messages between the processes of one run.
//
// Form: kind and sender (4 bytes each), length (8), data. Invariant: a length over CONTROL_DATA_MAX
// is refused before memory is taken for it.
#include "exec/net/control.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "exec/net/frame.h"
#include "model/base/file.h"
#include "model/base/mem.h"

#define HEAD_B ((size_t)16)

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

bool control_expect(ControlReader *reader, int descriptor, ControlKind kind, void *data,
                    size_t count, Err *err) {
    ControlMessage message;
    bool has = false, is_open = true;
    while (is_open) {
        if (!control_next(reader, &message, &has, err)) return false;
        if (has) break;
        if (!control_read(reader, descriptor, &is_open, err)) return false;
    }
    if (!has) return err_set(err, "the first process is gone");
    if (message.kind != kind || message.count != count)
        return err_set(err, "expected \"%s\" of %zu bytes, found \"%s\" of %zu",
                       control_names[kind], count, control_names[message.kind], message.count);
    if (count > 0) memcpy(data, message.data, count);
    return true;
}

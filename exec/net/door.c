// Where connections come in.
//
// Invariant: guests are in the order in which they came, at most DOOR_GUESTS_MAX, none of them
// longer than DOOR_PATIENCE_PS here, whatever they say meanwhile. When all places are taken, others
// wait before the door, in the system, until a guest has greeted or has had DOOR_CROWDED_PS: so a
// crowd of ranks loses nobody, and a crowd of strangers moves on. One turn takes a bounded number
// of connections, so that a flood of them does not keep its owner from anything else.
#include "exec/net/door.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "exec/clock.h"
#include "model/base/file.h"

#define TURN_MAX 128 // connections of one turn

// Who has to go when a place is wanted: the one that waits longest without a word; else the one
// that waits longest.
static uint32_t next_to_go(const Door *door) {
    uint32_t silent = 0;
    while (silent < door->count && door->guests[silent].count > 0) silent++;
    return silent < door->count ? silent : 0;
}

static bool has_room(const Door *door) {
    return door->count < DOOR_GUESTS_MAX ||
           clock_now() >= door->guests[next_to_go(door)].came_ps + DOOR_CROWDED_PS;
}

uint32_t door_polls(const Door *door, struct pollfd *polls) {
    polls[0] = (struct pollfd){.fd = has_room(door) ? door->listener : -1, .events = POLLIN};
    for (uint32_t i = 0; i < door->count; i++)
        polls[i + 1] = (struct pollfd){.fd = door->guests[i].socket, .events = POLLIN};
    return door->count + 1;
}

Time door_next_ps(const Door *door) {
    if (door->count == 0) return TIME_MAX;
    Time first = door->guests[0].came_ps + DOOR_PATIENCE_PS;
    Time crowded = door->guests[next_to_go(door)].came_ps + DOOR_CROWDED_PS;
    return door->count == DOOR_GUESTS_MAX && crowded < first ? crowded : first;
}

static void forget(Door *door, uint32_t index) {
    DoorGuest *guest = &door->guests[index];
    memmove(guest, guest + 1, (--door->count - index) * sizeof *guest);
}

static void refuse(Door *door, uint32_t index, const char *why) {
    char text[ADDRESS_TEXT_MAX];
    if (door->refused++ < DOOR_NOTES_MAX)
        text_addf(door->notes, "refused a connection from %s: %s\n",
                  address_text(&door->guests[index].from, text), why);
    close(door->guests[index].socket);
    forget(door, index);
}

static void make_room(Door *door) {
    refuse(door, next_to_go(door), "it did not greet, and others came");
}

// Reads what is there. Whoever has greeted, or never will, is no guest any more.
static void hear(Door *door, uint32_t index, DoorTake *take, void *context) {
    DoorGuest *guest = &door->guests[index];
    FrameGreeting greeting;
    Err why = {0};
    ssize_t now =
        recv(guest->socket, guest->bytes + guest->count, FRAME_GREETING_B - guest->count, 0);
    if (now < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (now <= 0) {
        refuse(door, index, now < 0 ? file_reason(errno) : "it closed before it greeted");
        return;
    }
    guest->count += (size_t)now;
    if (guest->count < FRAME_GREETING_B) return;
    if (frame_read_greeting(guest->bytes, &greeting, &why) &&
        take(context, guest->socket, &greeting, &why))
        forget(door, index);
    else
        refuse(door, index, why.text);
}

static bool is_full(int code) {
    return code == EMFILE || code == ENFILE || code == ENOBUFS || code == ENOMEM;
}

// One more guest, at the end. False, with or without an error, when there is none.
static bool let_in(Door *door, Err *err) {
    DoorGuest guest = {.came_ps = clock_now()};
    socklen_t size = sizeof guest.from;
    Err why = {0};
    if (door->count == DOOR_GUESTS_MAX) make_room(door);
    guest.socket = accept(door->listener, &guest.from.any, &size);
    if (guest.socket < 0) {
        int code = errno;
        if (!is_full(code)) return false;
        if (door->count == 0)
            return err_set(err, "cannot take a connection: %s", file_reason(code));
        make_room(door); // the next one has its place
        return true;
    }
    door->guests[door->count++] = guest;
    if (!address_set_up(guest.socket, &why)) refuse(door, door->count - 1, why.text);
    return true;
}

static bool has_waiting(const Door *door) {
    struct pollfd one = {.fd = door->listener, .events = POLLIN};
    return poll(&one, 1, 0) > 0;
}

static bool let_some_in(Door *door, DoorTake *take, void *context, Err *err) {
    for (uint32_t i = 0; i < TURN_MAX && has_room(door) && has_waiting(door); i++) {
        uint32_t before = door->count;
        if (!let_in(door, err)) return !err_is_set(err);
        // it has mostly greeted already: then no crowd behind it makes it go
        if (door->count > 0 && door->count >= before) hear(door, door->count - 1, take, context);
    }
    return true;
}

bool door_look(Door *door, const struct pollfd *polls, DoorTake *take, void *context, Err *err) {
    char text[UNITS_TEXT_MAX], why[UNITS_TEXT_MAX + 32];
    for (uint32_t i = door->count; i > 0; i--) // from the last on, as each may go
        if (polls[i].revents != 0) hear(door, i - 1, take, context);
    while (door->count > 0 && door->guests[0].came_ps + DOOR_PATIENCE_PS <= clock_now()) {
        snprintf(why, sizeof why, "no greeting within %s",
                 units_format_time(DOOR_PATIENCE_PS, text));
        refuse(door, 0, why);
    }
    return polls[0].revents == 0 || let_some_in(door, take, context, err);
}

bool door_greet(int socket, const FrameGreeting *greeting) {
    uint8_t bytes[FRAME_GREETING_B];
    frame_write_greeting(greeting, bytes);
    return send(socket, bytes, sizeof bytes, MSG_NOSIGNAL) == (ssize_t)sizeof bytes;
}

void door_close(Door *door) {
    for (uint32_t i = 0; i < door->count; i++) close(door->guests[i].socket);
    door->count = 0;
    if (door->refused > DOOR_NOTES_MAX)
        text_addf(door->notes, "refused %u more connections\n", door->refused - DOOR_NOTES_MAX);
    door->refused = 0;
}

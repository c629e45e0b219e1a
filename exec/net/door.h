// Where connections come in that may be anybody's: few at once, each with little time to greet, so
// that strangers who say nothing, or nothing of sense, keep nobody out.
#ifndef EXEC_NET_DOOR_H
#define EXEC_NET_DOOR_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exec/net/address.h"
#include "exec/net/frame.h"
#include "model/base/err.h"
#include "model/base/text.h"
#include "model/base/units.h"

#define DOOR_GUESTS_MAX  64 // at once
#define DOOR_POLLS_MAX   (DOOR_GUESTS_MAX + 1)
#define DOOR_PATIENCE_PS (2 * PS_PER_SECOND)  // for a whole greeting
#define DOOR_CROWDED_PS  (PS_PER_SECOND / 10) // for the first word, when others wait for the place
#define DOOR_NOTES_MAX   16                   // lines about strangers; the rest are counted

// One that has not greeted.
typedef struct DoorGuest {
    int socket;
    Address from;
    Time came_ps;
    uint8_t bytes[FRAME_GREETING_B];
    size_t count;
} DoorGuest;

// Zeroed with a listener (not blocking, the owner's) and notes (borrowed) it is open.
typedef struct Door {
    int listener;
    Text *notes; // a line for each that was refused
    DoorGuest guests[DOOR_GUESTS_MAX];
    uint32_t count, refused;
} Door;

// Whether this greeting is one that is waited for: then the socket is the taker's; or why not.
typedef bool DoorTake(void *context, int socket, const FrameGreeting *greeting, Err *why);

// Of all that the door waits for: at most DOOR_POLLS_MAX; returns how many.
uint32_t door_polls(const Door *door, struct pollfd *polls);
// When the next guest has had its time; TIME_MAX: there is none.
Time door_next_ps(const Door *door);
// After poll, in any case: hears guests, lets others in, sends away who took too long. False when
// no connection can be taken any more.
bool door_look(Door *door, const struct pollfd *polls, DoorTake *take, void *context, Err *err);
// Of the side that comes and of the one that takes: false when the other one does not listen. A
// greeting fits in an empty buffer.
bool door_greet(int socket, const FrameGreeting *greeting);
// Guests are sent away without a word; says how many more were refused than there are notes.
void door_close(Door *door);

#endif

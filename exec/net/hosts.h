// The hosts of a run and their ranks: "10.99.0.1:2,[fd00::2]:2".
#ifndef EXEC_NET_HOSTS_H
#define EXEC_NET_HOSTS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"

#define HOSTS_MAX       256
#define HOSTS_RANKS_MAX 4096 // together

typedef struct HostsOne {
    const char *name;      // for the agent; its address where no interface is named; no brackets
    uint32_t first, count; // ranks
} HostsOne;

// A zeroed one is empty. All memory is the arena's.
typedef struct Hosts {
    Arena arena;
    HostsOne *hosts;
    uint32_t count, ranks;
} Hosts;

// NAME or NAME:RANKS, separated by commas; RANKS is 1 when absent; an address of IPv6 stands in
// brackets. Freed by hosts_free.
bool hosts_parse(const char *list, Hosts *out, Err *err);
void hosts_free(Hosts *hosts);
// One host with all ranks.
void hosts_one(uint32_t ranks, Hosts *out);

uint32_t hosts_of_rank(const Hosts *hosts, uint32_t rank);

// "2 hosts x 4 ranks", "3 hosts, 8 ranks".
char *hosts_text(const Hosts *hosts, Arena *arena);

#endif

// The hosts of a run and their ranks.
//
// Invariant: ranks are numbered host by host, in the order of the list.
#include "exec/net/hosts.h"

#include <string.h>

#include "model/base/text.h"

static bool parse_count(const char *text, uint32_t *out) {
    uint64_t value;
    if (!text_parse_u64(text, &value) || value == 0 || value > HOSTS_RANKS_MAX) return false;
    *out = (uint32_t)value;
    return true;
}

// Both return what follows the name, ":RANKS" or nothing; NULL when it is no name.

// '-' at the front: an agent would take it for an option.
static char *skip_name(char *entry) {
    char *colon = strrchr(entry, ':');
    char *end = colon != NULL ? colon : entry + strlen(entry);
    bool good = end > entry && *entry != '-' && entry + strcspn(entry, " \t[]%:") >= end;
    return good ? end : NULL;
}

static char *skip_bracketed(char *entry) {
    char *end = entry + 1 + strspn(entry + 1, "0123456789abcdefABCDEF:.");
    return *end == ']' && end > entry + 1 ? end + 1 : NULL;
}

// One entry, which is cut up.
static bool parse_one(char *entry, Hosts *hosts, Err *err) {
    char quoted[TEXT_QUOTE_MAX];
    HostsOne host = {.first = hosts->ranks, .count = 1};
    text_quote(entry, quoted);
    char *after = *entry == '[' ? skip_bracketed(entry) : skip_name(entry);
    if (after == NULL || (*after != '\0' && *after != ':'))
        return err_set(err,
                       "host %s: expected NAME:RANKS, such as \"10.99.0.1:2\" or \"[fd00::1]:2\"",
                       quoted);
    if (*after == ':' && !parse_count(after + 1, &host.count))
        return err_set(err, "host %s: expected NAME:RANKS with 1 to %d ranks", quoted,
                       HOSTS_RANKS_MAX);
    host.name = *entry == '[' ? entry + 1 : entry;
    after[*entry == '[' ? -1 : 0] = '\0';
    if (hosts->count == HOSTS_MAX || hosts->ranks + host.count > HOSTS_RANKS_MAX)
        return err_set(err, "expected at most %d hosts and %d ranks", HOSTS_MAX, HOSTS_RANKS_MAX);
    hosts->hosts[hosts->count++] = host;
    hosts->ranks += host.count;
    return true;
}

bool hosts_parse(const char *list, Hosts *out, Err *err) {
    Hosts hosts = {0};
    hosts.hosts = arena_alloc(&hosts.arena, HOSTS_MAX, sizeof *hosts.hosts);
    char *entry = arena_string(&hosts.arena, list);
    bool good = true;
    while (good && entry != NULL) {
        char *comma = strchr(entry, ',');
        if (comma != NULL) *comma = '\0';
        good = parse_one(entry, &hosts, err);
        entry = comma != NULL ? comma + 1 : NULL;
    }
    if (good)
        *out = hosts;
    else
        hosts_free(&hosts);
    return good;
}

void hosts_free(Hosts *hosts) {
    arena_free(&hosts->arena);
    *hosts = (Hosts){0};
}

void hosts_one(uint32_t ranks, Hosts *out) {
    *out = (Hosts){.count = 1, .ranks = ranks};
    out->hosts = arena_alloc(&out->arena, 1, sizeof *out->hosts);
    out->hosts[0] = (HostsOne){.name = "localhost", .count = ranks};
}

uint32_t hosts_of_rank(const Hosts *hosts, uint32_t rank) {
    uint32_t host = 0;
    while (rank - hosts->hosts[host].first >= hosts->hosts[host].count) host++;
    return host;
}

char *hosts_text(const Hosts *hosts, Arena *arena) {
    bool equal = true;
    for (uint32_t i = 1; i < hosts->count; i++)
        equal = equal && hosts->hosts[i].count == hosts->hosts[0].count;
    const char *plural = hosts->count == 1 ? "" : "s";
    if (!equal)
        return arena_printf(arena, "%u host%s, %u ranks", hosts->count, plural, hosts->ranks);
    return arena_printf(arena, "%u host%s x %u rank%s", hosts->count, plural, hosts->hosts[0].count,
                        hosts->hosts[0].count == 1 ? "" : "s");
}

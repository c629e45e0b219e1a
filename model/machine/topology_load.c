// A machine by its name: one line that a generator understands, or a file.
//
// Invariant: what begins with the name of a generator and a colon is never looked up as a file.
#include "model/machine/topology.h"

#include <string.h>
#include <unistd.h>

#include "model/base/file.h"
#include "model/machine/import.h"
#include "model/machine/topology_synth.h"

// True for what is meant as a line and begins with no generator: a word, a colon, a digit. A rate
// has a '/', which would make it a path.
static bool is_unknown(const char *name) {
    size_t word = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");
    return word > 0 && name[word] == ':' && name[word + 1] >= '0' && name[word + 1] <= '9' &&
           access(name, F_OK) != 0;
}

static bool unknown(const char *name, Err *err) {
    const char *near = topology_synth_nearest(name);
    if (near != NULL)
        return err_set(err,
                       "%s: no such file here or in the shipped data, and no machine, did you mean "
                       "\"%s%s\"?",
                       name, near, strchr(name, ':'));
    return err_set(err,
                   "%s: no such file here or in the shipped data, and no machine: expected a name "
                   "such as ring:4,450GB/s, see \"moesim help topo\"",
                   name);
}

// A dump of a tool, or a file of moesim's own.
static bool load_file(const char *path, Arena *arena, Topology *out, Err *err) {
    ImportGrammar grammar;
    char *bytes;
    size_t count;
    if (!file_read(path, FILE_CAP_B, arena, &bytes, &count, err)) return false;
    if (import_recognise(bytes, count, &grammar))
        return import_parse(grammar, path, bytes, count, out, err);
    return topology_parse(path, bytes, count, out, err);
}

bool topology_load(const char *name, Topology *out, Err *err) {
    Arena arena = {0};
    const char *path;
    if (topology_synth_begins(name)) return topology_synth_make(name, out, err);
    if (is_unknown(name)) return unknown(name, err);
    bool done = file_find(name, &arena, &path, err) && load_file(path, &arena, out, err);
    arena_free(&arena);
    return done;
}

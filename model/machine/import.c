// Recognises a dump by its marks and calls its importer.
//
// Invariant: what begins as JSON and says "moesim" is a file of moesim's own, whatever it contains.
#include "model/machine/import.h"

#include <string.h>

#include "model/machine/import_node.h"

#define MARK_MOST_B ((size_t)1 << 20) // where marks are looked for

const char *const import_grammar_names[IMPORT_GRAMMAR_COUNT] = {
#define X(name, text, function) text,
    IMPORT_GRAMMAR_LIST(X)
#undef X
};

typedef struct Bytes {
    const char *data;
    size_t count;
} Bytes;

// Position of `mark`, or the end.
static size_t find(Bytes bytes, const char *mark) {
    size_t length = strlen(mark);
    for (size_t i = 0; i + length <= bytes.count; i++) {
        const char *at = memchr(bytes.data + i, mark[0], bytes.count - length - i + 1);
        if (at == NULL) break;
        i = (size_t)(at - bytes.data);
        if (memcmp(at, mark, length) == 0) return i;
    }
    return bytes.count;
}

static bool has(Bytes bytes, const char *mark) {
    return find(bytes, mark) < bytes.count;
}

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool begins(const char *at, const char *end, const char *mark) {
    for (; *mark != '\0'; mark++, at++) {
        if (at == end || lower(*at) != lower(*mark)) return false;
    }
    return true;
}

// A line that begins so behind its blanks, whatever the case.
static bool has_line(Bytes bytes, const char *mark) {
    const char *at = bytes.data, *end = bytes.data + bytes.count;
    while (at < end) {
        while (at < end && (*at == ' ' || *at == '\t')) at++;
        if (begins(at, end, mark)) return true;
        at = memchr(at, '\n', (size_t)(end - at));
        if (at == NULL) return false;
        at++;
    }
    return false;
}

static bool recognise_xml(Bytes bytes, ImportGrammar *out) {
    static const struct {
        const char *mark;
        ImportGrammar grammar;
    } roots[] = {
        {"<system", IMPORT_NCCL_XML}, {"<graphs", IMPORT_NCCL_GRAPH}, {"<topology", IMPORT_HWLOC}};
    size_t first = bytes.count;
    for (uint32_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
        size_t at = find(bytes, roots[i].mark);
        if (at >= first) continue;
        first = at;
        *out = roots[i].grammar;
    }
    return first < bytes.count;
}

static bool recognise_json(Bytes bytes, ImportGrammar *out) {
    if (has(bytes, "\"moesim\"")) return false;
    if (has(bytes, "\"compounded_links\"")) {
        *out = IMPORT_NETQ;
    } else if (has(bytes, "\"DomainUUID\"")) {
        *out = IMPORT_NMX;
    } else if (has(bytes, "\"logical-dims\"")) {
        *out = IMPORT_LOGICAL;
    } else {
        return false;
    }
    return true;
}

// Numbers on the first line, a rate on a later one.
static bool is_ns3(Bytes bytes) {
    size_t i = 0;
    uint32_t numbers = 0;
    while (i < bytes.count && bytes.data[i] >= '0' && bytes.data[i] <= '9') {
        while (i < bytes.count && bytes.data[i] >= '0' && bytes.data[i] <= '9') i++;
        while (i < bytes.count && (bytes.data[i] == ' ' || bytes.data[i] == '\t')) i++;
        numbers++;
    }
    return numbers >= 3 && has(bytes, "bps ");
}

static bool recognise_text(Bytes bytes, ImportGrammar *out) {
    if (has(bytes, "GPU0") && has(bytes, "CPU Affinity")) {
        *out = IMPORT_NVIDIA_TOPO;
    } else if (has_line(bytes, "GPU 0:") && has_line(bytes, "Link 0:")) {
        *out = IMPORT_NVIDIA_NVLINK;
    } else if (has_line(bytes, "LINK TYPE TABLE")) {
        *out = IMPORT_AMD;
    } else if (has(bytes, "Link Type between")) {
        *out = IMPORT_ROCM;
    } else if (has_line(bytes, "SwitchName=") || has_line(bytes, "BlockName=")) {
        *out = IMPORT_SLURM_CONF;
    } else if (has_line(bytes, "- topology:")) {
        *out = IMPORT_SLURM_YAML;
    } else if (has_line(bytes, "switches:") && has_line(bytes, "blocks:")) {
        *out = IMPORT_TOPOGRAPH;
    } else if (has_line(bytes, "npus_count:")) {
        *out = IMPORT_ANALYTICAL;
    } else if (has_line(bytes, "Tiers ") && has_line(bytes, "Tier 0")) {
        *out = IMPORT_HTSIM;
    } else if (has_line(bytes, "switchguid=") || has_line(bytes, "caguid=") ||
               has_line(bytes, "Switch\t") || (has_line(bytes, "Switch ") && has(bytes, "\"["))) {
        *out = IMPORT_IBNETDISCOVER;
    } else if (is_ns3(bytes)) {
        *out = IMPORT_NS3;
    } else {
        return false;
    }
    return true;
}

bool import_recognise(const char *data, size_t count, ImportGrammar *out) {
    Bytes bytes = {data, count < MARK_MOST_B ? count : MARK_MOST_B};
    while (bytes.count > 0 && strchr(" \t\r\n", bytes.data[0]) != NULL && bytes.data[0] != '\0') {
        bytes.data++;
        bytes.count--;
    }
    if (bytes.count == 0) return false;
    if (bytes.data[0] == '<') return recognise_xml(bytes, out);
    if (bytes.data[0] == '{' || bytes.data[0] == '[') return recognise_json(bytes, out);
    return recognise_text(bytes, out);
}

// The last part of a path, without an ending: the name of a machine.
static const char *name_of(Import *import) {
    const char *slash = strrchr(import->origin, '/');
    char *name = arena_string(&import->arena, slash == NULL ? import->origin : slash + 1);
    char *dot = strrchr(name, '.');
    if (dot != NULL && dot != name) *dot = '\0';
    return name;
}

bool import_parse_with(const DeviceCatalogue *catalogue, const ImportFacts *facts,
                       ImportGrammar grammar, ImportBytes dump, Topology *out, Err *err) {
    static bool (*const functions[])(Import *, Err *) = {
#define X(grammar_name, text, function) function,
        IMPORT_GRAMMAR_LIST(X)
#undef X
    };
    Import import = {.origin = dump.name,
                     .bytes = dump.bytes,
                     .count = dump.count,
                     .catalogue = catalogue,
                     .facts = facts};
    import_graph_template(&import.graph, "machine");
    bool done = functions[grammar](&import, err) &&
                import_graph_close(&import.graph, dump.name, name_of(&import),
                                   import_grammar_names[grammar], out, err);
    import_graph_free(&import.graph);
    arena_free(&import.arena);
    return done;
}

bool import_parse(ImportGrammar grammar, const char *name, const char *bytes, size_t count,
                  Topology *out, Err *err) {
    DeviceCatalogue catalogue = {0};
    ImportFacts facts = {0};
    bool done =
        device_load(&catalogue, err) && import_fact_load(&facts, err) &&
        import_parse_with(&catalogue, &facts, grammar, (ImportBytes){name, bytes, count}, out, err);
    import_fact_free(&facts);
    device_free(&catalogue);
    return done;
}

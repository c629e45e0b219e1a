// topology.conf: "SwitchName=x Nodes=..." or "Switches=...", "BlockName=b Nodes=...". Keys are
// written in any case; LinkSpeed and BlockSizes are read and have no effect.
#include <string.h>

#include "model/base/text.h"
#include "model/machine/import_line.h"
#include "model/machine/import_slurm.h"

typedef struct Line {
    const char *switch_name, *block_name, *nodes, *switches;
} Line;

static bool read_pairs(ImportSlurm *s, const char *text, uint32_t number, Line *line, Err *err) {
    struct {
        const char *key, **slot;
    } keys[] = {{"SwitchName=", &line->switch_name},
                {"BlockName=", &line->block_name},
                {"Nodes=", &line->nodes},
                {"Switches=", &line->switches}};
    char quote[TEXT_QUOTE_MAX];
    const char *word;
    while ((word = import_line_word(&text, &s->import->arena)) != NULL && *word != '#') {
        uint32_t i = 0;
        const char *value = word;
        while (i < 4 && !import_line_take_any_case(&value, keys[i].key)) i++;
        if (i < 4 && *keys[i].slot == NULL) {
            *keys[i].slot = value;
            continue;
        }
        if (import_line_take_any_case(&value, "LinkSpeed=") ||
            import_line_take_any_case(&value, "BlockSizes="))
            continue;
        return import_node_error(s->import, number, err,
                                 "expected SwitchName=, Nodes=, Switches=, LinkSpeed=, BlockName= "
                                 "or BlockSizes= once in a line, found %s",
                                 text_quote(word, quote));
    }
    return true;
}

static bool read_switch(ImportSlurm *s, const Line *line, uint32_t number, Err *err) {
    if ((line->nodes == NULL) == (line->switches == NULL))
        return import_node_error(
            s->import, number, err,
            "switch \"%s\": expected either Nodes= or Switches=", line->switch_name);
    if (!import_slurm_switch(s, line->switch_name, number, err)) return false;
    uint32_t self = s->switch_count - 1;
    if (line->nodes != NULL)
        return import_slurm_nodes(s, line->nodes, number, self, IMPORT_NONE, err);
    return import_slurm_children(s, line->switches, number, self, err);
}

static bool read_line(ImportSlurm *s, const char *text, uint32_t number, Err *err) {
    Line line = {NULL, NULL, NULL, NULL};
    if (!read_pairs(s, text, number, &line, err)) return false;
    if (line.switch_name != NULL && line.block_name == NULL)
        return read_switch(s, &line, number, err);
    if (line.block_name != NULL && line.switch_name == NULL && line.switches == NULL) {
        if (line.nodes == NULL) {
            import_graph_find(&s->import->graph, "block %s has no nodes", line.block_name);
            return true;
        }
        return import_slurm_nodes(s, line.nodes, number, IMPORT_NONE, s->block_count++, err);
    }
    return (line.switch_name == NULL && line.nodes == NULL && line.switches == NULL) ||
           import_node_error(s->import, number, err, "expected SwitchName= or BlockName=");
}

bool import_slurm_conf_read(Import *import, Err *err) {
    ImportSlurm slurm = {.import = import};
    ImportLines lines;
    bool done = true;
    import_line_split(import->bytes, import->count, &import->arena, &lines);
    for (uint32_t i = 0; i < lines.count && done; i++)
        done = read_line(&slurm, lines.lines[i], i + 1, err);
    done = done && import_slurm_build(&slurm, err);
    import_slurm_free(&slurm);
    return done;
}

// Writing results. A result is whole: it is built in memory and written once, so that a failure
// leaves no half table.
#include "sim/commands/output.h"

#include "model/base/table.h"
#include "model/base/units.h"
#include "model/machine/import_graph.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int output_text(Text *text, int status) {
    bool done = text->length == 0 || fwrite(text->data, 1, text->length, stdout) == text->length;
    done = fflush(stdout) == 0 && done;
    text_free(text);
    if (done) return status;
    fprintf(stderr, "moesim: cannot write to stdout: %s\n", strerror(errno));
    return OUTPUT_BAD;
}

void output_message(const char *message) {
    fprintf(stderr, "moesim: %s\n", message);
}

int output_bad(const Err *err) {
    output_message(err->text);
    return OUTPUT_BAD;
}

char *output_number(double value, char *buffer) {
    double size = value < 0 ? -value : value;
    double rounded = size, unit = 1; // from 1000 on, whole multiples of a power of ten
    while (rounded >= 1000) {
        rounded /= 10;
        unit *= 10;
    }
    // what is rounded up to a power of ten counts as one
    int decimals = size >= 99.95 || size == 0 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3;
    for (double scaled = size; scaled > 0 && scaled < 0.09995 && decimals < 9; scaled *= 10)
        decimals++;
    if (unit > 1) {
        double whole = (double)(uint64_t)(rounded + 0.5) * unit;
        snprintf(buffer, OUTPUT_NUMBER_MAX, "%s%.0f", value < 0 ? "-" : "", whole);
    } else {
        snprintf(buffer, OUTPUT_NUMBER_MAX, "%.*f", decimals, value);
    }
    return buffer;
}

void output_links(const Timeline *timeline, Text *out) {
    Table table = {0};
    char text[UNITS_TEXT_MAX];
    table_column(&table, "links", TABLE_LEFT);
    table_column(&table, "volume", TABLE_RIGHT);
    table_column(&table, "busiest link", TABLE_LEFT);
    table_column(&table, "its volume", TABLE_RIGHT);
    table_column(&table, "of capacity", TABLE_RIGHT);
    for (uint32_t i = 0; i < LINK_CLASS_COUNT; i++) {
        const LinkTotal *link = &timeline->links[i];
        if (link->bytes == 0) continue;
        table_cell(&table, topology_class_names[i]);
        table_cell(&table, units_format_bytes(link->bytes, text));
        table_cell(&table, link->busiest_name);
        table_cell(&table, units_format_bytes(link->busiest_B, text));
        table_cellf(&table, "%.1f %%", 100 * timeline_link_share(link, timeline->end_ps));
    }
    if (table.cell_count > 0) table_print(&table, out);
    table_free(&table);
}

void output_write_links(const LinkTotal links[LINK_CLASS_COUNT], JsonWriter *writer) {
    jsonw_open_array(writer, "links");
    for (uint32_t i = 0; i < LINK_CLASS_COUNT; i++) {
        if (links[i].bytes == 0) continue;
        jsonw_open_object(writer, NULL);
        jsonw_string(writer, "class", topology_class_names[i]);
        jsonw_u64(writer, "bytes", links[i].bytes);
        jsonw_string(writer, "busiest", links[i].busiest_name);
        jsonw_u64(writer, "busiest_B", links[i].busiest_B);
        jsonw_u64(writer, "busiest_B_per_s", links[i].busiest_Bps);
        if (links[i].busiest_burst_B > 0)
            jsonw_u64(writer, "busiest_burst_B", links[i].busiest_burst_B);
        jsonw_close_object(writer);
    }
    jsonw_close_array(writer);
}

void output_topology_note(const Topology *topology, int width, Text *out) {
    const char *note = topology->note, *label = topology->is_import ? "finding" : "note";
    while (*note != '\0') {
        const char *end = topology->is_import ? strstr(note, IMPORT_FINDING_BREAK) : NULL;
        size_t length = end == NULL ? strlen(note) : (size_t)(end - note);
        text_addf(out, "%-*s%.*s\n", width, label, (int)length, note);
        note += length + (end == NULL ? 0 : strlen(IMPORT_FINDING_BREAK));
    }
}

// Self-contained pages.
//
// Invariant: every string but the pictures, which svg.h made, passes svg_add_escaped. The policy:
// W3C, "Content Security Policy Level 3"; 'unsafe-inline' is the style of this page and of its
// pictures.
#include "model/report/html.h"

#include <assert.h>

#include "model/report/svg.h"

static const char style[] =
    "<style>\n"
    ":root{color-scheme:light dark}\n"
    "body{font:14px sans-serif;margin:2em auto;max-width:80em;padding:0 1em;"
    "color:#222;background:#fff}\n"
    "h1{font-size:1.5em}h2{font-size:1.2em;margin-top:2em}\n"
    "pre{overflow-x:auto}figure{margin:1em 0}figure svg{max-width:100%;height:auto}\n"
    "div.table{overflow-x:auto}table{border-collapse:collapse}\n"
    "th,td{padding:2px 8px;text-align:left;border-bottom:1px solid #ddd;white-space:nowrap}\n"
    "th.r,td.r{text-align:right;font-variant-numeric:tabular-nums}\n"
    "td.note{white-space:normal;color:#555;padding-left:2em}figcaption{color:#555}\n"
    "@media (prefers-color-scheme:dark){body{color:#e6e6e6;background:#16181c}"
    "th,td{border-color:#33373d}td.note,figcaption{color:#aaa}}\n"
    "</style>\n";

static void add_element(Text *out, const char *name, const char *text) {
    text_addf(out, "<%s>", name);
    svg_add_escaped(out, text);
    text_addf(out, "</%s>\n", name);
}

void html_open(Text *out, const char *title) {
    text_add(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                  "style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'\"/>\n"
                  "<meta name=\"viewport\" content=\"width=device-width\"/>\n");
    add_element(out, "title", title);
    text_add(out, style);
    text_add(out, "</head>\n<body>\n");
    add_element(out, "h1", title);
}

void html_close(Text *out) {
    text_add(out, "</body>\n</html>\n");
}

void html_heading(Text *out, const char *text) {
    add_element(out, "h2", text);
}

void html_paragraph(Text *out, const char *text) {
    add_element(out, "p", text);
}

void html_lines(Text *out, const char *text) {
    add_element(out, "pre", text);
}

// ---- Tables

static void add_cells(Text *out, const Table *table, const char *element, const char **cells) {
    text_add(out, "<tr>");
    for (uint32_t i = 0; i < table->columns; i++) {
        text_addf(out, "<%s%s>", element, table->aligns[i] == TABLE_RIGHT ? " class=\"r\"" : "");
        svg_add_escaped(out, cells[i]);
        text_addf(out, "</%s>", element);
    }
    text_add(out, "</tr>\n");
}

static void add_note(Text *out, const Table *table, const char *note) {
    text_addf(out, "<tr><td class=\"note\" colspan=\"%u\">", table->columns);
    svg_add_escaped(out, note);
    text_add(out, "</td></tr>\n");
}

void html_table(Text *out, const Table *table) {
    assert(table->columns > 0 && table->cell_count % table->columns == 0);
    uint32_t note = 0;
    text_add(out, "<div class=\"table\"><table>\n<thead>\n");
    add_cells(out, table, "th", table->headers);
    text_add(out, "</thead>\n<tbody>\n");
    for (uint32_t i = 0; i < table->cell_count; i += table->columns) {
        add_cells(out, table, "td", table->cells + i);
        for (; note < table->note_count && table->notes[note].cells == i + table->columns; note++)
            add_note(out, table, table->notes[note].text);
    }
    text_add(out, "</tbody>\n</table></div>\n");
}

void html_picture(Text *out, const char *svg, const char *caption) {
    text_add(out, "<figure>\n");
    text_add(out, svg);
    add_element(out, "figcaption", caption);
    text_add(out, "</figure>\n");
}

// A page of HTML that stands alone: style inside, pictures inline, no scripts, nothing fetched. It
// follows the reader's light or dark scheme, and a policy in its head forbids browsers to load or
// to run anything, whatever its strings say. Strings are escaped here (svg_add_escaped).
//
//     html_open(&page, "ranking");
//     html_heading(&page, "plans");
//     html_table(&page, &table);
//     html_picture(&page, text_string(&svg), "all plans");
//     html_close(&page);
#ifndef MODEL_REPORT_HTML_H
#define MODEL_REPORT_HTML_H

#include "model/base/table.h"
#include "model/base/text.h"

void html_open(Text *out, const char *title); // the title is the first heading too
void html_close(Text *out);

void html_heading(Text *out, const char *text);
void html_paragraph(Text *out, const char *text);
// Lines as they are, in one width.
void html_lines(Text *out, const char *text);
// The cells of a table for people, with its notes in rows of their own.
void html_table(Text *out, const Table *table);
// `svg` is what svg_xy, svg_heat or svg_bars wrote, and is not escaped.
void html_picture(Text *out, const char *svg, const char *caption);

#endif

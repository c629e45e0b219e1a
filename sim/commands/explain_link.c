// Communication in sentences and tables.
//
// Invariant: volume / effective bandwidth of a row is its time, and bandwidths are of one link: the
// one that the collective by itself fills most, over the time in which it moves.
#include "sim/commands/explain_link.h"

#include <stdio.h>

#include "model/base/mem.h"
#include "model/base/num.h"
#include "model/base/table.h"

void explain_link_objective(const ExplainStep *step, Text *out) {
    char time[UNITS_TEXT_MAX], compute[UNITS_TEXT_MAX], comm[UNITS_TEXT_MAX];
    char overlapped[UNITS_TEXT_MAX], waiting[UNITS_TEXT_MAX];
    const WhyBalance *b = &step->why.balance;
    if (!step->has_why) {
        text_addf(out, "\nthe step is not followed: %s\n", step->unknown.text);
        return;
    }
    text_addf(out,
              "\ntime = compute + communication - overlapped + waiting: %s = %s + %s - %s + %s\n",
              units_format_time(b->time_ps, time), units_format_time(b->compute_ps, compute),
              units_format_time(b->comm_ps, comm), units_format_time(b->overlapped_ps, overlapped),
              units_format_time(b->waiting_ps, waiting));
    text_addf(out, "overlap ratio = overlapped / communication: %.3f\n",
              b->comm_ps > 0 ? (double)b->overlapped_ps / (double)b->comm_ps : 0);
    text_add(out, "here a moment counts once, however many streams compute or move in it; the "
                  "tables count each stream\n");
}

static const char *rate_text(double Bps, char *buffer) {
    return units_format_rate((uint64_t)num_round(Bps), buffer);
}

static void add_comm(Table *table, const ExplainComm *row, const WhyComm *link) {
    char text[UNITS_TEXT_MAX];
    double transfer_s = row->transfer_s;
    table_cell(table, row->name);
    table_cellf(table, "%.0f", row->instances);
    table_cell(table, units_format_bytes((uint64_t)num_round(row->bytes), text));
    if (link != NULL && link->fullest_Bps > 0 && transfer_s > 0) {
        table_cellf(table, "%s %s", topology_class_names[link->fullest_class],
                    units_format_bytes(link->fullest_B, text));
        table_cell(table, rate_text((double)link->fullest_B / transfer_s, text));
        table_cell(table, units_format_rate(link->fullest_Bps, text));
    } else {
        for (int i = 0; i < 3; i++) table_cell(table, "");
    }
    table_cell(table, explain_plan_time(transfer_s, text));
    table_cell(table, explain_plan_time(row->bound_s, text));
    table_cell(table, explain_plan_time(row->exposed_s, text));
    table_cellf(table, "%.1f %%", explain_plan_percent(transfer_s - row->exposed_s, transfer_s));
}

void explain_link_collectives(const ExplainStep *step, Text *out) {
    Table table = {0};
    ExplainComm *rows = mem_alloc((size_t)step->phase->timeline.op_count + 1, sizeof *rows);
    uint32_t count = explain_plan_comms(step, rows);
    static const char *const headers[] = {"communication", "times",   "bytes",    "fullest link",
                                          "effective",     "nominal", "transfer", "bound",
                                          "exposed",       "overlap"};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        table_column(&table, headers[i], i == 0 ? TABLE_LEFT : TABLE_RIGHT);
    for (uint32_t i = 0; i < count; i++)
        add_comm(&table, &rows[i], why_link_find(&step->links, rows[i].name));
    if (count > 0) {
        text_add(out,
                 "\ntransfer: with all partners there = volume on the fullest link / effective "
                 "bandwidth; bound: at nominal rates;\noverlap: the part of it that lies beside "
                 "computing\n\n");
        table_print(&table, out);
    }
    table_free(&table);
    mem_free(rows);
}

double explain_link_fullness(const WhyLinks *links) {
    double room_B = (double)links->capacity_Bps * units_seconds(links->pass_ps);
    return room_B > 0 ? (double)links->bytes / room_B : 0;
}

// The row with the most bytes on the link among those not named yet.
static const WhyComm *next_comm(const WhyLinks *links, const WhyComm *last) {
    const WhyComm *next = NULL;
    for (uint32_t i = 0; i < links->count; i++) {
        const WhyComm *comm = &links->comms[i];
        bool is_after = last == NULL || comm->bottleneck_B < last->bottleneck_B ||
                        (comm->bottleneck_B == last->bottleneck_B && comm > last);
        if (comm->bottleneck_B == 0 || !is_after) continue;
        if (next == NULL || comm->bottleneck_B > next->bottleneck_B) next = comm;
    }
    return next;
}

void explain_link_bottleneck(const ExplainStep *step, const char *name, Text *out) {
    char bytes[UNITS_TEXT_MAX], rate[UNITS_TEXT_MAX];
    const WhyLinks *links = &step->links;
    if (!links->has_bottleneck) {
        text_addf(out, "%s no link carries anything\n", name);
        return;
    }
    Text line = {0};
    text_addf(&line, "%s %s (%s, %s) is %.1f %% full, %s in a pass:", name, links->name,
              topology_class_names[links->link_class], units_format_rate(links->capacity_Bps, rate),
              100 * explain_link_fullness(links), units_format_bytes(links->bytes, bytes));
    const WhyComm *comm = NULL;
    double shown = 0;
    for (const char *mark = " "; (comm = next_comm(links, comm)) != NULL; mark = ", ") {
        double part = explain_plan_percent((double)comm->bottleneck_B, (double)links->bytes);
        if (part < 1) break;
        text_addf(&line, "%s%s %.0f %%", mark, comm->name, part);
        shown += part;
    }
    if (shown < 99.5) text_addf(&line, ", others %.0f %%", 100 - shown);
    text_add_wrapped(out, text_string(&line), 0, TABLE_NOTE_COLUMNS);
    text_free(&line);
}

// Tables of memory for people.
//
// Invariant: every figure is one of FitRow. One plan is shown stage by stage; several take one line
// each.
#include "sim/commands/fit_show.h"

#include <inttypes.h>

#include "model/base/table.h"

// ---- What was asked

static void show_head(const FitHead *head, Text *out) {
    const FitAsk *ask = head->ask;
    text_addf(out, "model      %s, %" PRIu32 " layers, cache in %s\n", ask->arch->name,
              ask->arch->layers, numfmt_name(ask->kv_format));
    text_addf(out, "engine     %s, ", ask->engine->name);
    if (ask->memory_permille > 0 || ask->engine->fraction_permille > 0) {
        uint32_t permille =
            ask->memory_permille > 0 ? ask->memory_permille : ask->engine->fraction_permille;
        text_addf(out, "%.3g of memory%s", permille / 1000.0,
                  ask->memory_permille > 0 ? "" : " (default)");
    } else
        text_add(out, "fraction of memory by its own rule");
    text_addf(out, " for %s\n",
              ask->engine->scope == MEMORY_SCOPE_ALL ? "all but graphs" : "weights and cache");
    text_addf(out,
              "asked      %" PRIu64 " tokens of context%s, %" PRIu64
              " at once over each plan, lengths %s\n",
              ask->context, head->default_context ? " (default)" : "", ask->concurrency,
              head->lengths);
}

static void add_bytes(Table *table, uint64_t B) {
    char text[UNITS_TEXT_MAX];
    table_cell(table, B > 0 ? units_format_bytes(B, text) : "");
}

static void add_signed(Table *table, int64_t B) {
    char text[UNITS_TEXT_MAX];
    uint64_t size = B < 0 ? (uint64_t)0 - (uint64_t)B : (uint64_t)B;
    table_cellf(table, "%s%s", B < 0 ? "-" : "", units_format_bytes(size, text));
}

static const char *plan_text(const FitRow *row, char *buffer) {
    plan_label(&row->plan, buffer);
    return buffer;
}

// ---- One plan

static void show_stages(const FitRow *row, Text *out) {
    Table table = {0};
    table_column(&table, "layers", TABLE_RIGHT);
    for (uint32_t i = 0; i < MEMORY_PART_COUNT; i++)
        table_column(&table, memory_fit_part_names[i], TABLE_RIGHT);
    table_column(&table, "usable", TABLE_RIGHT);
    table_column(&table, "left", TABLE_RIGHT);
    for (uint32_t i = 0; i < row->fit.stage_count; i++) {
        const MemoryStage *stage = &row->fit.stages[i];
        table_cellf(&table, "%" PRIu32 "-%" PRIu32, stage->first_layer,
                    stage->first_layer + stage->layers - 1);
        for (uint32_t j = 0; j < MEMORY_PART_COUNT; j++) add_bytes(&table, stage->part_B[j]);
        add_bytes(&table, stage->usable_B);
        uint64_t over = memory_fit_over_B(stage);
        add_signed(&table,
                   over > 0 ? -(int64_t)over : (int64_t)(stage->usable_B - stage->inside_B));
    }
    text_add(out, "\nmemory of a GPU of each stage, with the sequences asked for\n");
    table_print(&table, out);
    table_free(&table);
}

static void describe_kind(const MemoryLayer *layer, Text *out) {
    if (layer->state_B > 0) {
        text_add(out, "state");
        return;
    }
    if (layer->window == 0 && layer->ratio == 0) {
        text_add(out, "all tokens");
        return;
    }
    if (layer->window > 0) text_addf(out, "window of %" PRIu64, layer->window);
    if (layer->ratio > 0)
        text_addf(out, "%sone entry in %" PRIu64, layer->window > 0 ? " and " : "", layer->ratio);
}

static void show_kinds(const FitAsk *ask, const MemoryStage *stage, Text *out) {
    Table table = {0};
    table_column(&table, "cache", TABLE_LEFT);
    table_column(&table, "layers", TABLE_RIGHT);
    table_column(&table, "B per token and layer", TABLE_RIGHT);
    table_column(&table, "B per entry", TABLE_RIGHT);
    table_column(&table, "B of state", TABLE_RIGHT);
    table_column(&table, "tokens per page", TABLE_RIGHT);
    table_column(&table, "groups", TABLE_RIGHT);
    table_column(&table, "padding layers", TABLE_RIGHT);
    for (uint32_t i = 0; i < stage->pages.kind_count; i++) {
        const MemoryKind *kind = &stage->pages.kinds[i];
        Text what = {0};
        describe_kind(&kind->layer, &what);
        const uint64_t cells[] = {kind->layers,        kind->layer.token_B, kind->layer.entry_B,
                                  kind->layer.state_B, kind->page_tokens,   kind->groups,
                                  kind->padding_layers};
        table_cell(&table, text_string(&what));
        for (size_t j = 0; j < sizeof cells / sizeof cells[0]; j++)
            if (cells[j] > 0)
                table_cellf(&table, "%" PRIu64, cells[j]);
            else
                table_cell(&table, "");
        text_free(&what);
    }
    MemoryGrouping grouping =
        ask->grouping < MEMORY_GROUPING_COUNT ? ask->grouping : ask->engine->grouping;
    text_addf(out, "\ncache of a GPU of the fullest stage, groups by rule %s\n",
              memory_page_grouping_names[grouping]);
    table_print(&table, out);
    table_free(&table);
}

static double percent(uint64_t part, uint64_t whole) {
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

static void show_paging(const FitRow *row, const MemoryStage *stage, Text *out) {
    char taken[UNITS_TEXT_MAX], used[UNITS_TEXT_MAX];
    uint64_t part, whole;
    memory_page_share(&stage->pages, &part, &whole);
    uint64_t lost = row->taken_B > row->used_B ? row->taken_B - row->used_B : 0;
    text_addf(out,
              "paging     a sequence of these lengths takes %s for %s: %.2f %% lost to pages and "
              "groups\n",
              units_format_bytes(row->taken_B, taken), units_format_bytes(row->used_B, used),
              percent(lost, row->taken_B));
    uint32_t padding = memory_page_padding(&stage->pages);
    if (padding > 0)
        text_addf(out, "padding    %" PRIu32 " layers that hold nothing, up to %.2f %% of a kind\n",
                  padding, percent(part, whole));
}

static void show_room(const FitAsk *ask, const FitRow *row, const MemoryStage *stage, Text *out) {
    char text[UNITS_TEXT_MAX], plan[PLAN_TEXT_MAX], time[UNITS_TEXT_MAX];
    int64_t room = row->fit.available_B;
    uint64_t size = room < 0 ? (uint64_t)0 - (uint64_t)room : (uint64_t)room;
    text_addf(out, "room       %s%s for cache and state; %" PRIu64 " B per token\n",
              room < 0 ? "-" : "", units_format_bytes(size, text), stage->token_B);
    text_addf(out, "longest    %" PRIu64 " tokens of one sequence%s\n", row->fit.most_context,
              row->fit.most_context == ask->arch->max_context ? ", the model's own limit" : "");
    text_addf(out,
              "most       %" PRIu64 " sequences of %" PRIu64 " tokens at once, %" PRIu64
              " on each attention-DP rank\n",
              row->requests, ask->context, row->fit.most_sequences);
    text_addf(out, "tokens     %" PRIu64 " of cache on each of %" PRIu32 " attention-DP ranks\n",
              row->tokens, row->plan.pools[0].dp * row->plan.pools[0].replicas);
    if (row->away_ps > 0)
        text_addf(
            out, "elsewhere  weights %s and cache %s of a GPU in %s: read in %s by each step\n",
            units_format_bytes(ask->away_weights_B, text), units_format_bytes(ask->away_kv_B, plan),
            row->machine->tier.name, units_format_time(row->away_ps, time));
}

static void show_one(const FitHead *head, const FitRow *row, Text *out) {
    char plan[PLAN_TEXT_MAX], memory[UNITS_TEXT_MAX], product[PLAN_TEXT_MAX];
    text_addf(out, "machine    %s, %" PRIu32 " GPUs of %s\n", row->machine->name,
              row->machine->gpus, units_format_bytes(row->machine->memory_B, memory));
    text_addf(out, "plan       %s, GPUs %s\n", plan_text(row, plan),
              plan_gpu_product(&row->plan, product));
    if (!row->legal) {
        text_addf(out, "\nillegal: %s\n", row->reason);
        return;
    }
    const MemoryStage *stage = &row->fit.stages[row->fit.fullest];
    text_addf(out, "step       %" PRIu64 " new tokens on an attention-DP rank\n", row->fit.chunk);
    show_stages(row, out);
    show_kinds(head->ask, stage, out);
    text_add_char(out, '\n');
    show_paging(row, stage, out);
    show_room(head->ask, row, stage, out);
    if (row->fits)
        text_add(out, "\nfits\n");
    else
        text_addf(out, "\ndoes not fit: %s\n", row->reason);
}

// ---- Several plans

typedef struct Columns {
    bool machine, formats;
} Columns;

static void add_row(const FitRow *row, const Columns *columns, Table *table) {
    char text[PLAN_TEXT_MAX];
    if (columns->machine) {
        table_cell(table, row->machine->name);
        add_bytes(table, row->machine->memory_B);
        table_cell(table, *row->format != '\0' ? row->format : "as it is");
    }
    table_cell(table, plan_text(row, text));
    table_cellf(table, "%" PRIu32, plan_gpus(&row->plan));
    table_cell(table, row->fits ? "yes" : row->legal ? "no" : "illegal");
    if (!row->legal) {
        for (uint32_t i = 0; i < 5u + columns->formats; i++) table_cell(table, "");
        table_note(table, row->reason);
        return;
    }
    const MemoryStage *stage = &row->fit.stages[row->fit.fullest];
    add_bytes(table, stage->part_B[MEMORY_PART_WEIGHTS]);
    if (columns->formats) add_bytes(table, row->converting_B);
    add_signed(table, row->fit.available_B);
    table_cellf(table, "%" PRIu64, row->fit.most_context);
    table_cellf(table, "%" PRIu64, row->requests);
    table_cell(table, row->fits ? "" : memory_fit_part_names[memory_fit_overflow(stage)]);
    if (!row->fits) table_note(table, row->reason);
}

static void show_many(const FitHead *head, const FitRow *rows, uint32_t count, Text *out) {
    Table table = {0};
    Columns columns = {.machine = head->is_best};
    for (uint32_t i = 0; i < count; i++) columns.formats |= *rows[i].format != '\0';
    if (!head->is_best)
        text_addf(out, "machine    %s, %" PRIu32 " GPUs, %" PRIu32 " of them in a group\n",
                  rows[0].machine->name, rows[0].machine->gpus, rows[0].machine->group);
    if (columns.formats)
        text_add(out, "formats    hypothetical: attention and feed-forward matrices "
                      "re-quantised, with scales; converting: with the weights as "
                      "they are, when an engine does so at load\n");
    text_add_char(out, '\n');
    if (head->is_best) {
        table_column(&table, "machine", TABLE_LEFT);
        table_column(&table, "memory", TABLE_RIGHT);
        table_column(&table, "weights as", TABLE_LEFT);
    }
    table_column(&table, "plan", TABLE_LEFT);
    table_column(&table, "GPUs", TABLE_RIGHT);
    table_column(&table, "fits", TABLE_LEFT);
    table_column(&table, "weights", TABLE_RIGHT);
    if (columns.formats) table_column(&table, "converting", TABLE_RIGHT);
    table_column(&table, "room", TABLE_RIGHT);
    table_column(&table, "longest", TABLE_RIGHT);
    table_column(&table, "most at once", TABLE_RIGHT);
    table_column(&table, "overflows in", TABLE_LEFT);
    for (uint32_t i = 0; i < count; i++) add_row(&rows[i], &columns, &table);
    table_print(&table, out);
    table_free(&table);
}

void fit_show_table(const FitHead *head, const FitRow *rows, uint32_t count, Text *out) {
    show_head(head, out);
    if (count == 1 && !head->is_best)
        show_one(head, &rows[0], out);
    else
        show_many(head, rows, count, out);
}

// The figures of the command fit for programs.
//
// Invariant: JSON has every figure in full; CSV one line for each stage of each row.
#include <inttypes.h>

#include "model/base/jsonw.h"
#include "model/base/table.h"
#include "sim/commands/fit_show.h"

#define FIT_JSON_VERSION 1

static void write_pages(const MemoryPages *pages, JsonWriter *w) {
    uint64_t part, whole;
    memory_page_share(pages, &part, &whole);
    jsonw_u64(w, "group_layers", pages->group_layers);
    jsonw_u64(w, "page_B", pages->page_B);
    jsonw_u64(w, "padding_layers", memory_page_padding(pages));
    jsonw_double(w, "padding_of_kind", (double)part / (double)whole);
    jsonw_open_array(w, "cache_kinds");
    for (uint32_t i = 0; i < pages->kind_count; i++) {
        const MemoryKind *kind = &pages->kinds[i];
        jsonw_inline_next(w);
        jsonw_open_object(w, NULL);
        jsonw_u64(w, "layers", kind->layers);
        jsonw_u64(w, "token_B", kind->layer.token_B);
        jsonw_u64(w, "window_tok", kind->layer.window);
        jsonw_u64(w, "entry_B", kind->layer.entry_B);
        jsonw_u64(w, "entry_tok", kind->layer.ratio);
        jsonw_u64(w, "state_B", kind->layer.state_B);
        jsonw_u64(w, "page_tok", kind->page_tokens);
        jsonw_u64(w, "groups", kind->groups);
        jsonw_u64(w, "padding_layers", kind->padding_layers);
        jsonw_close_object(w);
    }
    jsonw_close_array(w);
}

static void write_stage(const MemoryStage *stage, JsonWriter *w) {
    jsonw_open_object(w, NULL);
    jsonw_u64(w, "first_layer", stage->first_layer);
    jsonw_u64(w, "layers", stage->layers);
    jsonw_open_object(w, "memory_B");
    for (uint32_t i = 0; i < MEMORY_PART_COUNT; i++)
        jsonw_u64(w, memory_fit_part_names[i], stage->part_B[i]);
    jsonw_close_object(w);
    jsonw_u64(w, "checkpoint_B", stage->checkpoint_B);
    jsonw_u64(w, "added_by_engine_B", stage->added_B);
    jsonw_u64(w, "usable_B", stage->usable_B);
    jsonw_u64(w, "over_B", memory_fit_over_B(stage));
    jsonw_i64(w, "available_B", stage->available_B);
    jsonw_u64(w, "token_B", stage->token_B);
    jsonw_u64(w, "sequence_B", stage->sequence_B);
    jsonw_u64(w, "longest_context_tok", stage->most_context);
    jsonw_u64(w, "most_sequences", stage->most_sequences);
    write_pages(&stage->pages, w);
    jsonw_close_object(w);
}

static void write_row(const FitRow *row, JsonWriter *w) {
    char plan[PLAN_TEXT_MAX];
    jsonw_open_object(w, NULL);
    jsonw_string(w, "machine", row->machine->name);
    jsonw_string(w, "device", row->machine->device->name);
    jsonw_u64(w, "gpu_memory_B", row->machine->memory_B);
    jsonw_string(w, "requantised", row->format);
    jsonw_string(w, "plan", plan_label(&row->plan, plan));
    jsonw_u64(w, "gpus", plan_gpus(&row->plan));
    jsonw_bool(w, "legal", row->legal);
    jsonw_bool(w, "fits", row->fits);
    jsonw_string(w, "reason", row->reason);
    if (row->legal && !row->fits)
        jsonw_string(
            w, "overflows",
            memory_fit_part_names[memory_fit_overflow(&row->fit.stages[row->fit.fullest])]);
    if (row->legal) {
        jsonw_u64(w, "chunk_tok", row->fit.chunk);
        jsonw_u64(w, "fullest_stage", row->fit.fullest);
        jsonw_i64(w, "available_B", row->fit.available_B);
        jsonw_u64(w, "longest_context_tok", row->fit.most_context);
        jsonw_u64(w, "most_sequences_per_dp_rank", row->fit.most_sequences);
        jsonw_u64(w, "most_requests", row->requests);
        jsonw_u64(w, "cache_tok_per_dp_rank", row->tokens);
        jsonw_u64(w, "converting_B", row->converting_B);
        jsonw_u64(w, "sequence_taken_B", row->taken_B);
        jsonw_u64(w, "sequence_used_B", row->used_B);
        jsonw_double(w, "elsewhere_step_s", units_seconds(row->away_ps));
        jsonw_open_array(w, "stages");
        for (uint32_t i = 0; i < row->fit.stage_count; i++) write_stage(&row->fit.stages[i], w);
        jsonw_close_array(w);
    }
    jsonw_close_object(w);
}

void fit_show_json(const FitHead *head, const FitRow *rows, uint32_t count, Text *out) {
    const FitAsk *ask = head->ask;
    JsonWriter w = {.text = out};
    jsonw_open_object(&w, NULL);
    jsonw_string(&w, "moesim", "fit");
    jsonw_u64(&w, "version", FIT_JSON_VERSION);
    jsonw_string(&w, "model", ask->arch->name);
    jsonw_string(&w, "engine", ask->engine->name);
    jsonw_string(&w, "kv_format", numfmt_name(ask->kv_format));
    jsonw_u64(&w, "context_tok", ask->context);
    jsonw_u64(&w, "concurrency", ask->concurrency);
    jsonw_string(&w, "lengths", head->lengths);
    jsonw_open_array(&w, "rows");
    for (uint32_t i = 0; i < count; i++) write_row(&rows[i], &w);
    jsonw_close_array(&w);
    jsonw_close_object(&w);
    jsonw_finish(&w);
}

static void csv_columns(Table *table) {
    static const char *const columns[] = {"machine",
                                          "gpu_memory_B",
                                          "requantised",
                                          "plan",
                                          "gpus",
                                          "fits",
                                          "stage",
                                          "weights_B",
                                          "kv_cache_B",
                                          "state_B",
                                          "activations_B",
                                          "communication_B",
                                          "reserve_B",
                                          "graphs_B",
                                          "usable_B",
                                          "over_B",
                                          "available_B",
                                          "token_B",
                                          "longest_context_tok",
                                          "most_sequences",
                                          "reason"};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        table_column(table, columns[i], TABLE_LEFT);
}

static void csv_key(const FitRow *row, Table *table) {
    char plan[PLAN_TEXT_MAX];
    table_cell(table, row->machine->name);
    table_cellf(table, "%" PRIu64, row->machine->memory_B);
    table_cell(table, row->format);
    table_cell(table, plan_label(&row->plan, plan));
    table_cellf(table, "%" PRIu32, plan_gpus(&row->plan));
    table_cell(table, row->fits ? "yes" : row->legal ? "no" : "illegal");
}

static void csv_stage(const FitRow *row, uint32_t index, Table *table) {
    const MemoryStage *stage = &row->fit.stages[index];
    csv_key(row, table);
    table_cellf(table, "%" PRIu32, index);
    for (uint32_t i = 0; i < MEMORY_PART_COUNT; i++)
        table_cellf(table, "%" PRIu64, stage->part_B[i]);
    table_cellf(table, "%" PRIu64, stage->usable_B);
    table_cellf(table, "%" PRIu64, memory_fit_over_B(stage));
    table_cellf(table, "%" PRId64, stage->available_B);
    table_cellf(table, "%" PRIu64, stage->token_B);
    table_cellf(table, "%" PRIu64, stage->most_context);
    table_cellf(table, "%" PRIu64, stage->most_sequences);
    table_cell(table, row->reason);
}

void fit_show_csv(const FitHead *head, const FitRow *rows, uint32_t count, Text *out) {
    Table table = {0};
    (void)head;
    csv_columns(&table);
    for (uint32_t i = 0; i < count; i++) {
        if (!rows[i].legal) {
            csv_key(&rows[i], &table);
            for (uint32_t j = 0; j < MEMORY_PART_COUNT + 7; j++) table_cell(&table, "");
            table_cell(&table, rows[i].reason);
        }
        for (uint32_t s = 0; rows[i].legal && s < rows[i].fit.stage_count; s++)
            csv_stage(&rows[i], s, &table);
    }
    table_print_csv(&table, out);
    table_free(&table);
}

// Prints the shard plan: what each stage and rank reads, what coarser readers would read on top,
// the proof of coverage, and for one rank every range.
//
// Invariant: figures come from ShardPlan alone; ranks with equal figures that follow each other are
// one row.
#include "sim/commands/shard.h"

#include <inttypes.h>

#include "model/base/jsonw.h"
#include "model/base/table.h"
#include "model/base/units.h"
#include "model/plan/shard_plan.h"
#include "sim/commands/output.h"
#include "sim/commands/shard_input.h"

#define SHARD_JSON_VERSION 1
#define NO_RANK            UINT32_MAX

// How coarsely a rank reads.
#define READER_LIST(X)                                                                             \
    X(RANGES, "byte ranges", "ranges")                                                             \
    X(TENSORS, "whole tensors", "tensors")                                                         \
    X(FILES, "whole files", "files")
typedef enum Reader {
#define X(name, text, key) READER_##name,
    READER_LIST(X)
#undef X
        READER_COUNT
} Reader;
static const char *const reader_names[READER_COUNT] = {
#define X(name, text, key) text,
    READER_LIST(X)
#undef X
};
static const char *const reader_keys[READER_COUNT] = {
#define X(name, text, key) key,
    READER_LIST(X)
#undef X
};

typedef struct ReaderTotal {
    uint64_t all_B;     // over all ranks of a replica
    uint64_t largest_B; // of the rank that reads most
    uint64_t window_B;  // the most that a rank has in host memory
    uint64_t windows_B; // of all ranks together
} ReaderTotal;

// Ranks [first, last] that read the same amounts.
typedef struct RankRun {
    uint32_t first, last, stage;
    ShardRead read;
} RankRun;

typedef struct StageTotal {
    uint64_t all_B, largest_B, smallest_B;
} StageTotal;

typedef struct Summary {
    const ShardInputs *in;
    const ShardPlan *plan;
    const Pool *pool;
    uint32_t ranks; // of a replica
    StageTotal *stages;
    RankRun *runs; // heap
    uint32_t run_count, run_capacity;
    ReaderTotal readers[READER_COUNT];
    bool is_proven;
    ShardProof proof;
    Err fault;     // of the proof
    uint32_t rank; // of --rank, or NO_RANK
    ShardRanges ranges;
} Summary;

// ---- Sums.

static bool is_same(const ShardRead *a, const ShardRead *b) {
    return a->ranges_B == b->ranges_B && a->tensors_B == b->tensors_B && a->files_B == b->files_B &&
           a->files == b->files;
}

static void add_run(Summary *sum, uint32_t rank, const ShardRead *read) {
    uint32_t stage = rank / pool_stage_ranks(sum->pool);
    RankRun *last = sum->run_count > 0 ? &sum->runs[sum->run_count - 1] : NULL;
    if (last != NULL && last->stage == stage && is_same(&last->read, read)) {
        last->last = rank;
        return;
    }
    sum->runs = mem_grow(sum->runs, &sum->run_capacity, sum->run_count + 1, sizeof *sum->runs);
    sum->runs[sum->run_count++] = (RankRun){rank, rank, stage, *read};
}

static void add_reader(ReaderTotal *total, uint64_t read_B, uint64_t window_B) {
    total->all_B += read_B;
    total->windows_B += window_B;
    if (read_B > total->largest_B) total->largest_B = read_B;
    if (window_B > total->window_B) total->window_B = window_B;
}

static void add_rank(Summary *sum, uint32_t rank) {
    ShardRead read;
    StageTotal *stage = &sum->stages[rank / pool_stage_ranks(sum->pool)];
    shard_plan_read(sum->plan, rank, &read);
    add_run(sum, rank, &read);
    add_reader(&sum->readers[READER_RANGES], read.ranges_B, read.largest_range_B);
    add_reader(&sum->readers[READER_TENSORS], read.tensors_B, read.largest_tensor_B);
    add_reader(&sum->readers[READER_FILES], read.files_B, read.largest_file_B);
    if (stage->all_B == 0 || read.ranges_B < stage->smallest_B) stage->smallest_B = read.ranges_B;
    if (read.ranges_B > stage->largest_B) stage->largest_B = read.ranges_B;
    stage->all_B += read.ranges_B;
}

static void sum_up(Summary *sum, Arena *arena) {
    sum->ranks = pool_replica_ranks(sum->pool);
    sum->stages = arena_alloc(arena, sum->pool->pp, sizeof *sum->stages);
    for (uint32_t rank = 0; rank < sum->ranks; rank++) add_rank(sum, rank);
    sum->is_proven = shard_plan_prove(sum->plan, &sum->proof, &sum->fault);
    if (sum->rank != NO_RANK) shard_plan_ranges(sum->plan, sum->rank, &sum->ranges);
}

static double ratio(uint64_t part, uint64_t whole) {
    return whole > 0 ? (double)part / (double)whole : 0;
}

// Largest over mean of so many ranks.
static double imbalance(uint64_t largest_B, uint64_t all_B, uint32_t ranks) {
    return ratio(largest_B, all_B) * ranks;
}

static uint64_t ranges_of(const Summary *sum, uint32_t file, uint64_t *out_B) {
    uint64_t count = 0;
    *out_B = 0;
    for (uint32_t i = 0; i < sum->ranges.count; i++) {
        const ShardRange *range = &sum->ranges.items[i];
        if (range->file != file) continue;
        count++;
        *out_B += range->length * range->count;
    }
    return count;
}

// ---- For people.

static void cell_bytes(Table *table, uint64_t B) {
    char text[UNITS_TEXT_MAX];
    table_cell(table, units_format_bytes(B, text));
}

static void cell_ratio(Table *table, double value) {
    table_cellf(table, "%.3f", value);
}

static void describe_inputs(const Summary *sum, Text *out) {
    static const char *const engines[] = {"the plan", "vllm", "sglang"};
    char text[PLAN_TEXT_MAX];
    const ShardInputs *in = sum->in;
    text_addf(out,
              "plan     %s, pool %" PRIu32 "; %" PRIu32 " rank%s of a replica, %" PRIu32
              " replica%s\n",
              plan_label(&in->file.plan, text), in->pool, sum->ranks, sum->ranks == 1 ? "" : "s",
              sum->pool->replicas, sum->pool->replicas == 1 ? "" : "s");
    text_addf(out, "model    %s, %" PRIu64 " bytes in %" PRIu64 " tensors\n", in->arch.name,
              in->arch.totals.checkpoint_B, in->arch.totals.tensors);
    if (sum->plan->is_virtual)
        text_add(out, "files    a virtual file per layer, in the order of the inventory: real ones "
                      "with --checkpoint\n");
    else
        text_addf(out, "files    %" PRIu32 " of %s\n", sum->plan->file_count, in->checkpoint.path);
    text_addf(out, "stages   \"%s\", by %s\n", plan_stage_cut_names[sum->pool->stage_cut],
              engines[in->engine]);
    if (sum->pool->expert_placement == EXPERT_PLACEMENT_EPLB)
        text_addf(out, "experts  placed by eplb for %s load, on one node\n",
                  in->load.kind == LOAD_UNIFORM ? "a uniform" : "the plan's");
    text_add(out, "\n");
}

static void show_stages(const Summary *sum, Text *out) {
    Table table = {0};
    const char *const heads[] = {"stage",        "layers",   "ranks",       "read by all",
                                 "largest rank", "smallest", "largest/mean"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        table_column(&table, heads[i], TABLE_RIGHT);
    uint32_t ranks = pool_stage_ranks(sum->pool);
    for (uint32_t s = 0; s < sum->pool->pp; s++) {
        const StageTotal *stage = &sum->stages[s];
        uint32_t first, count;
        pool_stage_layers(sum->pool, sum->in->arch.layers, s, &first, &count);
        table_cellf(&table, "%" PRIu32, s);
        table_cellf(&table, "%" PRIu32 "-%" PRIu32, first, first + count - 1);
        table_cellf(&table, "%" PRIu32, ranks);
        cell_bytes(&table, stage->all_B);
        cell_bytes(&table, stage->largest_B);
        cell_bytes(&table, stage->smallest_B);
        cell_ratio(&table, imbalance(stage->largest_B, stage->all_B, ranks));
    }
    table_print(&table, out);
    table_free(&table);
    const ReaderTotal *all = &sum->readers[READER_RANGES];
    text_addf(out, "largest over mean of all %" PRIu32 " ranks: %.3f\n\n", sum->ranks,
              imbalance(all->largest_B, all->all_B, sum->ranks));
}

static void show_runs(const Summary *sum, Text *out) {
    Table table = {0};
    table_column(&table, "ranks", TABLE_LEFT);
    const char *const heads[] = {"stage", "bytes each", "rounded", "files"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        table_column(&table, heads[i], TABLE_RIGHT);
    for (uint32_t i = 0; i < sum->run_count; i++) {
        const RankRun *run = &sum->runs[i];
        if (run->first == run->last)
            table_cellf(&table, "%" PRIu32, run->first);
        else
            table_cellf(&table, "%" PRIu32 "-%" PRIu32, run->first, run->last);
        table_cellf(&table, "%" PRIu32, run->stage);
        table_cellf(&table, "%" PRIu64, run->read.ranges_B);
        cell_bytes(&table, run->read.ranges_B);
        table_cellf(&table, "%" PRIu32, run->read.files);
    }
    table_print(&table, out);
    table_free(&table);
    text_add(out, "\n");
}

static void show_readers(const Summary *sum, Text *out) {
    Table table = {0};
    table_column(&table, "a rank reads", TABLE_LEFT);
    const char *const heads[] = {"all ranks", "over what they keep", "host memory of a rank",
                                 "of all ranks"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        table_column(&table, heads[i], TABLE_RIGHT);
    for (uint32_t i = 0; i < READER_COUNT; i++) {
        const ReaderTotal *reader = &sum->readers[i];
        table_cell(&table, reader_names[i]);
        cell_bytes(&table, reader->all_B);
        cell_ratio(&table, ratio(reader->all_B, sum->readers[READER_RANGES].all_B));
        cell_bytes(&table, reader->window_B);
        cell_bytes(&table, reader->windows_B);
    }
    table_print(&table, out);
    table_free(&table);
    text_add(out, "host memory: a rank has one tensor (its part of one, or one file) there at a "
                  "time, the largest that it reads\n\n");
}

static void show_files(const Summary *sum, Text *out) {
    Table table = {0};
    if (sum->rank == NO_RANK) return;
    text_addf(out,
              "rank %" PRIu32 " reads %" PRIu32 " ranges (each one with --format csv or json)\n",
              sum->rank, sum->ranges.count);
    table_column(&table, "file", TABLE_LEFT);
    table_column(&table, "ranges", TABLE_RIGHT);
    table_column(&table, "bytes", TABLE_RIGHT);
    table_column(&table, "of", TABLE_RIGHT);
    for (uint32_t file = 0; file < sum->plan->file_count; file++) {
        uint64_t B, count = ranges_of(sum, file, &B);
        if (count == 0) continue;
        table_cell(&table, sum->plan->files[file].name);
        table_cellf(&table, "%" PRIu64, count);
        table_cellf(&table, "%" PRIu64, B);
        table_cellf(&table, "%" PRIu64, sum->plan->files[file].size_B);
    }
    table_print(&table, out);
    table_free(&table);
    text_add(out, "\n");
}

static void show_proof(const Summary *sum, Text *out) {
    const ShardProof *proof = &sum->proof;
    if (!sum->is_proven) {
        text_addf(out, "not covered: %s\n", sum->fault.text);
        return;
    }
    if (proof->skipped_tensors > 0)
        text_addf(out,
                  "skipped: %" PRIu64 " bytes of %" PRIu64
                  " tensors (drafts, vision), read by no rank\n",
                  proof->skipped_B, proof->skipped_tensors);
    text_addf(out,
              "all %" PRIu64 " bytes of %" PRIu64 " tensors are read, each by exactly its owners\n",
              proof->bytes, proof->tensors);
}

static void show_text(const Summary *sum, Text *out) {
    describe_inputs(sum, out);
    show_stages(sum, out);
    show_runs(sum, out);
    show_readers(sum, out);
    show_files(sum, out);
    show_proof(sum, out);
}

// ---- For programs.

static void write_stages(const Summary *sum, JsonWriter *w) {
    jsonw_open_array(w, "stages");
    for (uint32_t s = 0; s < sum->pool->pp; s++) {
        uint32_t first, count;
        pool_stage_layers(sum->pool, sum->in->arch.layers, s, &first, &count);
        jsonw_inline_next(w);
        jsonw_open_object(w, NULL);
        jsonw_u64(w, "first_layer", first);
        jsonw_u64(w, "layers", count);
        jsonw_u64(w, "read_B", sum->stages[s].all_B);
        jsonw_u64(w, "largest_rank_B", sum->stages[s].largest_B);
        jsonw_u64(w, "smallest_rank_B", sum->stages[s].smallest_B);
        jsonw_close_object(w);
    }
    jsonw_close_array(w);
}

static void write_runs(const Summary *sum, JsonWriter *w) {
    jsonw_open_array(w, "ranks");
    for (uint32_t i = 0; i < sum->run_count; i++) {
        const RankRun *run = &sum->runs[i];
        jsonw_inline_next(w);
        jsonw_open_object(w, NULL);
        jsonw_u64(w, "first", run->first);
        jsonw_u64(w, "last", run->last);
        jsonw_u64(w, "stage", run->stage);
        jsonw_u64(w, "read_B", run->read.ranges_B);
        jsonw_u64(w, "tensors_B", run->read.tensors_B);
        jsonw_u64(w, "files_B", run->read.files_B);
        jsonw_u64(w, "files", run->read.files);
        jsonw_close_object(w);
    }
    jsonw_close_array(w);
}

static void write_readers(const Summary *sum, JsonWriter *w) {
    jsonw_open_array(w, "readers");
    for (uint32_t i = 0; i < READER_COUNT; i++) {
        const ReaderTotal *reader = &sum->readers[i];
        jsonw_inline_next(w);
        jsonw_open_object(w, NULL);
        jsonw_string(w, "reads", reader_keys[i]);
        jsonw_u64(w, "all_ranks_B", reader->all_B);
        jsonw_u64(w, "largest_rank_B", reader->largest_B);
        jsonw_double(w, "amplification", ratio(reader->all_B, sum->readers[READER_RANGES].all_B));
        jsonw_u64(w, "host_B_per_rank", reader->window_B);
        jsonw_u64(w, "host_B_all_ranks", reader->windows_B);
        jsonw_close_object(w);
    }
    jsonw_close_array(w);
}

static void write_ranges(const Summary *sum, JsonWriter *w) {
    if (sum->rank == NO_RANK) return;
    jsonw_u64(w, "rank", sum->rank);
    jsonw_open_array(w, "files");
    for (uint32_t i = 0; i < sum->plan->file_count; i++)
        jsonw_string(w, NULL, sum->plan->files[i].name);
    jsonw_close_array(w);
    jsonw_open_array(w, "ranges");
    for (uint32_t i = 0; i < sum->ranges.count; i++) {
        const ShardRange *range = &sum->ranges.items[i];
        jsonw_inline_next(w);
        jsonw_open_object(w, NULL);
        jsonw_u64(w, "file", range->file);
        jsonw_u64(w, "offset_B", range->offset);
        jsonw_u64(w, "length_B", range->length);
        jsonw_u64(w, "stride_B", range->stride);
        jsonw_u64(w, "count", range->count);
        jsonw_close_object(w);
    }
    jsonw_close_array(w);
}

static void show_json(const Summary *sum, Text *out) {
    JsonWriter w = {.text = out};
    const ReaderTotal *all = &sum->readers[READER_RANGES];
    jsonw_open_object(&w, NULL);
    jsonw_string(&w, "moesim", "shard");
    jsonw_u64(&w, "version", SHARD_JSON_VERSION);
    jsonw_digest(&w, "plan_digest", plan_digest(&sum->in->file.plan));
    jsonw_digest(&w, "model_digest", sum->in->arch.digest);
    jsonw_bool(&w, "virtual_files", sum->plan->is_virtual);
    jsonw_string(&w, "stage_cut", plan_stage_cut_names[sum->pool->stage_cut]);
    jsonw_bool(&w, "is_covered", sum->is_proven);
    if (!sum->is_proven) jsonw_string(&w, "fault", sum->fault.text);
    jsonw_u64(&w, "tensors", sum->proof.tensors);
    jsonw_u64(&w, "tensors_B", sum->proof.bytes);
    jsonw_u64(&w, "skipped_tensors", sum->proof.skipped_tensors);
    jsonw_u64(&w, "skipped_B", sum->proof.skipped_B);
    jsonw_double(&w, "largest_over_mean", imbalance(all->largest_B, all->all_B, sum->ranks));
    write_stages(sum, &w);
    write_runs(sum, &w);
    write_readers(sum, &w);
    write_ranges(sum, &w);
    jsonw_close_object(&w);
    jsonw_finish(&w);
}

static void put_u64(Table *table, uint64_t value) {
    table_cellf(table, "%" PRIu64, value);
}

static void put_ranges(const Summary *sum, Table *table) {
    const char *const heads[] = {"rank", "file", "offset_B", "length_B", "stride_B", "count"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        table_column(table, heads[i], TABLE_LEFT);
    for (uint32_t i = 0; i < sum->ranges.count; i++) {
        const ShardRange *range = &sum->ranges.items[i];
        put_u64(table, sum->rank);
        table_cell(table, sum->plan->files[range->file].name);
        put_u64(table, range->offset);
        put_u64(table, range->length);
        put_u64(table, range->stride);
        put_u64(table, range->count);
    }
}

static void put_runs(const Summary *sum, Table *table) {
    const char *const heads[] = {"first_rank", "last_rank", "stage", "read_B",
                                 "tensors_B",  "files_B",   "files"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        table_column(table, heads[i], TABLE_LEFT);
    for (uint32_t i = 0; i < sum->run_count; i++) {
        const RankRun *run = &sum->runs[i];
        const uint64_t cells[] = {run->first,         run->last,           run->stage,
                                  run->read.ranges_B, run->read.tensors_B, run->read.files_B,
                                  run->read.files};
        for (size_t c = 0; c < sizeof cells / sizeof *cells; c++) put_u64(table, cells[c]);
    }
}

static void show_csv(const Summary *sum, Text *out) {
    Table table = {0};
    if (sum->rank != NO_RANK)
        put_ranges(sum, &table);
    else
        put_runs(sum, &table);
    table_print_csv(&table, out);
    table_free(&table);
}

// ---- The command.

static bool read_rank(const CliArgs *args, const Pool *pool, uint32_t *out, Err *err) {
    *out = NO_RANK;
    if (cli_text(args, "rank") == NULL) return true;
    uint64_t rank = cli_count(args, "rank");
    if (rank >= pool_ranks(pool))
        return err_set(err, "--rank: expected a rank below %" PRIu32 ", found %" PRIu64,
                       pool_ranks(pool), rank);
    *out = (uint32_t)rank;
    return true;
}

static int show(const CliArgs *args, const ShardInputs *in, const ShardPlan *plan, Err *err) {
    static void (*const formats[])(const Summary *, Text *) = {show_text, show_json, show_csv};
    Summary sum = {.in = in, .plan = plan, .pool = &plan->pool};
    if (!read_rank(args, sum.pool, &sum.rank, err)) return output_bad(err);
    Arena arena = {0};
    Text out = {0};
    sum_up(&sum, &arena);
    formats[cli_choice(args, "format")](&sum, &out);
    shard_plan_ranges_free(&sum.ranges);
    mem_free(sum.runs);
    arena_free(&arena);
    return output_text(&out, sum.is_proven ? OUTPUT_OK : OUTPUT_NO);
}

int shard_command(const CliArgs *args) {
    ShardInputs in;
    ShardPlan plan;
    Err err = {0};
    int status = shard_input_read(args, &in, &err);
    if (status != OUTPUT_OK) {
        output_bad(&err);
        return status;
    }
    ShardInput input = {.arch = &in.arch,
                        .pool = &in.file.plan.pools[in.pool],
                        .checkpoint = in.has_checkpoint ? &in.checkpoint : NULL,
                        .load = &in.load};
    if (shard_plan_build(&input, &plan, &err)) {
        status = show(args, &in, &plan, &err);
        shard_plan_free(&plan);
    } else {
        status = output_bad(&err);
    }
    shard_input_free(&in);
    return status;
}

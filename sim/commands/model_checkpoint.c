// Checks a checkpoint and prints what is wrong with it.
//
// Invariant: every finding is counted; the table says how many of a kind are not shown. Which of
// two layouts of experts a checkpoint has is decided by its names and shapes, never by the family.
#include "sim/commands/model_checkpoint.h"

#include <inttypes.h>
#include <string.h>

#include "model/base/jsonw.h"
#include "model/base/table.h"
#include "model/moe/inventory_check.h"
#include "sim/commands/output.h"

#define CHECKPOINT_JSON_VERSION 1
#define LAYOUT_FIELD            "expert_layout" // of families whose checkpoints come in both

static const char *const layouts[] = {"fused", "separate"};
#define LAYOUTS (sizeof layouts / sizeof layouts[0])

// All that is printed. Notes are the arena's.
typedef struct Review {
    Arena arena;
    const Arch *arch; // as it was compared
    Arch other;       // with the other layout, if that was taken
    Checkpoint checkpoint;
    Findings findings;
    InventoryCheck check;
    const char *notes[8];
    uint32_t note_count;
} Review;

static void add_note(Review *review, const char *note) {
    review->notes[review->note_count++] = note;
}

static uint64_t count_findings(const Arch *arch, const Checkpoint *checkpoint) {
    Findings findings = {0};
    InventoryCheck check;
    inventory_check_run(arch, checkpoint, &findings, &check);
    uint64_t total = finding_total(&findings);
    finding_free(&findings);
    return total;
}

// The model with this layout of experts; false where the family has no such choice.
static bool load_layout(const CliArgs *args, const char *layout, Arch *out) {
    Arena arena = {0};
    Err unused = {0};
    ArchAssumption assumptions[ARCH_ASSUMPTIONS_MAX];
    uint32_t count = 0;
    const char *assume = cli_text(args, "assume");
    bool good =
        assume == NULL || arch_split_assumptions(assume, &arena, assumptions, &count, &unused);
    for (uint32_t i = 0; i < count; i++)
        good = good && strcmp(assumptions[i].field, LAYOUT_FIELD) != 0;
    good = good && count < ARCH_ASSUMPTIONS_MAX;
    if (good) {
        assumptions[count++] = (ArchAssumption){LAYOUT_FIELD, layout};
        good = arch_load(args->operands[0], assumptions, count, out, &unused);
    }
    arena_free(&arena);
    return good;
}

// Takes the layout with the fewest findings; at a draw that of the config.
static void choose_layout(const CliArgs *args, Review *review) {
    uint64_t fewest = count_findings(review->arch, &review->checkpoint);
    for (size_t i = 0; fewest > 0 && i < LAYOUTS; i++) {
        Arch arch = {0};
        if (!load_layout(args, layouts[i], &arch)) continue;
        uint64_t count = count_findings(&arch, &review->checkpoint);
        if (count >= fewest) {
            arch_free(&arch);
            continue;
        }
        fewest = count;
        arch_free(&review->other);
        review->other = arch;
        review->arch = &review->other;
        review->note_count = 0;
        add_note(review, arena_printf(&review->arena,
                                      LAYOUT_FIELD "=%s, as the names and shapes "
                                                   "of the checkpoint say",
                                      layouts[i]));
    }
}

static void note_missing(Review *review) {
    Text text = {0};
    for (uint32_t c = 0; c < COMPONENT_COUNT; c++)
        if (review->check.missing[c] > 0)
            text_addf(&text, "%s%" PRIu64 " of %s", text.length == 0 ? "" : ", ",
                      review->check.missing[c], arch_component_names[c]);
    if (text.length > 0)
        add_note(review, arena_printf(&review->arena, "missing tensors: %s", text_string(&text)));
    text_free(&text);
}

static void add_notes(Review *review) {
    const Checkpoint *checkpoint = &review->checkpoint;
    Arena *arena = &review->arena;
    note_missing(review);
    if (!checkpoint->has_headers)
        add_note(review, "none of the files is here: names and total_size are checked, types and "
                         "shapes are not");
    if (checkpoint->unlisted > 0)
        add_note(review, arena_printf(arena,
                                      "%" PRIu32 " .safetensors files that the index does not "
                                      "name were not looked at, such as %s",
                                      checkpoint->unlisted, checkpoint->first_unlisted));
    if (review->findings.unusable > 0 && checkpoint->index_name == NULL)
        add_note(review, "what the unusable files hold counts as missing");
}

static int review_status(const Review *review) {
    if (review->findings.unusable > 0) return OUTPUT_BAD;
    return finding_total(&review->findings) > 0 ? OUTPUT_NO : OUTPUT_OK;
}

static void show_head(const Review *review, Text *out) {
    const Checkpoint *checkpoint = &review->checkpoint;
    const Arch *arch = review->arch;
    text_addf(out, "model       %s, family %s, %" PRIu64 " tensors\n", arch->name, arch->family,
              arch->totals.tensors);
    text_addf(out, "checkpoint  %s%s%s, %" PRIu32 " file%s, %" PRIu32 " tensors\n",
              checkpoint->path, checkpoint->index_name == NULL ? "" : ", index ",
              checkpoint->index_name == NULL ? "" : checkpoint->index_name, checkpoint->file_count,
              checkpoint->file_count == 1 ? "" : "s", checkpoint->tensor_count);
    for (uint32_t i = 0; i < review->note_count; i++)
        text_addf(out, "%-11s %s\n", i == 0 ? "notes" : "", review->notes[i]);
    text_add_char(out, '\n');
}

static void show_table(const Review *review, Text *out) {
    const Findings *findings = &review->findings;
    uint64_t total = finding_total(findings);
    show_head(review, out);
    if (total > 0) {
        Table table = {0};
        table_column(&table, "finding", TABLE_LEFT);
        table_column(&table, "count", TABLE_RIGHT);
        table_column(&table, "file or tensor", TABLE_LEFT);
        table_column(&table, "found", TABLE_LEFT);
        for (uint32_t kind = 0; kind < FINDING_KIND_COUNT; kind++) {
            uint32_t shown = finding_shown(findings, (FindingKind)kind);
            for (uint32_t i = 0; i < shown; i++) {
                table_cell(&table, i == 0 ? finding_kind_names[kind] : "");
                if (i == 0)
                    table_cellf(&table, "%" PRIu64, findings->counts[kind]);
                else
                    table_cell(&table, "");
                table_cell(&table, findings->shown[kind][i].subject);
                table_cell(&table, findings->shown[kind][i].detail);
            }
            if (findings->counts[kind] > shown) {
                table_cell(&table, "");
                table_cell(&table, "");
                table_cellf(&table, "and %" PRIu64 " more", findings->counts[kind] - shown);
                table_cell(&table, "");
            }
        }
        table_print(&table, out);
        table_free(&table);
        text_add_char(out, '\n');
    }
    text_addf(out,
              "%" PRIu64 " finding%s: %" PRIu64 " of %" PRIu64
              " tensors are there, types and shapes of %" PRIu64 " were compared\n",
              total, total == 1 ? "" : "s", review->check.found, review->arch->totals.tensors,
              review->check.compared);
}

static void write_findings(JsonWriter *w, const Findings *findings) {
    jsonw_open_object(w, "counts");
    for (uint32_t kind = 0; kind < FINDING_KIND_COUNT; kind++)
        if (findings->counts[kind] > 0)
            jsonw_u64(w, finding_kind_names[kind], findings->counts[kind]);
    jsonw_close_object(w);
    jsonw_open_array(w, "shown");
    for (uint32_t kind = 0; kind < FINDING_KIND_COUNT; kind++)
        for (uint32_t i = 0; i < finding_shown(findings, (FindingKind)kind); i++) {
            jsonw_inline_next(w);
            jsonw_open_object(w, NULL);
            jsonw_string(w, "finding", finding_kind_names[kind]);
            jsonw_string(w, "subject", findings->shown[kind][i].subject);
            jsonw_string(w, "found", findings->shown[kind][i].detail);
            jsonw_close_object(w);
        }
    jsonw_close_array(w);
}

static void show_json(const Review *review, Text *out) {
    const Checkpoint *checkpoint = &review->checkpoint;
    JsonWriter w = {.text = out};
    jsonw_open_object(&w, NULL);
    jsonw_string(&w, "moesim", "checkpoint");
    jsonw_u64(&w, "version", CHECKPOINT_JSON_VERSION);
    jsonw_string(&w, "model", review->arch->name);
    jsonw_string(&w, "family", review->arch->family);
    jsonw_string(&w, "checkpoint", checkpoint->path);
    if (checkpoint->index_name != NULL) jsonw_string(&w, "index", checkpoint->index_name);
    jsonw_bool(&w, "headers", checkpoint->has_headers);
    jsonw_u64(&w, "files", checkpoint->file_count);
    jsonw_u64(&w, "tensors", checkpoint->tensor_count);
    jsonw_u64(&w, "model_tensors", review->arch->totals.tensors);
    jsonw_u64(&w, "found", review->check.found);
    jsonw_u64(&w, "compared", review->check.compared);
    jsonw_u64(&w, "findings", finding_total(&review->findings));
    jsonw_u64(&w, "unusable_files", review->findings.unusable);
    write_findings(&w, &review->findings);
    jsonw_open_array(&w, "notes");
    for (uint32_t i = 0; i < review->note_count; i++) jsonw_string(&w, NULL, review->notes[i]);
    jsonw_close_array(&w);
    jsonw_close_object(&w);
    jsonw_finish(&w);
}

static void show_csv(const Review *review, Text *out) {
    const Findings *findings = &review->findings;
    Table table = {0};
    table_column(&table, "finding", TABLE_LEFT);
    table_column(&table, "count", TABLE_RIGHT);
    table_column(&table, "subject", TABLE_LEFT);
    table_column(&table, "found", TABLE_LEFT);
    for (uint32_t kind = 0; kind < FINDING_KIND_COUNT; kind++)
        for (uint32_t i = 0; i < finding_shown(findings, (FindingKind)kind); i++) {
            table_cell(&table, finding_kind_names[kind]);
            table_cellf(&table, "%" PRIu64, findings->counts[kind]);
            table_cell(&table, findings->shown[kind][i].subject);
            table_cell(&table, findings->shown[kind][i].detail);
        }
    table_print_csv(&table, out);
    table_free(&table);
}

int model_checkpoint_check(const CliArgs *args, const Arch *arch) {
    static void (*const show[])(const Review *, Text *) = {show_table, show_json, show_csv};
    Review review = {.arch = arch};
    Err err = {0};
    Text out = {0};
    int status = OUTPUT_BAD;
    if (checkpoint_open(cli_text(args, "checkpoint"), &review.checkpoint, &review.findings, &err)) {
        choose_layout(args, &review);
        inventory_check_run(review.arch, &review.checkpoint, &review.findings, &review.check);
        add_notes(&review);
        show[cli_choice(args, "format")](&review, &out);
        status = output_text(&out, review_status(&review));
    } else {
        output_bad(&err);
    }
    checkpoint_free(&review.checkpoint);
    finding_free(&review.findings);
    arch_free(&review.other);
    arena_free(&review.arena);
    return status;
}

// Prints a model: layers by kind, parameters, weight bytes as stored, cache and state.
//
// Invariant: every figure is one of Arch; the three formats print the same figures, JSON and CSV in
// full.
#include "sim/commands/model.h"

#include <inttypes.h>

#include "model/base/jsonw.h"
#include "model/base/table.h"
#include "model/base/units.h"
#include "model/moe/count.h"
#include "sim/commands/figures.h"
#include "sim/commands/model_checkpoint.h"
#include "sim/commands/model_tensors.h"
#include "sim/commands/output.h"

#define MODEL_JSON_VERSION 1

static const char *const active_texts[COUNT_ACTIVE_KINDS] = {
    [COUNT_ACTIVE_ALL] = "active per token, both vocabulary tables counted",
    [COUNT_ACTIVE_NO_INPUT] = "active, without the input embedding",
    [COUNT_ACTIVE_NO_TABLES] = "active, without both tables",
};
static const char *const active_keys[COUNT_ACTIVE_KINDS] = {
    [COUNT_ACTIVE_ALL] = "active_parameters",
    [COUNT_ACTIVE_NO_INPUT] = "active_parameters_without_input_embedding",
    [COUNT_ACTIVE_NO_TABLES] = "active_parameters_without_tables",
};

// Formats in which engines keep a cache.
static const NumFmt cache_formats[] = {NUMFMT_BF16, NUMFMT_FP8};
#define CACHE_FORMATS (sizeof cache_formats / sizeof cache_formats[0])

// All layers, with the packed form where a kind of attention has one; 0 when none has.
static uint64_t packed_B_per_token(const Arch *arch) {
    uint64_t total = 0;
    bool any = false;
    for (uint32_t k = 0; k < arch->kind_count; k++) {
        const AttentionSpec *spec = &arch->attentions[arch->kinds[k].attention];
        uint64_t blocks = (uint64_t)arch->kinds[k].count * spec->per_layer;
        any = any || spec->kv_packed_B_per_token != 0;
        total += blocks * (spec->kv_packed_B_per_token + spec->index_packed_B);
    }
    return any ? total : 0;
}

// ---- For people

static void describe_heads(const AttentionSpec *spec, Text *out) {
    switch (spec->kind) {
    case ATTENTION_GQA:
        text_addf(out, ", %" PRIu32 " heads over %" PRIu32 " of %" PRIu32, spec->heads,
                  spec->kv_heads, spec->head_dim);
        if (spec->value_dim != spec->head_dim) text_addf(out, " and %" PRIu32, spec->value_dim);
        break;
    case ATTENTION_MLA:
        text_addf(out, ", %" PRIu32 " heads, latent %" PRIu32 " + %" PRIu32, spec->heads,
                  spec->kv_lora, spec->rope);
        break;
    case ATTENTION_COMPRESSED:
        text_addf(out, ", %" PRIu32 " heads over 1 of %" PRIu32, spec->heads, spec->head_dim);
        break;
    case ATTENTION_KDA:
    case ATTENTION_LIGHTNING:
        text_addf(out, ", %" PRIu32 " heads of %" PRIu32, spec->heads, spec->head_dim);
        break;
    case ATTENTION_GATED_DELTA:
        text_addf(out, ", %" PRIu32 " heads over %" PRIu32 " of %" PRIu32, spec->heads,
                  spec->kv_heads, spec->head_dim);
        break;
    case ATTENTION_MAMBA1:
    case ATTENTION_MAMBA2:
        text_addf(out, ", %" PRIu32 " heads of %" PRIu32 ", state %" PRIu32, spec->heads,
                  spec->head_dim, spec->state_dim);
        break;
    case ATTENTION_NONE:
    case ATTENTION_KIND_COUNT: break;
    }
}

static void describe_attention(const AttentionSpec *spec, Text *out) {
    if (spec->per_layer > 1) text_addf(out, "%" PRIu32 " x ", spec->per_layer);
    text_add(out, arch_attention_names[spec->kind]);
    describe_heads(spec, out);
    if (spec->window > 0) text_addf(out, ", window %" PRIu32, spec->window);
    if (spec->ratio > 0) text_addf(out, ", then 1 of %" PRIu32, spec->ratio);
    if (spec->index_heads > 0)
        text_addf(out, ", indexer %" PRIu32 " picks %" PRIu32, spec->index_heads,
                  spec->index_top_k);
    else if (spec->index_top_k > 0)
        text_addf(out, ", the picks of a layer before");
}

static void describe_mlp(const MlpSpec *spec, Text *out) {
    if (spec->experts == 0) {
        if (spec->width == 0)
            text_add(out, "none");
        else
            text_addf(out, "dense, width %" PRIu32, spec->width);
        return;
    }
    text_addf(out, "%" PRIu32 " of %" PRIu32, spec->top_k, spec->experts);
    if (spec->zero_experts > 0) text_addf(out, " + %" PRIu32 " empty", spec->zero_experts);
    text_addf(out, " experts, width %" PRIu32, spec->width);
    if (spec->shared_width > 0) text_addf(out, ", shared %" PRIu32, spec->shared_width);
    if (spec->latent > 0) text_addf(out, ", latent %" PRIu32, spec->latent);
}

static void show_head(const Arch *arch, Text *out) {
    text_addf(out, "model      %s, family %s\n", arch->name, arch->family);
    text_addf(out,
              "structure  %" PRIu32 " layers, hidden %" PRIu32 ", vocabulary %" PRIu32
              "%s, context %" PRIu64 "\n",
              arch->layers, arch->hidden, arch->vocab,
              arch->tied_embeddings ? " (one table for input and output)" : "", arch->max_context);
    text_addf(out, "formats    experts %s, attention %s, the rest %s\n",
              numfmt_name(arch->expert_format), numfmt_name(arch->dense_format),
              numfmt_name(arch->dtype));
    for (uint32_t i = 0; i < arch->note_count; i++)
        text_addf(out, "%-10s %s\n", i == 0 ? "notes" : "", arch->notes[i]);
}

static void show_layers(const Arch *arch, Text *out) {
    Table table = {0};
    table_column(&table, "layers", TABLE_RIGHT);
    table_column(&table, "attention", TABLE_LEFT);
    table_column(&table, "feed-forward", TABLE_LEFT);
    for (uint32_t k = 0; k < arch->kind_count; k++) {
        Text attention = {0}, mlp = {0};
        describe_attention(&arch->attentions[arch->kinds[k].attention], &attention);
        describe_mlp(&arch->mlps[arch->kinds[k].mlp], &mlp);
        table_cellf(&table, "%" PRIu32, arch->kinds[k].count);
        table_cell(&table, text_string(&attention));
        table_cell(&table, text_string(&mlp));
        text_free(&attention);
        text_free(&mlp);
    }
    table_print(&table, out);
    table_free(&table);
}

static void add_figure(Table *table, const char *what, uint64_t figure) {
    if (figure == 0) return;
    char number[OUTPUT_NUMBER_MAX];
    table_cell(table, what);
    table_cellf(table, "%" PRIu64, figure);
    table_cellf(table, "%s G", output_number((double)figure / 1e9, number));
}

static void show_parameters(const Arch *arch, Text *out) {
    Table table = {0};
    table_column(&table, "parameters", TABLE_LEFT);
    table_column(&table, "exactly", TABLE_RIGHT);
    table_column(&table, "rounded", TABLE_RIGHT);
    add_figure(&table, "text model", arch->totals.parameters);
    for (uint32_t i = 0; i < COUNT_ACTIVE_KINDS; i++)
        add_figure(&table, active_texts[i], count_active(arch, (CountActive)i));
    add_figure(&table, "draft layers (mtp)", arch->totals.mtp_parameters);
    if (arch->totals.mtp_on_disk != arch->totals.mtp_parameters)
        add_figure(&table, "draft layers with their copies of the tables",
                   arch->totals.mtp_on_disk);
    add_figure(&table, "vision", arch->totals.vision_parameters);
    table_print(&table, out);
    table_free(&table);
    if (arch->unstored_drafts > 0)
        text_addf(out,
                  "the config declares %" PRIu32 " draft layers (%" PRIu64
                  " parameters if built as its other layers), which published checkpoints lack\n",
                  arch->unstored_drafts, arch->unstored_parameters);
}

static void add_weights(Table *table, const char *what, uint64_t parameters, uint64_t B) {
    char bytes[UNITS_TEXT_MAX];
    table_cell(table, what);
    table_cellf(table, "%" PRIu64, parameters);
    table_cellf(table, "%" PRIu64, B);
    table_cell(table, units_format_bytes(B, bytes));
}

static void show_weights(const Arch *arch, Text *out) {
    const ArchTotals *totals = &arch->totals;
    Table table = {0};
    uint64_t parameters = 0;
    table_column(&table, "weights as stored", TABLE_LEFT);
    table_column(&table, "parameters", TABLE_RIGHT);
    table_column(&table, "bytes", TABLE_RIGHT);
    table_column(&table, "rounded", TABLE_RIGHT);
    for (uint32_t c = 0; c < COMPONENT_COUNT; c++) {
        if (totals->component_B[c] == 0) continue;
        parameters += totals->component_parameters[c];
        add_weights(&table, arch_component_names[c], totals->component_parameters[c],
                    totals->component_B[c]);
    }
    add_weights(&table, "checkpoint", parameters, totals->checkpoint_B);
    table_print(&table, out);
    table_free(&table);
    text_addf(out, "%" PRIu64 " tensors; scales count as bytes, not as parameters\n",
              totals->tensors);
}

static void show_cache(const Arch *arch, Text *out) {
    char bytes[UNITS_TEXT_MAX];
    uint64_t packed = packed_B_per_token(arch), state = arch->totals.state_B_per_sequence;
    text_add(out, "cache of all layers\n");
    for (uint32_t i = 0; i < CACHE_FORMATS; i++)
        text_addf(out, "  %" PRIu64 " B per token in %s\n",
                  arch_kv_B_per_token(arch, cache_formats[i]), numfmt_name(cache_formats[i]));
    if (packed > 0)
        text_addf(out, "  %" PRIu64 " B per token packed (latent fp8 with scales, rope bf16)\n",
                  packed);
    if (arch->totals.window_B_per_sequence > 0)
        text_addf(out, "  %" PRIu64 " B per sequence at most in windows, in bf16 (%s)\n",
                  arch->totals.window_B_per_sequence,
                  units_format_bytes(arch->totals.window_B_per_sequence, bytes));
    if (state > 0)
        text_addf(out, "  %" PRIu64 " B per sequence of constant state (%s)\n", state,
                  units_format_bytes(state, bytes));
}

static void show_text(const Arch *arch, Text *out) {
    show_head(arch, out);
    text_add_char(out, '\n');
    show_layers(arch, out);
    text_add_char(out, '\n');
    show_parameters(arch, out);
    text_add_char(out, '\n');
    show_weights(arch, out);
    text_add_char(out, '\n');
    show_cache(arch, out);
}

// ---- For programs

static void put_figures(const Figures *to, const Arch *arch) {
    const ArchTotals *totals = &arch->totals;
    figures_put(to, "layers", arch->layers);
    figures_put(to, "hidden_size", arch->hidden);
    figures_put(to, "vocab_size", arch->vocab);
    figures_put(to, "max_context_tok", arch->max_context);
    figures_put(to, "parameters", totals->parameters);
    for (uint32_t i = 0; i < COUNT_ACTIVE_KINDS; i++)
        figures_put(to, active_keys[i], count_active(arch, (CountActive)i));
    figures_put(to, "mtp_parameters", totals->mtp_parameters);
    figures_put(to, "mtp_parameters_on_disk", totals->mtp_on_disk);
    figures_put(to, "mtp_parameters_with_tables",
                totals->mtp_parameters + arch->draft_table_copies * totals->one_vocab_table);
    figures_put(to, "mtp_layers_not_stored", arch->unstored_drafts);
    figures_put(to, "mtp_parameters_not_stored", arch->unstored_parameters);
    figures_put(to, "vision_parameters", totals->vision_parameters);
    figures_put(to, "tensors", totals->tensors);
    figures_put(to, "checkpoint_B", totals->checkpoint_B);
    for (uint32_t c = 0; c < COMPONENT_COUNT; c++)
        figures_put_named(to, arch_component_names[c], "_B", totals->component_B[c]);
    figures_put(to, "kv_bf16_B_per_token", arch_kv_B_per_token(arch, NUMFMT_BF16));
    figures_put(to, "kv_fp8_B_per_token", arch_kv_B_per_token(arch, NUMFMT_FP8));
    figures_put(to, "kv_packed_B_per_token", packed_B_per_token(arch));
    figures_put(to, "window_bf16_B_per_sequence", totals->window_B_per_sequence);
    figures_put(to, "state_B_per_sequence", totals->state_B_per_sequence);
}

static void show_csv(const Arch *arch, Text *out) {
    Table table = {0};
    figures_columns(&table);
    put_figures(&(Figures){.csv = &table}, arch);
    table_print_csv(&table, out);
    table_free(&table);
}

static void write_kinds(JsonWriter *w, const Arch *arch) {
    jsonw_open_array(w, "layer_kinds");
    for (uint32_t k = 0; k < arch->kind_count; k++) {
        const AttentionSpec *attention = &arch->attentions[arch->kinds[k].attention];
        const MlpSpec *mlp = &arch->mlps[arch->kinds[k].mlp];
        jsonw_inline_next(w);
        jsonw_open_object(w, NULL);
        jsonw_u64(w, "layers", arch->kinds[k].count);
        jsonw_string(w, "attention", arch_attention_names[attention->kind]);
        jsonw_u64(w, "heads", attention->heads);
        jsonw_u64(w, "kv_heads", attention->kv_heads);
        jsonw_u64(w, "head_dim", attention->head_dim);
        jsonw_u64(w, "window_tok", attention->window);
        jsonw_u64(w, "compressed_tok", attention->ratio);
        jsonw_u64(w, "index_top_k", attention->index_top_k);
        jsonw_u64(w, "experts", mlp->experts);
        jsonw_u64(w, "top_k", mlp->top_k);
        jsonw_u64(w, "width", mlp->width);
        jsonw_u64(w, "shared_width", mlp->shared_width);
        jsonw_u64(w, "latent_width", mlp->latent);
        jsonw_close_object(w);
    }
    jsonw_close_array(w);
}

static void show_json(const Arch *arch, Text *out) {
    JsonWriter w = {.text = out};
    jsonw_open_object(&w, NULL);
    jsonw_string(&w, "moesim", "model");
    jsonw_u64(&w, "version", MODEL_JSON_VERSION);
    jsonw_string(&w, "name", arch->name);
    jsonw_string(&w, "family", arch->family);
    jsonw_digest(&w, "digest", arch->digest);
    jsonw_string(&w, "expert_format", numfmt_name(arch->expert_format));
    jsonw_string(&w, "attention_format", numfmt_name(arch->dense_format));
    jsonw_string(&w, "dtype", numfmt_name(arch->dtype));
    write_kinds(&w, arch);
    put_figures(&(Figures){.json = &w}, arch);
    jsonw_open_array(&w, "notes");
    for (uint32_t i = 0; i < arch->note_count; i++) jsonw_string(&w, NULL, arch->notes[i]);
    jsonw_close_array(&w);
    jsonw_close_object(&w);
    jsonw_finish(&w);
}

static int show(const CliArgs *args, const Arch *arch) {
    static void (*const formats[])(const Arch *, Text *) = {show_text, show_json, show_csv};
    uint32_t format = cli_choice(args, "format");
    Text out = {0};
    if (cli_is_given(args, "checkpoint")) return model_checkpoint_check(args, arch);
    if (cli_is_given(args, "tensors")) return model_tensors_list(arch, format);
    formats[format](arch, &out);
    return output_text(&out, OUTPUT_OK);
}

int model_command(const CliArgs *args) {
    Arch arch = {0};
    Err err = {0};
    bool good = !cli_is_given(args, "tensors") || !cli_is_given(args, "checkpoint")
                    ? arch_load_assuming(args->operands[0], cli_text(args, "assume"), &arch, &err)
                    : err_set(&err, "--tensors and --checkpoint: expected one of them");
    int status = good ? show(args, &arch) : output_bad(&err);
    arch_free(&arch);
    return status;
}

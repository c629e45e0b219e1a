// Builds an Arch from a config.json: reader (fields), layer_pattern (kinds of layers), quant
// (storage), tensor (shapes), count (totals).
//
// Invariant: an Arch is whole or empty; after arch_parse succeeds arch_check holds.
#include "model/moe/arch.h"

#include <string.h>
#include <sys/stat.h>

#include "model/base/file.h"
#include "model/base/wide.h"
#include "model/moe/arch_build.h"
#include "model/moe/count.h"
#include "model/moe/tensor.h"

#define NONE UINT32_MAX

const char *const arch_attention_names[ATTENTION_KIND_COUNT] = {
#define X(name, text) [ATTENTION_##name] = text,
    ARCH_ATTENTION_LIST(X)
#undef X
};

const char *const arch_component_names[COMPONENT_COUNT] = {
#define X(name, text) [COMPONENT_##name] = text,
    ARCH_COMPONENT_LIST(X)
#undef X
};

// A dimension that must fit in 32 bits; the last that does not is kept in `wide`.
static uint32_t narrow(const DimSet *dims, Dim dim, Dim *wide) {
    uint64_t value = dim_get(dims, dim);
    if (value > UINT32_MAX) *wide = dim;
    return (uint32_t)value;
}

static bool check_narrow(const Reader *reader, Dim wide, Err *err) {
    char what[DIM_TEXT_MAX];
    return wide == DIM_NONE || err_set(err, "%s: %s: expected at most %u, found %llu", reader->name,
                                       dim_describe(&reader->dims, wide, what), UINT32_MAX,
                                       (unsigned long long)dim_get(&reader->dims, wide));
}

// Of a dimension that only some families of a part have.
static bool is_set(const DimSet *dims, Dim dim) {
    return dim == DIM_ONE || (dim != DIM_NONE && dim_holds(dims, dim, DIM_NONE));
}

static Dim make_attention(const DimSet *dims, const AttentionDims *from, AttentionSpec *out) {
    Dim wide = DIM_NONE;
    *out = (AttentionSpec){
        .kind = from->kind,
        .per_layer = from->per_layer == DIM_NONE ? 1 : narrow(dims, from->per_layer, &wide),
        .heads = narrow(dims, from->heads, &wide),
        .kv_heads = narrow(dims, from->kv_heads, &wide),
        .head_dim = narrow(dims, from->head_dim, &wide),
        .value_dim = narrow(dims, from->value_dim, &wide),
        .q_lora = narrow(dims, from->q_lora, &wide),
        .kv_lora = narrow(dims, from->kv_lora, &wide),
        .rope = narrow(dims, from->rope, &wide),
        .conv = narrow(dims, from->conv, &wide),
        .state_dim = narrow(dims, from->state_dim, &wide),
        .groups = narrow(dims, from->groups, &wide),
        .window = narrow(dims, from->window, &wide),
        .ratio = narrow(dims, from->ratio, &wide),
        .index_heads = narrow(dims, from->index_heads, &wide),
        .index_dim = narrow(dims, from->index_dim, &wide),
        .index_top_k = narrow(dims, from->index_top_k, &wide),
        .output_gate = dim_get(dims, from->output_gate) != 0,
        .wide_norm = is_set(dims, from->wide_norm),
        .kv_elements_per_token = dim_get(dims, from->kv_elements),
        .state_B_per_sequence = dim_get(dims, from->state_B),
        .entry_elements = dim_get(dims, from->entry_elements),
        .index_elements = dim_get(dims, from->index_elements),
        .kv_packed_B_per_token = dim_get(dims, from->kv_packed_B),
        .index_packed_B = dim_get(dims, from->index_packed_B),
    };
    return wide;
}

static Dim make_mlp(const DimSet *dims, const MlpDims *from, MlpSpec *out) {
    Dim wide = DIM_NONE;
    *out = (MlpSpec){
        .experts = narrow(dims, from->experts, &wide),
        .top_k = narrow(dims, from->top_k, &wide),
        .groups = narrow(dims, from->groups, &wide),
        .top_groups = narrow(dims, from->top_groups, &wide),
        .zero_experts = narrow(dims, from->zero_experts, &wide),
        .width = narrow(dims, from->width, &wide),
        .shared_width = narrow(dims, from->shared_width, &wide),
        .latent = narrow(dims, from->latent, &wide),
        .matrices = from->matrices == 0 ? 3 : from->matrices,
    };
    return wide;
}

static bool is_used(const uint8_t *positions, uint32_t count, uint32_t position) {
    for (uint32_t i = 0; i < count; i++)
        if (positions[i] == position) return true;
    return false;
}

// The specs of the kinds of attention and feed-forward block that some layer has, in the order of
// the family's parts.
static bool make_specs(TensorInput *input, Arch *arch, Err *err) {
    const Reader *reader = input->reader;
    arch->attentions = arena_alloc(&arch->arena, FAMILY_PARTS_MAX, sizeof *arch->attentions);
    arch->mlps = arena_alloc(&arch->arena, FAMILY_PARTS_MAX, sizeof *arch->mlps);
    for (uint32_t p = 0; p < FAMILY_PARTS_MAX && reader->family->parts[p] != NULL; p++) {
        const Part *part = reader->family->parts[p];
        Dim wide = DIM_NONE;
        if (part->scope == PART_ATTENTION && is_used(input->pattern->attention, arch->layers, p)) {
            wide = make_attention(&reader->dims, &part->attention,
                                  &arch->attentions[arch->attention_count]);
            input->attention_of[p] = arch->attention_count++;
        } else if (part->scope == PART_MLP && is_used(input->pattern->mlp, arch->layers, p)) {
            wide = make_mlp(&reader->dims, &part->mlp, &arch->mlps[arch->mlp_count]);
            input->mlp_of[p] = arch->mlp_count++;
        }
        if (!check_narrow(reader, wide, err)) return false;
    }
    return true;
}

// The format of the largest matrix of a component.
static NumFmt component_format(const Arch *arch, Component component) {
    NumFmt format = arch->dtype;
    uint64_t most = 0;
    for (uint32_t i = 0; i < arch->tensor_count; i++) {
        const TensorClass *class = &arch->tensors[i];
        if (class->component != component || class->parameters <= most) continue;
        most = class->parameters;
        format = tensor_format(class);
    }
    return format;
}

static Digest hash_attention(Digest hash, const AttentionSpec *spec) {
    const uint64_t words[] = {spec->kind,
                              spec->per_layer,
                              spec->heads,
                              spec->kv_heads,
                              spec->head_dim,
                              spec->value_dim,
                              spec->q_lora,
                              spec->kv_lora,
                              spec->rope,
                              spec->conv,
                              spec->state_dim,
                              spec->groups,
                              spec->output_gate,
                              spec->window,
                              spec->ratio,
                              spec->index_heads,
                              spec->index_dim,
                              spec->index_top_k,
                              spec->kv_elements_per_token,
                              spec->entry_elements,
                              spec->index_elements,
                              spec->kv_packed_B_per_token,
                              spec->index_packed_B,
                              spec->state_B_per_sequence};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) hash = hash_u64(hash, words[i]);
    return spec->wide_norm ? hash_string(hash, "wide norm") : hash;
}

static Digest hash_mlp(Digest hash, const MlpSpec *spec) {
    const uint32_t words[] = {spec->experts,      spec->top_k,        spec->groups,
                              spec->top_groups,   spec->zero_experts, spec->width,
                              spec->shared_width, spec->latent,       spec->matrices};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) hash = hash_u64(hash, words[i]);
    return hash;
}

static Digest hash_class(Digest hash, const TensorClass *class) {
    hash = hash_string(hash_string(hash, class->pattern), class->type);
    for (uint32_t i = 0; i < TENSOR_DIMS_MAX; i++) hash = hash_u64(hash, class->dims[i]);
    const uint32_t words[] = {class->component,     class->shard,         class->element_bits,
                              class->dim_count,     class->axis,          class->unit,
                              class->fused_experts, class->segment_count, class->interleaved,
                              class->layer_kind,    class->per_layer};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) hash = hash_u64(hash, words[i]);
    for (uint32_t i = 0; i < class->segment_count; i++) {
        const TensorSegment *segment = &class->segments[i];
        hash = hash_u64(hash_u64(hash, segment->extent), segment->unit * 2 + segment->is_kv);
    }
    return hash_u64(hash_u64(hash, class->parameters), class->bytes);
}

static Digest hash_arch(const Arch *arch) {
    Digest hash = hash_string(HASH_START, arch->family);
    const uint64_t words[] = {arch->hidden,        arch->vocab,           arch->layers,
                              arch->max_context,   arch->tied_embeddings, arch->dtype,
                              arch->expert_format, arch->dense_format};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) hash = hash_u64(hash, words[i]);
    for (uint32_t i = 0; i < arch->attention_count; i++)
        hash = hash_attention(hash, &arch->attentions[i]);
    for (uint32_t i = 0; i < arch->mlp_count; i++) hash = hash_mlp(hash, &arch->mlps[i]);
    for (uint32_t i = 0; i < arch->layers; i++) hash = hash_u64(hash, arch->kind_of_layer[i]);
    for (uint32_t i = 0; i < arch->tensor_count; i++) hash = hash_class(hash, &arch->tensors[i]);
    return hash;
}

// "x/deepseek-v3.json" and "x/deepseek-v3/config.json" are both deepseek-v3.
static const char *model_name(const char *path, Arena *arena) {
    size_t end = strlen(path);
    static const char config[] = "/config.json", suffix[] = ".json";
    if (end > sizeof config - 1 && strcmp(path + end - (sizeof config - 1), config) == 0)
        end -= sizeof config - 1;
    else if (end > sizeof suffix - 1 && strcmp(path + end - (sizeof suffix - 1), suffix) == 0)
        end -= sizeof suffix - 1;
    size_t start = end;
    while (start > 0 && path[start - 1] != '/') start--;
    return arena_printf(arena, "%.*s", (int)(end - start), path + start);
}

static bool fill_basics(const Reader *reader, Arch *arch, Err *err) {
    const DimSet *dims = &reader->dims;
    Dim wide = DIM_NONE;
    arch->name = model_name(reader->name, &arch->arena);
    size_t first = strcspn(reader->family->model_types, "|");
    const char *type = NULL;
    Err ignored = {0};
    bool known = json_string(reader->root, "model_type", &type, &ignored) &&
                 family_word_in(type, reader->family->model_types);
    arch->family =
        known ? arena_string(&arch->arena, type)
              : arena_printf(&arch->arena, "%.*s", (int)first, reader->family->model_types);
    arch->hidden = narrow(dims, DIM_HIDDEN, &wide);
    arch->vocab = narrow(dims, DIM_VOCAB, &wide);
    arch->layers = narrow(dims, DIM_LAYERS, &wide);
    arch->max_context = dim_get(dims, DIM_CONTEXT);
    arch->tied_embeddings = dim_get(dims, DIM_TIED) != 0;
    if (dims->value[DIM_MTP_LAYERS] > 0)
        arch->draft_table_copies = (uint32_t)dims->value[DIM_MTP_COPIES]; // a preset of the family
    arch->dtype = (NumFmt)dim_get(dims, DIM_DTYPE);
    return check_narrow(reader, wide, err);
}

bool arch_build(Reader *reader, const Family *family, Arch *arch, ArchProgress *progress,
                Err *err) {
    LayerPattern pattern;
    Quant quant;
    TensorInput input = {.reader = reader, .pattern = &pattern, .quant = &quant};
    *progress = ARCH_READ_NOTHING;
    if (!reader_use_family(reader, family, err) || !reader_read_dims(reader, err)) return false;
    *progress = ARCH_READ_DIMS;
    if (!layer_pattern_read(reader, &pattern, err)) return false;
    *progress = ARCH_READ_PATTERN;
    if (!quant_read(reader, &quant, err) || !reader_finish(reader, err)) return false;
    *progress = ARCH_READ_ALL;
    if (!fill_basics(reader, arch, err) || !make_specs(&input, arch, err) ||
        !tensor_expand(&input, arch, err) || !quant_check_used(&quant, reader, err))
        return false;
    if (!count_totals(arch, err)) return err_prefix(err, "%s", reader->name);
    bool has_experts = arch->totals.component_B[COMPONENT_ROUTED] > 0;
    arch->fp8_cache = quant.fp8_cache;
    arch->dense_format = component_format(arch, COMPONENT_ATTENTION);
    arch->expert_format = component_format(arch, has_experts ? COMPONENT_ROUTED : COMPONENT_DENSE);
    arch->notes = arena_copy(&arch->arena, reader->notes, reader->note_count, sizeof(char *));
    arch->note_count = reader->note_count;
    arch->digest = hash_arch(arch);
    return true;
}

bool arch_parse(const ArchInput *input, Arch *out, Err *err) {
    Reader reader = {0};
    Arch arch = {0};
    const Family *family;
    ArchProgress progress;
    bool good =
        reader_open(&reader, input, &arch.arena, err) && reader_name_family(&reader, &family, err);
    if (good && family != NULL)
        good = arch_build(&reader, family, &arch, &progress, err);
    else if (good)
        good = arch_build_by_fields(input, &reader, out, err);
    bool is_mine = good && family != NULL;
    reader_close(&reader);
    if (is_mine)
        *out = arch;
    else
        arch_free(&arch);
    return good;
}

bool arch_split_assumptions(const char *text, Arena *arena, ArchAssumption *out,
                            uint32_t *out_count, Err *err) {
    char quote[TEXT_QUOTE_MAX];
    uint32_t count = 0;
    while (*text != '\0') {
        size_t length = strcspn(text, ",");
        char *item = arena_printf(arena, "%.*s", (int)length, text);
        char *equals = strchr(item, '=');
        if (equals == NULL || equals == item)
            return err_set(err, "--assume: expected FIELD=VALUE, found %s",
                           text_quote(item, quote));
        if (count == ARCH_ASSUMPTIONS_MAX)
            return err_set(err, "--assume: at most %d fields", ARCH_ASSUMPTIONS_MAX);
        *equals = '\0';
        for (uint32_t i = 0; i < count; i++)
            if (strcmp(out[i].field, item) == 0)
                return err_set(err, "--assume: %s is given twice", text_quote(item, quote));
        out[count++] = (ArchAssumption){item, equals + 1};
        text += length + (text[length] == ',');
    }
    *out_count = count;
    return true;
}

// A folder stands for the config.json in it.
static bool find_config(const char *name, Arena *arena, const char **path, Err *err) {
    struct stat info;
    if (stat(name, &info) == 0 && S_ISDIR(info.st_mode)) {
        size_t length = strlen(name);
        while (length > 1 && name[length - 1] == '/') length--;
        *path = arena_printf(arena, "%.*s/config.json", (int)length, name);
        if (stat(*path, &info) == 0) return true;
        return err_set(err, "%s: is a directory without a config.json", name);
    }
    return file_find(name, arena, path, err);
}

// "x/config.json" has x/hf_quant_config.json beside it, "x/y.json" x/y.hf_quant_config.json.
const char *arch_quant_path(const char *path, Arena *arena) {
    static const char config[] = "config.json", suffix[] = ".json",
                      other[] = "hf_quant_config.json";
    if (strcmp(file_name(path), config) == 0) return file_beside(path, other, arena);
    size_t length = strlen(path), tail = sizeof suffix - 1;
    bool has_suffix = length > tail && strcmp(path + length - tail, suffix) == 0;
    return arena_printf(arena, "%.*s.%s", (int)(has_suffix ? length - tail : length), path, other);
}

bool arch_read_files(const char *name, Arena *arena, ArchInput *out, Err *err) {
    struct stat info;
    ArchInput input = {0};
    char *bytes;
    if (!find_config(name, arena, &input.name, err) ||
        !file_read(input.name, FILE_CAP_B, arena, &bytes, &input.count, err))
        return false;
    input.bytes = bytes;
    const char *beside = arch_quant_path(input.name, arena);
    if (stat(beside, &info) == 0) {
        if (!file_read(beside, FILE_CAP_B, arena, &bytes, &input.quant_count, err)) return false;
        input.quant_name = beside;
        input.quant_bytes = bytes;
    }
    *out = input;
    return true;
}

bool arch_load(const char *name, const ArchAssumption *assumptions, uint32_t count, Arch *out,
               Err *err) {
    Arena arena = {0};
    ArchInput input;
    bool good = arch_read_files(name, &arena, &input, err);
    if (good) {
        input.assumptions = assumptions;
        input.assumption_count = count;
        good = arch_parse(&input, out, err);
    }
    arena_free(&arena);
    return good;
}

bool arch_load_assuming(const char *name, const char *assume, Arch *out, Err *err) {
    Arena arena = {0};
    ArchAssumption assumptions[ARCH_ASSUMPTIONS_MAX];
    uint32_t count = 0;
    bool good = assume == NULL || arch_split_assumptions(assume, &arena, assumptions, &count, err);
    good = good && arch_load(name, assumptions, count, out, err);
    arena_free(&arena);
    return good;
}

static bool check_class(const Arch *arch, const TensorClass *class, Err *err) {
    Wide elements = 1;
    for (uint32_t i = 0; i < class->dim_count; i++) elements *= class->dims[i];
    if (class->layer_kind != NONE && class->layer_kind >= arch->kind_count)
        return err_set(err, "%s: no layer kind %u", class->pattern, class->layer_kind);
    if (class->dim_count > TENSOR_DIMS_MAX || class->unit < 1)
        return err_set(err, "%s: no shape or no unit", class->pattern);
    if (elements * class->element_bits / 8 != class->bytes)
        return err_set(err, "%s: %llu bytes do not fit its shape", class->pattern,
                       (unsigned long long)class->bytes);
    bool is_cut = tensor_cuts_rows(class->shard) || tensor_cuts_columns(class->shard);
    if (is_cut && (class->axis >= class->dim_count || class->dims[class->axis] % class->unit != 0))
        return err_set(err, "%s: its unit of %u does not divide it", class->pattern, class->unit);
    if (class->fused_experts != 0 && class->dims[0] % class->fused_experts != 0)
        return err_set(err, "%s: %u experts do not fit its shape", class->pattern,
                       class->fused_experts);
    uint64_t extent = 0;
    for (uint32_t i = 0; i < class->segment_count; i++) extent += class->segments[i].extent;
    if (class->segment_count > 0 && (!is_cut || extent != class->dims[class->axis]))
        return err_set(err, "%s: its parts do not fill it", class->pattern);
    return true;
}

bool arch_check(const Arch *arch, Err *err) {
    uint64_t layers = 0;
    for (uint32_t k = 0; k < arch->kind_count; k++) {
        const LayerKind *kind = &arch->kinds[k];
        if (kind->attention >= arch->attention_count || kind->mlp >= arch->mlp_count)
            return err_set(err, "layer kind %u: no such attention or feed-forward block", k);
        layers += kind->count;
    }
    if (layers != arch->layers)
        return err_set(err, "kinds of %llu layers, expected %u", (unsigned long long)layers,
                       arch->layers);
    for (uint32_t i = 0; i < arch->layers; i++)
        if (arch->kind_of_layer[i] >= arch->kind_count)
            return err_set(err, "layer %u: no kind %u", i, arch->kind_of_layer[i]);
    for (uint32_t i = 0; i < arch->tensor_count; i++)
        if (!check_class(arch, &arch->tensors[i], err)) return false;
    if (arch->digest != hash_arch(arch)) return err_set(err, "the digest is stale");
    return true;
}

void arch_free(Arch *arch) {
    arena_free(&arch->arena);
    *arch = (Arch){0};
}

uint64_t arch_kv_B_per_token(const Arch *arch, NumFmt format) {
    uint64_t total = 0;
    for (uint32_t k = 0; k < arch->kind_count; k++) {
        const AttentionSpec *spec = &arch->attentions[arch->kinds[k].attention];
        uint64_t blocks = (uint64_t)arch->kinds[k].count * spec->per_layer;
        uint64_t elements = spec->window > 0 ? 0 : spec->kv_elements_per_token;
        uint64_t entries = spec->entry_elements + spec->index_elements;
        total += blocks * numfmt_bytes(format, elements);
        if (spec->ratio > 0)
            total += wide_div_up_u64(blocks * numfmt_bytes(format, entries), spec->ratio);
        else
            total += blocks * numfmt_bytes(format, spec->index_elements);
    }
    return total;
}

uint64_t arch_window_B(const Arch *arch, NumFmt format) {
    uint64_t total = 0;
    for (uint32_t k = 0; k < arch->kind_count; k++) {
        const AttentionSpec *spec = &arch->attentions[arch->kinds[k].attention];
        uint64_t blocks = (uint64_t)arch->kinds[k].count * spec->per_layer;
        total += blocks * spec->window * numfmt_bytes(format, spec->kv_elements_per_token);
    }
    return total;
}

uint32_t arch_most_experts(const Arch *arch) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < arch->mlp_count; i++)
        if (arch->mlps[i].experts > most) most = arch->mlps[i].experts;
    return most;
}

// Lists the tensors of a model, in three formats.
//
// Invariant: the listing is written as it is made, in blocks, and never held whole; what is equal
// for all tensors of a class is put into words once.
#include "sim/commands/model_tensors.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/base/jsonw.h"
#include "model/moe/inventory.h"
#include "sim/commands/output.h"

#define TENSORS_JSON_VERSION 1
#define BLOCK_B              ((size_t)64 << 10)

// How a line begins depends on the tensor; `tails` are how it goes on, by class.
typedef struct Listing {
    const Arch *arch;
    Arena arena;
    const char **tails;
    size_t *tail_lengths;
    size_t name_width, layer_width;
    Text out;
    bool has_failed; // stdout could not be written
} Listing;

static const char *rule_name(ShardRule rule) {
    switch (rule) {
    case SHARD_REPLICATED: return "replicated";
    case SHARD_COLUMN: return "column";
    case SHARD_ROW: return "row";
    case SHARD_KV: return "kv";
    case SHARD_VOCAB: return "vocab";
    case SHARD_EXPERT_COLUMN: return "expert column";
    case SHARD_EXPERT_ROW: return "expert row";
    case SHARD_EXPERT_WHOLE: return "expert whole";
    }
    return "";
}

static bool is_cut(ShardRule rule) {
    return rule != SHARD_REPLICATED && rule != SHARD_EXPERT_WHOLE;
}

static void add_shape(Text *out, const TensorClass *class) {
    if (class->dim_count == 0) text_add(out, "scalar");
    for (uint32_t i = 0; i < class->dim_count; i++)
        text_addf(out, "%s%" PRIu32, i == 0 ? "" : "x", class->dims[i]);
}

// "4096q|1024kv": extents of the fused parts; those cut as keys and values are marked.
static void add_parts(Text *out, const TensorClass *class) {
    for (uint32_t i = 0; i < class->segment_count; i++)
        text_addf(out, "%s%" PRIu32 "%s", i == 0 ? "" : "|", class->segments[i].extent,
                  class->segments[i].is_kv ? "kv" : "");
}

// "expert column, axis 1 by 128, parts 2048|2048, 128 experts on axis 0".
static void describe_cut(Text *out, const TensorClass *class) {
    text_add(out, rule_name(class->shard));
    if (is_cut(class->shard)) text_addf(out, ", axis %" PRIu32, class->axis);
    if (is_cut(class->shard) && class->segment_count == 0 && class->unit > 1)
        text_addf(out, " by %" PRIu32, class->unit);
    if (class->segment_count > 0) {
        text_add(out, class->interleaved ? ", interleaved parts " : ", parts ");
        add_parts(out, class);
        text_add(out, " by ");
        for (uint32_t i = 0; i < class->segment_count; i++)
            text_addf(out, "%s%" PRIu32, i == 0 ? "" : "|", class->segments[i].unit);
    }
    if (class->fused_experts > 0)
        text_addf(out, ", %" PRIu32 " experts on axis 0", class->fused_experts);
}

// Names have the most digits in the last layer, for the last expert.
static size_t name_width(const Arch *arch, const TensorClass *class) {
    char name[INVENTORY_NAME_MAX];
    inventory_name(class, arch->layers - 1, class->per_layer - 1, name);
    return strlen(name);
}

static size_t digits(uint64_t number) {
    size_t count = 1;
    for (; number > 9; number /= 10) count++;
    return count;
}

static void add_padded(Text *out, const char *text, size_t width) {
    static const char blanks[] = "                                ";
    size_t length = strlen(text), chunk = sizeof blanks - 1;
    text_add_bytes(out, text, length);
    for (; length < width; length += chunk) {
        if (width - length < chunk) chunk = width - length;
        text_add_bytes(out, blanks, chunk);
    }
}

static void add_number(Text *out, uint64_t number) {
    char reversed[20], text[20];
    size_t count = 0;
    for (; number > 9; number /= 10) reversed[count++] = (char)('0' + number % 10);
    reversed[count++] = (char)('0' + number);
    for (size_t i = 0; i < count; i++) text[i] = reversed[count - 1 - i];
    text_add_bytes(out, text, count);
}

static void flush(Listing *listing) {
    Text *out = &listing->out;
    if (fwrite(out->data, 1, out->length, stdout) != out->length) listing->has_failed = true;
    out->length = 0;
}

static void set_tail(Listing *listing, uint32_t index, const Text *tail) {
    listing->tails[index] = arena_string(&listing->arena, text_string(tail));
    listing->tail_lengths[index] = tail->length;
}

static void add_tail(Listing *listing, const InventoryTensor *tensor) {
    size_t index = (size_t)(tensor->class - listing->arch->tensors);
    text_add_bytes(&listing->out, listing->tails[index], listing->tail_lengths[index]);
}

static Listing start(const Arch *arch) {
    Listing listing = {.arch = arch};
    listing.tails = arena_alloc(&listing.arena, arch->tensor_count, sizeof *listing.tails);
    listing.tail_lengths =
        arena_alloc(&listing.arena, arch->tensor_count, sizeof *listing.tail_lengths);
    return listing;
}

typedef void (*AddLine)(Listing *listing, const InventoryTensor *tensor);

static void add_lines(Listing *listing, AddLine add_line) {
    Inventory inventory = {.arch = listing->arch};
    InventoryTensor tensor;
    while (!listing->has_failed && inventory_next(&inventory, &tensor)) {
        add_line(listing, &tensor);
        if (listing->out.length > BLOCK_B) flush(listing);
    }
}

// Table.

static void set_table_tails(Listing *listing) {
    const Arch *arch = listing->arch;
    size_t types = strlen("type"), shapes = strlen("shape"), bytes = strlen("bytes");
    size_t modules = strlen("module");
    listing->name_width = strlen("tensor");
    listing->layer_width = strlen("layer");
    for (uint32_t pass = 0; pass < 2; pass++) { // widths, then words
        for (uint32_t i = 0; i < arch->tensor_count; i++) {
            const TensorClass *class = &arch->tensors[i];
            const char *module = arch_component_names[class->component];
            Text shape = {0}, tail = {0};
            add_shape(&shape, class);
            if (pass == 0) {
                size_t name = name_width(arch, class);
                if (name > listing->name_width) listing->name_width = name;
                if (strlen(class->type) > types) types = strlen(class->type);
                if (shape.length > shapes) shapes = shape.length;
                if (digits(class->bytes) > bytes) bytes = digits(class->bytes);
                if (strlen(module) > modules) modules = strlen(module);
            } else {
                text_addf(&tail, "  %-*s  %-*s  %*" PRIu64 "  %-*s  ", (int)types, class->type,
                          (int)shapes, text_string(&shape), (int)bytes, class->bytes, (int)modules,
                          module);
                describe_cut(&tail, class);
                text_add_char(&tail, '\n');
                set_tail(listing, i, &tail);
            }
            text_free(&shape);
            text_free(&tail);
        }
    }
    add_padded(&listing->out, "tensor", listing->name_width);
    text_addf(&listing->out, "  layer  %-*s  %-*s  %*s  %-*s  cut\n", (int)types, "type",
              (int)shapes, "shape", (int)bytes, "bytes", (int)modules, "module");
}

static void add_table_line(Listing *listing, const InventoryTensor *tensor) {
    Text *out = &listing->out;
    add_padded(out, tensor->name, listing->name_width);
    text_add_bytes(out, "  ", 2);
    size_t used = tensor->layer == INVENTORY_NONE ? 1 : digits(tensor->layer);
    if (used < listing->layer_width) add_padded(out, "", listing->layer_width - used);
    if (tensor->layer == INVENTORY_NONE)
        text_add_char(out, '-');
    else
        add_number(out, tensor->layer);
    add_tail(listing, tensor);
}

static void list_table(Listing *listing) {
    set_table_tails(listing);
    add_lines(listing, add_table_line);
}

// CSV: names, types and words have neither commas nor quotes, but for the cut.

static void set_csv_tails(Listing *listing) {
    for (uint32_t i = 0; i < listing->arch->tensor_count; i++) {
        const TensorClass *class = &listing->arch->tensors[i];
        Text tail = {0};
        text_addf(&tail, ",%s,", class->type);
        add_shape(&tail, class);
        text_addf(&tail, ",%" PRIu64 ",%" PRIu64 ",%s,%s,%s,", class->bytes, class->parameters,
                  class->is_scale ? "yes" : "no", arch_component_names[class->component],
                  rule_name(class->shard));
        if (is_cut(class->shard))
            text_addf(&tail, "%" PRIu32 ",%" PRIu32, class->axis, class->unit);
        else
            text_add(&tail, ",");
        text_addf(&tail, ",%" PRIu32 ",%s,", class->fused_experts,
                  class->interleaved ? "yes" : "no");
        add_parts(&tail, class);
        text_add_char(&tail, '\n');
        set_tail(listing, i, &tail);
        text_free(&tail);
    }
}

static void add_csv_line(Listing *listing, const InventoryTensor *tensor) {
    Text *out = &listing->out;
    text_add(out, tensor->name);
    text_add_char(out, ',');
    if (tensor->layer != INVENTORY_NONE) add_number(out, tensor->layer);
    text_add_char(out, ',');
    if (tensor->member != INVENTORY_NONE) add_number(out, tensor->member);
    add_tail(listing, tensor);
}

static void list_csv(Listing *listing) {
    set_csv_tails(listing);
    text_add(&listing->out, "tensor,layer,member,type,shape,bytes,parameters,scale,module,cut,axis,"
                            "unit,fused_experts,interleaved,parts\n");
    add_lines(listing, add_csv_line);
}

// JSON.

static void write_shard(JsonWriter *w, const TensorClass *class) {
    jsonw_open_object(w, "cut");
    jsonw_string(w, "rule", rule_name(class->shard));
    if (is_cut(class->shard)) {
        jsonw_u64(w, "axis", class->axis);
        jsonw_u64(w, "unit", class->unit);
    }
    if (class->fused_experts > 0) jsonw_u64(w, "fused_experts", class->fused_experts);
    if (class->segment_count > 0) {
        jsonw_bool(w, "interleaved", class->interleaved);
        jsonw_open_array(w, "parts");
        for (uint32_t i = 0; i < class->segment_count; i++) {
            jsonw_open_object(w, NULL);
            jsonw_u64(w, "extent", class->segments[i].extent);
            jsonw_u64(w, "unit", class->segments[i].unit);
            jsonw_bool(w, "kv", class->segments[i].is_kv);
            jsonw_close_object(w);
        }
        jsonw_close_array(w);
    }
    jsonw_close_object(w);
}

// Members of an open object, on one line.
static void set_json_tails(Listing *listing) {
    for (uint32_t i = 0; i < listing->arch->tensor_count; i++) {
        const TensorClass *class = &listing->arch->tensors[i];
        Text tail = {0};
        JsonWriter w = {.text = &tail, .flat = 1};
        jsonw_open_object(&w, NULL);
        jsonw_string(&w, "type", class->type);
        jsonw_open_array(&w, "shape");
        for (uint32_t d = 0; d < class->dim_count; d++) jsonw_u64(&w, NULL, class->dims[d]);
        jsonw_close_array(&w);
        jsonw_u64(&w, "bytes", class->bytes);
        jsonw_u64(&w, "parameters", class->parameters);
        jsonw_bool(&w, "scale", class->is_scale);
        jsonw_string(&w, "module", arch_component_names[class->component]);
        write_shard(&w, class);
        jsonw_close_object(&w);
        tail.data[0] = ' '; // goes on where the line's own members end
        set_tail(listing, i, &tail);
        text_free(&tail);
    }
}

static void add_json_line(Listing *listing, const InventoryTensor *tensor) {
    Text *out = &listing->out;
    bool is_first = out->length > 0 && out->data[out->length - 1] == '[';
    text_add(out, is_first ? "\n    {\"name\": \"" : ",\n    {\"name\": \"");
    text_add(out, tensor->name);
    text_add(out, "\",");
    if (tensor->layer != INVENTORY_NONE) {
        text_add(out, " \"layer\": ");
        add_number(out, tensor->layer);
        text_add_char(out, ',');
    }
    if (tensor->member != INVENTORY_NONE) {
        text_add(out, " \"member\": ");
        add_number(out, tensor->member);
        text_add_char(out, ',');
    }
    add_tail(listing, tensor);
}

static void list_json(Listing *listing) {
    const Arch *arch = listing->arch;
    JsonWriter w = {.text = &listing->out};
    set_json_tails(listing);
    jsonw_open_object(&w, NULL);
    jsonw_string(&w, "moesim", "tensors");
    jsonw_u64(&w, "version", TENSORS_JSON_VERSION);
    jsonw_string(&w, "model", arch->name);
    jsonw_string(&w, "family", arch->family);
    jsonw_digest(&w, "digest", arch->digest);
    jsonw_u64(&w, "tensors", arch->totals.tensors);
    jsonw_u64(&w, "checkpoint_B", arch->totals.checkpoint_B);
    jsonw_open_array(&w, "list");
    add_lines(listing, add_json_line);
    w.has_items = arch->totals.tensors > 0;
    jsonw_close_array(&w);
    jsonw_close_object(&w);
    jsonw_finish(&w);
}

int model_tensors_list(const Arch *arch, uint32_t format) {
    static void (*const list[])(Listing *) = {list_table, list_json, list_csv};
    Listing listing = start(arch);
    list[format](&listing);
    int status = output_text(&listing.out, OUTPUT_OK);
    if (status == OUTPUT_OK && listing.has_failed) {
        output_message("cannot write to stdout");
        status = OUTPUT_BAD;
    }
    arena_free(&listing.arena);
    return status;
}

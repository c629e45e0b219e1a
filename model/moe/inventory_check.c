// Walks the tensors that a model should have and looks each up in a checkpoint.
//
// Invariant: each tensor of either side is counted once, as found, missing or extra; the order of
// findings is that of the inventory, then that of the checkpoint. Tensors that are known by the
// index alone are compared by name only.
#include "model/moe/inventory_check.h"

#include <inttypes.h>
#include <string.h>

#include "model/base/text.h"
#include "model/moe/inventory.h"
#include "model/moe/safetensors.h"

#define BATCH 32 // tensors looked up at once

typedef struct Checker {
    const Checkpoint *checkpoint;
    Findings *findings;
    bool *is_seen;    // [checkpoint->tensor_count]
    uint64_t found_B; // of the found tensors, as the model has them
    InventoryCheck counts;
} Checker;

static void widen(const TensorClass *class, uint64_t dims[TENSOR_DIMS_MAX]) {
    for (uint32_t i = 0; i < class->dim_count; i++) dims[i] = class->dims[i];
}

static bool same_shape(const TensorClass *class, const CheckpointTensor *tensor) {
    if (class->dim_count != tensor->rank) return false;
    for (uint32_t i = 0; i < tensor->rank; i++)
        if (class->dims[i] != tensor->dims[i]) return false;
    return true;
}

// The same but for two axes, as when a layer stores inputs before outputs.
static bool is_swapped(const TensorClass *class, const CheckpointTensor *tensor) {
    uint32_t differ[2], count = 0;
    if (class->dim_count != tensor->rank) return false;
    for (uint32_t i = 0; i < tensor->rank; i++) {
        if (class->dims[i] == tensor->dims[i]) continue;
        if (count == 2) return false;
        differ[count++] = i;
    }
    return count == 2 && class->dims[differ[0]] == tensor->dims[differ[1]] &&
           class->dims[differ[1]] == tensor->dims[differ[0]];
}

static void compare_shapes(Checker *c, const InventoryTensor *wanted, const CheckpointTensor *got) {
    uint64_t dims[TENSOR_DIMS_MAX];
    Text found = {0}, expected = {0};
    widen(wanted->class, dims);
    safetensors_add_shape(&found, got->dims, got->rank);
    safetensors_add_shape(&expected, dims, wanted->class->dim_count);
    finding_add(c->findings, FINDING_WRONG_SHAPE, got->name, "%s, expected %s%s",
                text_string(&found), text_string(&expected),
                is_swapped(wanted->class, got) ? ": two axes are swapped" : "");
    text_free(&found);
    text_free(&expected);
}

static void compare(Checker *c, const InventoryTensor *wanted, const CheckpointTensor *got) {
    if (got->type == NULL) return;
    c->counts.compared++;
    if (!same_shape(wanted->class, got)) compare_shapes(c, wanted, got);
    if (strcmp(wanted->class->type, got->type) != 0)
        finding_add(c->findings, FINDING_WRONG_TYPE, got->name, "%s, expected %s", got->type,
                    wanted->class->type);
}

static void report_missing(Checker *c, const InventoryTensor *wanted) {
    uint64_t dims[TENSOR_DIMS_MAX];
    Text shape = {0};
    c->counts.missing[wanted->class->component]++;
    if (c->findings->counts[FINDING_MISSING] < FINDING_SHOWN_MAX) {
        widen(wanted->class, dims);
        safetensors_add_shape(&shape, dims, wanted->class->dim_count);
    }
    finding_add(c->findings, FINDING_MISSING, wanted->name, "expected %s %s", wanted->class->type,
                text_string(&shape));
    text_free(&shape);
}

static void take(Checker *c, const InventoryTensor *wanted, NameRun run) {
    if (run.count == 0) {
        report_missing(c, wanted);
        return;
    }
    c->counts.found++;
    c->found_B += wanted->class->bytes;
    for (uint32_t i = 0; i < run.count; i++) c->is_seen[run.entries[i].item] = true;
    compare(c, wanted, &c->checkpoint->tensors[run.entries[0].item]);
}

static void look_up(Checker *c, const Arch *arch) {
    Inventory inventory = {.arch = arch};
    InventoryTensor wanted[BATCH];
    const char *names[BATCH];
    NameRun runs[BATCH];
    uint32_t count;
    do {
        for (count = 0; count < BATCH && inventory_next(&inventory, &wanted[count]); count++)
            names[count] = wanted[count].name;
        name_map_all_of(&c->checkpoint->names, names, count, runs);
        for (uint32_t i = 0; i < count; i++) take(c, &wanted[i], runs[i]);
    } while (count == BATCH);
}

// What the index leaves out is a finding already, and engines do not load it.
static uint64_t report_extra(Checker *c) {
    uint64_t extra = 0;
    for (uint32_t i = 0; i < c->checkpoint->tensor_count; i++) {
        const CheckpointTensor *tensor = &c->checkpoint->tensors[i];
        if (c->is_seen[i] || !tensor->is_indexed) continue;
        Text shape = {0};
        if (extra++ < FINDING_SHOWN_MAX && tensor->type != NULL) {
            text_addf(&shape, "%s ", tensor->type);
            safetensors_add_shape(&shape, tensor->dims, tensor->rank);
            text_add(&shape, " ");
        }
        finding_add(c->findings, FINDING_EXTRA, tensor->name, "%sin %s", text_string(&shape),
                    c->checkpoint->files[tensor->file].name);
        text_free(&shape);
    }
    return extra;
}

void inventory_check_run(const Arch *arch, const Checkpoint *checkpoint, Findings *findings,
                         InventoryCheck *out) {
    Arena scratch = {0};
    Checker checker = {.checkpoint = checkpoint, .findings = findings};
    checker.is_seen = arena_alloc(&scratch, checkpoint->tensor_count, sizeof(bool));
    look_up(&checker, arch);
    uint64_t extra = report_extra(&checker);
    // without headers, sizes are known of the model's tensors alone
    if (!checkpoint->has_headers && checkpoint->has_total && extra == 0 &&
        checker.found_B != checkpoint->total_B)
        finding_add(findings, FINDING_TOTAL_SIZE, checkpoint->index_name,
                    "%" PRIu64 " bytes, those of the model that it names have %" PRIu64,
                    checkpoint->total_B, checker.found_B);
    arena_free(&scratch);
    *out = checker.counts;
}

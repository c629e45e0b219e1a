// Whether a block that stands for several layers may run under a load.
//
// Invariant: layers are numbered as schedule_unroll_layers numbers them: in order of a role's
// program, every instance of a block that has routed work is the next MoE layer. Passes are not
// layers: each runs all of them again.
#include "model/plan/load.h"

// Rows of two layers give the same shares when they are multiples of one another.
typedef struct LoadShapes {
    Arena arena;
    Digest *shapes;  // [layers] of the rows over their greatest common divisor
    uint32_t *first; // [layers] where the layers in a row begin that have this one's shape
} LoadShapes;

static uint64_t common_divisor(uint64_t a, uint64_t b) {
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static Digest shape_of(const uint64_t *tokens, uint64_t count) {
    uint64_t divisor = 0; // above 0 in the end: a layer has tokens
    Digest shape = HASH_START;
    for (uint64_t i = 0; i < count; i++) divisor = common_divisor(divisor, tokens[i]);
    for (uint64_t i = 0; i < count; i++) shape = hash_u64(shape, tokens[i] / divisor);
    return shape;
}

static LoadShapes open_shapes(const Load *load) {
    uint64_t row = (uint64_t)load->sources * load->experts;
    LoadShapes shapes = {0};
    shapes.shapes = arena_alloc(&shapes.arena, load->layers, sizeof *shapes.shapes);
    shapes.first = arena_alloc(&shapes.arena, load->layers, sizeof *shapes.first);
    for (uint32_t layer = 0; layer < load->layers; layer++) {
        shapes.shapes[layer] = shape_of(load->tokens + layer * row, row);
        bool is_same = layer > 0 && shapes.shapes[layer] == shapes.shapes[layer - 1];
        shapes.first[layer] = is_same ? shapes.first[layer - 1] : layer;
    }
    return shapes;
}

// A block as its role's program has it.
typedef struct LayersOf {
    uint32_t named;     // MoE layer of its operations; SCHEDULE_NONE: it has no routed work
    bool is_met;        // the program has come to it,
    uint64_t met;       // at this MoE layer
    uint64_t instances; // in a pass
} LayersOf;

static uint32_t named_layer(const Schedule *schedule, BlockId id) {
    const Block *block = &schedule->blocks[id];
    uint32_t lowest = SCHEDULE_NONE;
    for (OpId o = block->first_op; o < block->first_op + block->op_count; o++) {
        const Op *op = &schedule->ops[o];
        uint32_t layer = op->kind == OP_COLLECTIVE ? op->comm.moe_layer : op->compute.moe_layer;
        if (load_sizes_op(op) && layer < lowest) lowest = layer;
    }
    return lowest;
}

static LayersOf *list_blocks(const Schedule *schedule, Arena *arena) {
    LayersOf *blocks = arena_alloc(arena, schedule->block_count, sizeof *blocks);
    for (BlockId id = 0; id < schedule->block_count; id++)
        blocks[id].named = named_layer(schedule, id);
    for (uint32_t s = 0; s < schedule->segment_count; s++)
        blocks[schedule->segments[s].block].instances += schedule->segments[s].repeat;
    return blocks;
}

static bool differs(const Load *load, const LoadShapes *shapes, const LayersOf *block,
                    uint64_t begin, uint64_t end) {
    return end > load->layers || shapes->first[end - 1] > begin ||
           shapes->shapes[begin] != shapes->shapes[block->named];
}

static bool check_role(const Load *load, const Schedule *schedule, const LoadShapes *shapes,
                       const Role *role, LayersOf *blocks, Err *err) {
    uint64_t layer = 0;
    for (uint32_t s = role->first_segment; s < role->first_segment + role->segment_count; s++) {
        const Segment *segment = &schedule->segments[s];
        LayersOf *block = &blocks[segment->block];
        if (block->named == SCHEDULE_NONE || segment->repeat == 0) continue;
        if (!block->is_met) block->met = layer;
        block->is_met = true;
        uint64_t begin = block->named + (layer - block->met), end = begin + segment->repeat;
        layer += segment->repeat;
        if (block->instances == 1 || !differs(load, shapes, block, begin, end)) continue;
        char text[TEXT_QUOTE_MAX], owner[TEXT_QUOTE_MAX];
        return err_set(err,
                       "block %s of role %s stands for %llu layers, whose loads differ: make the "
                       "schedule with moesim simulate --load",
                       text_quote(schedule->blocks[segment->block].name, text),
                       text_quote(role->name, owner), (unsigned long long)block->instances);
    }
    return true;
}

bool load_check_layers(const Load *load, const Schedule *schedule, Err *err) {
    if (load->kind == LOAD_UNIFORM || load->layers == 1) return true;
    LoadShapes shapes = open_shapes(load);
    LayersOf *blocks = list_blocks(schedule, &shapes.arena);
    bool good = true;
    for (RoleId role = 0; good && role < schedule->role_count; role++)
        good = check_role(load, schedule, &shapes, &schedule->roles[role], blocks, err);
    arena_free(&shapes.arena);
    return good;
}

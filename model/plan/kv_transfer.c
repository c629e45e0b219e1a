// Moving the KV cache of one request.
//
// Invariant: pieces of a receiving rank do not overlap and cover what it holds: runs of heads that
// one sender has, runs of tokens that lie in one page at both ends (by block) or all tokens.
//
// Sources: transfer by layer while the prefill computes: P. Patel et al., "Splitwise", ISCA 2024,
// section 4.2; by block between unequal TP: NVIDIA Dynamo (ai-dynamo/dynamo), KV block transfer.
#include "model/plan/kv_transfer.h"

#include "model/base/mem.h"
#include "model/base/wide.h"

typedef struct HeadRun {
    uint32_t first, count;
} HeadRun;

// ---- What a rank holds

static HeadRun heads_of(const KvSide *side, const KvLayer *layer, uint32_t t) {
    if (side->tp <= layer->heads) {
        uint32_t each = layer->heads / side->tp;
        return (HeadRun){t * each, each};
    }
    return (HeadRun){t / (side->tp / layer->heads), 1};
}

static uint32_t stage_of(const KvMove *move, const KvSide *side, uint32_t layer) {
    const Pool *pool = side == &move->from ? move->from_pool : move->to_pool;
    for (uint32_t stage = 0; stage < side->pp; stage++) {
        uint32_t first, count;
        if (pool == NULL)
            pool_cut(move->layer_count, side->pp, stage, &first, &count);
        else
            pool_stage_layers(pool, move->layer_count, stage, &first, &count);
        if (layer < first + count) return stage;
    }
    return 0;
}

static uint32_t copies_of(const KvSide *side, const KvLayer *layer) {
    return side->tp > layer->heads ? side->tp / layer->heads : 1;
}

// Ranks over which the tokens of a layer are dealt.
static uint32_t ways_of(const KvSide *side, const KvLayer *layer) {
    return layer->is_dealt && side->dcp > 1 ? side->dcp : 1;
}

// Of the ranks that hold a head, and tokens that leave the remainder `class` when divided by the
// ways in which they are dealt, the one that serves the `nth` of those who want them.
static uint32_t owner_of(const KvSide *side, const KvLayer *layer, uint32_t head, uint32_t class,
                         uint32_t nth) {
    if (side->tp <= layer->heads) return head / (layer->heads / side->tp);
    uint32_t copies = copies_of(side, layer), ways = ways_of(side, layer);
    return head * copies + nth % (copies / ways) * ways + class % ways;
}

// ---- Pieces

typedef struct Builder {
    const KvMove *move;
    KvList list;
    uint32_t batch;
} Builder;

static bool add_piece(Builder *builder, const KvPiece *piece, Err *err) {
    KvList *list = &builder->list;
    if (piece->bytes == 0) return true;
    if (list->count == KV_PIECES_MAX)
        return err_set(err, "the move has more than %u pieces", KV_PIECES_MAX);
    list->pieces = mem_grow(list->pieces, &list->capacity, list->count + 1, sizeof *list->pieces);
    list->pieces[list->count++] = *piece;
    return true;
}

// Tokens [first, first + count) that leave the remainder `class` when divided by `ways`; *out_first
// is the first of them.
static uint64_t dealt_count(uint64_t first, uint64_t count, uint32_t class, uint32_t ways,
                            uint64_t *out_first) {
    uint64_t skip = (class + ways - first % ways) % ways;
    *out_first = first + skip;
    return count > skip ? (count - skip - 1) / ways + 1 : 0;
}

// Of the bytes of a state, part `class` of `ways`.
static uint64_t state_part(uint64_t bytes, uint32_t class, uint32_t ways) {
    return wide_mul_div(bytes, class + 1, ways) - wide_mul_div(bytes, class, ways);
}

// Tokens that one rank of either side keeps all of, or none of: those of a remainder.
typedef struct Deal {
    uint32_t class, ways;
} Deal;

// Tokens [first, first + count) of a layer to one rank, as far as they are of the deal, cut where
// senders change; count 0: its states.
static bool add_class(Builder *builder, uint32_t layer, uint32_t t, Deal deal, uint64_t first,
                      uint64_t count, Err *err) {
    const KvMove *move = builder->move;
    const KvLayer *kept = &move->layers[layer];
    HeadRun wanted = heads_of(&move->to, kept, t);
    uint64_t first_token = 0, tokens = 0;
    if (count > 0) tokens = dealt_count(first, count, deal.class, deal.ways, &first_token);
    if (count > 0 && tokens == 0) return true;
    // those who want the same tokens of a head in turn, so that they ask different owners
    uint32_t nth =
        move->to.tp > kept->heads ? t % copies_of(&move->to, kept) / ways_of(&move->to, kept) : t;
    for (uint32_t head = wanted.first; head < wanted.first + wanted.count;) {
        uint32_t owner = owner_of(&move->from, kept, head, deal.class, nth);
        HeadRun held = heads_of(&move->from, kept, owner);
        uint32_t end = held.first + held.count, last = wanted.first + wanted.count;
        if (end > last) end = last;
        uint64_t each = count > 0 ? wide_mul_saturate(kept->head_B, tokens)
                                  : state_part(kept->state_B, deal.class, deal.ways);
        KvPiece piece = {.from = stage_of(move, &move->from, layer) * move->from.tp + owner,
                         .to = stage_of(move, &move->to, layer) * move->to.tp + t,
                         .layer = layer,
                         .first_head = head,
                         .heads = end - head,
                         .first_token = first_token,
                         .tokens = tokens,
                         .stride = deal.ways,
                         .bytes = wide_mul_saturate(each, end - head),
                         .batch = builder->batch};
        if (!add_piece(builder, &piece, err)) return false;
        head = end;
    }
    return true;
}

// All that one rank keeps of tokens [first, first + count) of a layer.
static bool add_run(Builder *builder, uint32_t layer, uint32_t t, uint64_t first, uint64_t count,
                    Err *err) {
    const KvMove *move = builder->move;
    const KvLayer *kept = &move->layers[layer];
    uint32_t own = ways_of(&move->to, kept), other = ways_of(&move->from, kept);
    uint32_t ways = own / (uint32_t)wide_gcd(own, other) * other;
    for (uint32_t class = t % own; class < ways; class += own)
        if (!add_class(builder, layer, t, (Deal){class, ways}, first, count, err)) return false;
    return true;
}

static bool add_layer(Builder *builder, uint32_t layer, uint64_t first, uint64_t count, Err *err) {
    for (uint32_t t = 0; t < builder->move->to.tp; t++)
        if (!add_run(builder, layer, t, first, count, err)) return false;
    return true;
}

static bool add_layers(Builder *builder, uint64_t first, uint64_t count, Err *err) {
    for (uint32_t layer = 0; layer < builder->move->layer_count; layer++)
        if (!add_layer(builder, layer, first, count, err)) return false;
    return true;
}

static bool by_layer(Builder *builder, Err *err) {
    for (uint32_t layer = 0; layer < builder->move->layer_count; layer++) {
        builder->batch = builder->move->order == KV_BY_LAYER ? layer : 0;
        if (builder->move->tokens > 0 && !add_layer(builder, layer, 0, builder->move->tokens, err))
            return false;
        if (!add_layer(builder, layer, 0, 0, err)) return false;
    }
    return true;
}

static uint64_t page_end(const KvSide *side, uint64_t token) {
    return (token / side->page + 1) * side->page;
}

static bool by_block(Builder *builder, Err *err) {
    const KvMove *move = builder->move;
    for (uint64_t first = 0; first < move->tokens; builder->batch++) {
        uint64_t end = page_end(&move->from, first), other = page_end(&move->to, first);
        if (other < end) end = other;
        if (end > move->tokens) end = move->tokens;
        if (!add_layers(builder, first, end - first, err)) return false;
        first = end;
    }
    return add_layers(builder, 0, 0, err);
}

// ---- The whole

static bool check_side(const KvMove *move, const KvSide *side, const char *name, Err *err) {
    if (side->tp == 0 || side->pp == 0 || side->page == 0)
        return err_set(err, "%s: expected tp, pp and tokens of a page above 0", name);
    if (side->pp > move->layer_count)
        return err_set(err, "%s: %u stages for %u layers", name, side->pp, move->layer_count);
    const Pool *pool = side == &move->from ? move->from_pool : move->to_pool;
    if (pool != NULL && pool->pp != side->pp)
        return err_set(err, "%s: a pool of %u stages for a side of %u", name, pool->pp, side->pp);
    for (uint32_t i = 0; i < move->layer_count; i++) {
        uint32_t heads = move->layers[i].heads;
        if (heads == 0 || (heads % side->tp != 0 && side->tp % heads != 0))
            return err_set(err,
                           "%s: layer %u has %u KV heads, which tp %u neither divides nor "
                           "multiplies",
                           name, i, heads, side->tp);
        uint32_t copies = copies_of(side, &move->layers[i]), ways = ways_of(side, &move->layers[i]);
        if (copies % ways != 0)
            return err_set(err,
                           "%s: layer %u has %u copies of a KV head, which dcp %u does not "
                           "divide",
                           name, i, copies, ways);
    }
    return true;
}

bool kv_transfer_list(const KvMove *move, KvList *out, Err *err) {
    if (!check_side(move, &move->from, "from", err) || !check_side(move, &move->to, "to", err))
        return false;
    if (move->tokens > UINT64_MAX / 2)
        return err_set(err, "%llu tokens are too many", (unsigned long long)move->tokens);
    Builder builder = {.move = move};
    bool done = move->order == KV_BY_BLOCK ? by_block(&builder, err) : by_layer(&builder, err);
    if (!done) {
        kv_transfer_free(&builder.list);
        return false;
    }
    *out = builder.list;
    return true;
}

void kv_transfer_free(KvList *list) {
    mem_free(list->pieces);
    *list = (KvList){0};
}

uint64_t kv_transfer_side_B(const KvMove *move, const KvSide *side) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < move->layer_count; i++) {
        const KvLayer *layer = &move->layers[i];
        uint32_t held = side->tp > layer->heads ? side->tp : layer->heads;
        uint64_t each =
            wide_add_saturate(wide_mul_saturate(layer->head_B, move->tokens), layer->state_B);
        sum = wide_add_saturate(sum, wide_mul_saturate(each, held / ways_of(side, layer)));
    }
    return sum;
}

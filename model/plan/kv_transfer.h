// Moving the KV cache of one request between two sets of ranks that are cut differently, or to host
// memory and back: which bytes go from which rank to which, in which order.
//
// A layer keeps, for each token, `heads` pieces of `head_B` bytes (keys and values of one KV head;
// MLA: one latent for all), and once for the request `heads` states of `state_B` bytes (linear
// attention). Heads are cut over tp: rank t of a stage has heads / tp of them in order, or, with
// more ranks than heads, tp / heads ranks hold the same one. Of a layer that is dealt out, `dcp`
// consecutive of these ranks keep every dcp-th token each instead (Pool.dcp). Layers are cut over
// pp as the pool of a side cuts them, or evenly. Rank stage * tp + t.
#ifndef MODEL_PLAN_KV_TRANSFER_H
#define MODEL_PLAN_KV_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/plan/pool.h"

typedef struct KvLayer {
    uint32_t heads;
    uint64_t head_B, state_B; // of one head: bytes per token, and per request
    bool is_dealt; // over the dcp of a side; its state counts as tokens that are not told apart
} KvLayer;

// One end. A memory that ranks share is tp parts of it that each hold their heads once.
typedef struct KvSide {
    uint32_t tp, pp;
    uint32_t page; // tokens of a page
    uint32_t dcp;  // 0: 1
} KvSide;

// REQUEST: all of a pair of ranks together, once the prompt is done. LAYER: layer by layer, as a
// prefill finishes them. BLOCK: by runs of tokens that lie in one page at both ends, all layers of
// a run before the next one, as chunked prefill finishes them; states last.
typedef enum KvOrder { KV_BY_REQUEST, KV_BY_LAYER, KV_BY_BLOCK } KvOrder;

typedef struct KvMove {
    const KvLayer *layers; // borrowed
    uint32_t layer_count;
    KvSide from, to;
    // By whose stages layers are cut (pool_stage_layers), of as many stages as the side; NULL:
    // evenly, as pool_cut does. Borrowed.
    const Pool *from_pool, *to_pool;
    uint64_t tokens;
    KvOrder order;
} KvMove;

// Heads [first_head, first_head + heads) of layer `layer` for `tokens` tokens, first_token and
// every `stride`-th after it; with tokens == 0 their states. Numbers are those of the whole model
// and request.
typedef struct KvPiece {
    uint32_t from, to;
    uint32_t layer, first_head, heads;
    uint64_t first_token, tokens;
    uint32_t stride;
    uint64_t bytes;
    uint32_t batch; // pieces of one batch may move together; batches follow each other
} KvPiece;

typedef struct KvList {
    KvPiece *pieces; // heap, in order
    uint32_t count, capacity;
} KvList;

#define KV_PIECES_MAX (UINT32_C(1) << 22)

// A zeroed KvList is empty. Each rank of `to` gets each byte that it has to hold once, from a rank
// that holds it; ranks that hold the same share the sending. Refused: heads that tp neither divides
// nor is a multiple of, a dcp that does not divide the copies of a layer that is dealt, fewer
// layers than stages, a pool of other stages than its side, pages of no tokens, more than
// KV_PIECES_MAX.
bool kv_transfer_list(const KvMove *move, KvList *out, Err *err);
void kv_transfer_free(KvList *list);

// Bytes that all ranks of a side hold together, what is held several times counted as often: what a
// move to it takes. Saturates.
uint64_t kv_transfer_side_B(const KvMove *move, const KvSide *side);

#endif

// The hand-over of caches between two pools on the links of the machine.
//
// A prompt passes in chunks, and the layers of each are finished evenly over the time of the
// prefill. What a layer and chunk adds to the cache is sent when it is finished and when what was
// finished before it has arrived (transfers by layer: P. Patel et al., "Splitwise", ISCA 2024,
// section 4.2); so the exposed part is what arrives after the last layer was computed. One request
// of each attention-DP rank of an instance moves at once, as they are prefilled at once.
//
// Invariant: bytes are those that the memory model counts for the prompt, without the padding of
// pages: sums over the heads of a layer, rounded up to whole bytes of a head and chunk. Copy
// engines and NICs move them.
#include "sim/search/pools_internal.h"

#include "model/base/wide.h"
#include "model/plan/kv_transfer.h"
#include "model/plan/memory_cache.h"
#include "sim/tier.h"
#include "sim/transfers.h"

#define ROUND_MAX  1024 // requests that are sent at once at most, to see what links carry
#define PIECES_MAX (UINT32_C(1) << 20)
#define PS         1e-12

typedef struct Mover {
    const EvaluateInput *input;
    const Pool *from, *to;
    KvLayer *layers; // [arch->layers]
    KvList pieces;   // of one request, by layer
    uint64_t chunks;
    TransfersOptions options;
    NetTransfer *list;
    uint32_t count, capacity;
} Mover;

// ---- What a request keeps

// Parts that ranks hold apart, or together where there are more ranks: latents are one.
static uint32_t heads_of(const AttentionSpec *spec, const Pool *from, const Pool *to) {
    switch (spec->kind) {
    case ATTENTION_GQA: return spec->kv_heads > 0 ? spec->kv_heads : spec->heads;
    case ATTENTION_KDA:
    case ATTENTION_GATED_DELTA:
    case ATTENTION_LIGHTNING:
    case ATTENTION_MAMBA2: return spec->heads;
    case ATTENTION_MAMBA1: return from->tp > to->tp ? from->tp : to->tp; // channels, cut at will
    case ATTENTION_MLA:
    case ATTENTION_COMPRESSED:
    case ATTENTION_NONE:
    case ATTENTION_KIND_COUNT: break;
    }
    return 1;
}

static bool is_dealt(const AttentionSpec *spec) {
    return memory_cache_ways(&(Pool){.dcp = 2}, spec) > 1;
}

static uint64_t layer_B(const Mover *mover, const AttentionSpec *spec) {
    Pool whole = *mover->from;
    MemoryLayer layer;
    whole.tp = 1;
    whole.dcp = 0;
    memory_cache_layer(&whole, mover->input->arch->dtype, spec, &layer);
    return wide_add_saturate(memory_cache_layer_B(&layer, mover->input->scenario->isl, 1),
                             layer.state_B);
}

// A layer's cache of the whole prompt counts as state, whose bytes need not grow with tokens:
// windows and compressed entries do not.
static void find_layers(Mover *mover) {
    const Arch *arch = mover->input->arch;
    mover->layers = mem_alloc(arch->layers, sizeof *mover->layers);
    for (uint32_t i = 0; i < arch->layers; i++) {
        const AttentionSpec *spec =
            &arch->attentions[arch->kinds[arch->kind_of_layer[i]].attention];
        uint32_t heads = heads_of(spec, mover->from, mover->to);
        mover->layers[i] =
            (KvLayer){.heads = heads > 0 ? heads : 1,
                      .state_B = wide_div_up_u64(layer_B(mover, spec), heads > 0 ? heads : 1),
                      .is_dealt = is_dealt(spec)};
    }
}

static bool find_pieces(Mover *mover, PoolsMove *out, Err *err) {
    KvMove move = {.layers = mover->layers,
                   .layer_count = mover->input->arch->layers,
                   .from = {mover->from->tp, mover->from->pp, 1, mover->from->dcp},
                   .to = {mover->to->tp, mover->to->pp, 1, mover->to->dcp},
                   .from_pool = mover->from,
                   .to_pool = mover->to,
                   .order = KV_BY_LAYER};
    if (!kv_transfer_list(&move, &mover->pieces, err)) return false;
    out->cache_B = out->moved_B = 0;
    for (uint32_t i = 0; i < move.layer_count; i++)
        out->cache_B = wide_add_saturate(
            out->cache_B, wide_mul_saturate(move.layers[i].heads, move.layers[i].state_B));
    for (uint32_t i = 0; i < mover->pieces.count; i++)
        out->moved_B = wide_add_saturate(out->moved_B, mover->pieces.pieces[i].bytes);
    return out->cache_B > 0 || err_set(err, "the model keeps no cache that could be handed over");
}

// ---- Lists of transfers

// Where rank `rank` of attention-DP group `group` of a pool sits. Those that share prompts all have
// the cache: they send its layers in turn.
static VertexId part_of(const Fabric *fabric, const Pool *pool, uint32_t group, uint32_t rank,
                        uint32_t layer) {
    uint32_t instance = group / pool->dp, d = group % pool->dp;
    uint32_t stage = rank / pool->tp, t = rank % pool->tp;
    uint32_t shared = pool_token_groups(pool), position = d * pool->cp + layer % pool->cp;
    uint32_t of_pool = ((instance * pool->pp + stage) * shared + position) * pool->tp + t;
    return fabric_gpu(fabric, fabric_live_gpu(fabric, pool->first_gpu + of_pool));
}

static uint32_t groups_of(const Pool *pool) {
    return pool->dp * pool->replicas;
}

// Piece number i of request `request` of `count`, which lie evenly over the receiving groups.
static void add_transfer(Mover *mover, uint32_t i, uint64_t bytes, uint32_t request,
                         uint32_t count) {
    const Fabric *fabric = mover->input->fabric;
    const KvPiece *piece = &mover->pieces.pieces[i];
    uint32_t senders = groups_of(mover->from), receivers = groups_of(mover->to);
    uint32_t to = count <= receivers ? (uint32_t)wide_mul_div(request, receivers, count)
                                     : request % receivers;
    mover->list = mem_grow(mover->list, &mover->capacity, mover->count + 1, sizeof *mover->list);
    mover->list[mover->count++] = (NetTransfer){
        .from = part_of(fabric, mover->from, request % senders, piece->from, piece->layer),
        .to = part_of(fabric, mover->to, to, piece->to, piece->layer),
        .bytes = bytes};
}

static Digest list_digest(const Mover *mover) {
    Digest digest = HASH_START;
    for (uint32_t i = 0; i < mover->count; i++) {
        const NetTransfer *transfer = &mover->list[i];
        digest = hash_u64(hash_u64(digest, transfer->from), transfer->to);
        digest = hash_u64(digest, transfer->bytes);
    }
    return digest;
}

static bool run_list(Mover *mover, TransfersResult *out, Err *err) {
    return transfers_run(mover->input->fabric, mover->list, mover->count, &mover->options, out,
                         err);
}

// ---- By layer

// How long what each layer and chunk adds takes, alone; layers of equal lists are run once.
static bool time_layers(Mover *mover, Time *times, Err *err) {
    uint32_t layers = mover->input->arch->layers, piece = 0;
    Digest *digests = mem_alloc(layers, sizeof *digests);
    bool done = true;
    for (uint32_t layer = 0; done && layer < layers; layer++) {
        uint32_t first = piece, known = layer;
        while (piece < mover->pieces.count && mover->pieces.pieces[piece].layer == layer) piece++;
        mover->count = 0;
        for (uint32_t i = first; i < piece; i++)
            for (uint32_t r = 0; r < mover->from->dp; r++)
                add_transfer(mover, i,
                             wide_div_up_u64(mover->pieces.pieces[i].bytes, mover->chunks), r,
                             mover->from->dp);
        digests[layer] = list_digest(mover);
        for (uint32_t i = 0; known == layer && i < layer; i++)
            if (digests[i] == digests[layer]) known = i;
        if (known < layer) {
            times[layer] = times[known];
            continue;
        }
        TransfersResult alone = {0};
        done = run_list(mover, &alone, err);
        times[layer] = alone.end_ps;
        transfers_result_free(&alone);
    }
    mem_free(digests);
    return done;
}

// A chunk and layer starts when it is finished and the one before has arrived.
static void follow_layers(const Mover *mover, const Time *times, Time prefill_ps, PoolsMove *out,
                          Time *out_hold_ps) {
    uint32_t layers = mover->input->arch->layers;
    uint64_t steps = wide_mul_saturate(mover->chunks, layers);
    Time now = 0, sum = 0;
    for (uint64_t step = 0; step < steps; step++) {
        Time ready = (Time)wide_mul_div((uint64_t)prefill_ps, step + 1, steps);
        Time takes = times[step % layers];
        now = (ready > now ? ready : now) + takes;
        sum += takes;
    }
    out->transfer_ps = sum;
    out->exposed_ps = now - prefill_ps;
    *out_hold_ps = now - (Time)((uint64_t)prefill_ps / steps);
}

// ---- All instances at once

static uint64_t divisor_of(uint64_t a, uint64_t b) {
    while (b > 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

// As many requests as let every sender and every receiver have equally many, when those are few.
static uint32_t round_of(const Mover *mover) {
    uint64_t senders = groups_of(mover->from), receivers = groups_of(mover->to);
    uint64_t requests = senders / divisor_of(senders, receivers) * receivers;
    if (requests > ROUND_MAX || requests * mover->pieces.count > PIECES_MAX) requests = senders;
    return (uint32_t)requests;
}

static void read_link(const TransfersResult *all, uint32_t requests, PoolsMove *out) {
    double fullest = 0;
    for (uint32_t c = 0; c < LINK_CLASS_COUNT; c++) {
        const LinkTotal *total = &all->links[c];
        out->class_B[c] = total->bytes / requests;
        if (total->busiest_Bps == 0) continue;
        double busy = (double)total->busiest_B / (double)total->busiest_Bps;
        if (busy <= fullest) continue;
        fullest = busy;
        out->link_class = (LinkClass)c;
        out->link_B = total->busiest_B;
        out->link_Bps = total->busiest_Bps;
        for (size_t i = 0; i < sizeof out->link; i++) out->link[i] = total->busiest_name[i];
    }
}

static bool run_all(Mover *mover, PoolsMove *out, Err *err) {
    uint32_t requests = round_of(mover);
    TransfersResult all = {0};
    mover->count = 0;
    for (uint32_t r = 0; r < requests; r++)
        for (uint32_t i = 0; i < mover->pieces.count; i++)
            add_transfer(mover, i, mover->pieces.pieces[i].bytes, r, requests);
    if (!run_list(mover, &all, err)) return false;
    out->requests_s = requests / ((double)all.end_ps * PS);
    read_link(&all, requests, out);
    transfers_result_free(&all);
    return true;
}

// Pieces of all layers between the same ranks become one, for the run of all instances.
static void merge_pieces(Mover *mover) {
    KvList *list = &mover->pieces;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t at = 0;
        while (at < kept && (list->pieces[at].from != list->pieces[i].from ||
                             list->pieces[at].to != list->pieces[i].to))
            at++;
        if (at < kept)
            list->pieces[at].bytes =
                wide_add_saturate(list->pieces[at].bytes, list->pieces[i].bytes);
        else
            list->pieces[kept++] = list->pieces[i];
    }
    list->count = kept;
}

bool pools_move_run(const EvaluateInput *input, const Plan *plan, Time prefill_ps, PoolsMove *out,
                    Time *out_hold_ps, Err *err) {
    const Scenario *scenario = input->scenario;
    uint64_t chunk =
        scenario->prefill_chunk < scenario->isl ? scenario->prefill_chunk : scenario->isl;
    Mover mover = {.input = input,
                   .from = &plan->pools[plan->transfers[0].from_pool],
                   .to = &plan->pools[plan->transfers[0].to_pool],
                   .chunks = wide_div_up_u64(scenario->isl, chunk),
                   .options = {.calib = input->model->calib,
                               .mover = TRANSFERS_BY_COPY_ENGINES,
                               .tier = tier_constants(input->model->calib)}};
    PoolsMove move = *out;
    find_layers(&mover);
    Time *times = mem_alloc(input->arch->layers, sizeof *times);
    bool done = find_pieces(&mover, &move, err) && time_layers(&mover, times, err);
    if (done) {
        follow_layers(&mover, times, prefill_ps, &move, out_hold_ps);
        merge_pieces(&mover);
        done = run_all(&mover, &move, err);
    }
    if (done) *out = move;
    mem_free(times);
    mem_free(mover.layers);
    mem_free(mover.list);
    kv_transfer_free(&mover.pieces);
    return done;
}

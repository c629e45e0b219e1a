// KV transfers on real bytes: paged memories at both ends, every byte in its place once.
#include "tests/check.h"

#include "model/base/rng.h"
#include "model/plan/kv_transfer.h"
#include "model/plan/pool.h"

#define LAYERS_MAX 7

// A rank's cache as engines lay it out: layers of the stage, pages in an order of their own, tokens
// of a page, heads. States of the layers lie behind.
typedef struct Cache {
    const KvMove *move;
    const KvSide *side;
    uint32_t stage, t, first_layer, layers;
    uint64_t pages;
    uint8_t *bytes, *arrivals;
    uint64_t size;
} Cache;

static uint32_t heads_at(const KvSide *side, uint32_t heads) {
    return side->tp < heads ? heads / side->tp : 1;
}

static uint32_t first_head_at(const KvSide *side, uint32_t heads, uint32_t t) {
    return side->tp < heads ? t * (heads / side->tp) : t / (side->tp / heads);
}

static uint64_t layer_size(const Cache *cache, uint32_t layer) {
    const KvLayer *kept = &cache->move->layers[layer];
    uint64_t heads = heads_at(cache->side, kept->heads);
    return heads * (cache->pages * cache->side->page * kept->head_B + kept->state_B);
}

static uint64_t layer_start(const Cache *cache, uint32_t layer) {
    uint64_t start = 0;
    for (uint32_t i = cache->first_layer; i < layer; i++) start += layer_size(cache, i);
    return start;
}

static void open_cache(Cache *cache, const KvMove *move, const KvSide *side, uint32_t rank) {
    const Pool *given = side == &move->from ? move->from_pool : move->to_pool;
    Pool pool = given != NULL ? *given : (Pool){.pp = side->pp};
    *cache = (Cache){.move = move, .side = side, .stage = rank / side->tp, .t = rank % side->tp};
    pool_stage_layers(&pool, move->layer_count, cache->stage, &cache->first_layer, &cache->layers);
    cache->pages = (move->tokens + side->page - 1) / side->page;
    cache->size = layer_start(cache, cache->first_layer + cache->layers);
    cache->bytes = mem_alloc(cache->size + 1, 1);
    cache->arrivals = mem_alloc(cache->size + 1, 1);
}

static void close_cache(Cache *cache) {
    mem_free(cache->bytes);
    mem_free(cache->arrivals);
}

// Pages lie in the opposite order of their tokens.
static uint64_t address(const Cache *cache, uint32_t layer, uint64_t token, uint32_t head) {
    const KvLayer *kept = &cache->move->layers[layer];
    uint32_t page = cache->side->page, heads = heads_at(cache->side, kept->heads);
    assert_true(layer >= cache->first_layer && layer < cache->first_layer + cache->layers);
    uint32_t local = head - first_head_at(cache->side, kept->heads, cache->t);
    assert_true(local < heads);
    uint64_t slot = (cache->pages - 1 - token / page) * page + token % page;
    return layer_start(cache, layer) + (slot * heads + local) * kept->head_B;
}

static uint64_t state_address(const Cache *cache, uint32_t layer, uint32_t head) {
    const KvLayer *kept = &cache->move->layers[layer];
    uint64_t heads = heads_at(cache->side, kept->heads);
    uint32_t local = head - first_head_at(cache->side, kept->heads, cache->t);
    assert_true(local < heads);
    return layer_start(cache, layer) + heads * cache->pages * cache->side->page * kept->head_B +
           local * kept->state_B;
}

static uint8_t value_of(uint32_t layer, uint64_t token, uint32_t head, uint64_t byte) {
    return (uint8_t)(31 * layer + 7 * token + 101 * head + byte + 1);
}

// Of a layer that is dealt out, every dcp-th token.
static bool keeps(const Cache *cache, const KvLayer *kept, uint64_t token) {
    uint32_t ways = kept->is_dealt && cache->side->dcp > 0 ? cache->side->dcp : 1;
    return token % ways == cache->t % ways;
}

typedef void Visit(Cache *cache, uint32_t layer, uint64_t token, uint32_t head, uint64_t at,
                   uint64_t bytes);

// Everything that the rank has to hold; states as token UINT64_MAX.
static void visit_all(Cache *cache, Visit *visit) {
    for (uint32_t layer = cache->first_layer; layer < cache->first_layer + cache->layers; layer++) {
        const KvLayer *kept = &cache->move->layers[layer];
        uint32_t first = first_head_at(cache->side, kept->heads, cache->t);
        for (uint32_t head = first; head < first + heads_at(cache->side, kept->heads); head++) {
            for (uint64_t token = 0; token < cache->move->tokens; token++)
                if (keeps(cache, kept, token))
                    visit(cache, layer, token, head, address(cache, layer, token, head),
                          kept->head_B);
            visit(cache, layer, UINT64_MAX, head, state_address(cache, layer, head), kept->state_B);
        }
    }
}

static void fill(Cache *cache, uint32_t layer, uint64_t token, uint32_t head, uint64_t at,
                 uint64_t bytes) {
    for (uint64_t b = 0; b < bytes; b++) cache->bytes[at + b] = value_of(layer, token, head, b);
}

static void expect(Cache *cache, uint32_t layer, uint64_t token, uint32_t head, uint64_t at,
                   uint64_t bytes) {
    for (uint64_t b = 0; b < bytes; b++) {
        assert_int_equal(cache->arrivals[at + b], 1);
        assert_int_equal(cache->bytes[at + b], value_of(layer, token, head, b));
    }
}

static uint64_t copy(const Cache *from, Cache *to, uint64_t source, uint64_t target,
                     uint64_t bytes) {
    memcpy(to->bytes + target, from->bytes + source, bytes);
    for (uint64_t b = 0; b < bytes; b++) to->arrivals[target + b]++;
    return bytes;
}

static uint64_t apply(const KvMove *move, const KvPiece *piece, const Cache *from, Cache *to) {
    const KvLayer *kept = &move->layers[piece->layer];
    uint64_t moved = 0;
    for (uint32_t head = piece->first_head; head < piece->first_head + piece->heads; head++) {
        for (uint64_t i = 0; i < piece->tokens; i++) {
            uint64_t token = piece->first_token + i * piece->stride;
            moved += copy(from, to, address(from, piece->layer, token, head),
                          address(to, piece->layer, token, head), kept->head_B);
        }
        if (piece->tokens == 0)
            moved += copy(from, to, state_address(from, piece->layer, head),
                          state_address(to, piece->layer, head), kept->state_B);
    }
    return moved;
}

// By block, a piece lies in one page at both ends.
static void check_pages(const KvMove *move, const KvPiece *piece) {
    if (move->order != KV_BY_BLOCK || piece->tokens == 0) return;
    uint64_t last = piece->first_token + (piece->tokens - 1) * piece->stride;
    assert_true(piece->first_token / move->from.page == last / move->from.page);
    assert_true(piece->first_token / move->to.page == last / move->to.page);
}

static void check_move(const KvMove *move) {
    Err err = {0};
    KvList list = {0};
    uint32_t from_count = move->from.tp * move->from.pp, to_count = move->to.tp * move->to.pp;
    Cache *from = mem_alloc(from_count, sizeof *from), *to = mem_alloc(to_count, sizeof *to);
    check_ok(kv_transfer_list(move, &list, &err), &err);
    for (uint32_t i = 0; i < from_count; i++) {
        open_cache(&from[i], move, &move->from, i);
        visit_all(&from[i], fill);
    }
    for (uint32_t i = 0; i < to_count; i++) open_cache(&to[i], move, &move->to, i);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < list.count; i++) {
        const KvPiece *piece = &list.pieces[i];
        assert_true(i == 0 || piece->batch >= list.pieces[i - 1].batch);
        check_pages(move, piece);
        uint64_t moved = apply(move, piece, &from[piece->from], &to[piece->to]);
        assert_true(moved == piece->bytes);
        sum += moved;
    }
    for (uint32_t i = 0; i < to_count; i++) visit_all(&to[i], expect);
    assert_true(sum == kv_transfer_side_B(move, &move->to));
    for (uint32_t i = 0; i < from_count; i++) close_cache(&from[i]);
    for (uint32_t i = 0; i < to_count; i++) close_cache(&to[i]);
    mem_free(from);
    mem_free(to);
    kv_transfer_free(&list);
}

// GQA with 4 KV heads, MLA with one latent, and layers with states: TP 1 to 8 and PP 1 to 3 on both
// sides, pages of 1 to 16 tokens that do not divide each other, prompts that end inside a page.
static void test_kv_transfer_brings_every_byte_once(void **state) {
    (void)state;
    const KvLayer gqa = {4, 6, 0, false}, mla = {1, 9, 0, false}, linear = {4, 0, 5, false};
    const uint32_t tps[] = {1, 2, 4, 8}, pages[] = {1, 4, 6, 16};
    Rng rng;
    rng_seed(&rng, 3);
    for (uint32_t i = 0; i < 400; i++) {
        KvLayer layers[LAYERS_MAX];
        for (uint32_t l = 0; l < LAYERS_MAX; l++)
            layers[l] = i % 3 == 0 ? gqa : i % 3 == 1 ? mla : l % 4 == 3 ? gqa : linear;
        KvMove move = {.layers = layers,
                       .layer_count = 3 + (uint32_t)rng_below(&rng, LAYERS_MAX - 2),
                       .from = {tps[rng_below(&rng, 4)], 1 + (uint32_t)rng_below(&rng, 3),
                                pages[rng_below(&rng, 4)], 0},
                       .to = {tps[rng_below(&rng, 4)], 1 + (uint32_t)rng_below(&rng, 3),
                              pages[rng_below(&rng, 4)], 0},
                       .tokens = rng_below(&rng, 40),
                       .order = (KvOrder)rng_below(&rng, 3)};
        check_move(&move);
    }
}

// A latent dealt to 1 to 8 ranks at either end, beside a window of one head that is not, and two KV
// heads, of which 8 ranks hold four copies each, dealt to up to 4.
static void test_kv_transfer_deals_tokens_out(void **state) {
    (void)state;
    const KvLayer mixed[] = {{1, 9, 0, true}, {1, 4, 0, false}, {1, 9, 0, true}};
    const KvLayer heads[] = {{2, 9, 0, true}, {2, 4, 0, false}};
    Rng rng;
    rng_seed(&rng, 4);
    for (uint32_t i = 0; i < 300; i++) {
        bool is_latent = i % 2 == 0;
        uint32_t from = 1u << rng_below(&rng, is_latent ? 4 : 3);
        uint32_t to = 1u << rng_below(&rng, is_latent ? 4 : 3);
        KvMove move = {.layers = is_latent ? mixed : heads,
                       .layer_count = is_latent ? 3 : 2,
                       .from = {8, 1 + (uint32_t)rng_below(&rng, 2), 4, from},
                       .to = {8, 1 + (uint32_t)rng_below(&rng, 2), 6, to},
                       .tokens = rng_below(&rng, 40),
                       .order = (KvOrder)rng_below(&rng, 3)};
        check_move(&move);
    }
}

// A prompt whose cache counts as state, 1000 bytes of a latent: from 2 ranks that have all of it to
// 4 that have a quarter each, 250 bytes to every rank.
static void test_kv_transfer_deals_a_whole_cache_out(void **state) {
    (void)state;
    const KvLayer layers[] = {{1, 0, 1000, true}};
    KvMove move = {.layers = layers,
                   .layer_count = 1,
                   .from = {2, 1, 1, 0},
                   .to = {4, 1, 1, 4},
                   .order = KV_BY_LAYER};
    KvList list = {0};
    Err err = {0};
    check_ok(kv_transfer_list(&move, &list, &err), &err);
    assert_int_equal(list.count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(list.pieces[i].to, i);
        assert_int_equal(list.pieces[i].bytes, 250);
    }
    assert_int_equal(kv_transfer_side_B(&move, &move.to), 1000);
    kv_transfer_free(&list);
}

// From two stages of 4 and 1 layers, as their plan lists them, to stages of vLLM's cut, which give
// left-over layers to the later ones (5 over 3: 1, 2, 2): the layer 3 lies on the first stage of
// the sender, where an even cut (3, 2) would look on the second, and layer 1 on the second of the
// receivers, not on the first.
static void test_kv_transfer_follows_the_stages_of_the_pools(void **state) {
    (void)state;
    const KvLayer layers[] = {
        {4, 6, 0, false}, {1, 9, 0, false}, {4, 0, 5, false}, {4, 6, 0, false}, {1, 9, 0, false}};
    const Pool listed = {.pp = 2, .stage_cut = STAGE_CUT_LISTED, .stages = {4, 1}};
    const Pool vllm = {.pp = 3, .stage_cut = STAGE_CUT_VLLM};
    KvMove move = {.layers = layers,
                   .layer_count = 5,
                   .from = {2, 2, 4, 0},
                   .to = {1, 3, 4, 0},
                   .from_pool = &listed,
                   .to_pool = &vllm,
                   .tokens = 7,
                   .order = KV_BY_LAYER};
    Err err = {0};
    KvList list = {0};
    check_move(&move);
    check_ok(kv_transfer_list(&move, &list, &err), &err);
    for (uint32_t i = 0; i < list.count; i++) {
        const KvPiece *piece = &list.pieces[i];
        uint32_t first, count;
        assert_int_equal(piece->from / 2, piece->layer == 4);
        pool_stage_layers(&vllm, 5, piece->to, &first, &count);
        assert_true(piece->layer >= first && piece->layer < first + count);
    }
    kv_transfer_free(&list);
    move.to_pool = &listed;
    check_fails(kv_transfer_list(&move, &list, &err), &err,
                "to: a pool of 2 stages for a side of 3");
}

// To a host memory that holds everything once, and back to ranks that hold it eight times.
static void test_kv_transfer_to_host_and_back(void **state) {
    (void)state;
    const KvLayer layers[] = {{1, 9, 0, false}, {1, 9, 0, false}, {1, 9, 0, false}};
    KvMove away = {.layers = layers,
                   .layer_count = 3,
                   .from = {8, 1, 4, 0},
                   .to = {1, 1, 16, 0},
                   .tokens = 21,
                   .order = KV_BY_LAYER};
    KvMove back = away;
    back.from = away.to;
    back.to = away.from;
    check_move(&away);
    check_move(&back);
    assert_int_equal(kv_transfer_side_B(&away, &away.to), 3 * 21 * 9);
    assert_int_equal(kv_transfer_side_B(&back, &back.to), 8 * 3 * 21 * 9);
}

// DeepSeek-V3: 61 layers of 576 values in bf16, 1152 bytes a token: 4096 tokens are 287834112
// bytes for each decode rank. From TP 8 to TP 4, every prefill rank has all of it: the four send to
// one each.
static void test_kv_transfer_of_mla_is_shared_among_its_holders(void **state) {
    (void)state;
    KvLayer layers[61];
    for (uint32_t i = 0; i < 61; i++) layers[i] = (KvLayer){1, 1152, 0, false};
    KvMove move = {.layers = layers,
                   .layer_count = 61,
                   .from = {8, 1, 64, 0},
                   .to = {4, 1, 64, 0},
                   .tokens = 4096,
                   .order = KV_BY_REQUEST};
    KvList list = {0};
    Err err = {0};
    assert_true(kv_transfer_side_B(&move, &move.to) == 4 * UINT64_C(287834112));
    check_ok(kv_transfer_list(&move, &list, &err), &err);
    assert_int_equal(list.count, 4 * 61);
    for (uint64_t i = 0; i < list.count; i++)
        assert_int_equal(list.pieces[i].from, list.pieces[i].to);
    kv_transfer_free(&list);
}

// By block, 40 tokens in pages of 16 and 6: cut at 6, 12, 16, 18, 24, 30, 32, 36 and 40: 9 batches.
static void test_kv_transfer_cuts_at_pages_of_both_ends(void **state) {
    (void)state;
    const KvLayer layers[] = {{2, 4, 0, false}};
    KvMove move = {.layers = layers,
                   .layer_count = 1,
                   .from = {2, 1, 16, 0},
                   .to = {1, 1, 6, 0},
                   .tokens = 40,
                   .order = KV_BY_BLOCK};
    KvList list = {0};
    Err err = {0};
    check_ok(kv_transfer_list(&move, &list, &err), &err);
    assert_int_equal(list.count, 2 * 9);
    assert_int_equal(list.pieces[list.count - 1].batch, 8);
    assert_int_equal(list.pieces[4].first_token, 12);
    assert_int_equal(list.pieces[4].tokens, 4);
    kv_transfer_free(&list);
}

static void check_refused(KvMove move, const char *message) {
    KvList list = {0};
    Err err = {0};
    assert_false(kv_transfer_list(&move, &list, &err));
    assert_string_equal(err.text, message);
}

static void test_kv_transfer_refuses_uneven_cuts(void **state) {
    (void)state;
    const KvLayer layers[] = {{4, 4, 0, false}, {4, 4, 0, false}};
    KvMove move = {.layers = layers,
                   .layer_count = 2,
                   .from = {3, 1, 16, 0},
                   .to = {2, 1, 16, 0},
                   .tokens = 10,
                   .order = KV_BY_LAYER};
    check_refused(move, "from: layer 0 has 4 KV heads, which tp 3 neither divides nor multiplies");
    move.from.tp = 4;
    move.to.pp = 3;
    check_refused(move, "to: 3 stages for 2 layers");
    move.to = (KvSide){2, 1, 0, 0};
    check_refused(move, "to: expected tp, pp and tokens of a page above 0");
    move.to.page = 1;
    move.order = KV_BY_BLOCK;
    move.tokens = UINT64_C(1) << 40;
    check_refused(move, "the move has more than 4194304 pieces");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kv_transfer_brings_every_byte_once),
        cmocka_unit_test(test_kv_transfer_deals_tokens_out),
        cmocka_unit_test(test_kv_transfer_deals_a_whole_cache_out),
        cmocka_unit_test(test_kv_transfer_follows_the_stages_of_the_pools),
        cmocka_unit_test(test_kv_transfer_to_host_and_back),
        cmocka_unit_test(test_kv_transfer_of_mla_is_shared_among_its_holders),
        cmocka_unit_test(test_kv_transfer_cuts_at_pages_of_both_ends),
        cmocka_unit_test(test_kv_transfer_refuses_uneven_cuts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// KV pieces as transfers, batch after batch.
//
// Invariant: the bytes of a batch are those of its pieces between different parts of the machine.
#include "sim/transfers_kv.h"

#include <assert.h>
#include <inttypes.h>

#include "model/base/mem.h"
#include "model/base/wide.h"
#include "sim/keymap.h"

typedef struct KvRun {
    const Fabric *fabric;
    const TransfersKv *move;
    const TransfersOptions *options;
    NetTransfer *list; // of a batch
    uint32_t count, capacity;
    Route route;
    TransfersBound *bound;
    Time now; // the batch before has arrived
    uint64_t steps, eps_error_ppb;
} KvRun;

uint32_t transfers_kv_batches(const KvList *pieces) {
    return pieces->count == 0 ? 0 : pieces->pieces[pieces->count - 1].batch + 1;
}

static bool find_parts(const KvRun *run, const KvPiece *piece, NetTransfer *out, Err *err) {
    const TransfersKv *move = run->move;
    if (piece->from >= move->from_ranks)
        return err_set(err, "rank %u of the %u that send has no part", piece->from,
                       move->from_ranks);
    if (piece->to >= move->to_ranks)
        return err_set(err, "rank %u of the %u that receive has no part", piece->to,
                       move->to_ranks);
    *out = (NetTransfer){
        .from = move->from[piece->from], .to = move->to[piece->to], .bytes = piece->bytes};
    return true;
}

// The transfers of the batch that begins at piece `first`; *out_next is the piece after it.
static bool collect(KvRun *run, uint64_t first, uint64_t *out_next, Err *err) {
    const KvList *pieces = run->move->pieces;
    KeyMap pairs = {0};
    bool done = true;
    uint64_t i = first;
    run->count = 0;
    for (; done && i < pieces->count && pieces->pieces[i].batch == pieces->pieces[first].batch;
         i++) {
        NetTransfer transfer = {0};
        done = find_parts(run, &pieces->pieces[i], &transfer, err);
        if (!done || transfer.from == transfer.to) continue;
        uint64_t pair = ((uint64_t)transfer.from << 32) | transfer.to;
        uint32_t at = keymap_find(&pairs, pair);
        if (at != KEYMAP_NONE) {
            run->list[at].bytes = wide_add_saturate(run->list[at].bytes, transfer.bytes);
            continue;
        }
        keymap_add(&pairs, pair, run->count);
        run->list = mem_grow(run->list, &run->capacity, run->count + 1, sizeof *run->list);
        run->list[run->count++] = transfer;
    }
    keymap_free(&pairs);
    *out_next = i;
    return done;
}

static bool add_bound(KvRun *run, Time ready, Err *err) {
    for (uint32_t i = 0; i < run->count; i++) {
        NetTransfer transfer = run->list[i];
        transfer.start = ready;
        if (!fabric_route(run->fabric, transfer.from, transfer.to, &run->route, err)) return false;
        transfers_bound_add(run->bound, &transfer, &run->route);
    }
    return true;
}

// The batch runs alone, so it takes what it takes from time 0 on.
static bool run_batch(KvRun *run, uint32_t batch, Time *out_finish, Err *err) {
    TransfersResult alone = {0};
    Time ready = run->move->ready == NULL ? 0 : run->move->ready[batch];
    if (ready < 0)
        return err_set(err, "expected a time of 0 or later, found %" PRId64 " ps", ready);
    if (!transfers_run(run->fabric, run->list, run->count, run->options, &alone, err) ||
        !add_bound(run, ready, err)) {
        transfers_result_free(&alone);
        return false;
    }
    Time start = ready > run->now ? ready : run->now, takes = alone.end_ps;
    run->steps += alone.steps;
    if (alone.eps_error_ppb > run->eps_error_ppb) run->eps_error_ppb = alone.eps_error_ppb;
    transfers_result_free(&alone);
    if (start >= TIME_MAX - takes)
        return err_set(err, "the move ends later than %" PRId64 " s, the most that can be timed",
                       TIME_MAX / PS_PER_SECOND);
    *out_finish = run->now = start + takes;
    return true;
}

static bool run_batches(KvRun *run, Time *finish, Err *err) {
    const KvList *pieces = run->move->pieces;
    uint32_t done = 0;
    for (uint64_t i = 0, next; i < pieces->count; i = next) {
        uint32_t batch = pieces->pieces[i].batch;
        while (done < batch) finish[done++] = run->now; // they had nothing to move
        assert(batch == done);
        done++;
        if (!collect(run, i, &next, err) || !run_batch(run, batch, &finish[batch], err))
            return err_prefix(err, "batch %u", batch);
    }
    return true;
}

bool transfers_kv_run(const Fabric *fabric, const TransfersKv *move,
                      const TransfersOptions *options, TransfersResult *out, Err *err) {
    uint32_t batches = transfers_kv_batches(move->pieces);
    KvRun run = {.fabric = fabric, .move = move, .options = options};
    TransfersResult result = {.finish = mem_alloc(batches, sizeof *result.finish)};
    Err late = {0};
    run.bound = transfers_bound_open(fabric);
    bool done = run_batches(&run, result.finish, err);
    bool bounded = transfers_bound_close(run.bound, &result, done ? err : &late);
    result.end_ps = run.now;
    result.steps = run.steps;
    result.eps_error_ppb = run.eps_error_ppb;
    mem_free(run.list);
    fabric_route_free(&run.route);
    if (done && bounded)
        *out = result;
    else
        transfers_result_free(&result);
    return done && bounded;
}

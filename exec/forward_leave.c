// What a rank has computed, as bytes from the process that ran it to the one that writes it down.
//
// Form: 64-bit numbers of this machine's byte order. A head of five (mark, choices of experts, near
// ones, the bits of the least margin, rows of logits), the choices by MoE layer and expert, and by
// row its number (text * rounds + round) and the floats of the vocabulary. Invariant: the size
// follows from the head, and nothing is taken from bytes of another size.
#include <inttypes.h>
#include <string.h>

#include "exec/forward_internal.h"

#define MARK UINT64_C(0x7466656c6d6f0001)

enum { HEAD_MARK, HEAD_CHOICES, HEAD_NEAR, HEAD_MARGIN, HEAD_ROWS, HEAD_COUNT };

// Texts of a rank that has logits: the last stage's first tp rank's.
static bool has_logits(const Forward *forward, const ForwardRank *rank) {
    return rank->tp_index == 0 && rank->stage == forward->pool->pp - 1;
}

static uint64_t first_text(const Forward *forward, uint32_t group) {
    uint32_t groups = forward->pool->replicas * forward->pool->dp;
    uint32_t text = group < groups ? forward_text_number(forward, group, 0, 0) : forward->texts;
    return text < forward->texts ? text : forward->texts; // a group that has padding alone
}

static uint64_t row_B(const Forward *forward) {
    return sizeof(uint64_t) + forward->arch->vocab * sizeof(float);
}

static uint64_t counts_of(const Forward *forward) {
    return (uint64_t)forward->moe_layers * forward->experts;
}

static void add_row(const Forward *forward, uint64_t row, Text *out) {
    const float *logits = forward->logits + row * forward->arch->vocab;
    text_add_bytes(out, (const char *)&row, sizeof row);
    text_add_bytes(out, (const char *)logits, forward->arch->vocab * sizeof *logits);
}

void forward_leave(void *self, uint32_t number, Text *out) {
    const Forward *forward = self;
    const ForwardRank *rank = forward->ranks[number];
    uint64_t head[HEAD_COUNT] = {MARK, rank->choices, rank->near}, begin = 0, end = 0;
    memcpy(&head[HEAD_MARGIN], &rank->least_margin, sizeof rank->least_margin);
    if (has_logits(forward, rank)) {
        begin = first_text(forward, rank->group) * forward->rounds;
        end = first_text(forward, rank->group + 1) * forward->rounds;
    }
    for (uint64_t row = begin; row < end; row++) head[HEAD_ROWS] += forward->has_logits[row];
    text_add_bytes(out, (const char *)head, sizeof head);
    text_add_bytes(out, (const char *)rank->counts, counts_of(forward) * sizeof *rank->counts);
    for (uint64_t row = begin; row < end; row++)
        if (forward->has_logits[row]) add_row(forward, row, out);
}

static bool take_rows(Forward *forward, const uint8_t *bytes, uint64_t rows, Err *err) {
    uint64_t vocab = forward->arch->vocab, all = (uint64_t)forward->texts * forward->rounds;
    for (uint64_t i = 0; i < rows; i++, bytes += row_B(forward)) {
        uint64_t row;
        memcpy(&row, bytes, sizeof row);
        if (row >= all)
            return err_set(err, "logits of row %" PRIu64 ", expected one below %" PRIu64, row, all);
        memcpy(forward->logits + row * vocab, bytes + sizeof row, vocab * sizeof(float));
        forward->has_logits[row] = true;
    }
    return true;
}

bool forward_take(Forward *forward, const Job *job, uint32_t number, const uint8_t *bytes,
                  uint64_t count, Err *err) {
    ForwardRank *rank = forward->ranks[number];
    uint64_t head[HEAD_COUNT], counts_B = counts_of(forward) * sizeof *rank->counts;
    if (forward->job == NULL) forward_size_run(forward, job);
    if (count < sizeof head + counts_B)
        return err_set(err, "found %" PRIu64 " bytes, expected %" PRIu64 " or more", count,
                       sizeof head + counts_B);
    memcpy(head, bytes, sizeof head);
    uint64_t rows_B = count - sizeof head - counts_B;
    if (head[HEAD_MARK] != MARK || rows_B % row_B(forward) != 0 ||
        rows_B / row_B(forward) != head[HEAD_ROWS])
        return err_set(err, "found %" PRIu64 " bytes that are no logits and choices", count);
    rank->choices = head[HEAD_CHOICES];
    rank->near = head[HEAD_NEAR];
    memcpy(&rank->least_margin, &head[HEAD_MARGIN], sizeof rank->least_margin);
    memcpy(rank->counts, bytes + sizeof head, counts_B);
    return take_rows(forward, bytes + sizeof head + counts_B, head[HEAD_ROWS], err);
}

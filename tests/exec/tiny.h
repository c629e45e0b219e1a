// Models of a few MB, and runs of them through lowered schedules on the host back end.
#ifndef TESTS_EXEC_TINY_H
#define TESTS_EXEC_TINY_H

#include "exec/forward.h"
#include "model/plan/plan.h"

#define TINY_SEED 7

extern const char *const tiny_qwen;     // Qwen3-MoE-like: 4 layers, 16 experts top 4
extern const char *const tiny_deepseek; // DeepSeek-V3-like: MLA, one dense layer, shared expert,
                                        // 16 experts top 4 in 4 groups
// Of 3 layers, 8 experts or none.
extern const char *const tiny_deepseek_v2; // groups chosen by their best, queries without a latent
extern const char *const tiny_glm;   // biases of queries, keys and values, half of a head turned
extern const char *const tiny_dots;  // sigmoid with a bias in one group
extern const char *const tiny_olmoe; // norms over all heads at once, weights not normalised
extern const char *const tiny_mixtral;
extern const char *const tiny_qwen2; // dense, with biases
extern const char *const tiny_llama; // dense
extern const char *const tiny_qwen_bf16;
extern const char *const tiny_deepseek_bf16;

typedef struct TinyModel {
    Arch arch;
    ForwardConfig config;
} TinyModel;
TinyModel tiny_open(const char *config); // freed by tiny_close
// With the first `from` in the config written as `to`.
TinyModel tiny_open_with(const char *config, const char *from, const char *to);
void tiny_close(TinyModel *model);

// hand_plan with dispatch in the format of activations.
Plan tiny_plan(uint32_t tp, uint32_t pp, uint32_t dp, uint32_t ep);

// What a run does: each of `texts` sequences of a micro-batch of a group gets `chunks` passes of
// `tokens` tokens, the first `longer` one more, then `rounds` decode rounds. Of all sequences
// `all_texts` are no padding; 0: all.
typedef struct TinyRun {
    uint32_t texts, tokens, chunks, rounds;
    uint32_t longer, all_texts;
    ForwardRouting routing;
    const Load *load;           // NULL: uniform
    const uint32_t *weights_of; // as in ForwardOptions
    const uint32_t *ranks;      // of the process, for a run that is refused; NULL: all
    uint32_t rank_count;
    Forward *taker; // gets what every rank leaves of every run; NULL: nobody
} TinyRun;

// Logits behind the last token of every round: of the last prefill chunk, then of each decode
// round.
typedef struct TinyLogits {
    uint32_t sequences, rounds, vocab;
    float *values; // [sequences][rounds][vocab], heap
    ForwardTies ties;
    Load load; // where the tokens of the prefill run went
} TinyLogits;
void tiny_free(TinyLogits *logits);
TinyLogits tiny_run(const TinyModel *model, const Plan *plan, const TinyRun *run);
// The message that the run, or the model's opening, is refused with; fails the test when it is not.
void tiny_refused(const TinyModel *model, const Plan *plan, const TinyRun *run,
                  const char *message);

// Of all values; fails the test when the sizes differ. Sequences of `a` are the first of `b`.
double tiny_distance(const TinyLogits *a, const TinyLogits *b);
// Of one round of all sequences of each.
double tiny_round_distance(const TinyLogits *a, uint32_t a_round, const TinyLogits *b,
                           uint32_t b_round);
// Rounds in which the most probable tokens differ.
uint32_t tiny_argmax_differ(const TinyLogits *a, const TinyLogits *b);

#endif

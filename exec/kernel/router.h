// Which experts a token goes to, and with which weights.
#ifndef EXEC_KERNEL_ROUTER_H
#define EXEC_KERNEL_ROUTER_H

#include <stdbool.h>
#include <stdint.h>

// SOFTMAX over all experts (Qwen3, Mixtral), SIGMOID of each (DeepSeek-V3).
typedef enum RouterScore { ROUTER_SOFTMAX, ROUTER_SIGMOID } RouterScore;
// What a group is worth: the sum of its two best scores (DeepSeek-V3), or its best (DeepSeek-V2).
typedef enum RouterWorth { ROUTER_TWO_BEST, ROUTER_BEST } RouterWorth;

#define ROUTER_GROUPS_MAX 64

// With groups: the experts are as many equal runs, of which the `top_groups` worth most stay.
typedef struct RouterSpec {
    uint32_t experts, top_k, groups, top_groups; // groups 0 or 1: none; at most
                                                 // ROUTER_GROUPS_MAX
    RouterScore score;
    RouterWorth worth;
    bool normalises; // weights of the chosen sum to 1,
    float scaling;   // then they are multiplied by this
} RouterSpec;

// The choice of one token in order of its scores; equal scores go to the lower expert. `bias`
// (NULL: none) counts in the choice, not in the weights. `margin`: by how much the last chosen
// score is above the best that was not chosen: 0 is a tie. `scratch` has 2 * experts elements.
typedef struct RouterChoice {
    uint32_t *experts; // [top_k]
    float *weights;    // [top_k]
    float margin;
} RouterChoice;
void router_choose(const RouterSpec *spec, const float *logits, const float *bias, float *scratch,
                   RouterChoice *choice);

// The weights that given experts have: what a forced choice does. experts of `choice` are read.
void router_weigh(const RouterSpec *spec, const float *logits, float *scratch,
                  RouterChoice *choice);

#endif

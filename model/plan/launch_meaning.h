// What flags of engines say.
#ifndef MODEL_PLAN_LAUNCH_MEANING_H
#define MODEL_PLAN_LAUNCH_MEANING_H

// name, text in files, scope. ALL: of the plan, and the same on every node of a server; NODE: of
// the node; AROUND: of the scenario or the surroundings, which plans leave out.
#define LAUNCH_MEANING_LIST(X)                                                                     \
    X(MODEL, "model", ALL)                                                                         \
    X(TP, "tp", ALL)                                                                               \
    X(PP, "pp", ALL)                                                                               \
    X(DP, "dp", ALL)                                                                               \
    X(DP_ATTENTION, "dp-attention", ALL)                                                           \
    X(EP, "ep", ALL)                                                                               \
    X(EXPERT_PARALLEL, "expert-parallel", ALL)                                                     \
    X(PCP, "prefill-cp", ALL)                                                                      \
    X(PREFILL_CP, "prefill-cp-switch", ALL)                                                        \
    X(PREFILL_CP_ORDER, "prefill-cp-order", ALL)                                                   \
    X(DCP, "decode-cp", ALL)                                                                       \
    X(MOE_DP, "moe-dp", ALL)                                                                       \
    X(DENSE_TP, "dense-tp", ALL)                                                                   \
    X(DP_HEAD, "dp-head", ALL)                                                                     \
    X(MORE_BATCHES, "micro-batches-beyond-pp", ALL)                                                \
    X(MOE_COMM, "moe-comm", ALL)                                                                   \
    X(DEEPEP_MODE, "deepep-mode", ALL)                                                             \
    X(EPLB, "eplb", ALL)                                                                           \
    X(EPLB_CONFIG, "eplb-config", ALL)                                                             \
    X(REDUNDANT, "redundant-experts", ALL)                                                         \
    X(EXPERT_ORDER, "expert-order", ALL)                                                           \
    X(TWO_BATCH, "two-batch", ALL)                                                                 \
    X(DECODE_THRESHOLD, "two-batch-decode-tokens", ALL)                                            \
    X(PREFILL_THRESHOLD, "two-batch-prefill-tokens", ALL)                                          \
    X(SMS, "all-to-all-sms", ALL)                                                                  \
    X(NO_SHARED_OVERLAP, "no-shared-overlap", ALL)                                                 \
    X(KV_FORMAT, "kv-format", ALL)                                                                 \
    X(ACTIVATION_FORMAT, "activation-format", ALL)                                                 \
    X(PLAIN_DISPATCH, "dispatch-unquantised", ALL)                                                 \
    X(ROLE, "role", ALL)                                                                           \
    X(TRANSFER, "kv-transfer", ALL)                                                                \
    X(NODES, "nodes", ALL)                                                                         \
    X(HEAD, "head-address", ALL)                                                                   \
    X(HEAD_PORT, "head-port", ALL)                                                                 \
    X(DP_ADDRESS, "dp-address", ALL)                                                               \
    X(DP_PORT, "dp-port", ALL)                                                                     \
    X(NODE_RANK, "node-rank", NODE)                                                                \
    X(HEADLESS, "headless", NODE)                                                                  \
    X(DP_LOCAL, "dp-local", NODE)                                                                  \
    X(DP_START, "dp-start", NODE)                                                                  \
    X(HOST, "host", NODE)                                                                          \
    X(PORT, "port", NODE)                                                                          \
    X(GPUS, "visible-gpus", NODE)                                                                  \
    X(SELF, "own-address", NODE)                                                                   \
    X(MEMORY, "memory-fraction", AROUND)                                                           \
    X(SEQUENCES, "sequences", AROUND)                                                              \
    X(MICRO_BATCH, "micro-batch-sequences", AROUND)                                                \
    X(CHUNK, "chunk", AROUND)                                                                      \
    X(CONTEXT, "context", AROUND)                                                                  \
    X(INTERFACE, "network-interface", AROUND)                                                      \
    X(NICS, "nics", AROUND)                                                                        \
    X(SCALE_UP_NODES, "scale-up-across-nodes", AROUND)                                             \
    X(MOE_NICS, "moe-comm-nics", AROUND)                                                           \
    X(MOE_INTERFACE, "moe-comm-interface", AROUND)                                                 \
    X(TRANSFER_BACKEND, "transfer-backend", AROUND)                                                \
    X(TRANSFER_NICS, "transfer-nics", AROUND)                                                      \
    X(TRANSFER_HOST, "transfer-host", AROUND)                                                      \
    X(TRANSFER_PORT, "transfer-port", AROUND)                                                      \
    X(NOTHING, "nothing", AROUND)                                                                  \
    X(REFUSED, "refused", AROUND)
typedef enum LaunchMeaning {
#define X(name, text, scope) LAUNCH_##name,
    LAUNCH_MEANING_LIST(X)
#undef X
        LAUNCH_MEANING_COUNT
} LaunchMeaning;

typedef enum LaunchScope { LAUNCH_SCOPE_ALL, LAUNCH_SCOPE_NODE, LAUNCH_SCOPE_AROUND } LaunchScope;

#endif

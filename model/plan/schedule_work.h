// What an operation of a schedule does to its slices, for a back end that runs the model.
#ifndef MODEL_PLAN_SCHEDULE_WORK_H
#define MODEL_PLAN_SCHEDULE_WORK_H

// Steps of a layer, in the words of lower.c. NONE: not said. Dense parts and shared experts are
// told apart by the class of the operation.
#define OP_WORK_LIST(X)                                                                            \
    X(NONE, "none")                                                                                \
    X(EMBED, "embed")           /* rows of the table that this rank has, else zeros */             \
    X(BEGIN_NORM, "begin-norm") /* begins the residual stream; norm of the first layer */          \
    X(MLP_NORM, "mlp-norm")     /* adds to the stream; norm before the feed-forward part */        \
    X(NEXT_NORM, "next-norm")   /* adds to the stream; norm of the next layer or head */           \
    X(QKV, "qkv")               /* queries, keys, values */                                        \
    X(ROPE_CACHE, "rope-cache") /* head norms, rotation; keys and values to the cache */           \
    X(GQA, "gqa")                                                                                  \
    X(LATENTS, "latents")           /* of queries, of keys and values, shared key */               \
    X(LATENT_CACHE, "latent-cache") /* norms, rotation; the latent to the cache */                 \
    X(QUERIES, "queries")           /* of MLA, not rotated */                                      \
    X(Q_ABSORB, "q-absorb")                                                                        \
    X(MLA_ABSORBED, "mla-absorbed")                                                                \
    X(V_ABSORB, "v-absorb")                                                                        \
    X(EXPAND, "expand") /* keys and values from latents */                                         \
    X(MLA_EXPANDED, "mla-expanded")                                                                \
    X(ATTENTION_OUT, "attention-out")                                                              \
    X(GATE_UP, "gate-up")                                                                          \
    X(SWIGLU, "swiglu")                                                                            \
    X(DOWN, "down")                                                                                \
    X(ROUTER, "router")                                                                            \
    X(TOP_K, "top-k")                                                                              \
    X(PERMUTE, "permute") /* rows in the order of their experts */                                 \
    X(EXPERTS_GATE_UP, "experts-gate-up")                                                          \
    X(EXPERTS_SWIGLU, "experts-swiglu")                                                            \
    X(EXPERTS_DOWN, "experts-down")                                                                \
    X(WEIGHTED_SUM, "weighted-sum") /* over the experts of this rank's tokens */                   \
    X(EXPERT_SUM, "expert-sum")     /* over this rank's experts, for all tokens there are */       \
    X(HEAD, "head")                                                                                \
    X(SAMPLE, "sample")
typedef enum OpWork {
#define X(name, text) WORK_##name,
    OP_WORK_LIST(X)
#undef X
        OP_WORK_COUNT
} OpWork;
extern const char *const schedule_work_names[OP_WORK_COUNT];

#endif

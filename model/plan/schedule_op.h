// One operation of a schedule: what it is, what it moves or computes, which slices it touches.
#ifndef MODEL_PLAN_SCHEDULE_OP_H
#define MODEL_PLAN_SCHEDULE_OP_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/numfmt.h"
#include "model/plan/collective.h"
#include "model/plan/extent.h"
#include "model/plan/schedule_work.h"

// Indices into the arrays of a Schedule; SCHEDULE_NONE is none.
typedef uint32_t RoleId;
typedef uint32_t GroupId;
typedef uint32_t BufferId;
typedef uint32_t BlockId;
typedef uint32_t OpId;
#define SCHEDULE_NONE UINT32_MAX

// ADD reads and writes.
#define SLICE_LIST(X) X(READ, "read") X(WRITE, "write") X(ADD, "add")
typedef enum SliceAccess {
#define X(name, text) SLICE_##name,
    SLICE_LIST(X)
#undef X
        SLICE_ACCESS_COUNT
} SliceAccess;
extern const char *const schedule_access_names[SLICE_ACCESS_COUNT];

typedef struct Slice {
    BufferId buffer;
    SliceAccess access;
    Extent offset, bytes; // bytes
} Slice;

#define OP_LIST(X)                                                                                 \
    X(GEMM, "gemm")                                                                                \
    X(GROUPED_GEMM, "grouped-gemm")                                                                \
    X(ATTENTION, "attention")                                                                      \
    X(MEMORY, "memory")                                                                            \
    X(COPY, "copy")                                                                                \
    X(SEND, "send")                                                                                \
    X(RECV, "recv")                                                                                \
    X(COLLECTIVE, "collective")
typedef enum OpKind {
#define X(name, text) OP_##name,
    OP_LIST(X)
#undef X
        OP_KIND_COUNT
} OpKind;
extern const char *const schedule_op_names[OP_KIND_COUNT];

// What the operation is for: rows of `moesim explain`.
#define OP_CLASS_LIST(X)                                                                           \
    X(EMBED, "embedding")                                                                          \
    X(ATTENTION, "attention")                                                                      \
    X(PROJECTION, "attention projections")                                                         \
    X(ROUTER, "router")                                                                            \
    X(EXPERTS, "routed experts")                                                                   \
    X(SHARED, "shared experts")                                                                    \
    X(DENSE, "dense mlp")                                                                          \
    X(LATENT, "latent projections")                                                                \
    X(NORM, "norms and elementwise")                                                               \
    X(HEAD, "head and sampling")                                                                   \
    X(TP_COMM, "tp collectives")                                                                   \
    X(DISPATCH, "moe dispatch")                                                                    \
    X(COMBINE, "moe combine")                                                                      \
    X(PIPELINE, "pipeline transfer") X(OTHER, "other") X(CP_COMM, "cp collectives")
typedef enum OpClass {
#define X(name, text) OP_CLASS_##name,
    OP_CLASS_LIST(X)
#undef X
        OP_CLASS_COUNT
} OpClass;
extern const char *const schedule_class_names[OP_CLASS_COUNT];

// GEMM: `batch` products of m x k with k x n; weights n x k in weight_format, arithmetic in
// math_format. GROUPED_GEMM: `experts` of `experts_total` from `first_expert` on, each n x k; m is
// the number of (token, expert) pairs of the whole group of ranks, of which the Load gives each
// rank its share. ATTENTION and MEMORY: flop and bytes as they are. COPY: bytes.
//
// Who has which experts, here and in Comm: `first_expert` is that of the role's first rank. Each
// `expert_sharers` consecutive ranks of the role (0 reads as 1; more: they hold cuts of the same
// experts, MoE tensor parallelism) have the next `experts`; each period of the role's ranks begins
// again, and after the last expert follows the first (load_rank_experts).
typedef struct Compute {
    Extent m;
    uint32_t n, k, batch;
    NumFmt weight_format, math_format;
    uint32_t scale_B; // scales of all the weights, read with them
    uint32_t experts, experts_total, first_expert, expert_sharers, moe_layer;
    Extent flop;  // of ATTENTION (and MEMORY when it counts)
    Extent bytes; // read and written besides weights: activations, cache
    OpWork work;
    uint32_t layers_back; // 1: of the layer before the one that its block stands for
} Compute;

// How an all-to-all(v) is cut. EVEN: equal chunks. BY_DESTINATION: rank j gets the share of its
// experts (dispatch). BY_SOURCE: what rank j sends back is the share of its experts (combine). Both
// by collective_share_count; the experts of a group's ranks follow each other in order of position.
#define SPLIT_LIST(X) X(EVEN, "even") X(BY_DESTINATION, "by-destination") X(BY_SOURCE, "by-source")
typedef enum Split {
#define X(name, text) SPLIT_##name,
    SPLIT_LIST(X)
#undef X
        SPLIT_COUNT
} Split;
extern const char *const schedule_split_names[SPLIT_COUNT];

typedef struct Comm {
    Collective collective;
    Algorithm algorithm;
    uint32_t inner; // HIERARCHICAL: consecutive ranks of the group that share a node
    // HIERARCHICAL and SPLIT_BY_*: bytes that cross nodes, in millionths of the copies by expert
    // (node_spread.h); 0 reads as all of them.
    uint32_t rail_ppm;
    GroupId group;    // of a collective
    uint32_t channel; // operations of one collective (or one send and its receive) carry the same
                      // channel in all roles; in one role all are on one stream
    RoleId peer;      // SEND, RECV: the other role; member i of one talks to member i of the other
    uint32_t lag;     // RECV
    Extent bytes;     // nccl-tests semantics for collectives (of EVERY rank, before the split),
                      // payload of SEND and RECV
    Split split;
    uint32_t experts, experts_total, first_expert, expert_sharers, moe_layer; // for SPLIT_BY_*
    uint32_t element; // bytes that must not be cut (2 for bf16; a token's bytes for routed traffic)
    NumFmt format;    // of the elements, for sums
    uint32_t sms; // SMs of its GPU that a collective or send occupies from its start to its end,
                  // waiting for partners included, as kernels do that spin; 0: copy engines,
                  // in-switch, or posted by a few threads
} Comm;

typedef struct Op {
    OpKind kind;
    OpClass op_class;
    const char *name; // "q_a_proj"
    BlockId block;
    uint32_t stream;
    uint32_t first_wait, wait_count;   // into waits
    uint32_t first_slice, slice_count; // into slices
    Compute compute;                   // GEMM, GROUPED_GEMM, ATTENTION, MEMORY, COPY; else zero
    Comm comm;                         // SEND, RECV, COLLECTIVE; else zero
} Op;

static inline bool schedule_op_is_comm(OpKind kind) {
    return kind == OP_SEND || kind == OP_RECV || kind == OP_COLLECTIVE;
}

#endif

// The decisions: how a model is cut over a machine and driven. Several pools (unified, or prefill
// and decode with a KV transfer, see pool.h); the search fills one for now.
#ifndef MODEL_PLAN_PLAN_H
#define MODEL_PLAN_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/hash.h"
#include "model/base/mem.h"
#include "model/base/text.h"
#include "model/moe/arch.h"
#include "model/plan/pool.h"

#define PLAN_VERSION   1
#define PLAN_POOLS_MAX 8

extern const char *const plan_pool_names[POOL_KIND_COUNT];
extern const char *const plan_moe_comm_names[MOE_COMM_COUNT];
extern const char *const plan_placement_names[PLACEMENT_COUNT];
extern const char *const plan_expert_placement_names[EXPERT_PLACEMENT_COUNT];
extern const char *const plan_overlap_names[OVERLAP_COUNT];
extern const char *const plan_stage_cut_names[STAGE_CUT_COUNT];

// Moves the KV cache of a request from one pool to another. Held here so that later searches find
// it; unused with one unified pool.
typedef struct KvTransfer {
    uint32_t from_pool, to_pool;
} KvTransfer;

typedef struct Plan {
    Pool pools[PLAN_POOLS_MAX];
    uint32_t pool_count;
    KvTransfer transfers[PLAN_POOLS_MAX];
    uint32_t transfer_count;
} Plan;

uint32_t plan_gpus(const Plan *plan);

// For tables: "TP4 PP1 DP18 EP72 x1"; context parallelism adds " PCP4" or " DCP2"; 32 redundant
// experts add " +32r", EPLB without any " eplb", MoE communication by gathering " gather", two
// batches " tbo", no overlap " serial" (behind it the phase when it is one only), c chunks " chunks
// c"; stages that are not even are named by their rule, " vllm stages", or by their layers, "
// stages 15+2x16+14"; another placement " placed nodes"; pools are joined by " + ". `buffer` has at
// least PLAN_TEXT_MAX bytes; more pools than fit end with "...". Returns buffer.
#define PLAN_TEXT_MAX 96
char *plan_label(const Plan *plan, char *buffer);
// "72 = 4 tp x 18 dp x 1 pp x 1 replica"; "8 = 2 tp x 4 cp x 1 dp x ..."
char *plan_gpu_product(const Plan *plan, char *buffer);

Digest plan_digest(const Plan *plan);
// Numbers consistent, whatever the model and the machine. The message names the pool and both
// numbers.
bool plan_check(const Plan *plan, Err *err);

// Whether the pools serve requests together: unified ones alone, or prefill and decode ones.
bool plan_check_kinds(const Plan *plan, Err *err);

// Whether the plan can run a model: plan_check, then the rules of structure (heads, experts,
// blocks, layers) of plan_legal.h. On failure one line with the numbers.
bool plan_legal(const Plan *plan, const Arch *arch, Err *reason);

// A saved plan: the decisions and the inputs they were made for (files beside the plan file, with
// digests).
typedef struct PlanFile {
    Arena arena;
    Plan plan;
    const char *model, *topology, *scenario, *calibration,
        *load; // names of files beside the plan; "" when none; without a load: uniform
    Digest model_digest, topology_digest, scenario_digest, calibration_digest, load_digest;
    const char *origin; // where the plan comes from, for people: "plan-001.json (digest ...), 8 of
                        // 72 ranks"; "" or NULL when nobody said
    const char *result; // JSON text of the prediction that was saved with it, "" when none
} PlanFile;

// Writes a file that plan_read reads to an equal value. `result` must be valid JSON; it comes back
// in the layout of a plain JsonWriter without a final newline, so that text written by one (without
// inline containers and jsonw_finish) comes back bit for bit.
void plan_write(const PlanFile *file, Text *out);
// Strict: an unknown or missing key, a newer version, an inconsistent plan (plan_check) are refused
// with their place.
bool plan_read(const char *path, PlanFile *out, Err *err);
bool plan_parse(const char *name, const char *bytes, size_t count, PlanFile *out, Err *err);
void plan_file_free(PlanFile *file);

#endif

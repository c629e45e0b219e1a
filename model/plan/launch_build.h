// How the lists of flags are put together; launch.c, launch_vllm.c and launch_sglang.c share it.
#ifndef MODEL_PLAN_LAUNCH_BUILD_H
#define MODEL_PLAN_LAUNCH_BUILD_H

#include "model/plan/launch.h"

typedef struct LaunchBuild {
    const LaunchInput *in;
    const Pool *pool;
    LaunchPart part;
    LaunchPlace place;
    Arena *arena;
    LaunchList *list;
} LaunchBuild;

// Each fails when this version has no flag that means this, or the flag no such value.
bool launch_build_switch(const LaunchBuild *build, LaunchMeaning means, Err *err);
bool launch_build_count(const LaunchBuild *build, LaunchMeaning means, uint64_t value, Err *err);
bool launch_build_text(const LaunchBuild *build, LaunchMeaning means, const char *value, Err *err);
// In double quotes: "$NODE0_ADDR:5000".
bool launch_build_expansion(const LaunchBuild *build, LaunchMeaning means, const char *value,
                            Err *err);
// The value of the flag that says `is`.
bool launch_build_choice(const LaunchBuild *build, LaunchMeaning means, const char *is, Err *err);
// All variables that mean this, each with the value; none is no error.
void launch_build_each(const LaunchBuild *build, LaunchMeaning means, const char *value,
                       bool expands);

// "$NODE3_ADDR" of a node of the machine.
const char *launch_build_address(const LaunchBuild *build, uint32_t node);
// Ports of servers on one node differ by their first GPU.
uint32_t launch_build_port(const LaunchBuild *build, uint32_t base, uint32_t apart);
bool launch_build_spans(const LaunchBuild *build); // more than one node
// Requests that may run at once on one attention-DP rank; 0 when not known.
uint64_t launch_build_sequences(const LaunchInput *in, uint32_t pool);
// Whether nodes of the server reach each other by scale-up links alone, and by NICs.
bool launch_build_scales_up(const LaunchBuild *build);
bool launch_build_has_network(const LaunchBuild *build);
bool launch_build_has_prefill(const Pool *pool); // unified or prefill
bool launch_build_has_decode(const Pool *pool);

// What of a pool is special to an engine, and its flags.
bool launch_vllm_check(const LaunchInput *in, const Pool *pool, const LaunchPlace *place, Err *err);
bool launch_vllm_settings(const LaunchBuild *build, Err *err);
bool launch_sglang_check(const LaunchInput *in, const Pool *pool, const LaunchPlace *place,
                         Err *err);
bool launch_sglang_settings(const LaunchBuild *build, Err *err);

#endif

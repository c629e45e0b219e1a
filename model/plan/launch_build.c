// Adds flags to a list by what they mean, in the spelling of the engine's version.
//
// Invariant: nothing is added that the version does not have; what is missing is an error that
// names the flag and the versions that have it.
#include "model/plan/launch_build.h"

#include <inttypes.h>
#include <string.h>

#include "model/base/wide.h"

static void add(const LaunchBuild *build, const LaunchFlag *flag, const char *value, bool expands) {
    LaunchList *list = build->list;
    list->settings =
        mem_grow(list->settings, &list->capacity, list->count + 1, sizeof *list->settings);
    list->settings[list->count++] = (LaunchSetting){flag, value, expands};
}

// The row, or an error that names one of another version.
static const LaunchFlag *require(const LaunchBuild *build, LaunchMeaning means, Err *err) {
    const LaunchFlags *flags = build->in->flags;
    char version[ENGINE_VERSION_TEXT_MAX];
    const LaunchFlag *flag = launch_flags_find(flags, means), *other = NULL;
    if (flag != NULL) return flag;
    for (uint32_t i = 0; i < flags->flag_count && other == NULL; i++)
        if (flags->flags[i].means == means) other = &flags->flags[i];
    const char *engine = launch_flags_engines[flags->engine];
    engine_version_format(flags->version, version);
    if (other == NULL)
        err_set(err, "%s %s has no flag for %s", engine, version, launch_flags_meanings[means]);
    else
        err_set(err, "%s %s has no flag for %s, versions %s have %s", engine, version,
                launch_flags_meanings[means], other->versions, other->name);
    return NULL;
}

bool launch_build_switch(const LaunchBuild *build, LaunchMeaning means, Err *err) {
    const LaunchFlag *flag = require(build, means, err);
    if (flag == NULL) return false;
    add(build, flag, flag->is_env ? "1" : NULL, false);
    return true;
}

bool launch_build_text(const LaunchBuild *build, LaunchMeaning means, const char *value, Err *err) {
    const LaunchFlag *flag = require(build, means, err);
    if (flag == NULL) return false;
    add(build, flag, value, false);
    return true;
}

bool launch_build_count(const LaunchBuild *build, LaunchMeaning means, uint64_t value, Err *err) {
    return launch_build_text(build, means, arena_printf(build->arena, "%" PRIu64, value), err);
}

bool launch_build_expansion(const LaunchBuild *build, LaunchMeaning means, const char *value,
                            Err *err) {
    const LaunchFlag *flag = require(build, means, err);
    if (flag == NULL) return false;
    add(build, flag, value, true);
    return true;
}

bool launch_build_choice(const LaunchBuild *build, LaunchMeaning means, const char *is, Err *err) {
    const LaunchFlags *flags = build->in->flags;
    char version[ENGINE_VERSION_TEXT_MAX];
    const LaunchFlag *flag = require(build, means, err);
    if (flag == NULL) return false;
    const char *value = launch_flags_value(flags, flag, is, build->pool->kind);
    if (value == NULL)
        return err_set(err, "%s %s has no value of %s for %s", launch_flags_engines[flags->engine],
                       engine_version_format(flags->version, version), flag->name, is);
    add(build, flag, flag->takes == LAUNCH_TAKES_NONE ? NULL : value, false);
    return true;
}

void launch_build_each(const LaunchBuild *build, LaunchMeaning means, const char *value,
                       bool expands) {
    const LaunchFlags *flags = build->in->flags;
    for (uint32_t i = 0; i < flags->flag_count; i++) {
        const LaunchFlag *flag = &flags->flags[i];
        if (flag->means == means && engine_version_in_range(&flag->range, flags->version))
            add(build, flag, value, expands);
    }
}

const char *launch_build_address(const LaunchBuild *build, uint32_t node) {
    return arena_printf(build->arena, "$NODE%" PRIu32 "_ADDR", node);
}

uint32_t launch_build_port(const LaunchBuild *build, uint32_t base, uint32_t apart) {
    return base + apart * build->place.gpu;
}

bool launch_build_spans(const LaunchBuild *build) {
    return build->place.nodes > 1;
}

bool launch_build_scales_up(const LaunchBuild *build) {
    const LaunchMachine *machine = &build->in->machine;
    if (machine->domain_gpus <= machine->node_gpus) return false;
    uint64_t first = (uint64_t)build->place.node * machine->node_gpus + build->place.gpu;
    uint64_t last = first + pool_replica_ranks(build->pool) - 1;
    return first / machine->domain_gpus == last / machine->domain_gpus;
}

bool launch_build_has_network(const LaunchBuild *build) {
    return launch_build_spans(build) && !launch_build_scales_up(build) &&
           build->in->machine.node_nics > 0;
}

bool launch_build_has_prefill(const Pool *pool) {
    return pool->kind != POOL_DECODE;
}

bool launch_build_has_decode(const Pool *pool) {
    return pool->kind != POOL_PREFILL;
}

// The ranks of all pools that decode share the requests evenly.
uint64_t launch_build_sequences(const LaunchInput *in, uint32_t pool) {
    const Plan *plan = in->plan;
    uint64_t ranks = 0;
    if (!launch_build_has_decode(&plan->pools[pool])) return 0;
    if (in->sequences > 0) return in->sequences * plan->pools[pool].micro_batches;
    if (in->scenario == NULL) return 0;
    for (uint32_t i = 0; i < plan->pool_count; i++)
        if (launch_build_has_decode(&plan->pools[i]))
            ranks += (uint64_t)plan->pools[i].replicas * plan->pools[i].dp;
    return wide_div_up_u64(in->scenario->concurrency, ranks);
}

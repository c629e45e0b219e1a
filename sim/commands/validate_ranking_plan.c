// Simulates published plans.
//
// Invariant: a plan is simulated once, whatever number of metrics was measured of it; nothing that
// was measured is looked at here.
#include "sim/commands/validate_ranking_plan.h"

#include <string.h>

#include "model/cost/gpus.h"
#include "model/cost/price.h"
#include "model/machine/topology.h"
#include "model/plan/load.h"
#include "model/plan/plan_legal.h"
#include "model/plan/pool_place.h"
#include "sim/commands/validate_ranking_names.h"
#include "sim/search/evaluate.h"
#include "sim/search/space.h"
#include "sim/search/space_fit.h"

#define PS 1e-12 // seconds in a picosecond

// A machine as it is simulated.
typedef struct Bench {
    const ValidateRankingMachine *name;
    Topology topology;
    Fabric fabric;
    Calib calib;
    PriceModel model;
    bool is_good;
    Err reason;
} Bench;

typedef struct Known {
    ValidateRankingAsk ask;
    ValidateRankingFigures figures;
} Known;

struct ValidateRankingPlans {
    ValidateContext *context;
    ValidateRankingNames names;
    Bench **benches; // heap
    Known *known;    // heap
    uint32_t bench_count, bench_capacity, known_count, known_capacity;
    Load load;
    // of the plans simulated last: what they share
    const Bench *bench;
    const ValidateModel *model;
    EvaluateInput input;
    Scenario scenario;
    EvaluateMemory *memory;
    ValidateRankingFigures refused;
};

// ---- Machines

static bool build_bench(ValidateContext *context, Bench *bench) {
    const char *name = bench->name->topology;
    if (!topology_load(name, &bench->topology, &bench->reason) ||
        !fabric_build(&bench->topology, &context->catalogue, &bench->fabric, &bench->reason))
        return false;
    const Device *device;
    if (!gpus_device(&bench->fabric, name, GPUS_NEED_RATES, &device, &bench->reason)) return false;
    const char *generation = device->generation == NULL ? "" : device->generation;
    bench->model = (PriceModel){.device = device, .calib = &bench->calib};
    return calib_load(NULL, generation, &bench->calib, &bench->reason);
}

static const Bench *find_bench(ValidateRankingPlans *plans, const ValidateRankingMachine *name) {
    for (uint32_t i = 0; i < plans->bench_count; i++)
        if (plans->benches[i]->name == name) return plans->benches[i];
    Bench *bench = mem_alloc(1, sizeof *bench);
    *bench = (Bench){.name = name};
    bench->is_good = build_bench(plans->context, bench);
    plans->benches =
        mem_grow(plans->benches, &plans->bench_capacity, plans->bench_count + 1, sizeof(Bench *));
    plans->benches[plans->bench_count++] = bench;
    return bench;
}

static void free_bench(Bench *bench) {
    calib_free(&bench->calib);
    fabric_free(&bench->fabric);
    topology_free(&bench->topology);
    mem_free(bench);
}

// ---- Plans

// One to be simulated, and where its figures go.
typedef struct Job {
    ValidateRankingPlans *plans;
    const ValidateRankingAsk *ask;
    ValidateRankingFigures *out;
} Job;

static bool refuse(const Job *job, ValidateRankingReason reason) {
    job->out->reason = reason;
    return false;
}

static MoeComm comm_of(const PoolsWish *pool) {
    if (pool->dp == 1) return MOE_COMM_NONE;
    return pool->ep > 1 ? MOE_COMM_ALL_TO_ALL : MOE_COMM_GATHER;
}

// Tokens are dispatched as in the search: in FP8 where experts are in FP8.
static Plan make_plan(const Job *job) {
    const PoolsWish *pool = &job->ask->pools[0];
    const Arch *arch = job->plans->input.arch;
    MoeComm comm = comm_of(pool);
    Plan plan = {.pool_count = 1};
    plan.pools[0] =
        (Pool){.kind = POOL_UNIFIED,
               .tp = pool->tp,
               .pp = pool->pp,
               .dp = pool->dp,
               .ep = pool->ep,
               .moe_tp = pool->tp * pool->dp / pool->ep,
               .cp = 1,
               .replicas = pool->instances,
               .placement = PLACEMENT_LINEAR,
               .micro_batches = pool->pp,
               .moe_comm = comm,
               .all_reduce = ALGORITHM_AUTO,
               .all_to_all = ALGORITHM_AUTO,
               .all_gather = ALGORITHM_AUTO,
               .reduce_scatter = ALGORITHM_AUTO,
               .kv_format = job->ask->model->kv_format,
               .activation_format = arch->dtype,
               .dispatch_format = arch->expert_format == NUMFMT_FP8 ? NUMFMT_FP8 : arch->dtype,
               .prefill_sms =
                   comm == MOE_COMM_ALL_TO_ALL ? job->plans->input.model->device->comm_units : 0};
    return plan;
}

static bool check_plan(const Job *job, const Plan *plan) {
    const EvaluateInput *input = &job->plans->input;
    Err *text = &job->out->text;
    return plan_legal(plan, input->arch, text) || refuse(job, VALIDATE_RANKING_PLAN);
}

// As many sequences as fit, at most those asked for.
static bool fit_plan(const Job *job, const Plan *plan, uint64_t *out) {
    const Pool *pool = &plan->pools[0];
    Err *text = &job->out->text;
    FitInput input = {.arch = job->plans->input.arch,
                      .device = job->plans->input.model->device,
                      .scenario = &job->plans->scenario,
                      .sequences = space_sequences(pool, job->ask->concurrency)};
    MemoryUse use;
    while (input.sequences > 0) {
        const char *reason = space_fit_alone(&input, plan, &use, text);
        if (reason == NULL) reason = space_fit_full(&input, plan, &use, text);
        if (reason == NULL) break;
        uint64_t most = use.most_sequences / pool->micro_batches;
        input.sequences = most < input.sequences ? most : input.sequences - 1;
    }
    *out = input.sequences;
    return *out > 0 || refuse(job, VALIDATE_RANKING_MEMORY);
}

static bool simulate_one(const Job *job) {
    ValidateRankingFigures *out = job->out;
    Plan plan = make_plan(job);
    Evaluation evaluation = {0};
    uint64_t sequences;
    if (!check_plan(job, &plan) || !fit_plan(job, &plan, &sequences)) return false;
    if (!evaluate_plan(&job->plans->input, &plan, sequences, &evaluation, &out->text))
        return refuse(job, VALIDATE_RANKING_PLAN);
    out->ttft_s = (double)evaluation.ttft_ps * PS;
    out->tpot_s = (double)evaluation.tpot_ps * PS;
    out->output_tok_s = evaluation.output_tok_s;
    plan_label(&plan, out->label);
    evaluate_free(&evaluation);
    return true;
}

// Pools as they are found best with the instances of the row.
static bool simulate_pools(const Job *job) {
    ValidateRankingFigures *out = job->out;
    PoolsSpec spec = {.wishes = {job->ask->pools[0], job->ask->pools[1]}, .most = 1};
    PoolsRanking ranking = {0};
    if (!pools_rank(&job->plans->input, &spec, &ranking, &out->text))
        return refuse(job, VALIDATE_RANKING_PLAN);
    if (ranking.row_count > 0) {
        const PoolsRow *row = &ranking.rows[0];
        out->ttft_s = (double)row->ttft_ps * PS;
        out->tpot_s = (double)row->tpot_ps * PS;
        out->output_tok_s = row->output_tok_s;
        plan_label(&row->plan, out->label);
    } else {
        const LedgerRow *miss = space_nearest_miss(&ranking.space);
        err_set(&out->text, "%s", miss != NULL ? miss->nearest_text : "no two pools");
        refuse(job, VALIDATE_RANKING_MEMORY);
    }
    pools_free(&ranking);
    return out->reason == VALIDATE_RANKING_NONE;
}

// Plans of one machine and model follow each other.
static bool enter(const Job *job) {
    ValidateRankingPlans *plans = job->plans;
    const Bench *bench = find_bench(plans, job->ask->machine);
    if (!bench->is_good) {
        job->out->text = bench->reason;
        return refuse(job, VALIDATE_RANKING_MACHINE);
    }
    const ValidateModel *model =
        validate_models_find(&plans->context->models, job->ask->model->published, &job->out->text);
    if (model == NULL || !lower_check(&model->arch, &job->out->text))
        return refuse(job, VALIDATE_RANKING_MODEL);
    if (bench == plans->bench && model == plans->model) return true;
    evaluate_memory_close(plans->memory);
    plans->bench = bench;
    plans->model = model;
    plans->input = (EvaluateInput){.fabric = &bench->fabric,
                                   .arch = &model->arch,
                                   .model = &bench->model,
                                   .scenario = &plans->scenario,
                                   .load = &plans->load};
    plans->memory = plans->input.memory = evaluate_memory_open(&plans->input);
    return true;
}

static bool set_workload(const Job *job) {
    Scenario *scenario = &job->plans->scenario;
    scenario_init(scenario);
    scenario->isl = job->ask->isl;
    scenario->osl = job->ask->osl;
    scenario->concurrency = job->ask->concurrency;
    scenario->kv_format = job->ask->model->kv_format;
    scenario_rehash(scenario);
    return scenario_check(scenario, job->plans->input.arch->max_context, &job->out->text) ||
           refuse(job, VALIDATE_RANKING_MODEL);
}

static void simulate(const Job *job) {
    const ValidateRankingAsk *ask = job->ask;
    ValidateRankingFigures *out = job->out;
    if (!enter(job) || !set_workload(job) ||
        !(ask->is_split ? simulate_pools(job) : simulate_one(job)))
        return;
    uint32_t tp = ask->pools[ask->is_split ? PHASE_DECODE : 0].tp;
    out->isl = (double)ask->isl;
    out->osl = (double)ask->osl;
    out->gpus = (double)ask->gpus;
    out->tp_in_node = tp <= pool_place_node(job->plans->input.fabric) ? tp : 0;
}

// ---- All of them

const ValidateRankingFigures *validate_ranking_plan_figures(ValidateRankingPlans *plans,
                                                            const RecordFile *file, uint32_t row) {
    ValidateRankingAsk ask;
    ValidateRankingFigures *refused = &plans->refused;
    *refused = (ValidateRankingFigures){0};
    refused->reason = validate_ranking_ask_read(&plans->names, file, row, &ask, &refused->text);
    if (refused->reason != VALIDATE_RANKING_NONE) return refused;
    for (uint32_t i = 0; i < plans->known_count; i++)
        if (validate_ranking_ask_is_same(&plans->known[i].ask, &ask))
            return &plans->known[i].figures;
    plans->known = mem_grow(plans->known, &plans->known_capacity, plans->known_count + 1,
                            sizeof *plans->known);
    Known *known = &plans->known[plans->known_count++];
    *known = (Known){.ask = ask};
    simulate(&(Job){plans, &known->ask, &known->figures});
    return &known->figures;
}

uint32_t validate_ranking_plan_count(const ValidateRankingPlans *plans) {
    return plans->known_count;
}

bool validate_ranking_plan_open(ValidateContext *context, ValidateRankingPlans **out, Err *err) {
    ValidateRankingPlans *plans = mem_alloc(1, sizeof *plans);
    *plans = (ValidateRankingPlans){.context = context, .load = load_uniform()};
    if (!validate_ranking_names_open(&plans->names, err)) {
        mem_free(plans);
        return false;
    }
    *out = plans;
    return true;
}

void validate_ranking_plan_close(ValidateRankingPlans *plans) {
    if (plans == NULL) return;
    evaluate_memory_close(plans->memory);
    for (uint32_t i = 0; i < plans->bench_count; i++) free_bench(plans->benches[i]);
    mem_free(plans->benches);
    mem_free(plans->known);
    validate_ranking_names_free(&plans->names);
    scenario_free(&plans->scenario);
    mem_free(plans);
}

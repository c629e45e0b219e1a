// Tiny models for the tests of the forward pass.
#include "tests/exec/tiny.h"

#include "exec/host/host.h"
#include "tests/check.h"
#include "tests/plan/hand_plan.h"
#include "tests/plan/lower_plans.h"

#define QWEN_TINY(dtype)                                                                           \
    "{\"model_type\":\"qwen3_moe\",\"torch_dtype\":\"" dtype "\",\"hidden_size\":128,"             \
    "\"num_hidden_layers\":4,\"num_attention_heads\":8,\"num_key_value_heads\":2,"                 \
    "\"head_dim\":32,\"intermediate_size\":256,\"num_experts\":16,\"num_experts_per_tok\":4,"      \
    "\"moe_intermediate_size\":64,\"decoder_sparse_step\":1,\"mlp_only_layers\":[],"               \
    "\"norm_topk_prob\":true,\"rope_theta\":1000000,\"rms_norm_eps\":1e-6,"                        \
    "\"vocab_size\":500,\"max_position_embeddings\":4096,\"tie_word_embeddings\":false}"

#define DEEPSEEK_TINY(dtype)                                                                       \
    "{\"model_type\":\"deepseek_v3\",\"torch_dtype\":\"" dtype "\",\"hidden_size\":128,"           \
    "\"num_hidden_layers\":4,\"num_attention_heads\":8,\"q_lora_rank\":48,\"kv_lora_rank\":32,"    \
    "\"qk_nope_head_dim\":16,\"qk_rope_head_dim\":8,\"v_head_dim\":16,"                            \
    "\"first_k_dense_replace\":1,\"moe_layer_freq\":1,\"intermediate_size\":256,"                  \
    "\"n_routed_experts\":16,\"num_experts_per_tok\":4,\"n_group\":4,\"topk_group\":2,"            \
    "\"topk_method\":\"noaux_tc\",\"scoring_func\":\"sigmoid\",\"norm_topk_prob\":true,"           \
    "\"routed_scaling_factor\":2.5,\"moe_intermediate_size\":64,\"n_shared_experts\":1,"           \
    "\"num_nextn_predict_layers\":0,\"rope_theta\":10000,\"rms_norm_eps\":1e-6,"                   \
    "\"rope_scaling\":{\"type\":\"yarn\",\"factor\":4,\"beta_fast\":32,\"beta_slow\":1,"           \
    "\"mscale\":1.0,\"mscale_all_dim\":1.0,\"original_max_position_embeddings\":32},"              \
    "\"vocab_size\":500,\"max_position_embeddings\":128,\"tie_word_embeddings\":false}"

// What the small models of other families have alike.
#define TINY_SIZES(heads, kv)                                                                      \
    "\"torch_dtype\":\"float32\",\"hidden_size\":64,\"num_hidden_layers\":3,"                      \
    "\"num_attention_heads\":" heads ",\"num_key_value_heads\":" kv ",\"intermediate_size\":96,"   \
    "\"vocab_size\":200,\"max_position_embeddings\":64,\"tie_word_embeddings\":false"

const char *const tiny_deepseek_v2 = "{\"model_type\":\"deepseek_v2\"," TINY_SIZES(
    "4",
    "4") ",\"q_lora_rank\":null,"
         "\"kv_lora_rank\":24,\"qk_nope_head_dim\":16,\"qk_rope_head_dim\":8,\"v_head_dim\":16,"
         "\"first_k_dense_replace\":1,\"moe_layer_freq\":1,\"n_routed_experts\":8,"
         "\"num_experts_per_tok\":3,\"n_group\":4,\"topk_group\":2,"
         "\"topk_method\":\"group_limited_greedy\",\"norm_topk_prob\":false,"
         "\"routed_scaling_factor\":16,\"moe_intermediate_size\":32,\"n_shared_experts\":2}";
const char *const tiny_glm = "{\"model_type\":\"glm4_moe\"," TINY_SIZES(
    "4",
    "2") ",\"head_dim\":16,"
         "\"attention_bias\":true,\"use_qk_norm\":true,\"partial_rotary_factor\":0.5,"
         "\"n_routed_experts\":8,\"n_shared_experts\":1,\"num_experts_per_tok\":2,"
         "\"moe_intermediate_size\":32,\"first_k_dense_replace\":1,\"n_group\":1,\"topk_group\":1,"
         "\"norm_topk_prob\":true,\"routed_scaling_factor\":2.5,\"rope_theta\":1000000,"
         "\"num_nextn_predict_layers\":0}";
const char *const tiny_dots = "{\"model_type\":\"dots1\"," TINY_SIZES(
    "4", "4") ",\"n_routed_experts\":8,"
              "\"n_shared_experts\":2,\"num_experts_per_tok\":2,\"moe_intermediate_size\":32,"
              "\"first_k_dense_replace\":1,\"n_group\":1,\"topk_group\":1,\"norm_topk_prob\":true,"
              "\"routed_scaling_factor\":2.5}";
const char *const tiny_olmoe = "{\"model_type\":\"olmoe\"," TINY_SIZES(
    "4", "4") ",\"num_experts\":8,"
              "\"num_experts_per_tok\":2,\"norm_topk_prob\":false}";
const char *const tiny_mixtral =
    "{\"model_type\":\"mixtral\"," TINY_SIZES("4", "2") ",\"num_local_experts\":8,"
                                                        "\"num_experts_per_tok\":2}";
const char *const tiny_qwen2 = "{\"model_type\":\"qwen2\"," TINY_SIZES("4", "2") "}";
const char *const tiny_llama = "{\"model_type\":\"llama\"," TINY_SIZES("4", "2") "}";

const char *const tiny_qwen = QWEN_TINY("float32");
const char *const tiny_qwen_bf16 = QWEN_TINY("bfloat16");
const char *const tiny_deepseek = DEEPSEEK_TINY("float32");
const char *const tiny_deepseek_bf16 = DEEPSEEK_TINY("bfloat16");

TinyModel tiny_open(const char *config) {
    TinyModel model = {0};
    Err err = {0};
    ArchInput input = {.name = "tiny", .bytes = config, .count = strlen(config)};
    check_ok(arch_parse(&input, &model.arch, &err), &err);
    check_ok(forward_config_parse(&input, &model.arch, &model.config, &err), &err);
    return model;
}

TinyModel tiny_open_with(const char *config, const char *from, const char *to) {
    char text[2048];
    const char *at = strstr(config, from);
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - config), config, to, at + strlen(from));
    return tiny_open(text);
}

void tiny_close(TinyModel *model) {
    arch_free(&model->arch);
}

Plan tiny_plan(uint32_t tp, uint32_t pp, uint32_t dp, uint32_t ep) {
    Plan plan = hand_plan(tp, pp, dp, ep);
    plan.pools[0].dispatch_format = NUMFMT_BF16;
    return plan;
}

static uint32_t context_of(const TinyRun *run) {
    return (run->tokens + (run->longer > 0)) * run->chunks + run->rounds;
}

static void hand_over(const ComputeUnit *unit, const Job *job, Forward *taker) {
    for (uint32_t rank = 0; rank < job->schedule->rank_count; rank++) {
        Text text = {0};
        Err err = {0};
        unit->leave(unit->self, rank, &text);
        check_ok(forward_take(taker, job, rank, (const uint8_t *)text.data, text.length, &err),
                 &err);
        text_free(&text);
    }
}

static bool run_phase(Forward *forward, const TinyModel *model, const Plan *plan, Phase phase,
                      const TinyRun *run, Err *err) {
    bool decode = phase == PHASE_DECODE;
    const Pool *pool = &plan->pools[0];
    uint32_t steps = decode ? run->rounds : run->chunks * pool->micro_batches;
    Schedule schedule = lower_plans_lower(plan, &model->arch, phase, steps);
    StepShape shape = decode ? step_shape_decode(run->texts, run->tokens * run->chunks + 1)
                             : step_shape_prompts(run->texts, run->tokens);
    shape.tokens += decode ? 0 : run->longer;
    shape.kv_tokens += run->longer;
    Load uniform = load_uniform();
    Job job = {0};
    BackEnd host = {0};
    InterpOptions options = {.ranks = run->ranks, .rank_count = run->rank_count};
    InterpResult result = {0};
    ComputeUnit unit = forward_unit(forward);
    bool good = job_open(&schedule, &shape, run->load != NULL ? run->load : &uniform, &job, err);
    if (good) {
        host_open(pool_ranks(pool), 20 * PS_PER_SECOND, &host);
        good = interp_run(&job, &host, &unit, &options, &result, err);
        host_close(&host);
        for (OpId id = 0; good && id < schedule.op_count; id++)
            assert_int_equal(result.works[id], TIMELINE_FILE_MEASURED);
        if (good && run->taker != NULL) hand_over(&unit, &job, run->taker);
    }
    interp_free(&result);
    job_close(&job);
    schedule_free(&schedule);
    return good;
}

static void keep(const Forward *forward, uint32_t first, TinyLogits *out, uint32_t rounds) {
    for (uint32_t s = 0; s < out->sequences; s++) {
        for (uint32_t r = 0; r < rounds; r++) {
            const float *logits = forward_logits(forward, s, forward_rounds(forward) - rounds + r);
            assert_non_null(logits);
            memcpy(out->values + ((size_t)s * out->rounds + first + r) * out->vocab, logits,
                   out->vocab * sizeof *logits);
        }
    }
}

static bool run_all(const TinyModel *model, const Plan *plan, const TinyRun *run, TinyLogits *out,
                    Err *err) {
    ForwardOptions options = {.seed = TINY_SEED,
                              .context = context_of(run),
                              .texts = run->all_texts,
                              .routing = run->routing,
                              .weights_of = run->weights_of};
    Forward *forward = NULL;
    if (!forward_open(&model->arch, &model->config, &plan->pools[0], &options, &forward, err))
        return false;
    bool good = run_phase(forward, model, plan, PHASE_PREFILL, run, err);
    if (good) {
        out->sequences = forward_texts(forward);
        out->rounds = 1 + run->rounds;
        out->vocab = model->arch.vocab;
        out->values =
            calloc((size_t)out->sequences * out->rounds * out->vocab, sizeof *out->values);
        keep(forward, 0, out, 1);
        good = arch_most_experts(&model->arch) == 0 || forward_load(forward, &out->load, err);
    }
    if (good && run->rounds > 0) {
        good = run_phase(forward, model, plan, PHASE_DECODE, run, err);
        if (good) keep(forward, 1, out, run->rounds);
    }
    if (good) out->ties = forward_ties(forward);
    forward_close(forward);
    return good;
}

void tiny_free(TinyLogits *logits) {
    free(logits->values);
    load_free(&logits->load);
    *logits = (TinyLogits){0};
}

TinyLogits tiny_run(const TinyModel *model, const Plan *plan, const TinyRun *run) {
    TinyLogits logits = {0};
    Err err = {0};
    check_ok(run_all(model, plan, run, &logits, &err), &err);
    return logits;
}

void tiny_refused(const TinyModel *model, const Plan *plan, const TinyRun *run,
                  const char *message) {
    TinyLogits logits = {0};
    Err err = {0};
    check_fails(run_all(model, plan, run, &logits, &err), &err, message);
    tiny_free(&logits);
}

static double distance_of(const float *a, const float *b, size_t count) {
    double distance = 0;
    for (size_t i = 0; i < count; i++) {
        double apart = fabs((double)a[i] - (double)b[i]);
        if (!(apart <= distance)) distance = apart;
    }
    return distance;
}

double tiny_round_distance(const TinyLogits *a, uint32_t a_round, const TinyLogits *b,
                           uint32_t b_round) {
    double distance = 0;
    assert_true(a->sequences <= b->sequences && a_round < a->rounds && b_round < b->rounds);
    assert_int_equal(a->vocab, b->vocab);
    for (size_t i = 0; i < a->sequences; i++) {
        double apart = distance_of(a->values + (i * a->rounds + a_round) * a->vocab,
                                   b->values + (i * b->rounds + b_round) * b->vocab, a->vocab);
        if (!(apart <= distance)) distance = apart;
    }
    return distance;
}

static void check_sizes(const TinyLogits *a, const TinyLogits *b) {
    assert_true(a->sequences <= b->sequences);
    assert_int_equal(a->rounds, b->rounds);
    assert_int_equal(a->vocab, b->vocab);
}

double tiny_distance(const TinyLogits *a, const TinyLogits *b) {
    check_sizes(a, b);
    return distance_of(a->values, b->values, (size_t)a->sequences * a->rounds * a->vocab);
}

static uint32_t argmax(const float *values, uint32_t count) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < count; i++)
        if (values[i] > values[best]) best = i;
    return best;
}

uint32_t tiny_argmax_differ(const TinyLogits *a, const TinyLogits *b) {
    uint32_t differ = 0;
    check_sizes(a, b);
    for (size_t i = 0; i < (size_t)a->sequences * a->rounds; i++)
        differ += argmax(a->values + i * a->vocab, a->vocab) !=
                  argmax(b->values + i * b->vocab, b->vocab);
    return differ;
}

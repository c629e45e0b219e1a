// What a rank of another process computed: of a model of two layers and a run of two ranks.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exec/forward.h"
#include "model/plan/lower.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char config[] =
    "{\"model_type\":\"mixtral\",\"torch_dtype\":\"float32\",\"hidden_size\":8,"
    "\"num_hidden_layers\":2,\"num_attention_heads\":2,\"num_key_value_heads\":2,"
    "\"intermediate_size\":8,\"vocab_size\":4,\"num_local_experts\":2,\"num_experts_per_tok\":1,"
    "\"max_position_embeddings\":8,\"tie_word_embeddings\":false}";

static const Pool pool = {.replicas = 1,
                          .tp = 1,
                          .pp = 1,
                          .dp = 2,
                          .ep = 2,
                          .moe_tp = 1,
                          .cp = 1,
                          .micro_batches = 1,
                          .moe_comm = MOE_COMM_ALL_TO_ALL,
                          .kv_format = NUMFMT_BF16,
                          .activation_format = NUMFMT_BF16,
                          .dispatch_format = NUMFMT_BF16};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ArchInput input = {.name = "m", .bytes = config, .count = strlen(config)};
    StepShape shape = step_shape_prompts(1, 2);
    ForwardOptions options = {.seed = 1, .context = 2};
    Plan plan = {.pool_count = 1};
    Load load = load_uniform();
    Arch arch = {0};
    ForwardConfig read;
    Forward *forward = NULL;
    Schedule schedule;
    Job job;
    Err err = {0};
    plan.pools[0] = pool;
    if (!arch_parse(&input, &arch, &err) || !forward_config_parse(&input, &arch, &read, &err) ||
        !forward_open(&arch, &read, &plan.pools[0], &options, &forward, &err))
        abort();
    lower_plan(&plan, 0, &arch, PHASE_PREFILL, 1, &schedule);
    if (!job_open(&schedule, &shape, &load, &job, &err)) abort();
    if (!forward_take(forward, &job, 1, data, size, &err) && !err_is_set(&err)) abort();
    forward_close(forward);
    job_close(&job);
    schedule_free(&schedule);
    arch_free(&arch);
    return 0;
}

// A forward pass as the papers write it.
//
// Invariant: shares with exec/ only the elements of the seeded weights and the texts. Sources: the
// Qwen3 technical report (arXiv:2505.09388) and DeepSeek-V3 (arXiv:2412.19437), section 2.1; YaRN
// as in arXiv:2309.00071, sections 3.1 to 3.4; DeepSeek-V2 (arXiv:2405.04434), section 2.2.2: a
// token goes to the devices (groups) with its best expert; OLMoE (arXiv:2409.02060), section 2 and
// table 1: norms of queries and keys, which lie in the model before heads are told apart.
#include "tests/exec/reference.h"

#include "exec/weights.h"
#include "tests/check.h"

#define PI 3.14159265358979323846

typedef struct Reference {
    const TinyModel *model;
    const AttentionSpec *spec;
    double *keys, *values; // [layer][position][heads][width]
    uint32_t context;
} Reference;

typedef struct Table {
    double *at; // heap
    uint32_t n, k;
} Table;

static void *take(size_t count, size_t size) {
    void *memory = calloc(count > 0 ? count : 1, size);
    assert_non_null(memory);
    return memory;
}

// A whole tensor by its name in a layer (or in the model, without {L}).
static Table load(const Reference *self, const char *name, uint32_t layer, uint32_t expert) {
    const Arch *arch = &self->model->arch;
    char full[256], pattern[256];
    Table table = {0};
    for (uint32_t i = 0; i < arch->tensor_count && table.at == NULL; i++) {
        const TensorClass *tensor = &arch->tensors[i];
        bool inside = tensor->layer_kind != UINT32_MAX;
        if (inside && tensor->layer_kind != arch->kind_of_layer[layer]) continue;
        snprintf(pattern, sizeof pattern, "%s%s", inside ? "model.layers.{L}." : "", name);
        if (strcmp(tensor->pattern, pattern) != 0) continue;
        const char *tail = strstr(name, "{E}");
        if (!inside)
            snprintf(full, sizeof full, "%s", name);
        else if (tail == NULL)
            snprintf(full, sizeof full, "model.layers.%u.%s", layer, name);
        else
            snprintf(full, sizeof full, "model.layers.%u.%.*s%u%s", layer, (int)(tail - name), name,
                     expert, tail + 3);
        table.n = tensor->dims[0];
        table.k = tensor->dim_count > 1 ? tensor->dims[1] : 1;
        table.at = take((size_t)table.n * table.k, sizeof *table.at);
        for (size_t j = 0; j < (size_t)table.n * table.k; j++)
            table.at[j] = (double)weights_element(TINY_SEED, full, tensor, j);
    }
    return table;
}

// out[n] = table x
static double *apply(const Reference *self, const char *name, uint32_t layer, uint32_t expert,
                     const double *x) {
    Table table = load(self, name, layer, expert);
    assert_non_null(table.at);
    double *out = take(table.n, sizeof *out);
    for (uint32_t i = 0; i < table.n; i++)
        for (uint32_t j = 0; j < table.k; j++) out[i] += table.at[(size_t)i * table.k + j] * x[j];
    free(table.at);
    return out;
}

static void add_vector(const Reference *self, const char *name, uint32_t layer, double *x) {
    Table table = load(self, name, layer, 0);
    for (uint32_t i = 0; i < table.n; i++) x[i] += table.at[i];
    free(table.at);
}

static uint32_t width_of(const Reference *self, const char *name, uint32_t layer) {
    Table table = load(self, name, layer, 0);
    free(table.at);
    return table.n;
}

static void norm(const Reference *self, const char *name, uint32_t layer, uint32_t width,
                 double *x) {
    Table table = load(self, name, layer, 0);
    double sum = 0;
    if (table.at == NULL) return;
    for (uint32_t i = 0; i < width; i++) sum += x[i] * x[i];
    double scale = 1 / sqrt(sum / width + self->model->config.norm_epsilon);
    for (uint32_t i = 0; i < width; i++) x[i] *= scale * table.at[i];
    free(table.at);
}

static double silu(double x) {
    return x / (1 + exp(-x));
}

// ---- Rotation.

static double ramp(double x, double low, double high) {
    double y = (x - low) / (high - low);
    return y < 0 ? 0 : y > 1 ? 1 : y;
}

static double angle(const RopeSpec *rope, uint32_t pair, uint32_t position) {
    double plain = 1 / pow(rope->theta, 2.0 * pair / rope->width);
    if (rope->factor <= 1) return position * plain;
    double length = (double)rope->trained, base = 2 * log(rope->theta) / rope->width;
    double low = floor(log(length / (rope->beta_fast * 2 * PI)) / base);
    double high = ceil(log(length / (rope->beta_slow * 2 * PI)) / base);
    if (low < 0) low = 0;
    if (high > rope->width - 1) high = rope->width - 1;
    double part = ramp(pair, low, high); // 1: divided by the factor
    return position * (plain / rope->factor * part + plain * (1 - part));
}

// mscale and mscale_all_dim of the tiny model are equal, so cosines keep their size.
static void turn(const Reference *self, uint32_t position, double *x) {
    const RopeSpec *rope = &self->model->config.rope;
    for (uint32_t i = 0; i < rope->width / 2; i++) {
        bool halves = rope->pairs == ROPE_HALVES;
        uint32_t a = halves ? i : 2 * i, b = halves ? i + rope->width / 2 : 2 * i + 1;
        double by = angle(rope, i, position), first = x[a], second = x[b];
        x[a] = first * cos(by) - second * sin(by);
        x[b] = first * sin(by) + second * cos(by);
    }
}

// ---- Attention: keys and values of every head are stored.

static double *slot(const Reference *self, double *store, uint32_t layer, uint32_t position,
                    uint32_t head, uint32_t width) {
    size_t row = ((size_t)layer * self->context + position) * self->spec->heads + head;
    return store + row * width;
}

static double *attend(const Reference *self, uint32_t layer, uint32_t position,
                      const double *queries, double scale) {
    const AttentionSpec *spec = self->spec;
    double *out = take((size_t)spec->heads * spec->value_dim, sizeof *out);
    double *weights = take(position + 1, sizeof *weights);
    for (uint32_t head = 0; head < spec->heads; head++) {
        double largest = -HUGE_VAL, sum = 0;
        for (uint32_t p = 0; p <= position; p++) {
            const double *key = slot(self, self->keys, layer, p, head, spec->head_dim);
            weights[p] = 0;
            for (uint32_t i = 0; i < spec->head_dim; i++)
                weights[p] += queries[head * spec->head_dim + i] * key[i];
            weights[p] *= scale;
            if (weights[p] > largest) largest = weights[p];
        }
        for (uint32_t p = 0; p <= position; p++) sum += weights[p] = exp(weights[p] - largest);
        for (uint32_t p = 0; p <= position; p++) {
            const double *value = slot(self, self->values, layer, p, head, spec->value_dim);
            for (uint32_t i = 0; i < spec->value_dim; i++)
                out[head * spec->value_dim + i] += weights[p] / sum * value[i];
        }
    }
    free(weights);
    return out;
}

// Each head by itself, or as many elements as the norm has weights.
static void norm_heads(const Reference *self, const char *name, uint32_t layer, uint32_t heads,
                       double *x) {
    uint32_t d = self->spec->head_dim, width = width_of(self, name, layer);
    for (uint32_t first = 0; width > 0 && first < heads * d; first += width)
        norm(self, name, layer, width, x + first);
}

static double *gqa(const Reference *self, uint32_t layer, uint32_t position, const double *x) {
    const AttentionSpec *spec = self->spec;
    double *q = apply(self, "self_attn.q_proj.weight", layer, 0, x);
    double *k = apply(self, "self_attn.k_proj.weight", layer, 0, x);
    double *v = apply(self, "self_attn.v_proj.weight", layer, 0, x);
    uint32_t d = spec->head_dim, share = spec->heads / spec->kv_heads;
    add_vector(self, "self_attn.q_proj.bias", layer, q);
    add_vector(self, "self_attn.k_proj.bias", layer, k);
    add_vector(self, "self_attn.v_proj.bias", layer, v);
    norm_heads(self, "self_attn.q_norm.weight", layer, spec->heads, q);
    norm_heads(self, "self_attn.k_norm.weight", layer, spec->kv_heads, k);
    for (uint32_t head = 0; head < spec->heads; head++) turn(self, position, q + head * d);
    for (uint32_t head = 0; head < spec->kv_heads; head++) turn(self, position, k + head * d);
    for (uint32_t head = 0; head < spec->heads; head++) {
        memcpy(slot(self, self->keys, layer, position, head, d), k + head / share * d,
               d * sizeof *k);
        memcpy(slot(self, self->values, layer, position, head, d), v + head / share * d,
               d * sizeof *v);
    }
    double *out = attend(self, layer, position, q, 1 / sqrt(d));
    free(q);
    free(k);
    free(v);
    return out;
}

static double *mla_queries(const Reference *self, uint32_t layer, const double *x) {
    if (self->spec->q_lora == 0) return apply(self, "self_attn.q_proj.weight", layer, 0, x);
    double *latent = apply(self, "self_attn.q_a_proj.weight", layer, 0, x);
    norm(self, "self_attn.q_a_layernorm.weight", layer, self->spec->q_lora, latent);
    double *q = apply(self, "self_attn.q_b_proj.weight", layer, 0, latent);
    free(latent);
    return q;
}

static double *mla(const Reference *self, uint32_t layer, uint32_t position, const double *x) {
    const AttentionSpec *spec = self->spec;
    const RopeSpec *rope = &self->model->config.rope;
    uint32_t nope = spec->head_dim - spec->rope, width = nope + spec->value_dim;
    double *q = mla_queries(self, layer, x);
    double *both = apply(self, "self_attn.kv_a_proj_with_mqa.weight", layer, 0, x);
    norm(self, "self_attn.kv_a_layernorm.weight", layer, spec->kv_lora, both);
    double *expanded = apply(self, "self_attn.kv_b_proj.weight", layer, 0, both);
    turn(self, position, both + spec->kv_lora);
    for (uint32_t head = 0; head < spec->heads; head++) {
        double *key = slot(self, self->keys, layer, position, head, spec->head_dim);
        turn(self, position, q + head * spec->head_dim + nope);
        memcpy(key, expanded + head * width, nope * sizeof *key);
        memcpy(key + nope, both + spec->kv_lora, spec->rope * sizeof *key);
        memcpy(slot(self, self->values, layer, position, head, spec->value_dim),
               expanded + head * width + nope, spec->value_dim * sizeof *key);
    }
    double m = rope->factor > 1 ? 0.1 * rope->mscale_all_dim * log(rope->factor) + 1 : 1;
    double *out = attend(self, layer, position, q, m * m / sqrt(spec->head_dim));
    free(q);
    free(both);
    free(expanded);
    return out;
}

// ---- Feed-forward.

static void add_block(const Reference *self, const char *prefix, uint32_t layer, uint32_t expert,
                      double weight, const double *x, double *sum) {
    char name[128];
    bool is_mixtral = strcmp(prefix, "experts.w") == 0;
    const char *first = is_mixtral ? "block_sparse_moe.experts.{E}." : "mlp.";
    const char *second = is_mixtral ? "" : prefix;
    snprintf(name, sizeof name, "%s%s%s.weight", first, second, is_mixtral ? "w1" : "gate_proj");
    double *gate = apply(self, name, layer, expert, x);
    snprintf(name, sizeof name, "%s%s%s.weight", first, second, is_mixtral ? "w3" : "up_proj");
    double *up = apply(self, name, layer, expert, x);
    snprintf(name, sizeof name, "%s%s%s.weight", first, second, is_mixtral ? "w2" : "down_proj");
    Table down = load(self, name, layer, expert);
    for (uint32_t i = 0; i < down.k; i++) gate[i] = silu(gate[i]) * up[i];
    for (uint32_t i = 0; i < down.n; i++)
        for (uint32_t j = 0; j < down.k; j++)
            sum[i] += weight * down.at[(size_t)i * down.k + j] * gate[j];
    free(gate);
    free(up);
    free(down.at);
}

// The largest of those that are not taken; the first of equal ones.
static uint32_t best(const double *values, const bool *taken, uint32_t count) {
    uint32_t found = count;
    for (uint32_t i = 0; i < count; i++)
        if (!taken[i] && (found == count || values[i] > values[found])) found = i;
    return found;
}

static void close_groups(const Reference *self, const MlpSpec *mlp, const double *choice,
                         bool *taken) {
    bool by_best = self->model->config.router.worth == ROUTER_BEST;
    double sums[64] = {0};
    bool kept[64] = {0};
    uint32_t size = mlp->experts / mlp->groups;
    for (uint32_t g = 0; g < mlp->groups; g++) {
        const double *own = choice + g * size;
        bool used[64] = {0};
        uint32_t first = best(own, used, size);
        used[first] = true;
        sums[g] = own[first] + (by_best ? 0 : own[best(own, used, size)]);
    }
    for (uint32_t i = 0; i < mlp->top_groups; i++) kept[best(sums, kept, mlp->groups)] = true;
    for (uint32_t i = 0; i < mlp->experts; i++) taken[i] = !kept[i / size];
}

static void add_experts(const Reference *self, const MlpSpec *mlp, uint32_t layer, const double *x,
                        double *sum) {
    const RouterSpec *router = &self->model->config.router;
    bool sigmoid = router->score == ROUTER_SIGMOID;
    bool is_mixtral = width_of(self, "mlp.gate.weight", layer) == 0;
    double *scores =
        apply(self, is_mixtral ? "block_sparse_moe.gate.weight" : "mlp.gate.weight", layer, 0, x);
    double choice[64], all = 0, chosen = 0;
    bool taken[64] = {0};
    uint32_t experts[64];
    for (uint32_t i = 0; i < mlp->experts; i++) {
        scores[i] = sigmoid ? 1 / (1 + exp(-scores[i])) : exp(scores[i]);
        all += scores[i];
    }
    Table bias = sigmoid ? load(self, "mlp.gate.e_score_correction_bias", layer, 0) : (Table){0};
    for (uint32_t i = 0; i < mlp->experts; i++) {
        if (!sigmoid) scores[i] /= all;
        choice[i] = scores[i] + (bias.at != NULL ? bias.at[i] : 0);
    }
    if (mlp->groups > 1) close_groups(self, mlp, choice, taken);
    for (uint32_t i = 0; i < mlp->top_k; i++) {
        experts[i] = best(choice, taken, mlp->experts);
        taken[experts[i]] = true;
        chosen += scores[experts[i]];
    }
    if (!router->normalises) chosen = 1;
    for (uint32_t i = 0; i < mlp->top_k; i++)
        add_block(self, is_mixtral ? "experts.w" : "experts.{E}.", layer, experts[i],
                  scores[experts[i]] / chosen * (double)router->scaling, x, sum);
    free(bias.at);
    free(scores);
}

// ---- A token.

static double *copy(const double *x, uint32_t count) {
    double *out = take(count, sizeof *out);
    memcpy(out, x, count * sizeof *out);
    return out;
}

static void run_layer(const Reference *self, uint32_t layer, uint32_t position, double *stream) {
    const Arch *arch = &self->model->arch;
    const MlpSpec *mlp = &arch->mlps[arch->kinds[arch->kind_of_layer[layer]].mlp];
    double *x = copy(stream, arch->hidden);
    norm(self, "input_layernorm.weight", layer, arch->hidden, x);
    double *heads = self->spec->kind == ATTENTION_MLA ? mla(self, layer, position, x)
                                                      : gqa(self, layer, position, x);
    double *attended = apply(self, "self_attn.o_proj.weight", layer, 0, heads);
    for (uint32_t i = 0; i < arch->hidden; i++) stream[i] += attended[i];
    memcpy(x, stream, arch->hidden * sizeof *x);
    norm(self, "post_attention_layernorm.weight", layer, arch->hidden, x);
    if (mlp->experts == 0) {
        add_block(self, "", layer, 0, 1, x, stream);
    } else {
        add_experts(self, mlp, layer, x, stream);
        if (mlp->shared_width > 0) add_block(self, "shared_experts.", layer, 0, 1, x, stream);
    }
    free(x);
    free(heads);
    free(attended);
}

static double *run_token(const Reference *self, uint32_t token, uint32_t position) {
    const Arch *arch = &self->model->arch;
    Table table = load(self, "model.embed_tokens.weight", 0, 0);
    double *stream = copy(table.at + (size_t)token * arch->hidden, arch->hidden);
    for (uint32_t layer = 0; layer < arch->layers; layer++)
        run_layer(self, layer, position, stream);
    norm(self, "model.norm.weight", 0, arch->hidden, stream);
    double *logits = apply(self, "lm_head.weight", 0, 0, stream);
    free(table.at);
    free(stream);
    return logits;
}

static uint32_t keep(const double *logits, uint32_t count, float *out) {
    uint32_t largest = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (logits[i] > logits[largest]) largest = i;
        out[i] = (float)logits[i];
    }
    return largest;
}

static void run_text(const Reference *self, uint32_t sequence, uint32_t prompt,
                     const TinyLogits *out) {
    uint32_t vocab = out->vocab, sampled = 0;
    for (uint32_t position = 0; position < prompt + out->rounds - 1; position++) {
        uint32_t token =
            position <= prompt ? forward_text(TINY_SEED, vocab, sequence, position) : sampled;
        double *logits = run_token(self, token, position);
        if (position + 1 >= prompt) {
            size_t at = (size_t)sequence * out->rounds + position + 1 - prompt;
            sampled = keep(logits, vocab, out->values + at * vocab);
        }
        free(logits);
    }
}

TinyLogits reference_run(const TinyModel *model, uint32_t sequences, uint32_t prompt,
                         uint32_t rounds) {
    const Arch *arch = &model->arch;
    Reference self = {.model = model, .spec = &arch->attentions[0], .context = prompt + rounds};
    TinyLogits out = {.sequences = sequences, .rounds = 1 + rounds, .vocab = arch->vocab};
    size_t rows = (size_t)arch->layers * self.context * self.spec->heads;
    out.values = take((size_t)sequences * out.rounds * out.vocab, sizeof *out.values);
    self.keys = take(rows * self.spec->head_dim, sizeof *self.keys);
    self.values = take(rows * self.spec->value_dim, sizeof *self.values);
    for (uint32_t i = 0; i < sequences; i++) run_text(&self, i, prompt, &out);
    free(self.keys);
    free(self.values);
    return out;
}

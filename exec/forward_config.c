// The constants of a forward pass.
//
// Invariant: a field that changes the result and that no kernel knows is refused. Fields that are
// absent have the defaults of the model's configuration class in transformers 4.57.
#include "exec/forward_config.h"

#include <string.h>

#include "model/base/json.h"

typedef struct FamilyRow {
    const char *model_type;
    RopePairs pairs;
    double turned, epsilon; // of the elements of a head; of norms
    RouterScore score;
    bool normalises;
    double scaling;
    const char *method, *grouped; // topk_method, and the other one that it may be
} FamilyRow;

// With groups "group_limited_greedy" takes those of the best experts, "noaux_tc" those of the two
// best.
#define DENSE          ROUTER_SOFTMAX, false, 1, "greedy", NULL
#define SIGMOID(scale) ROUTER_SIGMOID, true, scale, "noaux_tc", NULL
static const FamilyRow family_rows[] = {
    {"llama", ROPE_HALVES, 1, 1e-6, DENSE},
    {"mistral", ROPE_HALVES, 1, 1e-6, DENSE},
    {"qwen2", ROPE_HALVES, 1, 1e-6, DENSE},
    {"qwen3", ROPE_HALVES, 1, 1e-6, DENSE},
    {"qwen3_moe", ROPE_HALVES, 1, 1e-6, ROUTER_SOFTMAX, false, 1, "greedy", NULL},
    {"olmoe", ROPE_HALVES, 1, 1e-5, ROUTER_SOFTMAX, false, 1, "greedy", NULL},
    {"mixtral", ROPE_HALVES, 1, 1e-6, ROUTER_SOFTMAX, true, 1, "greedy", NULL},
    {"glm4_moe", ROPE_HALVES, 0.5, 1e-5, SIGMOID(1)},
    {"dots1", ROPE_HALVES, 1, 1e-6, ROUTER_SIGMOID, false, 1, "noaux_tc", NULL},
    {"deepseek_v2", ROPE_INTERLEAVED, 1, 1e-6, ROUTER_SOFTMAX, false, 1, "greedy",
     "group_limited_greedy"},
    {"deepseek_v3", ROPE_INTERLEAVED, 1, 1e-6, SIGMOID(2.5)},
    {"kimi_k2", ROPE_INTERLEAVED, 1, 1e-6, SIGMOID(2.5)},
};

static const FamilyRow *family_of(const char *model_type) {
    for (size_t i = 0; i < sizeof family_rows / sizeof family_rows[0]; i++)
        if (strcmp(family_rows[i].model_type, model_type) == 0) return &family_rows[i];
    return NULL;
}

static bool read_number(JsonNode node, const char *key, double *value, Err *err) {
    return !json_has(node, key) || json_double(node, key, value, err);
}

// A field that may only have this value.
static bool expect(JsonNode node, const char *key, const char *only, Err *err) {
    const char *found;
    if (!json_has(node, key)) return true;
    if (!json_string(node, key, &found, err)) return false;
    return strcmp(found, only) == 0 ||
           json_error(json_find(node, key), err, "no kernel for \"%s\", only for \"%s\"", found,
                      only);
}

static bool read_scaling(JsonNode root, RopeSpec *rope, Err *err) {
    JsonNode node;
    if (!json_has(root, "rope_scaling")) return true;
    if (!json_object(root, "rope_scaling", &node, err)) return false;
    const char *kind = json_has(node, "rope_type") ? "rope_type" : "type";
    if (!expect(node, kind, "yarn", err)) return false;
    rope->beta_fast = 32;
    rope->beta_slow = 1;
    rope->mscale = 1;
    return json_double(node, "factor", &rope->factor, err) &&
           json_u64(node, "original_max_position_embeddings", &rope->trained, err) &&
           read_number(node, "beta_fast", &rope->beta_fast, err) &&
           read_number(node, "beta_slow", &rope->beta_slow, err) &&
           read_number(node, "mscale", &rope->mscale, err) &&
           read_number(node, "mscale_all_dim", &rope->mscale_all_dim, err);
}

static bool read_rope(JsonNode root, const Arch *arch, const FamilyRow *family, RopeSpec *rope,
                      Err *err) {
    const AttentionSpec *spec = &arch->attentions[0];
    double turned = family->turned;
    if (!read_number(root, "partial_rotary_factor", &turned, err)) return false;
    if (!(turned > 0 && turned <= 1) || (turned < 1 && spec->kind == ATTENTION_MLA))
        return json_error(json_find(root, "partial_rotary_factor"), err,
                          "no kernel that turns %g of a head", turned);
    rope->width =
        spec->kind == ATTENTION_MLA ? spec->rope : (uint32_t)((double)spec->head_dim * turned);
    rope->theta = 10000;
    if (json_has(root, "rope_parameters"))
        return json_error(json_find(root, "rope_parameters"), err,
                          "no kernel for rotations that are not written as rope_theta");
    if (rope->width % 2 != 0)
        return err_set(err, "%s: rotates %u elements, expected an even number", arch->name,
                       rope->width);
    if (!read_number(root, "rope_theta", &rope->theta, err) || !read_scaling(root, rope, err))
        return false;
    return (rope->theta > 1 && rope->factor >= 0) ||
           err_set(err, "%s: rope_theta is %g and the factor %g, expected more than 1 and 0",
                   arch->name, rope->theta, rope->factor);
}

// How groups are chosen; without groups that is the same.
static bool read_method(JsonNode root, const FamilyRow *family, RouterSpec *router, Err *err) {
    uint64_t groups = 1;
    const char *found = family->method;
    if (json_has(root, "topk_method") && !json_string(root, "topk_method", &found, err))
        return false;
    if (json_has(root, "n_group") && !json_u64(root, "n_group", &groups, err)) return false;
    bool is_grouped = family->grouped != NULL && strcmp(found, family->grouped) == 0;
    if (!is_grouped && strcmp(found, family->method) != 0)
        return json_error(json_find(root, "topk_method"), err,
                          "no kernel for \"%s\", only for \"%s\"", found, family->method);
    if (groups > 1 && !is_grouped && family->score == ROUTER_SOFTMAX)
        return json_error(json_find(root, "n_group"), err,
                          "no kernel for groups of experts chosen by \"%s\"", found);
    router->worth = is_grouped ? ROUTER_BEST : ROUTER_TWO_BEST;
    return true;
}

static bool read_router(JsonNode root, const FamilyRow *family, RouterSpec *router, Err *err) {
    double scaling = family->scaling;
    *router = (RouterSpec){.score = family->score, .normalises = family->normalises};
    if (json_has(root, "norm_topk_prob") &&
        !json_bool(root, "norm_topk_prob", &router->normalises, err))
        return false;
    if (!expect(root, "scoring_func", family->score == ROUTER_SIGMOID ? "sigmoid" : "softmax",
                err) ||
        !read_method(root, family, router, err) ||
        !read_number(root, "routed_scaling_factor", &scaling, err))
        return false;
    router->scaling = (float)scaling;
    return true;
}

// Fields of some families that clamp or change what no kernel here does.
static bool check_rest(JsonNode root, const FamilyRow *family, const RouterSpec *router, Err *err) {
    bool is_v2 = strcmp(family->model_type, "deepseek_v2") == 0;
    if (json_has(root, "clip_qkv"))
        return json_error(json_find(root, "clip_qkv"), err,
                          "no kernel that clamps queries, keys and values");
    if (is_v2 && router->normalises)
        return json_error(json_find(root, "norm_topk_prob"), err,
                          "no kernel for weights that are normalised in this family");
    return true;
}

static bool read_root(JsonNode root, const Arch *arch, ForwardConfig *out, Err *err) {
    const char *model_type;
    if (!json_string(root, "model_type", &model_type, err)) return false;
    const FamilyRow *family = family_of(model_type);
    if (family == NULL)
        return json_error(
            json_find(root, "model_type"), err,
            "no kernels for the rotation and the choices of models of this family (%s)",
            model_type);
    ForwardConfig config = {.norm_epsilon = family->epsilon, .rope.pairs = family->pairs};
    if (!read_number(root, "rms_norm_eps", &config.norm_epsilon, err) ||
        !expect(root, "hidden_act", "silu", err) ||
        !read_rope(root, arch, family, &config.rope, err) ||
        !read_router(root, family, &config.router, err) ||
        !check_rest(root, family, &config.router, err))
        return false;
    *out = config;
    return true;
}

bool forward_config_parse(const ArchInput *input, const Arch *arch, ForwardConfig *out, Err *err) {
    Json json = {0};
    if (!json_parse(input->name, input->bytes, input->count, &json, err)) return false;
    bool good = read_root(json_root(&json), arch, out, err);
    json_free(&json);
    return good;
}

bool forward_config_read(const char *name, const Arch *arch, ForwardConfig *out, Err *err) {
    Arena arena = {0};
    ArchInput input = {0};
    bool good =
        arch_read_files(name, &arena, &input, err) && forward_config_parse(&input, arch, out, err);
    arena_free(&arena);
    return good;
}

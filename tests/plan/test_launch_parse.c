// Lines of engines as people write them, read into plans; and what is wrong with some.
#include "model/plan/launch_parse.h"

#include "tests/check.h"
#include "tests/plan/hand_launch.h"

typedef struct Flags {
    LaunchFlags all[LAUNCH_ENGINE_COUNT];
} Flags;

static int open_flags(void **state) {
    Err err = {0};
    Flags *flags = mem_alloc(1, sizeof *flags);
    for (uint32_t i = 0; i < LAUNCH_ENGINE_COUNT; i++)
        check_ok(launch_flags_load((LaunchEngine)i, NULL, &flags->all[i], &err), &err);
    *state = flags;
    return 0;
}

static int close_flags(void **state) {
    Flags *flags = *state;
    for (uint32_t i = 0; i < LAUNCH_ENGINE_COUNT; i++) launch_flags_free(&flags->all[i]);
    mem_free(flags);
    return 0;
}

static bool read_lines(void **state, const char *lines, Plan *out, Err *err) {
    const Flags *flags = *state;
    return launch_parse_plan("x.sh", lines, strlen(lines), flags->all, NULL, out, NULL, err);
}

// "TP4 PP1 DP2 EP8 x1 ..." (plan.h)
static void check_label(void **state, const char *lines, const char *want) {
    char label[PLAN_TEXT_MAX];
    Plan plan;
    Err err = {0};
    check_ok(read_lines(state, lines, &plan, &err), &err);
    assert_string_equal(plan_label(&plan, label), want);
}

static void check_refused(void **state, const char *lines, const char *message) {
    Plan plan;
    Err err = {0};
    check_fails(read_lines(state, lines, &plan, &err), &err, message);
}

// ---- Forms

static void test_launch_parse_reads_all_spellings(void **state) {
    check_label(state, "vllm serve m --tensor-parallel-size 4\n", "TP4 PP1 DP1 EP1 x1");
    check_label(state, "vllm serve m --tensor-parallel-size=4", "TP4 PP1 DP1 EP1 x1");
    check_label(state, "vllm serve m --tensor_parallel_size 4", "TP4 PP1 DP1 EP1 x1");
    check_label(state, "vllm serve m -tp 4 -pp 2", "TP4 PP2 DP1 EP1 x1");
    check_label(state, "vllm serve --model m -tp=4", "TP4 PP1 DP1 EP1 x1");
    check_label(state, "python3 -m vllm.entrypoints.openai.api_server --model m -tp 2 -dp 2 -ep",
                "TP2 PP1 DP2 EP4 x1 gather");
    check_label(state, "sglang serve --model-path m --tp 8 --ep 4", "TP8 PP1 DP1 EP4 x1");
    check_label(state,
                "python -m sglang.launch_server --model m --tp-size 8 --dp 4 --enable-dp-attention",
                "TP2 PP1 DP4 EP1 x1 gather");
}

static void test_launch_parse_reads_scripts(void **state) {
    check_label(state,
                "#!/bin/sh\n"
                "export VLLM_ALL2ALL_BACKEND='deepep_low_latency' HF_HOME=\"$HOME/hub\"\n"
                "# eight ranks\n"
                "NCCL_DEBUG=INFO nohup vllm serve \\\n"
                "    \"deepseek-ai/DeepSeek-V3\" \\\n"
                "    --data-parallel-size 8 --enable-expert-parallel \\\r\n"
                "    --trust-remote-code > server.log 2>&1 &\n"
                "vllm bench serve --model x | tee bench.log; \n",
                "TP1 PP1 DP8 EP8 x1");
}

// The engine's own defaults: gathering, unless told otherwise; a switch can be turned off again.
// As in a shell, a variable has the value that it was exported with last.
static void test_launch_parse_takes_the_last_export(void **state) {
    check_label(state,
                "export VLLM_ALL2ALL_BACKEND=naive\n"
                "export VLLM_ALL2ALL_BACKEND=deepep_low_latency\n"
                "vllm serve m --data-parallel-size 8 --enable-expert-parallel\n",
                "TP1 PP1 DP8 EP8 x1");
    check_refused(state, "export HF_HOME=a NO_SUCH_NAME=1\n\nvllm serve m\n",
                  "x.sh:3: the variable \"NO_SUCH_NAME\" is not known");
    check_label(state, "vllm serve m -tp 2\nexport NO_SUCH_NAME=1\n", "TP2 PP1 DP1 EP1 x1");
}

static void test_launch_parse_knows_defaults(void **state) {
    check_label(state, "vllm serve m -dp 4", "TP1 PP1 DP4 EP1 x1 gather");
    check_label(state, "vllm serve m -dp 4 --enable-expert-parallel", "TP1 PP1 DP4 EP4 x1 gather");
    check_label(state, "vllm serve m -dp 4 --no-enable-expert-parallel",
                "TP1 PP1 DP4 EP1 x1 gather");
    check_label(state, "vllm serve m -tp 4 -ep --all2all-backend deepep_low_latency",
                "TP4 PP1 DP1 EP4 x1");
    check_label(state,
                "sglang serve --model m --tp 8 --dp 8 --enable-dp-attention --moe-a2a-backend mori",
                "TP1 PP1 DP8 EP8 x1");
}

// --dp-size without attention-DP are whole replicas; so are servers that are alike.
static void test_launch_parse_finds_replicas(void **state) {
    check_label(state, "sglang serve --model m --tp 2 --dp 4", "TP2 PP1 DP1 EP1 x4");
    check_label(state,
                "CUDA_VISIBLE_DEVICES=0,1 vllm serve m -tp 2 --port 1 &\n"
                "CUDA_VISIBLE_DEVICES=2,3 vllm serve m -tp 2 --port 2 &\n"
                "CUDA_VISIBLE_DEVICES=4,5,6,7 vllm serve m -tp 4 --port 3\n",
                "TP2 PP1 DP1 EP1 x2 + TP4 PP1 DP1 EP1 x1");
}

static void test_launch_parse_reads_load_balancing(void **state) {
    check_label(state,
                "vllm serve m -dp 8 -ep --enable-eplb --eplb-config '{\"window_size\": 500, "
                "\"num_redundant_experts\": 32}'",
                "TP1 PP1 DP8 EP8 x1 +32r gather");
    check_label(state,
                "vllm serve m -dp 8 -ep --enable-eplb --eplb-config.num_redundant_experts 16 "
                "--eplb-config.step_interval=100",
                "TP1 PP1 DP8 EP8 x1 +16r gather");
    check_label(state, "vllm serve m -dp 8 -ep --enable-eplb --num-redundant-experts 8",
                "TP1 PP1 DP8 EP8 x1 +8r gather");
}

// vLLM's ranks that share prompts come on top of TP, SGLang's lie inside its tp-size.
static void test_launch_parse_reads_context_parallelism(void **state) {
    check_label(state, "vllm serve m -tp 8 -dcp 4", "TP8 PP1 DP1 EP1 x1 DCP4");
    check_label(state, "vllm serve m -tp 2 -pcp 4 -ep", "TP2 PP1 DP1 EP8 x1 PCP4 gather");
    check_label(state, "sglang serve --model m --tp 8 --dcp-size 8", "TP8 PP1 DP1 EP1 x1 DCP8");
    check_label(state,
                "sglang serve --model m --tp 8 --attn-cp-size 4 --enable-prefill-cp --cp-strategy "
                "interleave --ep-size 8",
                "TP2 PP1 DP1 EP8 x1 PCP4 gather");
    check_label(state, "vllm serve m -tp 8 -dcp 1 -pcp 1", "TP8 PP1 DP1 EP1 x1");
}

// vLLM's ranks are found by their address; lines may stand in any order.
static void test_launch_parse_puts_nodes_together(void **state) {
    Plan plan;
    Err err = {0};
    check_ok(
        read_lines(state,
                   "vllm serve m -tp 8 -pp 2 --nnodes 2 --node-rank 1 --master-addr a --headless\n"
                   "vllm serve m -tp 8 -pp 2 --nnodes 2 --node-rank 0 --master-addr a\n"
                   "vllm serve m -dp 4 -dpl 2 -dpa b --headless --data-parallel-start-rank 2\n"
                   "vllm serve m -dp 4 -dpl 2 -dpa b\n",
                   &plan, &err),
        &err);
    assert_int_equal(plan.pool_count, 2);
    assert_int_equal(pool_ranks(&plan.pools[0]), 16);
    assert_int_equal(plan.pools[1].first_gpu, 16);
    assert_int_equal(plan.pools[1].dp, 4);
}

// A pair of roles gives two pools and the hand-over between them.
// 3,000 servers of two nodes, the second nodes behind all first ones: each finds its own by the
// port of its head.
static void test_launch_parse_puts_far_nodes_together(void **state) {
    Text lines = {0};
    for (uint32_t rank = 0; rank < 2; rank++)
        for (uint32_t i = 0; i < 3000; i++)
            text_addf(&lines, "vllm serve m -tp 2 --nnodes 2 --node-rank %u --master-port %u\n",
                      rank, 20000 + i);
    check_label(state, text_string(&lines), "TP2 PP1 DP1 EP1 x3000");
    text_free(&lines);
}

static void test_launch_parse_reads_roles(void **state) {
    Plan plan;
    Err err = {0};
    check_ok(read_lines(state,
                        "sglang serve --model m --tp 4 --disaggregation-mode prefill\n"
                        "sglang serve --model m --tp 4 --disaggregation-mode decode\n",
                        &plan, &err),
             &err);
    assert_int_equal(plan.pools[0].kind, POOL_PREFILL);
    assert_int_equal(plan.pools[1].kind, POOL_DECODE);
    assert_int_equal(plan.transfer_count, 1);
    assert_int_equal(plan.transfers[0].to_pool, 1);
}

// ---- Errors

static void test_launch_parse_refuses_unknown_flags(void **state) {
    check_refused(
        state, "vllm serve m\n  \nvllm serve m --tensor-paralel-size 4",
        "x.sh:3: \"--tensor-paralel-size\" is no flag of vllm that is known, did you mean "
        "--tensor-parallel-size?");
    check_refused(state, "vllm serve m --frobnicate",
                  "x.sh:1: \"--frobnicate\" is no flag of vllm that is known");
    check_refused(state, "VLLM_SECRET=1 vllm serve m",
                  "x.sh:1: the variable \"VLLM_SECRET\" is not known");
    check_refused(state, "vllm serve m n", "x.sh:1: expected a flag, found \"n\"");
    check_refused(state, "vllm serve m --tensor-parallel-size",
                  "x.sh:1: --tensor-parallel-size without a value");
    check_refused(state, "sglang serve --tp 4", "x.sh:1: the line names no model");
    check_refused(state, "ray start --head",
                  "x.sh:1: \"ray\" starts no engine that is known, expected \"vllm serve\" or "
                  "\"python3 -m sglang.launch_server\"");
    check_refused(state, "# nothing\n", "x.sh: no line starts an engine");
}

static void test_launch_parse_refuses_what_no_plan_has(void **state) {
    check_refused(state, "sglang serve --model m --tp 8 --moe-dp-size 2",
                  "x.sh:1: --moe-dp-size 2: no plan has that, expected 1");
    check_refused(state, "sglang serve --model m --tp 8 --attn-cp-size 2",
                  "x.sh:1: --attn-cp-size 2 without --enable-prefill-cp");
    check_refused(state, "sglang serve --model m --tp 8 --attn-cp-size 3 --enable-prefill-cp",
                  "x.sh:1: --attn-cp-size 3 does not divide the 8 ranks of a data-parallel one");
    check_refused(state, "NCCL_ALGO=Ring vllm serve m",
                  "x.sh:1: NCCL_ALGO: a plan that is read back leaves algorithms to NCCL");
    check_refused(state, "vllm serve m --speculative-config '{}'",
                  "x.sh:1: --speculative-config: plans have no draft model");
    check_refused(
        state, "vllm serve m --expert-placement-strategy round_robin",
        "x.sh:1: --expert-placement-strategy: \"round_robin\" is nothing that plans have");
    check_refused(state, "sglang serve --model m --init-expert-location map.pt",
                  "x.sh:1: --init-expert-location: \"map.pt\" is nothing that plans have");
    check_refused(state, "sglang serve --model m --tp 8 --moe-a2a-backend deepep",
                  "x.sh:1: an all-to-all without --enable-dp-attention: plans send tokens between "
                  "ranks of attention-DP alone");
    check_refused(state,
                  "vllm serve m --kv-transfer-config "
                  "'{\"kv_connector\":\"NixlConnector\",\"kv_role\":\"kv_both\"}'",
                  "x.sh:1: kv-transfer-config:1:43: kv_role: a plan has prefill and decode pools, "
                  "expected \"kv_producer\" or \"kv_consumer\"");
    check_refused(state, "vllm serve m --enable-eplb",
                  "x.sh: pools[0]: expert_placement \"eplb\" with ep 1, expected an ep above 1");
}

// Nodes of one server that differ hang at start (vllm-project/vllm#44718).
static void test_launch_parse_refuses_contradictions(void **state) {
    check_refused(
        state,
        "vllm serve m -dp 4 -dpl 2 -dpa a -ep\n"
        "vllm serve m -dp 4 -dpl 2 -dpa a -dpr 2 --headless\n",
        "x.sh:2: --enable-expert-parallel is not given here and true in line 1 of the same "
        "server");
    check_refused(state,
                  "sglang serve --model m --tp 16 --nnodes 2 --node-rank 0 --dist-init-addr a:1\n"
                  "sglang serve --model m --tp 8 --nnodes 2 --node-rank 1 --dist-init-addr a:1\n",
                  "x.sh:2: --tp-size is 8 here and 16 in line 1 of the same server");
    check_refused(state,
                  "sglang serve --model m --tp 16 --nnodes 2 --node-rank 0 --dist-init-addr a:1\n"
                  "sglang serve --model m --tp 16 --nnodes 2 --node-rank 0 --dist-init-addr a:1\n",
                  "x.sh:2: node 0 of the server stands in line 1 too");
    check_refused(state,
                  "sglang serve --model m --tp 16 --nnodes 2 --node-rank 0 --dist-init-addr a:1\n",
                  "x.sh:1: the server has 2 nodes, expected a line for each");
    check_refused(state, "vllm serve m\nsglang serve --model m\n",
                  "x.sh:2: a line of sglang among lines of vllm");
    check_refused(state, "vllm serve m\nvllm serve n\n", "x.sh:2: another model than in line 1");
    check_refused(state, "vllm serve m -tp 2 --tensor-parallel-size 4",
                  "x.sh:1: --tensor-parallel-size is 2, and --tensor-parallel-size is 4");
    check_refused(state, "CUDA_VISIBLE_DEVICES=0,1 vllm serve m -tp 4",
                  "x.sh:1: CUDA_VISIBLE_DEVICES shows 2 GPUs, the line uses 4");
}

static void test_launch_parse_refuses_numbers_out_of_range(void **state) {
    check_refused(state, "vllm serve m -tp 0", "x.sh:1: a width of 0, expected at least 1");
    check_refused(state, "vllm serve m -tp 99999999999999999999",
                  "x.sh:1: --tensor-parallel-size: expected a count, found "
                  "\"99999999999999999999\"");
    check_refused(state, "vllm serve m -tp 1000000000 -dp 1000000000",
                  "x.sh:1: more than 1000000 ranks");
    check_refused(state, "vllm serve m -tp $TP",
                  "x.sh:1: --tensor-parallel-size: expected a count, found \"$TP\"");
    check_refused(state, "vllm serve m --nnodes 1000000 --node-rank 0",
                  "x.sh:1: the server has 1000000 nodes, expected a line for each");
}

static void test_launch_parse_refuses_what_only_a_shell_answers(void **state) {
    check_refused(state, "vllm serve $(cat model)",
                  "x.sh:1: $(...) cannot be read, expected its value");
    check_refused(state, "vllm serve `cat model`",
                  "x.sh:1: `...` cannot be read, expected its value");
    check_refused(state, "vllm serve 'm", "x.sh:1: a single quote is not closed");
    check_refused(state, "vllm serve \"m", "x.sh:1: a double quote is not closed");
    check_refused(state, "(vllm serve m)",
                  "x.sh:1: ( and ) cannot be read, expected simple commands");
    check_refused(state, "cat <<EOF\nEOF\n", "x.sh:1: a here-document cannot be read");
    check_refused(state, "vllm serve \xff", "x.sh: not UTF-8");
}

// Comments place servers: replica 1 must lie behind replica 0.
static void test_launch_parse_reads_places(void **state) {
    Plan plan;
    Err err = {0};
    check_ok(read_lines(state,
                        "# node 3: pool 0, replica 0, GPUs 2-3 of 8\nvllm serve m -tp 2\n"
                        "# node 3: pool 0, replica 1, GPUs 4-5 of 8\nvllm serve m -tp 2\n",
                        &plan, &err),
             &err);
    assert_int_equal(plan.pools[0].first_gpu, 26);
    assert_int_equal(plan.pools[0].replicas, 2);
    check_refused(state,
                  "# node 3: pool 0, replica 0, GPUs 2-3 of 8\nvllm serve m -tp 2\n"
                  "# node 3: pool 0, replica 1, GPUs 6-7 of 8\nvllm serve m -tp 2\n",
                  "x.sh:4: replica 1 of pool 0: it is not alike the one before, or does not lie "
                  "behind it");
    check_refused(state,
                  "# node 3: pool 0, replica 0, GPUs 2-3 of 8\nvllm serve m -tp 2\n"
                  "vllm serve m -tp 2\n",
                  "x.sh:3: some lines say on which node they run and others do not");
    check_refused(state, "# node 0: pool 0, replica 0, GPUs 0-7 of 8\nvllm serve m -tp 2\n",
                  "x.sh:2: GPUs 0-7 of a node for 2 ranks");
}

// ---- The data

// A spelling belongs to one row in each version, and a row to the versions of the file.
static void test_launch_flags_are_sound(void **state) {
    const Flags *flags = *state;
    for (uint32_t e = 0; e < LAUNCH_ENGINE_COUNT; e++) {
        const LaunchFlags *all = &flags->all[e];
        for (uint32_t i = 0; i < all->flag_count; i++) {
            const LaunchFlag *row = &all->flags[i];
            const LaunchFlag *found =
                row->is_env ? launch_flags_env(all, row->name) : launch_flags_named(all, row->name);
            bool here = engine_version_in_range(&row->range, all->version);
            if (found != row && (here || strcmp(found->name, row->name) != 0))
                fail_msg("%s stands twice", row->name);
            assert_true(*row->source != '\0');
            for (uint32_t k = 0; k < row->also_count; k++)
                if (launch_flags_named(all, row->also[k]) != row)
                    fail_msg("%s of %s stands twice", row->also[k], row->name);
        }
    }
}

static void test_launch_flags_refuse_bad_files(void **state) {
    (void)state;
    static const char *const files[][2] = {
        {"key", ":3:58: flags[0]: unknown key \"mean\", did you mean \"means\"?"},
        {"name", ":3:21: flags[0].flag: expected a name such as --tp-size"},
        {"newer",
         ":1:39: version: engine-flags format 2 is newer than this program, which reads up to 1"},
        {"releases", ":1:70: releases: expected the first and the last one"},
        {"source", ":3:53: flags[0].source: expected one of \"sources\", found \"b\""},
        {"versions", ":3:70: flags[0].versions: expected a range such as \">=0.9,<0.12\" or \"*\", "
                     "found \"=>1\""},
        {"why", ":3:12: flags[0]: expected \"why\" of a flag that is refused, and of no other"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        LaunchFlags flags;
        Arena arena = {0};
        Err err = {0};
        char *bytes;
        size_t count;
        const char *path = arena_printf(&arena, "tests/bad/launch-flags-%s.json", files[i][0]);
        check_ok(file_read(path, FILE_CAP_B, &arena, &bytes, &count, &err), &err);
        if (launch_flags_parse(files[i][0], bytes, count, NULL, &flags, &err))
            fail_msg("%s was read", path);
        const char *want = arena_printf(&arena, "%s%s", files[i][0], files[i][1]);
        if (strcmp(err.text, want) != 0) fail_msg("%s\n  want %s", err.text, want);
        arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_launch_parse_reads_all_spellings),
        cmocka_unit_test(test_launch_parse_reads_scripts),
        cmocka_unit_test(test_launch_parse_takes_the_last_export),
        cmocka_unit_test(test_launch_parse_knows_defaults),
        cmocka_unit_test(test_launch_parse_finds_replicas),
        cmocka_unit_test(test_launch_parse_reads_load_balancing),
        cmocka_unit_test(test_launch_parse_reads_context_parallelism),
        cmocka_unit_test(test_launch_parse_puts_nodes_together),
        cmocka_unit_test(test_launch_parse_puts_far_nodes_together),
        cmocka_unit_test(test_launch_parse_reads_roles),
        cmocka_unit_test(test_launch_parse_refuses_unknown_flags),
        cmocka_unit_test(test_launch_parse_refuses_what_no_plan_has),
        cmocka_unit_test(test_launch_parse_refuses_contradictions),
        cmocka_unit_test(test_launch_parse_refuses_numbers_out_of_range),
        cmocka_unit_test(test_launch_parse_refuses_what_only_a_shell_answers),
        cmocka_unit_test(test_launch_parse_reads_places),
        cmocka_unit_test(test_launch_flags_are_sound),
        cmocka_unit_test(test_launch_flags_refuse_bad_files),
    };
    return cmocka_run_group_tests(tests, open_flags, close_flags);
}

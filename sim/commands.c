// The one table of commands and options.
//
// Invariant: every option is read by the function of its command, and a row without a function is a
// program of its own; the help, the manual page and the completion are printed from here and say
// nothing that the parser does not hold.
#include "sim/commands.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "sim/commands/check.h"
#include "sim/commands/compare.h"
#include "sim/commands/emit.h"
#include "sim/commands/explain.h"
#include "sim/commands/fit.h"
#include "sim/commands/import_plan.h"
#include "sim/commands/load.h"
#include "sim/commands/model.h"
#include "sim/commands/output.h"
#include "sim/commands/plan_capacity.h"
#include "sim/commands/rank.h"
#include "sim/commands/shard.h"
#include "sim/commands/simulate.h"
#include "sim/commands/tenants.h"
#include "sim/commands/topo.h"
#include "sim/commands/validate.h"
#include "sim/commands/whatif.h"

#define OPTION_FORMAT                                                                              \
    { "format", 'f', CLI_CHOICE, "table|json|csv", "table", "how to print the result" }
#define OPTION_ASSUME                                                                              \
    {                                                                                              \
        "assume", 0, CLI_TEXT, "FIELD=VALUE,...", NULL,                                            \
            "take these values for fields of the model's config that are missing or not "          \
            "understood"                                                                           \
    }
#define OPTION_DEGRADE                                                                             \
    {                                                                                              \
        "degrade", 0, CLI_TEXT, "FAULTS", NULL,                                                    \
            "parts and links that are down or slow, such as \"nvswitch[4]:down\", see \"moesim "   \
            "help topo\""                                                                          \
    }

#define OPTION_LOAD                                                                                \
    {                                                                                              \
        "load", 0, CLI_TEXT, "LOAD", NULL,                                                         \
            "which experts tokens go to: uniform (as without), zipf:S, lognormal:SIGMA or a file " \
            "of \"moesim load\""                                                                   \
    }

#define OPTION_FLOW_EPS                                                                            \
    {                                                                                              \
        "flow-eps", 0, CLI_TEXT, "PART", "0",                                                      \
            "let transfers that end within this part of their time end together, such as 1e-3; "   \
            "links idle meanwhile come on top; 0 is exact"                                         \
    }

#define OPTION_SAMPLES                                                                             \
    {                                                                                              \
        "samples", 0, CLI_COUNT, "N", "0",                                                         \
            "with a law in --load: step times over that many sampled loads, as percentiles"        \
    }

static const CliOption rank_options[] = {
    {"topo", 't', CLI_SHIPPED, "MACHINE", NULL,
     "a file, a shipped name or a string such as hgx-h100:4, see \"moesim help topo\" (required)"},
    OPTION_DEGRADE,
    {"model", 'm', CLI_SHIPPED, "MODEL", NULL, "a config.json, its folder or a shipped name"},
    {"scenario", 's', CLI_SHIPPED, "SCENARIO", NULL, "the workload: a file or a shipped name"},
    {"isl", 0, CLI_COUNT, "TOKENS", NULL,
     "input sequence length, tokens of a prompt (8k is 8000, 8Ki is 8192)"},
    {"osl", 0, CLI_COUNT, "TOKENS", NULL, "output sequence length, tokens of an answer"},
    {"concurrency", 'c', CLI_TEXT, "REQUESTS", NULL,
     "requests in flight over the whole machine; FIRST:LAST for the best plan of each doubling"},
    {"objective", 0, CLI_CHOICE, "throughput|interactivity|cost|ttft|tpot", "throughput",
     "what plans are ordered by: tok/s/GPU, tok/s/user, dollars of a token, or a time"},
    {"gpus", 0, CLI_TEXT, "N", NULL,
     "use at most N GPUs, or from FIRST:LAST, doubling; rates and prices are then of the GPUs that "
     "a plan uses"},
    {"engine", 0, CLI_CHOICE, "vllm|sglang|any", NULL,
     "leave out plans that this engine refuses, or that both do"},
    {"moe-tp", 0, CLI_CHOICE, "usual|any", "usual",
     "how experts may be cut: not at all, as attention is, by all ranks; or by any divisor"},
    {"max-ttft", 0, CLI_TIME, "TIME", NULL,
     "drop plans whose time to the first token is longer, such as 2s"},
    {"max-tpot", 0, CLI_TIME, "TIME", NULL,
     "drop plans whose time per output token is longer, such as 50ms"},
    {"price", 0, CLI_NUMBER, "DOLLARS", NULL,
     "price of one GPU for one hour, instead of the low end in the catalogue"},
    {"kv-format", 0, CLI_CHOICE, "bf16|fp8|any", NULL,
     "number format of the KV cache; any: both are tried"},
    {"memory-fraction", 0, CLI_NUMBER, "FRACTION", NULL,
     "part of a GPU's memory that the model may take, such as 0.9"},
    {"calibration", 0, CLI_TEXT, "FILE", NULL, "constants of the price model"},
    OPTION_LOAD,
    {"redundant-experts", 0, CLI_COUNT, "N", "0",
     "replicas of experts on top of those of each layer, as SGLang's --ep-num-redundant-experts; "
     "above 0 it turns on --eplb"},
    {"eplb", 0, CLI_FLAG, NULL, NULL,
     "place experts by DeepSeek's load balancer for the load (default: in order, as vLLM and "
     "SGLang "
     "do without their --enable-eplb)"},
    OPTION_SAMPLES,
    {"seed", 0, CLI_COUNT, "N", "1", "of --samples: which tokens"},
    OPTION_FLOW_EPS,
    OPTION_ASSUME,
    {"pools", 0, CLI_CHOICE, "unified|separate|both", "unified",
     "prefill and decode on the same GPUs, in pools of their own, or the better of both"},
    {"prefill-pool", 0, CLI_TEXT, "NUMBERS", NULL,
     "with separate pools: a prefill instance such as tp1,dp2,ep2, and x4 for four of them"},
    {"decode-pool", 0, CLI_TEXT, "NUMBERS", NULL, "with separate pools: the same for decode"},
    OPTION_FORMAT,
    {"top", 'n', CLI_COUNT, "N", "10", "how many plans to show and to save"},
    {"save", 0, CLI_TEXT, "DIR", NULL,
     "write the inputs, the plans shown and a report to a new or empty folder"},
    {"force", 0, CLI_FLAG, NULL, NULL,
     "with --save: replace a folder in which all files are as moesim saved them"},
    {"pareto", 0, CLI_FLAG, NULL, NULL,
     "show which plans no other one beats in both tok/s/GPU and tok/s/user"},
    {"svg", 0, CLI_TEXT, "FILE", NULL, "with --pareto: write the picture too (- for stdout)"},
    {0}};

static const CliOption compare_options[] = {
    {"by", 0, CLI_CHOICE, "class|operation", "class", "the rows of the table"},
    {"max-error", 0, CLI_NUMBER, "PERCENT", NULL,
     "exit with 1 when the mean size of the errors of all operations is larger, or none has one"},
    {"format", 'f', CLI_CHOICE, "table|json", "table", "how to print the result"},
    {0}};

static const CliOption simulate_options[] = {
    {"phase", 0, CLI_CHOICE, "decode|prefill", "decode",
     "which phase --trace, --schedule and --timeline write"},
    {"trace", 0, CLI_TEXT, "FILE", NULL,
     "write a trace for chrome://tracing or ui.perfetto.dev (- for stdout)"},
    {"schedule", 0, CLI_TEXT, "FILE", NULL,
     "write the schedule that was simulated, for moesim-run (- for stdout)"},
    {"timeline", 0, CLI_TEXT, "FILE", NULL,
     "write the time of every operation, for \"moesim compare\" (- for stdout)"},
    {"form", 0, CLI_CHOICE, "auto|folded|refined|expanded", "auto",
     "one member for all ranks of a role, for ranks that are alike, or for every rank"},
    OPTION_LOAD,
    OPTION_SAMPLES,
    OPTION_FLOW_EPS,
    {"format", 'f', CLI_CHOICE, "table|json", "table", "how to print the result"},
    {"collective", 0, CLI_CHOICE, "all-reduce|all-gather|reduce-scatter|all-to-all|broadcast", NULL,
     "simulate this collective instead of a plan"},
    {"topo", 't', CLI_SHIPPED, "MACHINE", NULL,
     "with --collective or --transfers: on this machine"},
    OPTION_DEGRADE,
    {"size", 0, CLI_TEXT, "SIZE", NULL,
     "with --collective: bytes such as 1MiB; of an all-to-all, from each rank to each other one"},
    {"ranks", 0, CLI_TEXT, "FIRST-LAST", NULL, "with --collective: these GPUs (default all)"},
    {"algorithm", 0, CLI_TEXT, "NAME", "direct",
     "with --collective: direct, ring, one-shot, pairwise, tree, pipelined-tree, in-switch, "
     "hierarchical, or auto, which compares all and takes the fastest"},
    {"inner", 0, CLI_COUNT, "N", NULL,
     "with --algorithm hierarchical: ranks of a node (default: of a scale-up domain)"},
    {"calibration", 0, CLI_TEXT, "FILE", NULL,
     "with --collective or --transfers: constants of the price model"},
    {"nominal", 0, CLI_FLAG, NULL, NULL,
     "with --collective or --transfers: links at their nominal rates, no software time"},
    {"matrix", 0, CLI_TEXT, "FILE", NULL,
     "with --collective all-to-all: bytes or sizes from each rank (row) to each one (column)"},
    {"count", 0, CLI_COUNT, "N", "1", "with --collective: that many calls in a row"},
    {"transfers", 0, CLI_TEXT, "FILE", NULL,
     "simulate these transfers: lines of FROM, TO, BYTES and perhaps START, such as \"gpu[i], "
     "dram[i/4], 1GiB\""},
    {"mover", 0, CLI_CHOICE, "kernels|copy-engines", "copy-engines",
     "with --transfers: what GPUs move bytes with, which decides how much of NVLink they reach"},
    {"network", 0, CLI_CHOICE, "flow|packet", "flow",
     "with --collective or --transfers: links shared by flows, or by packets with credits and "
     "finite buffers"},
    {"mtu", 0, CLI_TEXT, "SIZE", NULL, "of packets: payload (default 4096B)"},
    {"buffer", 0, CLI_TEXT, "SIZE", NULL,
     "of packets: room behind each link (default twice what its latency needs)"},
    {"route", 0, CLI_CHOICE, "stripe|hash|adaptive", "stripe",
     "of packets: dealt over all paths, one path for each pair, or to the emptiest output"},
    {"seed", 0, CLI_COUNT, "N", "1", "of packets: which paths; of --samples: which tokens"},
    {0}};

static const CliOption explain_options[] = {
    {"phase", 0, CLI_CHOICE, "decode|prefill", "decode", "which phase to explain"},
    {"quick", 'q', CLI_FLAG, NULL, NULL,
     "leave out what is simulated again and again: sensitivity, and what turns the order"},
    OPTION_DEGRADE,
    OPTION_FLOW_EPS,
    OPTION_FORMAT,
    {0}};

static const CliOption emit_options[] = {
    {"engine", 'e', CLI_CHOICE, "vllm|sglang", "vllm", "which engine to start"},
    {"engine-version", 0, CLI_TEXT, "VERSION", NULL,
     "of the engine, such as 0.11.0 (default: the last one whose rules are known)"},
    {"weights", 'w', CLI_TEXT, "PATH", NULL,
     "what the engine is to load: a folder or a repository (default: the model's name)"},
    {"model", 'm', CLI_SHIPPED, "MODEL", NULL, "of a plan that names none"},
    {"topo", 't', CLI_SHIPPED, "MACHINE", NULL, "of a plan that names none"},
    {"scenario", 's', CLI_SHIPPED, "SCENARIO", NULL, "of a plan that names none"},
    {0}};
static const CliOption import_plan_options[] = {
    {"model", 'm', CLI_SHIPPED, "MODEL", NULL,
     "what the lines serve: formats that they leave to the model (default: BF16)"},
    {"topo", 't', CLI_SHIPPED, "MACHINE", NULL, "named in the plan, which must fit on it"},
    {"scenario", 's', CLI_SHIPPED, "SCENARIO", NULL, "named in the plan"},
    {0}};

static const CliOption topo_options[] = {OPTION_DEGRADE, OPTION_FORMAT, {0}};
static const CliOption model_options[] = {
    {"tensors", 0, CLI_FLAG, NULL, NULL,
     "list every tensor of a checkpoint: type, shape, bytes, and how parallelism cuts it"},
    {"checkpoint", 0, CLI_TEXT, "PATH", NULL,
     "compare with a folder, a model.safetensors.index.json or a .safetensors file"},
    OPTION_ASSUME,
    OPTION_FORMAT,
    {0}};
static const CliOption load_options[] = {
    {"model", 'm', CLI_SHIPPED, "MODEL", NULL,
     "whose routing: a config.json, its folder or a shipped name"},
    {"law", 0, CLI_TEXT, "LAW", NULL,
     "make a load: popularity of the experts, uniform, zipf:S or lognormal:SIGMA"},
    {"seed", 0, CLI_COUNT, "N", "1", "with --law: of the random numbers"},
    {"tokens", 0, CLI_COUNT, "N", "4096", "with --law: of a layer, from all sources together"},
    {"layers", 0, CLI_TEXT, "N|all", "all", "with --law: how many layers, each drawn anew"},
    {"sources", 0, CLI_COUNT, "N", "1", "with --law: groups of ranks counted apart"},
    {"expected", 0, CLI_FLAG, NULL, NULL,
     "with --law: the shares that the law states, instead of sampled tokens"},
    {"nodes", 0, CLI_COUNT, "N", "1", "nodes over which the experts lie"},
    {"ep", 0, CLI_COUNT, "N", NULL, "say how even the load of N GPUs is, before and after EPLB"},
    {"redundant", 0, CLI_COUNT, "N", "0", "with --ep: redundant experts"},
    {"out", 'o', CLI_TEXT, "FILE", NULL, "write the load (- for stdout, without the summary)"},
    OPTION_FORMAT,
    {0}};
static const CliOption validate_options[] = {
    {"models", 0, CLI_TEXT, "DIR", NULL,
     "folder of published configs ORG--NAME.json (default: ../models beside the folder of each "
     "record file, where there is one)"},
    {"series", 0, CLI_TEXT, "S", NULL, "only rows of this series; * stands for any characters"},
    {"max-error", 0, CLI_NUMBER, "PERCENT", NULL,
     "exit with 1 when the error of any predicted row is larger, in either direction"},
    OPTION_FORMAT,
    {0}};
static const CliOption shard_options[] = {
    {"checkpoint", 0, CLI_TEXT, "DIR|INDEX", NULL,
     "a folder of safetensors files, its index or one file: real files and offsets"},
    {"engine", 0, CLI_CHOICE, "vllm|sglang", NULL,
     "place layers and experts that do not come out even as this engine does (stages that the plan "
     "lists stay)"},
    {"pool", 0, CLI_COUNT, "N", "0", "of a plan with several pools"},
    {"rank", 0, CLI_COUNT, "R", NULL, "list what this rank of the pool reads"},
    OPTION_FORMAT,
    {0}};
static const CliOption fit_options[] = {
    {"topo", 't', CLI_SHIPPED, "MACHINE", NULL,
     "the machine, or several joined by +: files, shipped names or strings, see \"moesim help "
     "topo\""},
    {"devices", 0, CLI_TEXT, "NAMES", NULL,
     "instead of --topo: --gpus of this device in one group; several joined by +, or all of the "
     "catalogue"},
    {"gpus", 0, CLI_COUNT, "N", "8", "with --devices: GPUs of each machine"},
    {"tp", 0, CLI_COUNT, "N", NULL, "tensor parallelism; without any of these four, simple plans"},
    {"pp", 0, CLI_COUNT, "N", NULL, "pipeline stages"},
    {"dp", 0, CLI_COUNT, "N", NULL, "attention-data parallelism"},
    {"ep", 0, CLI_COUNT, "N", NULL,
     "expert parallelism over tp x dp ranks; the rest of them cut experts"},
    {"dcp", 0, CLI_COUNT, "N", "1", "ranks of a TP group that the tokens of a cache are dealt to"},
    {"plan", 0, CLI_TEXT, "PLAN", NULL, "a saved plan, instead of --tp and so on"},
    {"context", 0, CLI_COUNT, "TOKENS", NULL, "tokens of a sequence, prompt and answer"},
    {"isl", 0, CLI_COUNT, "TOKENS", NULL, "with --osl instead of --context: tokens of a prompt"},
    {"osl", 0, CLI_COUNT, "TOKENS", NULL, "tokens of an answer"},
    {"concurrency", 'c', CLI_COUNT, "REQUESTS", "1", "sequences at once, over the whole plan"},
    {"kv-format", 0, CLI_CHOICE, "bf16|fp8", "bf16", "number format of the cache"},
    {"memory-fraction", 0, CLI_NUMBER, "FRACTION", NULL,
     "what the engine calls --gpu-memory-utilization or --mem-fraction-static (default: the "
     "engine's)"},
    {"chunk", 0, CLI_COUNT, "TOKENS", NULL,
     "most new tokens of a step on an attention-DP rank (default: the engine's)"},
    {"engine", 0, CLI_TEXT, "NAME", "vllm", "whose reserve and pages: vllm or sglang"},
    {"grouping", 0, CLI_CHOICE, "separate|min-count|near|gcd|best", NULL,
     "how layers with different caches share pages (default: as the engine does)"},
    {"lengths", 0, CLI_TEXT, "LENGTHS", NULL,
     "of sequences, for what pages lose: fixed:N, uniform:A-B or a file with a length a line"},
    {"formats", 0, CLI_TEXT, "FORMATS", NULL,
     "as if re-quantised, such as bf16,fp8,fp4: the best plan of each machine and format"},
    {"mtp", 0, CLI_FLAG, NULL, NULL, "load the draft layers too, on the last stage"},
    {"expand-latent", 0, CLI_FLAG, NULL, NULL,
     "keep keys and values of all heads instead of latents, as without an absorbed kernel"},
    {"memory", 0, CLI_TEXT, "SIZE", NULL,
     "of each GPU as a process sees it, such as 79.5GiB (default: the catalogue's)"},
    {"offload", 0, CLI_TEXT, "SIZES", NULL,
     "put weights=SIZE,kv=SIZE of each GPU into other memory"},
    {"offload-to", 0, CLI_TEXT, "NAME", "host", "memory of the machine by its part's name"},
    OPTION_ASSUME,
    OPTION_FORMAT,
    {0}};
static const CliOption check_options[] = {
    {"engine", 0, CLI_TEXT, "NAME", "vllm", "vllm, sglang, tensorrt-llm or a file of rules"},
    {"engine-version", 0, CLI_TEXT, "V", NULL,
     "its release, such as 0.11.0 (default: the last one that the rules are for)"},
    {"set", 0, CLI_TEXT, "OPTION=VALUE,...", NULL,
     "options of the engine that its rules look at, such as decode-context-parallel-size=8"},
    {"topo", 't', CLI_SHIPPED, "MACHINE", NULL,
     "the machine, for rules about GPUs and hosts (default: that of the plan)"},
    {"tp", 0, CLI_COUNT, "N", "1", "of a model: ways in which attention is cut"},
    {"pp", 0, CLI_COUNT, "N", "1", "of a model: pipeline stages"},
    {"dp", 0, CLI_COUNT, "N", "1", "of a model: attention-data parallelism"},
    {"ep", 0, CLI_COUNT, "N", "1",
     "of a model: expert parallelism over tp x dp ranks; the rest of them cut experts"},
    {"kv-format", 0, CLI_CHOICE, "bf16|fp8", "bf16", "of a model: number format of the cache"},
    OPTION_ASSUME,
    {"format", 'f', CLI_CHOICE, "table|json", "table", "how to print the result"},
    {0}};
static const CliOption tenants_options[] = {
    {"topo", 't', CLI_SHIPPED, "MACHINE", NULL,
     "the machine of all: a file, a shipped name or a string, see \"moesim help topo\" (required)"},
    OPTION_DEGRADE,
    {"at", 0, CLI_TEXT, "GPU,GPU,...", NULL,
     "the first GPU of each plan (default: first_gpu of the plan); dead ones are not counted"},
    {"scenario", 's', CLI_SHIPPED, "SCENARIO", NULL, "of plans that name none (default chat.json)"},
    {"calibration", 0, CLI_TEXT, "FILE", NULL, "constants of the price model, for all plans"},
    {"share-hosts", 0, CLI_FLAG, NULL, NULL,
     "list host memories that two tenants are near, instead of refusing them"},
    {"placements", 0, CLI_COUNT, "N", "12", "how many other places to simulate at most; 0: none"},
    OPTION_FORMAT,
    {0}};
// Of commands that search several machines or workloads: as those of rank, but --topo is a list and
// --price may name its machines.
#define OPTIONS_SEARCH                                                                              \
    {"topo",     't',  CLI_SHIPPED,                                                                 \
     "MACHINES", NULL, "a machine, or several joined by +, see \"moesim help topo\" (required)"},   \
        OPTION_DEGRADE,                                                                             \
        {"model", 'm', CLI_SHIPPED, "MODEL", NULL, "a config.json, its folder or a shipped name"},  \
        {"scenario", 's', CLI_SHIPPED, "SCENARIO", NULL, "the workload: a file or a shipped name"}, \
        {"isl", 0, CLI_COUNT, "TOKENS", NULL, "input sequence length"},                             \
        {"osl", 0, CLI_COUNT, "TOKENS", NULL, "output sequence length"},                            \
        {"concurrency", 'c',  CLI_COUNT,                                                            \
         "REQUESTS",    NULL, "requests in flight over the whole machine"},                         \
        {"max-ttft", 0, CLI_TIME, "TIME", NULL, "longest time to the first token, such as 2s"},     \
        {"max-tpot", 0, CLI_TIME, "TIME", NULL, "longest time per output token, such as 50ms"},     \
        {"price",                                                                                   \
         0,                                                                                         \
         CLI_TEXT,                                                                                  \
         "DOLLARS|NAME=DOLLARS,...",                                                                \
         NULL,                                                                                      \
         "price of one GPU for one hour, of all machines or of those with the names of machines "   \
         "or GPUs, instead of the low end in the catalogue"},                                       \
        {"kv-format", 0, CLI_CHOICE, "bf16|fp8", NULL, "number format of the KV cache"},            \
        {"memory-fraction", 0,    CLI_NUMBER,                                                       \
         "FRACTION",        NULL, "part of a GPU's memory that the model may take, such as 0.9"},   \
        {"calibration", 0, CLI_TEXT, "FILE", NULL, "constants of the price model"}, OPTION_LOAD,    \
        {"redundant-experts",                                                                       \
         0,                                                                                         \
         CLI_COUNT,                                                                                 \
         "N",                                                                                       \
         "0",                                                                                       \
         "replicas of experts on top of those of each layer"},                                      \
        {"eplb", 0, CLI_FLAG, NULL, NULL, "place experts by DeepSeek's load balancer"},             \
        OPTION_FLOW_EPS, OPTION_ASSUME

static const CliOption whatif_options[] = {
    {"vary", 'v', CLI_TEXT, "AXIS=VALUES,...", NULL,
     "what is varied: one or two of gpus, link.CLASS, fail, isl, osl, concurrency, kv-format, "
     "memory-fraction, price or price.NAME (required)"},
    OPTIONS_SEARCH,
    {"objective", 0, CLI_CHOICE, "throughput|interactivity|cost|ttft|tpot", NULL,
     "what wins, as in rank (default: throughput, cost for several machines)"},
    {"hold", 0, CLI_TEXT, "PLAN|best-of-first", NULL,
     "price this saved plan, or the best one of the first cell, in all cells (default: the best of "
     "each)"},
    {"refine", 0, CLI_NUMBER, "PERCENT", NULL,
     "find where the winner changes to this part of the value, by bisection"},
    {"csv", 0, CLI_TEXT, "FILE", NULL, "write all cells as CSV (- for stdout)"},
    {"svg", 0, CLI_TEXT, "FILE", NULL,
     "write a picture: lines of one axis, a map of winners of two (- for stdout)"},
    OPTION_FORMAT,
    {0}};
static const CliOption plan_capacity_options[] = {
    {"tokens-per-day", 0, CLI_COUNT, "N", NULL,
     "tokens of prompts and answers together, split by --isl and --osl, such as 500M (required)"},
    OPTIONS_SEARCH,
    {"utilization", 0, CLI_NUMBER, "PART", "1",
     "part of what full machines could serve in a day, to leave room for peaks"},
    {"budget", 0, CLI_TEXT, "DOLLARS/hour|DOLLARS/month", NULL, "the most that all may cost"},
    {"capex", 0, CLI_TEXT, "DOLLARS|NAME=DOLLARS,...", NULL,
     "price of buying one machine, to compare with renting it"},
    {"life", 0, CLI_NUMBER, "YEARS", NULL, "with --capex: how long a bought machine is used"},
    {"as-of", 0, CLI_TEXT, "YYYY-MM-DD", NULL,
     "refuse catalogue prices of later months, and say how old the others are"},
    OPTION_FORMAT,
    {0}};
static const CliOption no_options[] = {{0}};

// name, summary, operands, details, options, least and most operands, function
#define COMMAND_LIST(X)                                                                            \
    X("rank", "order all parallel plans for a model on a machine", "",                             \
      "Considers combinations of tensor, pipeline, attention-data and expert parallelism, "        \
      "simulates all that are legal and fit, and prints the best ones and why the others are "     \
      "not there. With neither --model nor --scenario the workload is scenarios/chat.json. "       \
      "Values given as options replace those of the scenario. With --pools separate or both: "     \
      "prefill and decode instances in pools of their own, xPyD, joined by transfers of caches "   \
      "over the links of the machine. Exits with 1 when no plan is left.",                         \
      rank_options, 0, 0, rank_command)                                                            \
    X("whatif", "vary one or two inputs and say where the best plan changes", "",                  \
      "Ranks plans in each cell of a grid and prints the best with its figures, and between "      \
      "which values the winner changes. An axis is NAME=VALUES: a:b doubles from a to b, "         \
      "a:b:step "                                                                                  \
      "adds, and a,b,c lists. gpus changes the count of a machine such as hgx-h100:4, or the "     \
      "counts of the parts of a file; link.CLASS sets the rate of each cable of that class (ib, "  \
      "eth, nvlink, pcie, ...); fail=link|plane|nic|switch|gpu takes the machine as built and "    \
      "with "                                                                                      \
      "one such part down. Everything else stays as given: the concurrency too. Exits with 1 "     \
      "when no cell has a plan.",                                                                  \
      whatif_options, 0, 0, whatif_command)                                                        \
    X("plan-capacity", "machines and dollars for so many tokens a day", "",                        \
      "For each machine finds the plan and the concurrency that serve most within the limits, "    \
      "and how many such machines the demand takes, rounded up. Prints nodes and costs, the "      \
      "cheapest machine, from how many tokens a day another one is the cheapest, and with "        \
      "--capex when owning beats renting. Prices are dated inputs of the device catalogue, or "    \
      "--price. Exits with 1 when no machine keeps the limits, or the budget is too small.",       \
      plan_capacity_options, 0, 0, plan_capacity_command)                                          \
    X("simulate", "simulate a saved plan again, a collective or transfers", "[PLAN]",              \
      "Reads a plan that rank --save wrote, with the inputs beside it, simulates it and says "     \
      "whether the saved prediction came out again. Exits with 1 when it did not. With "           \
      "--collective: simulates that on a machine and prints time, lower bound and bandwidths as "  \
      "nccl-tests defines them. With --transfers: moves bytes between GPUs, CPUs, NICs, memories " \
      "and storage of a machine, named as messages name them (tray[3].gpu[1]; a number is a GPU) " \
      "or by patterns (gpu[*]), and prints when each is there.",                                   \
      simulate_options, 0, 1, simulate_command)                                                    \
    X("compare", "lay a predicted and a measured timeline side by side", "SIM REAL",               \
      "Joins what \"simulate --timeline\" and \"moesim-run run --timeline\" wrote for the "        \
      "same schedule, shape and load, operation by operation: the error of each class of "         \
      "operations on each class of links, and communication predicted and measured, with what no " \
      "computing hides. Times of an operation are of one rank, the mean over those of its role, "  \
      "waiting for partners included; a class sums its operations in all roles. Files of other "   \
      "schedules, or of operations that another implementation ran, are refused by name; what a "  \
      "run skipped or stood in for has no error.",                                                 \
      compare_options, 2, 2, compare_command)                                                      \
    X("explain", "say where the time and the memory of a saved plan go, or why two differ",        \
      "PLAN [PLAN]",                                                                               \
      "Prints what takes the time of a cycle and of one phase, the time by class of operation "    \
      "with its share of the roofline, communication against its links and what hides it, the "    \
      "fullest link and whose bytes are on it, memory by term, how much the result hangs on each " \
      "constant and class of links, and every constant with its interval and source. Of two "      \
      "plans: why one step is slower, class by class, and what would turn their order.",           \
      explain_options, 1, 2, explain_command)                                                      \
    X("topo", "check and summarise a machine", "MACHINE",                                          \
      "Reads a topology file, a shipped name, a one-line string or a dump of a real machine, "     \
      "and prints counts, bandwidth out of a GPU by class of link, bisection and diameter. Dumps " \
      "are what these print or read: nvidia-smi topo -m and nvlink -s, rocm-smi --showtopo, "      \
      "amd-smi topology, NCCL and RCCL topology XML, hwloc XML, ibnetdiscover and ibsim, Slurm "   \
      "topology.conf and topology.yaml, topograph, NetQ, NMX-C, and the simulators SimAI, "        \
      "ASTRA-sim and htsim; what is degraded, tied, missing, assumed or unknown is listed, and "   \
      "--format json prints a topology file to edit. The strings are "                             \
      "ring:N,RATE, switch:N,RATE and mesh:N,RATE (N GPUs on links of RATE in each direction, "    \
      "such as switch:8,450GB/s); torus:4x4x4,RATE; dragonfly:p=2,a=4,h=2,RATE (a*h+1 groups of "  \
      "a routers with p GPUs and h channels); fattree:k=8,RATE (k^3/4 GPUs); "                     \
      "leafspine:nodes=32,gpus=8,nic=RATE,nvlink=RATE,leaf=16,oversubscription=2 (leaves of 16 "   \
      "NICs; ports=N to refuse larger switches); superpod-h100:Nsu, superpod-b200:Nsu, "           \
      "superpod-b300:Nsu, superpod-b300-xdr:Nsu and superpod-rubin:Nsu (N units; nodes=N of a "    \
      "unit); nvl72:N, gb300-nvl72:N and vr-nvl72:N (N racks under a non-blocking tree), "         \
      "hgx-h100:N, -a100, -h200, -h20, -h800, -b200, -b300, -rubin, mi300x:N, mi325x:N "           \
      "and mi355x:N (N nodes, the same). After a comma follow, for units, racks and "              \
      "nodes, ib=RATE or eth=RATE (InfiniBand or Ethernet of each NIC, such as "                   \
      "ib=400Gbps) and oversubscription=R (one cable up for R down at a leaf); "                   \
      "latency=TIME (of a link of those with rates; 500 ns by default in ring, switch "            \
      "and mesh); and device=NAME (of every GPU; H100 SXM by "                                     \
      "default in those with rates, TPU v5p in torus). --degrade takes faults separated "          \
      "by commas: PART:LEFT, or FROM>TO:LEFT for the links between two parts. Parts are "          \
      "named from the root of the machine, as in its file: tray[0].gpu[1], nvswitch[*]; "          \
      "a name that ends at a template stands for all parts inside. LEFT is down, a share "         \
      "such as 50% or 17/18, a rate such as 25GB/s (the most that each link keeps in "             \
      "each direction) or cables-N (N cables of each link are down). A slow part has "             \
      "slow links. Quote it, because shells expand brackets, * and >.",                            \
      topo_options, 1, 1, topo_command)                                                            \
    X("model", "check and summarise a model's config.json", "MODEL",                               \
      "Prints parameters, weight bytes by component, and the bytes of KV cache and state. With "   \
      "--tensors: every tensor. With --checkpoint: what is missing, extra, of another shape or "   \
      "type, overlapping, truncated or otherwise wrong, from the headers of the files and their "  \
      "index alone; the exit status is 1 with findings, and 2 when a file cannot be used at all.", \
      model_options, 1, 1, model_command)                                                          \
    X("fit", "say what fits where, term by term", "MODEL",                                         \
      "For each stage of a plan prints weights, cache and state by kind of attention with pages "  \
      "and groups, activations, communication buffers, graphs and the engine's reserve; the "      \
      "longest context and the most sequences that fit; and what overflows by how much. Without "  \
      "a plan, simple ones: TP, TP over pipeline stages, attention-DP with expert parallelism. "   \
      "With several machines or formats, the smallest plan of each that fits. Exits with 1 when "  \
      "nothing fits.",                                                                             \
      fit_options, 1, 1, fit_command)                                                              \
    X("check", "say whether an engine starts a plan", "PLAN|MODEL",                                \
      "Asks the rules of an engine, which are data (scenarios/engines), about a saved plan or "    \
      "about a model and --tp, --pp, --dp and --ep. Prints each rule that is broken with the "     \
      "numbers and its source, what is legal but worth knowing, what cannot be decided without "   \
      "a machine, and the nearest legal plans. Exits with 1 when a rule is broken.",               \
      check_options, 1, 1, check_command)                                                          \
    X("tenants", "say what several plans on one machine cost each other", "PLANS...",              \
      "Runs plans side by side in one simulation, each with its own model and workload, where "    \
      "they share links. Proves from the GPUs that no two share a device or a memory, and "        \
      "refuses those that do. Prints for each plan the decode step and TTFT alone and beside "     \
      "the decode steps of the others, the links that are contested, and better places for the "   \
      "same plans. A plan has one unified pool.",                                                  \
      tenants_options, 1, CLI_OPERANDS_MAX, tenants_command)                                       \
    X("load", "make or summarise a load: which experts tokens go to", "[FILE]",                    \
      "With --law: samples what the tokens of a model choose, layer by layer, with its top-k and " \
      "its groups. With FILE: reads a load that was made so or recorded. Prints the hottest "      \
      "expert of each layer over the mean, with --ep how even the load of GPUs is when experts "   \
      "lie in order and when DeepSeek's load balancer places them, and on how many nodes the "     \
      "experts of a sampled token lie.",                                                           \
      load_options, 0, 1, load_command)                                                            \
    X("validate", "hold predictions against published measurements", "FILES...",                   \
      "Reads record files: CSV with a row for each published figure, of the kind that the "        \
      "header line says (checkpoint and memory records and rankings are predicted so far). "       \
      "Prints each row with what moesim predicts and the error, or why it predicts nothing; "      \
      "the median and the 90th percentile of the absolute errors, the bias and the coverage "      \
      "of each series; the mean over the series of each family; and a last line. Errors are "      \
      "percentages of what was measured, or of what the row names instead (free cache memory: "    \
      "of the GPU's memory). With --max-error, rows that exceed the bound are marked, and the "    \
      "exit status is 1 when there is one or when no row was predicted. --format csv prints "      \
      "the rows alone. A file of rankings comes alone: its plans are simulated, and each "         \
      "group of plans (of one case, metric and load; --series picks metrics) has Kendall's "       \
      "tau, the regret of taking the plan predicted best, and whether the best is among the "      \
      "first three, beside a random order and the widest TP; groups that are not scored are "      \
      "counted with the reason.",                                                                  \
      validate_options, 1, CLI_OPERANDS_MAX, validate_command)                                     \
    X("shard", "say which bytes of which files each rank of a plan reads", "PLAN",                 \
      "Cuts the weights of the plan's model over the ranks of a pool: bytes by stage and rank, "   \
      "what readers of whole tensors or files would read on top and hold in host memory, and the " \
      "proof that every byte is read by exactly the ranks that own it. With --rank: the byte "     \
      "ranges in the order of the files; a range is COUNT pieces of LENGTH bytes, one every "      \
      "STRIDE. Exits with 1 when bytes are left over or the engine refuses the plan.",             \
      shard_options, 1, 1, shard_command)                                                          \
    X("emit", "print the lines that start a plan on an engine", "PLAN",                            \
      "Prints one command for each node of each server, with ranks, flags of memory, network and " \
      "hand-over of caches, the GPU arithmetic in comments, and the benchmark that would confirm " \
      "or refute the prediction. The model and the machine are those beside the plan, or of the "  \
      "options for a plan that names none; without a scenario there are no lengths and no "        \
      "benchmark. Addresses and interfaces are variables to be set. Exits with 1 when the engine " \
      "refuses the plan or has no flag for something in it.",                                      \
      emit_options, 1, 1, emit_command)                                                            \
    X("import-plan", "read lines that start an engine back into a plan", "FILE",                   \
      "Reads shell lines that start vLLM or SGLang (- for stdin) and prints the plan that they "   \
      "start. Lines of one server are found by its address and must agree. A flag that is not "    \
      "known is refused, because it may matter.",                                                  \
      import_plan_options, 1, 1, import_plan_command)                                              \
    X("run", "run a plan for real (starts moesim-run)", "[ARGUMENT...]",                           \
      "Everything after the word run is handed to moesim-run.", no_options, 0, CLI_OPERANDS_MAX,   \
      NULL)                                                                                        \
    X("view", "look at a machine and a timeline (moesim-view, not part of this build)",            \
      "[ARGUMENT...]", "Everything after the word view is handed to moesim-view.", no_options, 0,  \
      CLI_OPERANDS_MAX, NULL)

static const CliCommand commands_table[] = {
#define X(name, summary, operands, details, options, least, most, function)                        \
    {name, summary, operands, details, options, least, most},
    COMMAND_LIST(X)
#undef X
        {0}};

static int (*const commands_functions[])(const CliArgs *) = {
#define X(name, summary, operands, details, options, least, most, function) function,
    COMMAND_LIST(X)
#undef X
};

static_assert(sizeof commands_table / sizeof *commands_table ==
                  sizeof commands_functions / sizeof *commands_functions + 1,
              "every command has a function");

const CliProgram commands_moesim = {
    "moesim", "0.1.0", "rank parallel plans for Mixture-of-Experts inference by simulation",
    commands_table, "November 29, 2026"};

bool commands_is_program(const char *name) {
    for (size_t i = 0; commands_table[i].name != NULL; i++)
        if (strcmp(commands_table[i].name, name) == 0) return commands_functions[i] == NULL;
    return false;
}

static int answer(const CliArgs *args) {
    Text out = {0};
    Err err = {0};
    return cli_answer(&commands_moesim, args, &out, &err) ? output_text(&out, OUTPUT_OK)
                                                          : output_bad(&err);
}

int commands_run(const CliArgs *args) {
    if (cli_is_built_in(args->command)) return answer(args);
    ptrdiff_t index = args->command - commands_table;
    assert(index >= 0 && (size_t)index < sizeof commands_functions / sizeof *commands_functions);
    return commands_functions[index](args);
}

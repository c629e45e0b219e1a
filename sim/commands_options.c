// The options of the commands.
//
// Invariant: an option that several commands have is written once and means the same to each.
#include "sim/commands_table.h"

#include <stddef.h>

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

#define OPTION_DEVICE                                                                              \
    {                                                                                              \
        "device", 0, CLI_TEXT, "NAME", NULL,                                                       \
            "the GPUs of the machine are of this device of the catalogue, whatever it says of "    \
            "them"                                                                                 \
    }

#define OPTION_POOLS                                                                               \
    {                                                                                              \
        "pools", 0, CLI_CHOICE, "unified|separate|both", "unified",                                \
            "prefill and decode on the same GPUs, in pools of their own, or the better of both"    \
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

const CliOption commands_rank_options[] = {
    {"topo", 't', CLI_SHIPPED, "MACHINE", NULL,
     "a file, a shipped name or a string such as hgx-h100:4, see \"moesim help topo\" (required)"},
    OPTION_DEVICE,
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
     "use at most N GPUs; FIRST:LAST for the best plan of each doubling; rates and prices are then "
     "of the GPUs that a plan uses"},
    {"engine", 0, CLI_CHOICE, "vllm|sglang|any", NULL,
     "leave out plans that this engine refuses, or that both do"},
    {"moe-tp", 0, CLI_CHOICE, "usual|any", "usual",
     "how experts may be cut: not at all, as attention is, by all ranks; or by any divisor"},
    {"placement", 0, CLI_CHOICE, "linear|stages|nodes|leaves|packed|any", NULL,
     "how ranks lie on the machine: in order, stages inside DP, TP groups dealt to nodes or to "
     "leaves, stages packed into nodes; any: each (default: in order, and others around the first "
     "plans)"},
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
    OPTION_POOLS,
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
     "show which plans no other one beats in both tok/s/GPU and tok/s/user, of a range over all "
     "its loads and sizes"},
    {"svg", 0, CLI_TEXT, "FILE", NULL, "with --pareto: write the picture too (- for stdout)"},
    {0}};

const CliOption commands_compare_options[] = {
    {"by", 0, CLI_CHOICE, "class|operation", "class", "the rows of the table"},
    {"max-error", 0, CLI_NUMBER, "PERCENT", NULL,
     "exit with 1 when the mean size of the errors of all operations is larger, or none has one"},
    {"format", 'f', CLI_CHOICE, "table|json", "table", "how to print the result"},
    {0}};

const CliOption commands_simulate_options[] = {
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
    OPTION_DEVICE,
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

const CliOption commands_explain_options[] = {
    {"phase", 0, CLI_CHOICE, "decode|prefill", "decode", "which phase to explain"},
    {"quick", 'q', CLI_FLAG, NULL, NULL,
     "leave out what is simulated again and again: sensitivity, and what turns the order"},
    OPTION_DEGRADE,
    OPTION_FLOW_EPS,
    OPTION_FORMAT,
    {0}};

const CliOption commands_emit_options[] = {
    {"engine", 'e', CLI_CHOICE, "vllm|sglang", "vllm", "which engine to start"},
    {"engine-version", 0, CLI_TEXT, "VERSION", NULL,
     "of the engine, such as 0.11.0 (default: the last one whose rules are known)"},
    {"weights", 'w', CLI_TEXT, "PATH", NULL,
     "what the engine is to load: a folder or a repository (default: the model's name)"},
    {"model", 'm', CLI_SHIPPED, "MODEL", NULL, "of a plan that names none"},
    {"topo", 't', CLI_SHIPPED, "MACHINE", NULL, "of a plan that names none"},
    OPTION_DEVICE,
    {"scenario", 's', CLI_SHIPPED, "SCENARIO", NULL, "of a plan that names none"},
    {0}};
const CliOption commands_import_plan_options[] = {
    {"model", 'm', CLI_SHIPPED, "MODEL", NULL,
     "what the lines serve: formats that they leave to the model (default: BF16)"},
    {"topo", 't', CLI_SHIPPED, "MACHINE", NULL, "named in the plan, which must fit on it"},
    OPTION_DEVICE,
    {"scenario", 's', CLI_SHIPPED, "SCENARIO", NULL, "named in the plan"},
    {0}};

const CliOption commands_topo_options[] = {OPTION_DEVICE, OPTION_DEGRADE, OPTION_FORMAT, {0}};
const CliOption commands_model_options[] = {
    {"tensors", 0, CLI_FLAG, NULL, NULL,
     "list every tensor of a checkpoint: type, shape, bytes, and how parallelism cuts it"},
    {"checkpoint", 0, CLI_TEXT, "PATH", NULL,
     "compare with a folder, a model.safetensors.index.json or a .safetensors file"},
    OPTION_ASSUME,
    OPTION_FORMAT,
    {0}};
const CliOption commands_load_options[] = {
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
    OPTION_ASSUME,
    {"out", 'o', CLI_TEXT, "FILE", NULL, "write the load (- for stdout, without the summary)"},
    OPTION_FORMAT,
    {0}};
const CliOption commands_validate_options[] = {
    {"models", 0, CLI_TEXT, "DIR", NULL,
     "folder of published configs ORG--NAME.json (default: ../models beside the folder of each "
     "record file, where there is one)"},
    {"series", 0, CLI_TEXT, "S", NULL, "only rows of this series; * stands for any characters"},
    {"max-error", 0, CLI_NUMBER, "PERCENT", NULL,
     "exit with 1 when the error of any predicted row is larger, in either direction"},
    OPTION_FORMAT,
    {0}};
const CliOption commands_calibrate_options[] = {
    {"topo", 't', CLI_SHIPPED, "MACHINE", NULL,
     "of records: what was measured, rank r on GPU r, as in \"moesim topo\""},
    OPTION_DEVICE,
    OPTION_DEGRADE,
    {"calibration", 0, CLI_TEXT, "FILE", NULL,
     "the prior: what the data do not tell stays as it is there (default: the shipped constants)"},
    {"plan", 0, CLI_TEXT, "PLAN", NULL,
     "of timelines: the saved plan whose schedule was run, with its machine beside it"},
    {"phase", 0, CLI_CHOICE, "decode|prefill", "decode", "of timelines: the phase that was run"},
    {"load", 0, CLI_TEXT, "LOAD", NULL,
     "of timelines: the load that was run, as of simulate (default: that of the plan)"},
    {"held-out", 0, CLI_TEXT, "RECORDS", NULL, "predict these too, without fitting them"},
    {"statistic", 0, CLI_CHOICE, "min|p25|median", "min", "what stands for the samples of a case"},
    {"min-bound", 0, CLI_TIME, "TIME", "0s",
     "cases whose link or roofline bound is below this are printed, not fitted and not judged"},
    {"max-mape", 0, CLI_TEXT, "PERCENT", NULL,
     "exit with 1 when the mean error of the cases held out is larger"},
    {"max-worst", 0, CLI_TEXT, "PERCENT", NULL,
     "exit with 1 when the largest error of the cases held out is larger"},
    {"output", 'o', CLI_TEXT, "FILE", NULL, "write the fitted constants, for --calibration"},
    {"format", 'f', CLI_CHOICE, "table|json", "table", "how to print the result"},
    {0}};
const CliOption commands_scale_options[] = {
    {"ranks", 0, CLI_COUNT, "R", NULL, "ranks of the smaller plan (default: as many)"},
    {"hidden", 0, CLI_TEXT, "1/K", NULL,
     "divide the hidden size, widths, the vocabulary and numbers of heads (default: as they are)"},
    {"layers", 0, CLI_COUNT, "N", NULL, "keep the first N layers (default: all)"},
    {"experts", 0, CLI_COUNT, "N", NULL,
     "experts of a layer (default: as many on each rank as there were)"},
    {"topo", 't', CLI_SHIPPED, "MACHINE", NULL,
     "the machine to run on, as in \"moesim topo\" (default: that of the plan)"},
    OPTION_DEVICE,
    OPTION_DEGRADE,
    {"isl", 0, CLI_COUNT, "TOKENS", NULL, "input sequence length (default: that of the plan)"},
    {"osl", 0, CLI_COUNT, "TOKENS", NULL, "output sequence length (default: that of the plan)"},
    {"concurrency", 'c', CLI_COUNT, "REQUESTS", NULL,
     "requests in flight (default: as many on each rank as there were)"},
    {"save", 0, CLI_TEXT, "DIR", NULL,
     "write the smaller model, workload and plan to a new or empty folder"},
    {"force", 0, CLI_FLAG, NULL, NULL,
     "with --save: replace a folder in which all files are as moesim saved them"},
    {"format", 'f', CLI_CHOICE, "table|json", "table", "how to print the result"},
    {0}};
const CliOption commands_shard_options[] = {
    {"checkpoint", 0, CLI_TEXT, "DIR|INDEX", NULL,
     "a folder of safetensors files, its index or one file: real files and offsets"},
    {"engine", 0, CLI_CHOICE, "vllm|sglang", NULL,
     "place layers and experts that do not come out even as this engine does (stages that the plan "
     "lists stay)"},
    {"pool", 0, CLI_COUNT, "N", "0", "of a plan with several pools"},
    {"rank", 0, CLI_COUNT, "R", NULL, "list what this rank of the pool reads"},
    OPTION_FORMAT,
    {0}};
const CliOption commands_fit_options[] = {
    {"topo", 't', CLI_SHIPPED, "MACHINE", NULL,
     "the machine, or several joined by +: files, shipped names or strings, see \"moesim help "
     "topo\""},
    OPTION_DEVICE,
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
const CliOption commands_check_options[] = {
    {"engine", 0, CLI_TEXT, "NAME", "vllm", "vllm, sglang, tensorrt-llm or a file of rules"},
    {"engine-version", 0, CLI_TEXT, "V", NULL,
     "its release, such as 0.11.0 (default: the last one that the rules are for)"},
    {"set", 0, CLI_TEXT, "OPTION=VALUE,...", NULL,
     "options of the engine that its rules look at, such as decode-context-parallel-size=8"},
    {"topo", 't', CLI_SHIPPED, "MACHINE", NULL,
     "the machine, for rules about GPUs and hosts (default: that of the plan)"},
    OPTION_DEVICE,
    {"tp", 0, CLI_COUNT, "N", "1", "of a model: ways in which attention is cut"},
    {"pp", 0, CLI_COUNT, "N", "1", "of a model: pipeline stages"},
    {"dp", 0, CLI_COUNT, "N", "1", "of a model: attention-data parallelism"},
    {"ep", 0, CLI_COUNT, "N", "1",
     "of a model: expert parallelism over tp x dp ranks; the rest of them cut experts"},
    {"kv-format", 0, CLI_CHOICE, "bf16|fp8", "bf16", "of a model: number format of the cache"},
    OPTION_ASSUME,
    {"format", 'f', CLI_CHOICE, "table|json", "table", "how to print the result"},
    {0}};
const CliOption commands_tenants_options[] = {
    {"topo", 't', CLI_SHIPPED, "MACHINE", NULL,
     "the machine of all: a file, a shipped name or a string, see \"moesim help topo\" (required)"},
    OPTION_DEVICE,
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
        OPTION_DEVICE, OPTION_DEGRADE,                                                              \
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
        OPTION_FLOW_EPS, OPTION_ASSUME, OPTION_POOLS

const CliOption commands_whatif_options[] = {
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
const CliOption commands_plan_capacity_options[] = {
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
const CliOption commands_no_options[] = {{0}};

// The one table of commands and options.
//
// Invariant: every option is read by the function of its command, and a row without a function is a
// program of its own; the help, the manual page and the completion are printed from here and say
// nothing that the parser does not hold.
#include "sim/commands.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "sim/commands/explain.h"
#include "sim/commands/load.h"
#include "sim/commands/model.h"
#include "sim/commands/output.h"
#include "sim/commands/rank.h"
#include "sim/commands/simulate.h"
#include "sim/commands/topo.h"

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
    {"concurrency", 'c', CLI_COUNT, "REQUESTS", NULL, "requests in flight over the whole machine"},
    {"max-ttft", 0, CLI_TIME, "TIME", NULL,
     "drop plans whose time to the first token is longer, such as 2s"},
    {"max-tpot", 0, CLI_TIME, "TIME", NULL,
     "drop plans whose time per output token is longer, such as 50ms"},
    {"price", 0, CLI_NUMBER, "DOLLARS", NULL,
     "price of one GPU for one hour, instead of the low end in the catalogue"},
    {"kv-format", 0, CLI_CHOICE, "bf16|fp8", NULL, "number format of the KV cache"},
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
    OPTION_FORMAT,
    {"top", 'n', CLI_COUNT, "N", "10", "how many plans to show and to save"},
    {"save", 0, CLI_TEXT, "DIR", NULL,
     "write the inputs and the plans shown to a new or empty folder"},
    {0}};

static const CliOption simulate_options[] = {
    {"phase", 0, CLI_CHOICE, "decode|prefill", "decode",
     "which phase --trace and --schedule write"},
    {"trace", 0, CLI_TEXT, "FILE", NULL,
     "write a trace for chrome://tracing or ui.perfetto.dev (- for stdout)"},
    {"schedule", 0, CLI_TEXT, "FILE", NULL,
     "write the schedule that was simulated, for moesim-run (- for stdout)"},
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
    OPTION_DEGRADE,
    OPTION_FLOW_EPS,
    {0}};

static const CliOption topo_options[] = {OPTION_DEGRADE, OPTION_FORMAT, {0}};
static const CliOption model_options[] = {OPTION_ASSUME, OPTION_FORMAT, {0}};
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
static const CliOption no_options[] = {{0}};

// name, summary, operands, details, options, least and most operands, function
#define COMMAND_LIST(X)                                                                            \
    X("rank", "order all parallel plans for a model on a machine", "",                             \
      "Considers combinations of tensor, pipeline, attention-data and expert parallelism, "        \
      "simulates all that are legal and fit, and prints the best ones and why the others are "     \
      "not there. With neither --model nor --scenario the workload is scenarios/chat.json. "       \
      "Values given as options replace those of the scenario. Exits with 1 when no plan is left.", \
      rank_options, 0, 0, rank_command)                                                            \
    X("simulate", "simulate a saved plan again, a collective or transfers", "[PLAN]",              \
      "Reads a plan that rank --save wrote, with the inputs beside it, simulates it and says "     \
      "whether the saved prediction came out again. Exits with 1 when it did not. With "           \
      "--collective: simulates that on a machine and prints time, lower bound and bandwidths as "  \
      "nccl-tests defines them. With --transfers: moves bytes between GPUs, CPUs, NICs, memories " \
      "and storage of a machine, named as messages name them (tray[3].gpu[1]; a number is a GPU) " \
      "or by patterns (gpu[*]), and prints when each is there.",                                   \
      simulate_options, 0, 1, simulate_command)                                                    \
    X("explain", "say where the time and the memory of a saved plan go", "PLAN",                   \
      "Prints what takes the time of a cycle and of one phase, the time by class of operation "    \
      "with its share of the roofline, communication that "                                        \
      "nothing hides, bytes and bandwidth by class of link, memory by term, and every constant "   \
      "with its interval and source.",                                                             \
      explain_options, 1, 1, explain_command)                                                      \
    X("topo", "check and summarise a machine", "MACHINE",                                          \
      "Reads a topology file, a shipped name or a one-line string, and prints counts, "            \
      "bandwidth out of a GPU by class of link, bisection and diameter. The strings are "          \
      "ring:N,RATE, switch:N,RATE and mesh:N,RATE (N GPUs on links of RATE in each direction, "    \
      "such as switch:8,450GB/s); torus:4x4x4,RATE; dragonfly:p=2,a=4,h=2,RATE (a*h+1 groups of "  \
      "a routers with p GPUs and h channels); fattree:k=8,RATE (k^3/4 GPUs); "                     \
      "leafspine:nodes=32,gpus=8,nic=RATE,nvlink=RATE,leaf=16,oversubscription=2 (leaves of 16 "   \
      "NICs; ports=N to refuse larger switches); superpod-h100:Nsu, superpod-b200:Nsu, "           \
      "superpod-b300:Nsu, superpod-b300-xdr:Nsu and superpod-rubin:Nsu (N units; nodes=N of a "    \
      "unit); nvl72:N, gb300-nvl72:N and vr-nvl72:N (N racks under a non-blocking tree) and "      \
      "hgx-h100:N (N nodes). After a comma follow latency=TIME (of a link of those with rates; "   \
      "500 ns by default in ring, switch and mesh) and device=NAME (of every GPU; H100 SXM by "    \
      "default in those with rates, TPU v5p in torus). --degrade takes faults separated "          \
      "by commas: PART:LEFT, or FROM>TO:LEFT for the links between two parts. Parts are "          \
      "named from the root of the machine, as in its file: tray[0].gpu[1], nvswitch[*]; "          \
      "a name that ends at a template stands for all parts inside. LEFT is down, a share "         \
      "such as 50% or 17/18, a rate such as 25GB/s (the most that each link keeps in "             \
      "each direction) or cables-N (N cables of each link are down). A slow part has "             \
      "slow links. Quote it, because shells expand brackets, * and >.",                            \
      topo_options, 1, 1, topo_command)                                                            \
    X("model", "check and summarise a model's config.json", "MODEL",                               \
      "Prints parameters, weight bytes by component, and the bytes of KV cache and state.",        \
      model_options, 1, 1, model_command)                                                          \
    X("load", "make or summarise a load: which experts tokens go to", "[FILE]",                    \
      "With --law: samples what the tokens of a model choose, layer by layer, with its top-k and " \
      "its groups. With FILE: reads a load that was made so or recorded. Prints the hottest "      \
      "expert of each layer over the mean, with --ep how even the load of GPUs is when experts "   \
      "lie in order and when DeepSeek's load balancer places them, and on how many nodes the "     \
      "experts of a sampled token lie.",                                                           \
      load_options, 0, 1, load_command)                                                            \
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

// The one table of commands and options.
//
// Invariant: every option is read by the function of its command, and a row without a function is a
// program of its own; the help, the manual page and the completion are printed from here and say
// nothing that the parser does not hold.
#include "sim/commands.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "sim/commands/calibrate.h"
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
#include "sim/commands/scale.h"
#include "sim/commands/shard.h"
#include "sim/commands/simulate.h"
#include "sim/commands/tenants.h"
#include "sim/commands/topo.h"
#include "sim/commands/validate.h"
#include "sim/commands/whatif.h"
#include "sim/commands_table.h"

// name, summary, operands, details, options, least and most operands, function
#define COMMAND_LIST(X)                                                                            \
    X("rank", "order all parallel plans for a model on a machine", "",                             \
      "Considers combinations of tensor, pipeline, attention-data and expert parallelism, "        \
      "simulates all that are legal and fit, and prints the best ones and why the others are "     \
      "not there. With neither --model nor --scenario the workload is scenarios/chat.json. "       \
      "Values given as options replace those of the scenario. With --pools separate or both: "     \
      "prefill and decode instances in pools of their own, xPyD, joined by transfers of caches "   \
      "over the links of the machine. Exits with 1 when no plan is left.",                         \
      commands_rank_options, 0, 0, rank_command)                                                   \
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
      commands_whatif_options, 0, 0, whatif_command)                                               \
    X("plan-capacity", "machines and dollars for so many tokens a day", "",                        \
      "For each machine finds the plan and the concurrency that serve most within the limits, "    \
      "and how many such machines the demand takes, rounded up. Prints nodes and costs, the "      \
      "cheapest machine, from how many tokens a day another one is the cheapest, and with "        \
      "--capex when owning beats renting. Prices are dated inputs of the device catalogue, or "    \
      "--price. Exits with 1 when no machine keeps the limits, or the budget is too small.",       \
      commands_plan_capacity_options, 0, 0, plan_capacity_command)                                 \
    X("simulate", "simulate a saved plan again, a collective or transfers", "[PLAN]",              \
      "Reads a plan that rank --save wrote, with the inputs beside it, simulates it and says "     \
      "whether the saved prediction came out again. Exits with 1 when it did not. With "           \
      "--collective: simulates that on a machine and prints time, lower bound and bandwidths as "  \
      "nccl-tests defines them. With --transfers: moves bytes between GPUs, CPUs, NICs, memories " \
      "and storage of a machine, named as messages name them (tray[3].gpu[1]; a number is a GPU) " \
      "or by patterns (gpu[*]), and prints when each is there.",                                   \
      commands_simulate_options, 0, 1, simulate_command)                                           \
    X("compare", "lay a predicted and a measured timeline side by side", "SIM REAL",               \
      "Joins what \"simulate --timeline\" and \"moesim-run run --timeline\" wrote for the "        \
      "same schedule, shape and load, operation by operation: the error of each class of "         \
      "operations on each class of links, and communication predicted and measured, with what no " \
      "computing hides. Times of an operation are of one rank, the mean over those of its role, "  \
      "waiting for partners included; a class sums its operations in all roles. Files of other "   \
      "schedules, or of operations that another implementation ran, are refused by name; what a "  \
      "run skipped or stood in for has no error.",                                                 \
      commands_compare_options, 2, 2, compare_command)                                             \
    X("explain", "say where the time and the memory of a saved plan go, or why two differ",        \
      "PLAN [PLAN]",                                                                               \
      "Prints what takes the time of a cycle and of one phase, the time by class of operation "    \
      "with its share of the roofline, communication against its links and what hides it, the "    \
      "fullest link and whose bytes are on it, memory by term, how much the result hangs on each " \
      "constant and class of links, and every constant with its interval and source. Of two "      \
      "plans: why one step is slower, class by class, and what would turn their order.",           \
      commands_explain_options, 1, 2, explain_command)                                             \
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
      "nodes, ib=RATE or eth=RATE (InfiniBand or Ethernet of each NIC: ib=400Gbps, ib=NDR, "       \
      "eth=400G) and oversubscription=R (one cable up for R down at a leaf); "                     \
      "latency=TIME (of a link of those with rates; 500 ns by default in ring, switch "            \
      "and mesh); and device=NAME (of every GPU; H100 SXM by "                                     \
      "default in those with rates, TPU v5p in torus). --degrade takes faults separated "          \
      "by commas: PART:LEFT, or FROM>TO:LEFT for the links between two parts. Parts are "          \
      "named from the root of the machine, as in its file: tray[0].gpu[1], nvswitch[*]; "          \
      "a name that ends at a template stands for all parts inside. LEFT is down, a share "         \
      "such as 50% or 17/18, a rate such as 25GB/s (the most that each link keeps in "             \
      "each direction) or cables-N (N cables of each link are down). A slow part has "             \
      "slow links. Quote it, because shells expand brackets, * and >.",                            \
      commands_topo_options, 1, 1, topo_command)                                                   \
    X("model", "check and summarise a model's config.json", "MODEL",                               \
      "Prints parameters, weight bytes by component, and the bytes of KV cache and state. With "   \
      "--tensors: every tensor. With --checkpoint: what is missing, extra, of another shape or "   \
      "type, overlapping, truncated or otherwise wrong, from the headers of the files and their "  \
      "index alone; the exit status is 1 with findings, and 2 when a file cannot be used at all.", \
      commands_model_options, 1, 1, model_command)                                                 \
    X("fit", "say what fits where, term by term", "MODEL",                                         \
      "For each stage of a plan prints weights, cache and state by kind of attention with pages "  \
      "and groups, activations, communication buffers, graphs and the engine's reserve; the "      \
      "longest context and the most sequences that fit; and what overflows by how much. Without "  \
      "a plan, simple ones: TP, TP over pipeline stages, attention-DP with expert parallelism. "   \
      "With several machines or formats, the smallest plan of each that fits. Exits with 1 when "  \
      "nothing fits.",                                                                             \
      commands_fit_options, 1, 1, fit_command)                                                     \
    X("check", "say whether an engine starts a plan", "PLAN|MODEL",                                \
      "Asks the rules of an engine, which are data (scenarios/engines), about a saved plan or "    \
      "about a model and --tp, --pp, --dp and --ep. Prints each rule that is broken with the "     \
      "numbers and its source, what is legal but worth knowing, what cannot be decided without "   \
      "a machine, and the nearest legal plans. Exits with 1 when a rule is broken.",               \
      commands_check_options, 1, 1, check_command)                                                 \
    X("tenants", "say what several plans on one machine cost each other", "PLANS...",              \
      "Runs plans side by side in one simulation, each with its own model and workload, where "    \
      "they share links. Proves from the GPUs that no two share a device or a memory, and "        \
      "refuses those that do. Prints for each plan the decode step and TTFT alone and beside "     \
      "the decode steps of the others, the links that are contested, and better places for the "   \
      "same plans. A plan has one unified pool.",                                                  \
      commands_tenants_options, 1, CLI_OPERANDS_MAX, tenants_command)                              \
    X("load", "make or summarise a load: which experts tokens go to", "[FILE]",                    \
      "With --law: samples what the tokens of a model choose, layer by layer, with its top-k and " \
      "its groups. With FILE: reads a load that was made so or recorded. Prints the hottest "      \
      "expert of each layer over the mean, with --ep how even the load of GPUs is when experts "   \
      "lie in order and when DeepSeek's load balancer places them, and on how many nodes the "     \
      "experts of a sampled token lie.",                                                           \
      commands_load_options, 0, 1, load_command)                                                   \
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
      commands_validate_options, 1, CLI_OPERANDS_MAX, validate_command)                            \
    X("shard", "say which bytes of which files each rank of a plan reads", "PLAN",                 \
      "Cuts the weights of the plan's model over the ranks of a pool: bytes by stage and rank, "   \
      "what readers of whole tensors or files would read on top and hold in host memory, and the " \
      "proof that every byte is read by exactly the ranks that own it. With --rank: the byte "     \
      "ranges in the order of the files; a range is COUNT pieces of LENGTH bytes, one every "      \
      "STRIDE. Exits with 1 when bytes are left over or the engine refuses the plan.",             \
      commands_shard_options, 1, 1, shard_command)                                                 \
    X("calibrate", "fit the constants of the price model to measurements", "RECORDS|TIMELINE...",  \
      "Reads what \"moesim-run bench\" measured (communication of the machine, or kernels of its " \
      "device), or the timelines of runs of a saved plan (--plan), predicts each case or "         \
      "operation by the same simulation and prices that rank plans, and fits the constants that "  \
      "the data tell: robust least squares, 95 % intervals, correlations, the error with each "    \
      "size and each shape left out, the noise of the samples and the error of the constants as "  \
      "they were beside it. A constant of which less would be known than before stays at its "     \
      "prior, and is said to. Kernels without a price are left out, and counted with the reason.", \
      commands_calibrate_options, 1, CLI_OPERANDS_MAX, calibrate_command)                          \
    X("scale", "make a smaller plan with the communication pattern of a saved one", "PLAN",        \
      "Divides the widths of the model, keeps its first layers and as many experts on each rank, " \
      "keeps the kinds of groups of the plan over fewer ranks, simulates the result and saves it " \
      "as a plan of its own, which says where it comes from: what a large machine would "          \
      "communicate can then be run, and compared with its prediction, on a small one.",            \
      commands_scale_options, 1, 1, scale_command)                                                 \
    X("emit", "print the lines that start a plan on an engine", "PLAN",                            \
      "Prints one command for each node of each server, with ranks, flags of memory, network and " \
      "hand-over of caches, the GPU arithmetic in comments, and the benchmark that would confirm " \
      "or refute the prediction. The model and the machine are those beside the plan, or of the "  \
      "options for a plan that names none; without a scenario there are no lengths and no "        \
      "benchmark. Addresses and interfaces are variables to be set. Exits with 1 when the engine " \
      "refuses the plan or has no flag for something in it.",                                      \
      commands_emit_options, 1, 1, emit_command)                                                   \
    X("import-plan", "read lines that start an engine back into a plan", "FILE",                   \
      "Reads shell lines that start vLLM or SGLang (- for stdin) and prints the plan that they "   \
      "start. Lines of one server are found by its address and must agree. A flag that is not "    \
      "known is refused, because it may matter.",                                                  \
      commands_import_plan_options, 1, 1, import_plan_command)                                     \
    X("run", "run a plan for real (starts moesim-run)", "[ARGUMENT...]",                           \
      "Everything after the word run is handed to moesim-run.", commands_no_options, 0,            \
      CLI_OPERANDS_MAX, NULL)                                                                      \
    X("view", "look at a machine and a timeline (moesim-view, not part of this build)",            \
      "[ARGUMENT...]", "Everything after the word view is handed to moesim-view.",                 \
      commands_no_options, 0, CLI_OPERANDS_MAX, NULL)

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

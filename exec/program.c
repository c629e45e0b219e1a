// The commands and options of moesim-run.
//
// Invariant: help, manual page and completion are printed from the table that the parser reads.
#include "exec/program.h"

#include <string.h>

#include "exec/backends.h"
#include "exec/bench.h"
#include "exec/detect.h"
#include "exec/mpi/mpirun.h"
#include "exec/run.h"

static const CliOption run_options[] = {
    {"tokens", 0, CLI_COUNT, "N", "1", "new tokens of one attention-DP rank"},
    {"sequences", 0, CLI_COUNT, "N", "1", "sequences that they belong to"},
    {"kv-tokens", 0, CLI_COUNT, "N", "1", "cached tokens that attention reads, over all sequences"},
    {"qk-pairs", 0, CLI_COUNT, "N", "1", "pairs of a new token and a token that it attends to"},
    {"load", 0, CLI_TEXT, "FILE", NULL, "tokens by expert; every expert gets the same without it"},
    {"backend", 0, CLI_CHOICE, BACKENDS_CHOICES, "host",
     "what the ranks are, and how bytes move; under mpirun, moesim-run-mpi takes mpi"},
    {"compute", 0, CLI_TEXT, "UNIT", "skip",
     "what runs where the schedule computes: skip, timed:FILE of a predicted timeline, or model"},
    {"model", 0, CLI_TEXT, "MODEL", NULL, "model: the config.json whose seeded weights compute"},
    {"plan", 0, CLI_TEXT, "FILE", NULL, "model: the plan that the schedule is of"},
    {"assume", 0, CLI_TEXT, "FIELD=VALUE,...", NULL,
     "model: take these values for fields of its config"},
    {"routing", 0, CLI_CHOICE, "free|forced", "free",
     "model: experts are chosen by the router, or so that each gets what the load gives it"},
    {"texts", 0, CLI_COUNT, "N", "0",
     "model: texts over all ranks; what ranks have beyond is padding, in neither logits nor load "
     "(0: no padding)"},
    {"logits", 0, CLI_TEXT, "FILE", NULL, "model: write the logits behind every pass, as CSV"},
    {"write-load", 0, CLI_TEXT, "FILE", NULL,
     "model: write which experts the tokens went to, for \"moesim simulate --load\""},
    {"timeline", 0, CLI_TEXT, "FILE", NULL,
     "write the time of every operation on every rank, for \"moesim compare\""},
    {"iterations", 0, CLI_COUNT, "N", "1", "runs of the schedule; FILE becomes FILE-001, ..."},
    {"warm-up", 0, CLI_COUNT, "N", "0", "runs before them, of which no timeline is written"},
    {"timeout", 0, CLI_TIME, "TIME", "30 s", "how long a rank waits for a silent one"},
    {"hosts", 0, CLI_TEXT, "LIST", NULL,
     "net: NAME:RANKS of each host, by commas; all ranks on this host without it"},
    {"interface", 0, CLI_TEXT, "NAME", NULL,
     "net: the network interface of every host; without it, names of hosts are addresses"},
    {"agent", 0, CLI_TEXT, "COMMAND", NULL,
     "net: starts a program on a host, given its name and the program's words, as ssh does"},
    {"by-hand", 0, CLI_TEXT, "PORT", NULL,
     "net: hosts other than the first are started by people, told here what to type there"},
    {"join", 0, CLI_FLAG, NULL, NULL, "net: what an agent is given, to be one host of a run"},
    {"join-at", 0, CLI_TEXT, "WHERE", NULL, "net: what people type, to be one host of a run"},
    {"seed", 0, CLI_COUNT, "N", "1", "of the bytes that fill every buffer before the run"},
    {"format", 'f', CLI_CHOICE, "table|json", "table", "how to print the result"},
    {0}};

static const CliOption bench_options[] = {
    {"cases", 0, CLI_TEXT, "LIST", "all",
     "sets (p2p, collectives, alltoallv, pairs, all; gemm, copy) and files of cases, by commas"},
    {"backend", 0, CLI_CHOICE, BACKENDS_CHOICES, "host",
     "what the ranks are, and how bytes move; under mpirun, moesim-run-mpi takes mpi"},
    {"ranks", 0, CLI_COUNT, "N", "4",
     "how many on this host, without --hosts; under mpirun as many as it started"},
    {"warm-up", 0, CLI_COUNT, "N", "3", "times that each case is done before its samples"},
    {"samples", 0, CLI_COUNT, "N", "12", "of each case at most"},
    {"interval", 0, CLI_TEXT, "PERCENT", "2",
     "end with fewer when the 95 % interval of the median is narrower; 0: never"},
    {"output", 'o', CLI_TEXT, "FILE", NULL,
     "write every sample as a record, for \"moesim calibrate\""},
    {"seed", 0, CLI_COUNT, "N", "1", "of the order of the cases, and of skewed matrices in sets"},
    {"timeout", 0, CLI_TIME, "TIME", "30 s", "how long a rank waits for a silent one"},
    {"hosts", 0, CLI_TEXT, "LIST", NULL,
     "NAME:RANKS of each host, by commas; all ranks on this host without it"},
    {"interface", 0, CLI_TEXT, "NAME", NULL,
     "net: the network interface of every host; without it, names of hosts are addresses"},
    {"agent", 0, CLI_TEXT, "COMMAND", NULL,
     "net: starts a program on a host, given its name and the program's words, as ssh does"},
    {"join", 0, CLI_FLAG, NULL, NULL, "net: what an agent is given, to be one host of a run"},
    {"round", 0, CLI_TEXT, "ROUND", NULL, "net: what an agent is given, to know which samples"},
    {0}};

static const CliOption detect_options[] = {
    {"output", 'o', CLI_TEXT, "FILE", NULL, "write it there instead of to stdout"}, {0}};

static const CliCommand commands[] = {
    {.name = "run",
     .summary = "run a schedule on real bytes",
     .operands = "SCHEDULE",
     .details =
         "Checks the schedule, fills every buffer of every rank with seeded bytes, runs all "
         "copies, sends, receives and collectives on them, and prints a digest of each buffer and "
         "the bytes moved. Each stream of each rank is a thread. Operations that compute are "
         "skipped and listed, or stood in by a sleep as long as a timeline predicts; both are "
         "marked in the timeline that is written. On several hosts (--backend net --hosts "
         "10.0.0.1:2,10.0.0.2:2) either an agent starts the program there, with the same files at "
         "the same paths (--agent ssh), or people do (--by-hand 7000, within ten time-outs): the "
         "first host is then this one, and for each other one the line to type there is printed.",
     .options = run_options,
     .min_operands = 1,
     .max_operands = 1},
    {.name = "bench",
     .summary = "measure messages, collectives and kernels",
     .operands = "",
     .details =
         "Does each case again and again, all cases in another random order each time, and prints "
         "its minimum, lower quartile and median, and how far the samples tell the median. All "
         "ranks start a case at the same instant; it ends with the last of them. What other "
         "processes took of the processors meanwhile, and how late ranks started, is printed "
         "beside it. A file of cases has lines such as \"alltoall size=1MiB algorithm=direct\", "
         "\"all_reduce size=1MiB algorithm=hierarchical inner=2 ranks=4\" (inner: ranks of a "
         "node; ranks: the first so many), \"send_recv size=64KiB from=0 to=1\", \"alltoallv "
         "size=1MiB seed=3\" (skewed), \"alltoallv size=1MiB pairs=0>2,1>3\" and \"gemm m=1 "
         "n=1024 k=1024 format=bf16\". With the mpi back end all samples are taken in one run.",
     .options = bench_options},
    {.name = "detect",
     .summary = "write the topology of this machine",
     .operands = "",
     .details =
         "Writes what hwloc finds here as a topology file, for \"moesim topo\", \"moesim rank\" "
         "and the others. On a machine without GPUs each core is the place of one rank, so "
         "that what the host and net back ends run here can be predicted.",
     .options = detect_options},
    {0}};

const CliProgram program_moesim_run = {
    .name = "moesim-run",
    .version = PROGRAM_VERSION,
    .summary = "run schedules of moesim for real",
    .commands = commands,
    .date = "November 29, 2026",
};

static bool is_file_name(const char *word) {
    return *word != '-' && strpbrk(word, "./") != NULL;
}

static bool start(int argc, char **argv, Text *out, Err *err) {
    char run_word[] = "run";
    char *words[CLI_OPERANDS_MAX + 2 * CLI_OPTIONS_MAX];
    CliArgs args = {0};
    if (argc >= 2 && is_file_name(argv[1]) && (size_t)argc < sizeof words / sizeof words[0]) {
        words[0] = argv[0];
        words[1] = run_word;
        for (int i = 1; i < argc; i++) words[i + 1] = argv[i];
        argv = words;
        argc++;
    }
    if (!cli_parse(&program_moesim_run, argc, argv, &args, err)) return false;
    if (cli_is_built_in(args.command)) return cli_answer(&program_moesim_run, &args, out, err);
    if (strcmp(args.command->name, "bench") == 0) return bench_command(&args, out, err);
    if (strcmp(args.command->name, "detect") == 0) return detect_command(&args, out, err);
    return run_command(&args, out, err);
}

bool program_start(int argc, char **argv, Text *out, Err *err) {
    return start(argc, argv, out, err) || mpirun_tell(err);
}

// The commands and options of moesim-run.
//
// Invariant: help, manual page and completion are printed from the table that the parser reads.
#include "exec/program.h"

#include <string.h>

#include "exec/run.h"

static const CliOption run_options[] = {
    {"tokens", 0, CLI_COUNT, "N", "1", "new tokens of one attention-DP rank"},
    {"sequences", 0, CLI_COUNT, "N", "1", "sequences that they belong to"},
    {"kv-tokens", 0, CLI_COUNT, "N", "1", "cached tokens that attention reads, over all sequences"},
    {"qk-pairs", 0, CLI_COUNT, "N", "1", "pairs of a new token and a token that it attends to"},
    {"load", 0, CLI_TEXT, "FILE", NULL, "tokens by expert; every expert gets the same without it"},
    {"timeline", 0, CLI_TEXT, "FILE", NULL,
     "write the time of every operation on every rank, for \"moesim compare\""},
    {"seed", 0, CLI_COUNT, "N", "1", "of the bytes that fill every buffer before the run"},
    {"format", 'f', CLI_CHOICE, "table|json", "table", "how to print the result"},
    {0}};

static const CliCommand commands[] = {
    {.name = "run",
     .summary = "run the data movement of a schedule on the host",
     .operands = "SCHEDULE",
     .details =
         "Checks the schedule, fills every buffer of every rank with seeded bytes, runs all "
         "copies, sends, receives and collectives on them in one thread, and prints a digest "
         "of each buffer and the bytes moved. Operations that compute are skipped, and "
         "listed.",
     .options = run_options,
     .min_operands = 1,
     .max_operands = 1},
    {0}};

const CliProgram program_moesim_run = {
    .name = "moesim-run",
    .version = "0.1.0",
    .summary = "run schedules of moesim for real",
    .commands = commands,
    .date = "November 29, 2026",
};

static bool is_file_name(const char *word) {
    return *word != '-' && strpbrk(word, "./") != NULL;
}

bool program_start(int argc, char **argv, Text *out, Err *err) {
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
    return run_command(&args, out, err);
}

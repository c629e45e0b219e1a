// One table of commands and options yields parsing, --help, the man page and the shell completion
// of a program.
#ifndef MODEL_BASE_CLI_H
#define MODEL_BASE_CLI_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/text.h"

// CLI_FLAG takes no argument; all others take one, `--name VALUE` or `--name=VALUE`. CLI_SHIPPED is
// a file or the name of something that comes with the program: `PROGRAM completion ARGUMENT` lists
// those names, for options and for commands whose only operand is that ARGUMENT.
typedef enum CliKind {
    CLI_FLAG,
    CLI_TEXT,
    CLI_SHIPPED,
    CLI_COUNT,
    CLI_TIME,
    CLI_NUMBER,
    CLI_CHOICE
} CliKind;

typedef struct CliOption {
    const char *name; // without the dashes: "topo"
    char letter;      // short form, 0 for none
    CliKind kind;
    const char *argument; // "FILE"; for CLI_CHOICE the names joined by '|': "table|json|csv"
    const char *fallback; // default as text, shown in the help; NULL for none
    const char *help;     // one line, lower case, no trailing dot
} CliOption;

typedef struct CliCommand {
    const char *name;         // "rank"
    const char *summary;      // one line
    const char *operands;     // "PLAN" or "" ; "[PLAN]" is optional; "..." repeats
    const char *details;      // a few sentences for the man page and `help COMMAND`
    const CliOption *options; // ends with a zeroed entry
    uint32_t min_operands, max_operands;
} CliCommand;

typedef struct CliProgram {
    const char *name;    // "moesim"
    const char *version; // "0.1.0"
    const char *summary;
    const CliCommand *commands; // ends with a zeroed entry
    const char *date;           // of the manual page: "November 29, 2026"
} CliProgram;

#define CLI_OPTIONS_MAX  48
#define CLI_OPERANDS_MAX 64

// The parsed line. Strings are borrowed from argv and from the tables. values[i] belongs to
// options[i]: NULL when not given and without a default; "1" for a flag that was given.
typedef struct CliArgs {
    const CliCommand *command;
    const char *values[CLI_OPTIONS_MAX];
    bool given[CLI_OPTIONS_MAX];
    const char *operands[CLI_OPERANDS_MAX];
    uint32_t operand_count;
    char **words; // the command and all after it, as they were given
    uint32_t word_count;
} CliArgs;

// Parses argv[1..]: the command name, then options and operands in any order, "--" ends options.
// Unknown commands and options name the nearest one; an option given twice, a bad number, an
// unknown choice and a wrong number of operands are errors. `--help` and COMMAND --help parse as
// `help`, `--version` as `version`.
bool cli_parse(const CliProgram *program, int argc, char **argv, CliArgs *out, Err *err);

// Every command by number: those of the table, then those that every program has; NULL after the
// last.
const CliCommand *cli_listed_command(const CliProgram *program, uint32_t index);
uint32_t cli_option_count(const CliCommand *command);

// The value of an option by name ("" never: NULL when absent). The name must exist in the table.
const char *cli_text(const CliArgs *args, const char *name);
bool cli_is_given(const CliArgs *args, const char *name);
// Values that cli_parse has checked; must not be absent.
uint64_t cli_count(const CliArgs *args, const char *name);
uint32_t cli_choice(const CliArgs *args, const char *name); // position among the choices

// help [COMMAND], version, man and completion: every program has them besides the commands of its
// table. cli_answer appends what such a command prints; an unknown operand of help is an error.
bool cli_is_built_in(const CliCommand *command);
bool cli_answer(const CliProgram *program, const CliArgs *args, Text *out, Err *err);

// The texts alone: of one command, or of all when `command` is NULL.
void cli_help(const CliProgram *program, const CliCommand *command, Text *out);
void cli_man(const CliProgram *program, Text *out);        // mdoc
void cli_completion(const CliProgram *program, Text *out); // bash (zsh by bashcompinit)
// The shipped names that stand for MACHINE, SCENARIO or MODEL, a line each.
bool cli_shipped(const char *argument, Text *out, Err *err);

#endif

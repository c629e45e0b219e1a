// Commands and options: parsing, help, manual page and completion, all from the same table.
//
// Invariant: a CliArgs that cli_parse gave out holds only values that its getters can read, so that
// callers need no further checks; every text lists commands and options in the order of the table.
#include "model/base/cli.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "model/base/units.h"

#define HELP_COLUMNS 80
#define COMMANDS_MAX 64

// The commands that every program has, listed behind its own.
typedef enum BuiltIn {
    BUILT_IN_HELP,
    BUILT_IN_VERSION,
    BUILT_IN_MAN,
    BUILT_IN_COMPLETION,
    BUILT_IN_COUNT
} BuiltIn;

static const CliCommand built_in[BUILT_IN_COUNT] = {
    [BUILT_IN_HELP] = {"help", "list the commands, or explain one", "[COMMAND]", "", NULL, 0, 1},
    [BUILT_IN_VERSION] = {"version", "print the version", "", "", NULL, 0, 0},
    [BUILT_IN_MAN] = {"man", "print the manual page (mdoc)", "", "", NULL, 0, 0},
    [BUILT_IN_COMPLETION] = {"completion", "print the completion script for bash and zsh",
                             "[ARGUMENT]",
                             "The current shell takes it by source <(PROGRAM completion). With "
                             "MACHINE, SCENARIO or MODEL it lists the shipped names instead.",
                             NULL, 0, 1},
};

const CliCommand *cli_listed_command(const CliProgram *program, uint32_t index) {
    uint32_t count = 0;
    while (program->commands[count].name != NULL) count++;
    if (index < count) return &program->commands[index];
    return index - count < BUILT_IN_COUNT ? &built_in[index - count] : NULL;
}

static const CliCommand *find_command(const CliProgram *program, const char *name) {
    const CliCommand *command;
    for (uint32_t i = 0; (command = cli_listed_command(program, i)) != NULL; i++) {
        if (strcmp(command->name, name) == 0) break;
    }
    return command;
}

uint32_t cli_option_count(const CliCommand *command) {
    uint32_t count = 0;
    while (command->options != NULL && command->options[count].name != NULL) count++;
    assert(count <= CLI_OPTIONS_MAX);
    return count;
}

static uint32_t find_option(const CliCommand *command, const char *name, size_t length) {
    for (uint32_t i = 0; i < cli_option_count(command); i++) {
        const char *candidate = command->options[i].name;
        if (strlen(candidate) == length && memcmp(candidate, name, length) == 0) return i;
    }
    return UINT32_MAX;
}

static uint32_t find_letter(const CliCommand *command, char letter) {
    for (uint32_t i = 0; i < cli_option_count(command); i++) {
        if (command->options[i].letter == letter && letter != '\0') return i;
    }
    return UINT32_MAX;
}

// Choices.

// The next of the names joined by '|': sets its length and returns what follows, or NULL at the
// end.
static const char *next_choice(const char *list, size_t *length) {
    *length = strcspn(list, "|");
    return list[*length] == '|' ? list + *length + 1 : NULL;
}

static uint32_t choice_index(const char *list, const char *name) {
    size_t length;
    for (uint32_t i = 0; list != NULL; i++) {
        const char *next = next_choice(list, &length);
        if (strlen(name) == length && memcmp(list, name, length) == 0) return i;
        list = next;
    }
    return UINT32_MAX;
}

static bool refuse_choice(const CliOption *option, const char *found, Err *err) {
    Text names = {0};
    char quote[TEXT_QUOTE_MAX];
    size_t length;
    for (const char *list = option->argument, *next; list != NULL; list = next) {
        next = next_choice(list, &length);
        text_addf(&names, "%s%.*s",
                  list == option->argument ? ""
                  : next == NULL           ? " or "
                                           : ", ",
                  (int)length, list);
    }
    err_set(err, "--%s: expected %s, found %s", option->name, text_string(&names),
            text_quote(found, quote));
    text_free(&names);
    return false;
}

// Parsing.

static bool check_value(const CliOption *option, const char *value, Err *err) {
    uint64_t count;
    double number;
    char quote[TEXT_QUOTE_MAX];
    switch (option->kind) {
    case CLI_FLAG:
    case CLI_TEXT:
    case CLI_SHIPPED: return true;
    case CLI_COUNT:
        return units_parse_count(value, &count, err) || err_prefix(err, "--%s", option->name);
    case CLI_TIME:
        return units_parse(UNITS_DURATION, value, &count, err) ||
               err_prefix(err, "--%s", option->name);
    case CLI_NUMBER:
        return text_parse_double(value, &number) ||
               err_set(err, "--%s: expected a number such as \"2.5\", found %s", option->name,
                       text_quote(value, quote));
    case CLI_CHOICE:
        return choice_index(option->argument, value) != UINT32_MAX ||
               refuse_choice(option, value, err);
    }
    return false;
}

static void set_defaults(CliArgs *args) {
    Err err = {0};
    for (uint32_t i = 0; i < cli_option_count(args->command); i++) {
        const CliOption *option = &args->command->options[i];
        args->values[i] = option->fallback;
        assert(option->fallback == NULL || check_value(option, option->fallback, &err));
    }
    (void)err;
}

static bool unknown_option(const CliProgram *program, const CliCommand *command, const char *word,
                           Err *err) {
    const char *names[CLI_OPTIONS_MAX];
    char name[TEXT_QUOTE_MAX];
    uint32_t count = cli_option_count(command);
    size_t length = strcspn(word, "=");
    for (uint32_t i = 0; i < count; i++) names[i] = command->options[i].name;
    snprintf(name, sizeof name, "%.*s", (int)(length < 64 ? length : 64), word);
    uint32_t near = text_nearest(name + strspn(name, "-"), names, count);
    if (near != UINT32_MAX) {
        return err_set(err, "%s: unknown option %s, did you mean --%s?", command->name, name,
                       names[near]);
    }
    return err_set(err, "%s: unknown option %s, see \"%s help %s\"", command->name, name,
                   program->name, command->name);
}

static bool unknown_command(const CliProgram *program, const char *word, Err *err) {
    const char *names[COMMANDS_MAX];
    char quote[TEXT_QUOTE_MAX];
    const CliCommand *command;
    uint32_t count = 0;
    while ((command = cli_listed_command(program, count)) != NULL) {
        assert(count < COMMANDS_MAX);
        names[count++] = command->name;
    }
    uint32_t near = text_nearest(word, names, count);
    text_quote(word, quote);
    if (near != UINT32_MAX) {
        return err_set(err, "unknown command %s, did you mean \"%s\"?", quote, names[near]);
    }
    return err_set(err, "unknown command %s, see \"%s help\"", quote, program->name);
}

// The words of the line that are not consumed yet.
typedef struct Words {
    char **at;
    int left;
} Words;

// Stores the value of option `index`: `attached` ("--name=VALUE", "-nVALUE") or else the next word.
static bool take_option(CliArgs *args, uint32_t index, const char *attached, Words *words,
                        Err *err) {
    const CliOption *option = &args->command->options[index];
    if (args->given[index]) return err_set(err, "--%s: given twice", option->name);
    args->given[index] = true;
    if (option->kind == CLI_FLAG) {
        args->values[index] = "1";
        if (attached == NULL) return true;
        return err_set(err, "--%s: takes no value, found \"%s\"", option->name, attached);
    }
    const char *value = attached;
    if (value == NULL) {
        bool missing = words->left == 0 || strncmp(words->at[0], "--", 2) == 0;
        if (missing) return err_set(err, "--%s: missing %s", option->name, option->argument);
        value = *words->at++;
        words->left--;
    }
    args->values[index] = value;
    return check_value(option, value, err);
}

static bool take_long(const CliProgram *program, CliArgs *args, const char *word, Words *words,
                      Err *err) {
    size_t length = strcspn(word + 2, "=");
    uint32_t index = find_option(args->command, word + 2, length);
    if (index == UINT32_MAX) return unknown_option(program, args->command, word, err);
    const char *attached = word[2 + length] == '=' ? word + 2 + length + 1 : NULL;
    return take_option(args, index, attached, words, err);
}

static bool take_short(const CliProgram *program, CliArgs *args, const char *word, Words *words,
                       Err *err) {
    uint32_t index = find_letter(args->command, word[1]);
    if (index == UINT32_MAX) return unknown_option(program, args->command, word, err);
    return take_option(args, index, word[2] == '\0' ? NULL : word + 2, words, err);
}

static bool take_operand(CliArgs *args, const char *word, Err *err) {
    char quote[TEXT_QUOTE_MAX];
    uint32_t limit = args->command->max_operands;
    if (limit > CLI_OPERANDS_MAX) limit = CLI_OPERANDS_MAX;
    if (args->operand_count == limit) {
        return err_set(err, "%s: unexpected operand %s, expected %s", args->command->name,
                       text_quote(word, quote), limit == 0 ? "none" : args->command->operands);
    }
    args->operands[args->operand_count++] = word;
    return true;
}

static bool wants_help(const CliCommand *command, const char *word) {
    if (strcmp(word, "--help") == 0) return find_option(command, "help", 4) == UINT32_MAX;
    return strcmp(word, "-h") == 0 && find_letter(command, 'h') == UINT32_MAX;
}

static void become_help(CliArgs *args) {
    const char *operand = args->command->name;
    *args = (CliArgs){.command = &built_in[BUILT_IN_HELP]};
    args->operands[args->operand_count++] = operand;
}

static bool take_words(const CliProgram *program, CliArgs *args, Words words, Err *err) {
    bool options = true;
    while (words.left > 0) {
        const char *word = *words.at++;
        bool good;
        words.left--;
        if (options && strcmp(word, "--") == 0) {
            options = false;
            continue;
        }
        if (options && wants_help(args->command, word)) {
            become_help(args);
            return true;
        }
        if (options && strncmp(word, "--", 2) == 0) {
            good = take_long(program, args, word, &words, err);
        } else if (options && word[0] == '-' && word[1] != '\0') {
            good = take_short(program, args, word, &words, err);
        } else {
            good = take_operand(args, word, err);
        }
        if (!good) return false;
    }
    if (args->operand_count >= args->command->min_operands) return true;
    return err_set(err, "%s: missing operand, expected %s", args->command->name,
                   args->command->operands);
}

bool cli_parse(const CliProgram *program, int argc, char **argv, CliArgs *out, Err *err) {
    CliArgs args = {0};
    if (argc < 2) return err_set(err, "missing command, see \"%s help\"", program->name);
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) name = "help";
    if (strcmp(name, "--version") == 0) name = "version";
    args.command = find_command(program, name);
    if (args.command == NULL) return unknown_command(program, name, err);
    set_defaults(&args);
    args.words = argv + 1;
    args.word_count = (uint32_t)argc - 1;
    if (!take_words(program, &args, (Words){argv + 2, argc - 2}, err)) return false;
    *out = args;
    return true;
}

// Values.

static uint32_t known_option(const CliArgs *args, const char *name) {
    uint32_t index = find_option(args->command, name, strlen(name));
    assert(index != UINT32_MAX);
    return index;
}

const char *cli_text(const CliArgs *args, const char *name) {
    return args->values[known_option(args, name)];
}

bool cli_is_given(const CliArgs *args, const char *name) {
    return args->given[known_option(args, name)];
}

uint64_t cli_count(const CliArgs *args, const char *name) {
    uint64_t count = 0;
    Err err = {0};
    bool good = units_parse_count(cli_text(args, name), &count, &err);
    assert(good);
    (void)good;
    return count;
}

uint32_t cli_choice(const CliArgs *args, const char *name) {
    uint32_t index = known_option(args, name);
    return choice_index(args->command->options[index].argument, args->values[index]);
}

// Help.

static void add_option_name(const CliOption *option, Text *out) {
    if (option->letter != '\0') {
        text_addf(out, "-%c, --%s", option->letter, option->name);
    } else {
        text_addf(out, "    --%s", option->name);
    }
    if (option->kind != CLI_FLAG) text_addf(out, " %s", option->argument);
}

static size_t widest_option(const CliCommand *command) {
    size_t widest = 0;
    for (uint32_t i = 0; i < cli_option_count(command); i++) {
        Text name = {0};
        add_option_name(&command->options[i], &name);
        if (name.length > widest) widest = name.length;
        text_free(&name);
    }
    return widest;
}

static void help_command(const CliProgram *program, const CliCommand *command, Text *out) {
    uint32_t count = cli_option_count(command);
    size_t width = widest_option(command);
    text_addf(out, "usage: %s %s%s%s%s\n\n", program->name, command->name,
              count > 0 ? " [OPTION]..." : "", *command->operands == '\0' ? "" : " ",
              command->operands);
    text_add_wrapped(out, command->summary, 0, HELP_COLUMNS);
    if (command->details != NULL && *command->details != '\0') {
        text_add_char(out, '\n');
        text_add_wrapped(out, command->details, 0, HELP_COLUMNS);
    }
    if (count > 0) text_add(out, "\noptions:\n");
    for (uint32_t i = 0; i < count; i++) {
        const CliOption *option = &command->options[i];
        size_t start = out->length + 2;
        text_add(out, "  ");
        add_option_name(option, out);
        text_addf(out, "%*s  %s", (int)(width - (out->length - start)), "", option->help);
        if (option->fallback != NULL) text_addf(out, " (default %s)", option->fallback);
        text_add_char(out, '\n');
    }
}

static void help_program(const CliProgram *program, Text *out) {
    size_t width = 0;
    const CliCommand *command;
    for (uint32_t i = 0; (command = cli_listed_command(program, i)) != NULL; i++) {
        if (strlen(command->name) > width) width = strlen(command->name);
    }
    text_addf(out, "usage: %s COMMAND [OPTION]... [OPERAND]...\n\n", program->name);
    text_add_wrapped(out, program->summary, 0, HELP_COLUMNS);
    text_add(out, "\ncommands:\n");
    for (uint32_t i = 0; (command = cli_listed_command(program, i)) != NULL; i++) {
        text_addf(out, "  %-*s  %s\n", (int)width, command->name, command->summary);
    }
    text_addf(out, "\n\"%s help COMMAND\" shows the options of a command\n", program->name);
}

void cli_help(const CliProgram *program, const CliCommand *command, Text *out) {
    if (command == NULL) {
        help_program(program, out);
    } else {
        help_command(program, command, out);
    }
}

// Manual page, in mdoc(7).

// Text that cannot be taken for a macro or an escape. `word` of a macro line is quoted by the
// caller.
static void add_roff(const char *text, Text *out) {
    for (; *text != '\0'; text++) {
        if (*text == '\\') {
            text_add(out, "\\e");
        } else if (*text == '-') {
            text_add(out, "\\-");
        } else if (*text == '"') {
            text_add(out, "\\(dq");
        } else {
            text_add_char(out, *text);
        }
    }
}

// One sentence a line, as mdoc wants it; a line never starts with a control character.
static void add_prose(const char *text, Text *out) {
    while (*text != '\0') {
        const char *stop = strstr(text, ". ");
        size_t length = stop == NULL ? strlen(text) : (size_t)(stop - text) + 1;
        Text line = {0};
        text_add_bytes(&line, text, length);
        if (*text == '.' || *text == '\'') text_add(out, "\\&");
        add_roff(text_string(&line), out);
        text_add_char(out, '\n');
        text_free(&line);
        text += length;
        while (*text == ' ') text++;
    }
}

static void man_option(const CliOption *option, Text *out) {
    text_add(out, ".It ");
    if (option->letter != '\0') text_addf(out, "Fl %c , ", option->letter);
    text_add(out, "Fl \\-");
    add_roff(option->name, out);
    if (option->kind != CLI_FLAG) {
        text_add(out, " Ar \"");
        add_roff(option->argument, out);
        text_add_char(out, '"');
    }
    text_add_char(out, '\n');
    add_prose(option->help, out);
    if (option->fallback != NULL) {
        text_add(out, "(default ");
        add_roff(option->fallback, out);
        text_add(out, ")\n");
    }
}

static void man_command(const CliProgram *program, const CliCommand *command, Text *out) {
    text_addf(out, ".Ss %s %s", program->name, command->name);
    if (*command->operands != '\0') {
        text_add(out, " \"");
        add_roff(command->operands, out);
        text_add_char(out, '"');
    }
    text_add_char(out, '\n');
    add_prose(command->summary, out);
    if (command->details != NULL && *command->details != '\0') {
        text_add(out, ".Pp\n");
        add_prose(command->details, out);
    }
    if (cli_option_count(command) == 0) return;
    text_add(out, ".Bl -tag -width Ds\n");
    for (uint32_t i = 0; i < cli_option_count(command); i++) man_option(&command->options[i], out);
    text_add(out, ".El\n");
}

static void man_title(const CliProgram *program, Text *out) {
    text_addf(out, ".Dd %s\n.Dt ", program->date);
    for (const char *c = program->name; *c != '\0'; c++) {
        text_add_char(out, *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c);
    }
    text_addf(out, " 1\n.Os\n.Sh NAME\n.Nm %s\n.Nd ", program->name);
    add_prose(program->summary, out);
    text_addf(out, ".Sh SYNOPSIS\n.Nm %s\n.Ar command\n.Op Ar option ...\n.Op Ar operand ...\n",
              program->name);
    text_add(out, ".Sh DESCRIPTION\nThe commands and their options are:\n");
}

void cli_man(const CliProgram *program, Text *out) {
    const CliCommand *command;
    man_title(program, out);
    for (uint32_t i = 0; (command = cli_listed_command(program, i)) != NULL; i++) {
        man_command(program, command, out);
    }
    text_add(out, ".Sh ENVIRONMENT\n.Bl -tag -width Ds\n.It Ev MOESIM_DATA\n"
                  "The folder of the shipped data, instead of the one beside the program.\n.El\n"
                  ".Sh EXIT STATUS\n.Bl -tag -width Ds\n"
                  ".It 0\nThe answer is yes, or the work is done.\n"
                  ".It 1\nThe answer is no.\n"
                  ".It 2\nThe command line or an input is wrong.\n"
                  ".It 3\nThe memory does not suffice.\n.El\n");
}

// The commands that every program has.

static bool explain_operand(const CliProgram *program, const CliArgs *args, Text *out, Err *err) {
    const CliCommand *command = NULL;
    if (args->operand_count > 0) {
        command = find_command(program, args->operands[0]);
        if (command == NULL) return unknown_command(program, args->operands[0], err);
    }
    cli_help(program, command, out);
    return true;
}

bool cli_is_built_in(const CliCommand *command) {
    for (uint32_t i = 0; i < BUILT_IN_COUNT; i++) {
        if (command == &built_in[i]) return true;
    }
    return false;
}

bool cli_answer(const CliProgram *program, const CliArgs *args, Text *out, Err *err) {
    assert(cli_is_built_in(args->command));
    switch ((BuiltIn)(args->command - built_in)) {
    case BUILT_IN_HELP: return explain_operand(program, args, out, err);
    case BUILT_IN_VERSION: text_addf(out, "%s %s\n", program->name, program->version); break;
    case BUILT_IN_MAN: cli_man(program, out); break;
    case BUILT_IN_COMPLETION:
        if (args->operand_count > 0) return cli_shipped(args->operands[0], out, err);
        cli_completion(program, out);
        break;
    case BUILT_IN_COUNT: break;
    }
    return true;
}

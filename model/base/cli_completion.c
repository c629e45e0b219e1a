// The completion script of a program: one function for bash, which zsh runs through bashcompinit.
//
// Invariant: it offers what the parser takes: commands, options, choices, shipped names and files.
#include "model/base/cli.h"

#include <string.h>

#include "model/base/file.h"

static void complete_words(const char *pattern, const Text *words, Text *out) {
    text_addf(out, "    %s) COMPREPLY=($(compgen -W \"%s\" -- \"$word\")); return ;;\n", pattern,
              text_string(words));
}

// Names are asked for when they are completed, so that they are those of the data then in use.
static void complete_shipped(const CliProgram *program, const char *pattern, const char *argument,
                             Text *out) {
    text_addf(
        out,
        "    %s) COMPREPLY=($(compgen -f -W \"$(%s completion %s 2>/dev/null)\" -- \"$word\")); "
        "return ;;\n",
        pattern, program->name, argument);
}

static void complete_value(const CliProgram *program, const CliOption *option, const char *pattern,
                           Text *out) {
    Text words = {0};
    if (option->kind == CLI_CHOICE) {
        text_add(&words, option->argument);
        for (char *c = words.data; *c != '\0'; c++) *c = *c == '|' ? ' ' : *c;
        complete_words(pattern, &words, out);
    } else if (option->kind == CLI_SHIPPED) {
        complete_shipped(program, pattern, option->argument, out);
    } else {
        text_addf(out, "    %s) return ;;\n", pattern);
    }
    text_free(&words);
}

static void complete_values(const CliProgram *program, const CliCommand *command, Text *out) {
    for (uint32_t i = 0; i < cli_option_count(command); i++) {
        const CliOption *option = &command->options[i];
        Text pattern = {0};
        if (option->kind == CLI_FLAG) continue;
        text_addf(&pattern, "%s:--%s", command->name, option->name);
        if (option->letter != '\0') text_addf(&pattern, " | %s:-%c", command->name, option->letter);
        complete_value(program, option, text_string(&pattern), out);
        text_free(&pattern);
    }
}

static bool is_shipped(const CliProgram *program, const char *argument) {
    const CliCommand *command;
    for (uint32_t i = 0; (command = cli_listed_command(program, i)) != NULL; i++) {
        for (uint32_t k = 0; k < cli_option_count(command); k++) {
            const CliOption *option = &command->options[k];
            if (option->kind == CLI_SHIPPED && strcmp(option->argument, argument) == 0) return true;
        }
    }
    return false;
}

static void complete_operand(const CliProgram *program, const CliCommand *command, Text *out) {
    Text pattern = {0};
    if (!is_shipped(program, command->operands)) return;
    text_addf(&pattern, "%s:*", command->name);
    complete_shipped(program, text_string(&pattern), command->operands, out);
    text_free(&pattern);
}

static void complete_options(const CliCommand *command, Text *out) {
    Text pattern = {0}, words = {0};
    text_addf(&pattern, "%s:-*", command->name);
    for (uint32_t i = 0; i < cli_option_count(command); i++) {
        text_addf(&words, "--%s ", command->options[i].name);
    }
    text_add(&words, "--help");
    complete_words(text_string(&pattern), &words, out);
    text_free(&pattern);
    text_free(&words);
}

bool cli_shipped(const char *argument, Text *out, Err *err) {
    static const struct {
        const char *argument, *folder;
    } kinds[] = {
        {"MACHINE", "topologies"}, {"SCENARIO", "scenarios"}, {"MODEL", "scenarios/models"}};
    const char **names;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].argument, argument) != 0) continue;
        Arena arena = {0};
        uint32_t count = file_shipped(kinds[i].folder, &arena, &names);
        for (uint32_t k = 0; k < count; k++) text_addf(out, "%s\n", names[k]);
        arena_free(&arena);
        return true;
    }
    char quoted[TEXT_QUOTE_MAX];
    return err_set(err, "completion: expected MACHINE, SCENARIO or MODEL, found %s",
                   text_quote(argument, quoted));
}

static void command_words(const CliProgram *program, Text *out) {
    const CliCommand *command;
    for (uint32_t i = 0; (command = cli_listed_command(program, i)) != NULL; i++) {
        text_addf(out, "%s%s", i == 0 ? "" : " ", command->name);
    }
}

void cli_completion(const CliProgram *program, Text *out) {
    Text function = {0}, commands = {0};
    const CliCommand *command;
    text_addf(&function, "_%s", program->name);
    for (char *c = function.data; *c != '\0'; c++) *c = *c == '-' ? '_' : *c;
    command_words(program, &commands);
    text_addf(out, "# completion of %s for bash; for zsh through bashcompinit\n", program->name);
    text_add(out, "if [ -n \"${ZSH_VERSION-}\" ]; then autoload -U +X bashcompinit && "
                  "bashcompinit; fi\n");
    text_addf(out, "%s() {\n", text_string(&function));
    text_add(out, "    local word=\"${COMP_WORDS[COMP_CWORD]}\"\n"
                  "    local before=\"${COMP_WORDS[COMP_CWORD - 1]}\"\n"
                  "    local command=\"${COMP_WORDS[1]}\"\n"
                  "    COMPREPLY=()\n"
                  "    [ \"$COMP_CWORD\" -eq 1 ] && command=\n"
                  "    case \"$command:$before\" in\n");
    complete_words(":* | help:help", &commands, out);
    for (uint32_t i = 0; (command = cli_listed_command(program, i)) != NULL; i++) {
        complete_values(program, command, out);
    }
    text_add(out, "    esac\n    case \"$command:$word\" in\n");
    for (uint32_t i = 0; (command = cli_listed_command(program, i)) != NULL; i++) {
        complete_options(command, out);
        complete_operand(program, command, out);
    }
    text_addf(out, "    esac\n}\ncomplete -o default -F %s %s\n", text_string(&function),
              program->name);
    text_free(&function);
    text_free(&commands);
}

// The commands that print the option table.
#include "sim/commands/help.h"

#include <stddef.h>
#include <string.h>

#include "sim/commands.h"
#include "sim/commands/output.h"

static const CliCommand *find_command(const char *name, Err *err) {
    const char *names[64];
    uint32_t count = 0;
    for (const CliCommand *c = commands_moesim.commands; c->name != NULL && count < 64; c++) {
        if (strcmp(c->name, name) == 0) return c;
        names[count++] = c->name;
    }
    char quoted[TEXT_QUOTE_MAX];
    uint32_t nearest = text_nearest(name, names, count);
    if (nearest != UINT32_MAX)
        err_set(err, "unknown command %s, did you mean \"%s\"?", text_quote(name, quoted),
                names[nearest]);
    else
        err_set(err, "unknown command %s (see moesim help)", text_quote(name, quoted));
    return NULL;
}

int help_command(const CliArgs *args) {
    const CliCommand *command = NULL;
    Err err = {0};
    if (args->operand_count > 0) {
        command = find_command(args->operands[0], &err);
        if (command == NULL) return output_bad(&err);
    }
    Text out = {0};
    cli_help(&commands_moesim, command, &out);
    return output_text(&out, 0);
}

int help_version(const CliArgs *args) {
    (void)args;
    Text out = {0};
    text_addf(&out, "%s %s\n", commands_moesim.name, commands_moesim.version);
    return output_text(&out, 0);
}

int help_man(const CliArgs *args) {
    (void)args;
    Text out = {0};
    cli_man(&commands_moesim, &out);
    return output_text(&out, 0);
}

int help_completion(const CliArgs *args) {
    (void)args;
    Text out = {0};
    cli_completion(&commands_moesim, &out);
    return output_text(&out, 0);
}

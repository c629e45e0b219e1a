// moesim: parses the command line and runs one command. Only here is the exit status chosen.
#include <stdio.h>

#include "sim/commands.h"
#include "sim/commands/external.h"

int main(int argc, char **argv) {
    if (argc >= 2 && commands_is_program(argv[1])) return external_start(argv);
    Err err = {0};
    CliArgs args = {0};
    if (!cli_parse(&commands_moesim, argc, argv, &args, &err)) {
        fprintf(stderr, "moesim: %s\n", err.text);
        return 2;
    }
    return commands_run(&args);
}

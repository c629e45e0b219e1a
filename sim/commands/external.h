// Commands that are programs of their own, found beside moesim: `moesim run ...` starts moesim-run.
#ifndef SIM_COMMANDS_EXTERNAL_H
#define SIM_COMMANDS_EXTERNAL_H

// Replaces this process by the program for argv[1], with the arguments after it; returns the exit
// status 2, with one line on stderr, when that program is not there.
int external_start(char **argv);

#endif

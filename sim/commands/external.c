// Starts the sister programs. The planner links neither CUDA nor MPI nor SDL; what does lives in
// programs beside it, and a missing one is a sentence, not a failure to load.
#include "sim/commands/external.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int missing(const char *command) {
    fprintf(stderr, "moesim: moesim-%s is not built: not found beside moesim\n", command);
    return 2;
}

int external_start(char **argv) {
    char self[4096], program[4200]; // longer paths are not found
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0) return missing(argv[1]);
    self[length] = '\0';
    char *slash = strrchr(self, '/');
    if (slash == NULL) return missing(argv[1]);
    *slash = '\0';
    snprintf(program, sizeof program, "%s/moesim-%s", self, argv[1]);
    const char *command = argv[1];
    argv[1] = program;
    execv(program, argv + 1);
    if (errno == ENOENT) return missing(command);
    fprintf(stderr, "moesim: moesim-%s cannot be started: %s\n", command, strerror(errno));
    return 2;
}

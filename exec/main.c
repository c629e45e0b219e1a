// moesim-run: parses the command line and runs one command. Only here is the exit status chosen.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "exec/program.h"

#define STATUS_BAD 2 // bad use or bad input

static bool write_out(const Text *out, Err *err) {
    bool done = out->length == 0 || fwrite(out->data, 1, out->length, stdout) == out->length;
    if (fflush(stdout) == 0 && done) return true;
    return err_set(err, "cannot write to stdout: %s", strerror(errno));
}

int main(int argc, char **argv) {
    Err err = {0};
    Text out = {0};
    bool good = program_start(argc, argv, &out, &err) && write_out(&out, &err);
    text_free(&out);
    if (good) return 0;
    fprintf(stderr, "moesim-run: %s\n", err.text);
    return STATUS_BAD;
}

// The back ends and the compute units that `moesim-run` has: the one place where they are named.
#ifndef EXEC_BACKENDS_H
#define EXEC_BACKENDS_H

#include <stdbool.h>
#include <stdint.h>

#include "exec/compute.h"
#include "exec/interp.h"
#include "model/base/cli.h"

// A run of a job on a back end, as the command line asks for it.
typedef struct BackEndRequest {
    const Job *job;
    const ComputeUnit *compute;
    const InterpOptions *options; // of all ranks: `ranks` is NULL
    Time time_out_ps;
    const CliArgs *args; // for options of one back end alone
} BackEndRequest;

typedef struct BackEndAnswer {
    InterpResult result; // of all ranks
    char machine[128];   // for the timeline: "2 hosts x 4 ranks, tcp and shared memory"
    char libraries[128]; // with versions, or ""
    bool is_silent;      // another process has the result and prints it
} BackEndAnswer;

typedef struct BackEndKind {
    const char *name; // "host"
    // As interp_run: on failure the answer has what was measured until then. Closes what it opened.
    bool (*run)(const BackEndRequest *request, BackEndAnswer *out, Err *err);
    bool is_once; // one run in a process
} BackEndKind;

#define BACKENDS_CHOICES "host|net|mpi" // of the table, in order, joined by '|'
const BackEndKind *backends_kind(uint32_t choice);

// By --backend; without it, mpi where a launcher of MPI started several of this process. Others are
// refused there: each process would run all ranks.
bool backends_choose(const CliArgs *args, const BackEndKind **out, Err *err);
// Refuses options of the net back end, a list that ends with NULL, for another one.
bool backends_check_options(const CliArgs *args, const BackEndKind *kind, const char *const *of_net,
                            Err *err);
// Before long work: whether the file that an option names could be written. Only in a process that
// is not one of another host, which writes nothing.
bool backends_can_write(const CliArgs *args, const char *option, Err *err);
// Refuses several processes of one launcher, each of which would do it: "kernels are measured by".
bool backends_alone(const char *what, Err *err);

typedef struct ComputeKind {
    const char *name; // "timed"
    bool takes_file;  // given as "timed:FILE"
    // `file` is NULL where none is taken. Closed by `close`, which gets the unit.
    bool (*open)(const char *file, const Job *job, const CliArgs *args, ComputeUnit *out, Err *err);
    // After a run that succeeded: writes files, adds to what is printed. NULL: nothing.
    bool (*finish)(const ComputeUnit *unit, const CliArgs *args, Text *out, Err *err);
    void (*close)(ComputeUnit *unit);
} ComputeKind;

// By "skip", "timed:FILE", ...; refuses others by name.
bool backends_compute(const char *text, const ComputeKind **kind, const char **file, Err *err);

#endif

// The mpi back end: the same ranks on any MPI. MPI 3.1, "MPI: A Message-Passing Interface
// Standard".
//
// It has two halves of which a program links one: mpirun_real.c stands on MPI and is in
// moesim-run-mpi, which mpirun starts once for each rank; mpirun_none.c refuses and is in
// moesim-run, which runs where there is no MPI.
#ifndef EXEC_MPI_MPIRUN_H
#define EXEC_MPI_MPIRUN_H

#include <stdbool.h>

#include "exec/backends.h"
#include "model/base/err.h"

// As BackEndKind.run: this process is one rank. Rank 0 has the answer of all, the others are
// silent. When a rank says that it failed, rank 0 has that and what was measured until then, within
// 5 s, and ends the processes of all when it exits; the call does not return in the others. A rank
// that was killed says nothing: mpirun ends all then, and nothing is kept.
bool mpirun_job(const BackEndRequest *request, BackEndAnswer *out, Err *err);

#endif

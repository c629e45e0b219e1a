// The mpi back end: the same ranks on any MPI. MPI 3.1, "MPI: A Message-Passing Interface
// Standard".
//
// It has two halves of which a program links one: mpirun_real.c and mpirun_fail.c stand on MPI
// and are in moesim-run-mpi, which mpirun starts once for each rank; mpirun_none.c refuses and is
// in moesim-run, which runs where there is no MPI.
#ifndef EXEC_MPI_MPIRUN_H
#define EXEC_MPI_MPIRUN_H

#include <stdbool.h>
#include <stdint.h>

#include "exec/backends.h"
#include "model/base/err.h"

// As BackEndKind.run: this process is one rank. Rank 0 has the answer of all, the others are
// silent. When a rank says that it failed, rank 0 has that and what was measured until then, within
// 6 s, and ends the processes of all when it exits; the call does not return in the others, but in
// one of them where rank 0 gives no answer. A rank that does not answer then is named in the
// message. A rank that was killed says nothing: mpirun ends all then, and nothing is kept.
bool mpirun_job(const BackEndRequest *request, BackEndAnswer *out, Err *err);

// How many processes the launcher of MPI that started this one started; 1: none did, or this
// program has no MPI.
uint32_t mpirun_size(void);

// What a process found wrong before mpirun_job: the processes of a launcher tell rank 0, which has
// the first one's message. True in the others, which are silent; false where there is one process.
bool mpirun_tell(Err *err);

#endif

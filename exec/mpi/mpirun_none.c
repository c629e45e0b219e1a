// The mpi back end of a program without MPI.
#include "exec/mpi/mpirun.h"

bool mpirun_job(const BackEndRequest *request, BackEndAnswer *out, Err *err) {
    (void)request;
    (void)out;
    return err_set(err, "this program has no MPI: mpirun -n RANKS moesim-run-mpi runs there");
}

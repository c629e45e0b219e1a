// The mpi back end of a program without MPI.
#include "exec/mpi/mpirun.h"

bool mpirun_job(const BackEndRequest *request, BackEndAnswer *out, Err *err) {
    (void)request;
    (void)out;
    return err_set(err, "this program has no MPI: mpirun -n RANKS moesim-run-mpi runs there");
}

uint32_t mpirun_size(void) {
    return 1;
}

bool mpirun_tell(Err *err) {
    (void)err;
    return false;
}

// Compute, and communication that occupies SMs. Internal to sim/.
#ifndef SIM_ENGINE_COMPUTE_H
#define SIM_ENGINE_COMPUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "sim/engine.h"

// Refuses communication that occupies all SMs of a GPU, or SMs of one whose number is not known.
bool engine_compute_check(const Sim *sim, const Submission *submission, Err *err);
// Begins the operation at which a stream is.
void engine_compute_start(Sim *sim, uint32_t s, uint32_t member, uint32_t at);
// At the start and at the end of a communication: what the member computes meanwhile is paced anew.
void engine_compute_take_sms(Sim *sim, uint32_t s, uint32_t member, OpId op);
void engine_compute_give_sms(Sim *sim, uint32_t s, uint32_t member, OpId op);

#endif

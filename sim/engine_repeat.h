// Steady repeats are run once: what is remembered of the last iteration, to leave out those that
// would be the same. Internal to the engine.
#ifndef SIM_ENGINE_REPEAT_H
#define SIM_ENGINE_REPEAT_H

#include "sim/engine.h"

typedef struct EngineRepeat EngineRepeat;

EngineRepeat *engine_repeat_open(void);
void engine_repeat_close(EngineRepeat *repeat);
// A stream has come to the first operation of an iteration, or to its end.
void engine_repeat_begin(Sim *sim, uint32_t s, uint32_t member, uint32_t stream);
// Leaves out what only repeats; called when all of an instant has been applied and rates are true.
void engine_repeat_skip(Sim *sim);

#endif

// Routes in tests: found and checked for what holds for all of them.
#ifndef TESTS_MACHINE_ROUTES_H
#define TESTS_MACHINE_ROUTES_H

#include "tests/machine/machine.h"

// Finds the route and checks it: links are alive, as much arrives at a part as leaves it, weights
// add up at each distance, and the bandwidth is what the fullest link allows.
void routes_find(const Fabric *fabric, VertexId from, VertexId to, Route *route);

// The parts of one path, as "gpu[0] nvswitch[1] gpu[2]": the first edge at each distance.
void routes_check_path(const Fabric *fabric, const Route *route, const char *want);

#endif

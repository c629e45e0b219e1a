// Fills the grid of a sweep and finds who wins where.
//
// Invariant: cells, winners and changes depend on the spec alone. Cells are priced in the order in
// which most is shared, and winners are numbered afterwards in the order of the grid.
#include "sim/search/sweep.h"

#include <string.h>

#include "model/base/progress.h"
#include "sim/search/sweep_cells.h"
#include "sim/search/sweep_winners.h"

// ---- What is asked

uint32_t sweep_find_machine(const SweepMachine *machines, uint32_t count, const char *name) {
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(machines[i].name, name) == 0) return i;
    for (uint32_t i = 0; i < count; i++)
        if (device_find(machines[i].catalogue, name) == machines[i].input.model->device) return i;
    return SWEEP_NONE;
}

// ---- The grid

// The axis that is walked slowest: one that changes the machine, then one that is not a price.
static uint32_t slow_axis(const SweepAxes *axes) {
    if (axes->count < 2) return 0;
    SweepKind first = axes->axes[0].kind, second = axes->axes[1].kind;
    bool first_changes = sweep_cells_changes_machine(first);
    bool second_changes = sweep_cells_changes_machine(second);
    if (first_changes != second_changes) return first_changes ? 0 : 1;
    return first == SWEEP_PRICE ? 1 : 0;
}

static void numbers_at(const Sweep *sweep, uint32_t cell, uint64_t numbers[SWEEP_AXES_MAX]) {
    const SweepAxes *axes = &sweep->axes;
    numbers[0] = axes->axes[0].values[cell / sweep->columns].number;
    numbers[1] = axes->count > 1 ? axes->axes[1].values[cell % sweep->columns].number : 0;
}

// The i-th cell to be priced: down the columns when the second axis is the slow one.
static uint32_t cell_of_turn(const Sweep *sweep, uint32_t slow, uint32_t i) {
    uint32_t rows = sweep->cell_count / sweep->columns;
    return slow == 0 ? i : i % rows * sweep->columns + i / rows;
}

static bool hold_first(SweepCells *cells, const SweepCell *first, Err *err) {
    if (!first->is_feasible)
        return err_set(err, "--hold best-of-first: the first cell has no plan: %s", first->reason);
    sweep_cells_hold(cells, first->machine, &first->plan);
    return true;
}

static bool fill(const SweepSpec *spec, SweepCells *cells, Sweep *sweep, Err *err) {
    uint32_t slow = slow_axis(&sweep->axes);
    bool done = true;
    Progress progress;
    progress_start(&progress, "pricing cells", sweep->cell_count);
    for (uint32_t i = 0; i < sweep->cell_count && done; i++) {
        uint64_t numbers[SWEEP_AXES_MAX];
        uint32_t cell = cell_of_turn(sweep, slow, i);
        numbers_at(sweep, cell, numbers);
        sweep_cells_price(cells, numbers, &sweep->cells[cell]);
        if (i == 0 && spec->mode == SWEEP_HOLD_FIRST)
            done = hold_first(cells, &sweep->cells[cell], err);
        progress_step(&progress, i + 1);
    }
    progress_end(&progress);
    return done;
}

bool sweep_run(const SweepSpec *spec, Sweep *out, Err *err) {
    Sweep sweep = {.axes = spec->axes};
    sweep.columns = spec->axes.count > 1 ? spec->axes.axes[1].count : 1;
    sweep.cell_count = spec->axes.axes[0].count * sweep.columns;
    sweep.cells = arena_alloc(&sweep.arena, sweep.cell_count, sizeof *sweep.cells);
    SweepCells *cells = sweep_cells_open(spec, &sweep.arena);
    bool done = fill(spec, cells, &sweep, err);
    if (done) sweep_winners_find(spec, cells, &sweep);
    sweep_cells_close(cells);
    if (done)
        *out = sweep;
    else
        sweep_free(&sweep);
    return done;
}

void sweep_free(Sweep *sweep) {
    mem_free(sweep->winners);
    mem_free(sweep->changes);
    arena_free(&sweep->arena);
    *sweep = (Sweep){0};
}

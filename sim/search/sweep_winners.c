// Winners and where they change.
//
// Method: neighbours of the grid with different winners enclose a change; bisection keeps one
// between its ends, so that of several changes in an interval it finds one.
//
// Invariant: a plan is the same winner wherever its first GPU is and whatever the format of the
// cache, which is an input of the cell.
#include "sim/search/sweep_winners.h"

#include "model/base/progress.h"

static Digest identity(uint32_t machine, const Plan *plan) {
    Plan copy = *plan;
    for (uint32_t i = 0; i < copy.pool_count; i++) {
        copy.pools[i].first_gpu = 0;
        copy.pools[i].kv_format = NUMFMT_BF16;
    }
    return hash_u64(plan_digest(&copy), machine);
}

static uint32_t number_of(Sweep *sweep, const SweepCell *cell) {
    if (!cell->is_feasible) return SWEEP_NONE;
    Digest wanted = identity(cell->machine, &cell->plan);
    for (uint32_t i = 0; i < sweep->winner_count; i++)
        if (identity(sweep->winners[i].machine, &sweep->winners[i].plan) == wanted) return i;
    sweep->winners = mem_grow(sweep->winners, &sweep->winner_capacity, sweep->winner_count + 1,
                              sizeof *sweep->winners);
    sweep->winners[sweep->winner_count] = (SweepWinner){cell->machine, cell->plan, 0};
    return sweep->winner_count++;
}

static bool is_close(uint64_t low, uint64_t high, uint32_t ppm) {
    return high - low <= 1 || (double)(high - low) <= (double)low * ppm * 1e-6;
}

// Ends of the interval that still have different winners. `numbers` holds the value of the other
// axis.
static void bisect(const SweepSpec *spec, SweepCells *cells, Sweep *sweep,
                   uint64_t numbers[SWEEP_AXES_MAX], SweepChange *change) {
    const SweepAxis *axis = &sweep->axes.axes[change->axis];
    uint64_t low = change->from.number, high = change->to.number;
    bool is_falling = low > high;
    uint32_t of_low = is_falling ? change->after : change->before;
    uint32_t of_high = is_falling ? change->before : change->after;
    if (is_falling) {
        low = change->to.number;
        high = change->from.number;
    }
    while (!is_close(low, high, spec->refine_ppm)) {
        SweepCell cell;
        uint64_t middle = low + (high - low) / 2;
        numbers[change->axis] = middle;
        sweep_cells_price(cells, numbers, &cell);
        uint32_t winner = number_of(sweep, &cell);
        if (winner == of_low) {
            low = middle;
        } else {
            high = middle;
            of_high = winner;
        }
    }
    change->from = sweep_axes_value(axis, is_falling ? high : low, &sweep->arena);
    change->to = sweep_axes_value(axis, is_falling ? low : high, &sweep->arena);
    change->before = is_falling ? of_high : of_low;
    change->after = is_falling ? of_low : of_high;
    change->is_refined = true;
}

static void add_change(Sweep *sweep, const SweepChange *change) {
    sweep->changes = mem_grow(sweep->changes, &sweep->change_capacity, sweep->change_count + 1,
                              sizeof *sweep->changes);
    sweep->changes[sweep->change_count++] = *change;
}

// Between values i and i + 1 of an axis, with the other one at `other`; of faults, which have no
// order, between the first and i + 1.
static void compare(const SweepSpec *spec, SweepCells *cells, Sweep *sweep, uint32_t axis,
                    uint32_t other, uint32_t i) {
    const SweepAxis *along = &sweep->axes.axes[axis];
    uint32_t first = i, step = axis == 0 ? sweep->columns : 1,
             line = axis == 0 ? 1 : sweep->columns;
    if (along->kind == SWEEP_FAIL) first = 0;
    uint32_t before = sweep->cells[other * line + first * step].winner;
    uint32_t after = sweep->cells[other * line + (i + 1) * step].winner;
    if (before == after) return;
    SweepChange change = {.axis = axis,
                          .other = other,
                          .from = along->values[first],
                          .to = along->values[i + 1],
                          .before = before,
                          .after = after};
    if (spec->refine_ppm > 0 && sweep_axes_is_continuous(along->kind)) {
        uint64_t numbers[SWEEP_AXES_MAX] = {0};
        if (sweep->axes.count > 1)
            numbers[1 - axis] = sweep->axes.axes[1 - axis].values[other].number;
        bisect(spec, cells, sweep, numbers, &change);
    }
    add_change(sweep, &change);
}

void sweep_winners_find(const SweepSpec *spec, SweepCells *cells, Sweep *sweep) {
    for (uint32_t i = 0; i < sweep->cell_count; i++) {
        uint32_t winner = number_of(sweep, &sweep->cells[i]);
        sweep->cells[i].winner = winner;
        if (winner != SWEEP_NONE) sweep->winners[winner].cells++;
    }
    Progress progress;
    uint64_t done = 0;
    progress_start(&progress, "comparing neighbours",
                   (uint64_t)sweep->cell_count * sweep->axes.count);
    for (uint32_t axis = 0; axis < sweep->axes.count; axis++) {
        uint32_t lines = sweep->axes.count > 1 ? sweep->axes.axes[1 - axis].count : 1;
        for (uint32_t other = 0; other < lines; other++) {
            for (uint32_t i = 0; i + 1 < sweep->axes.axes[axis].count; i++) {
                compare(spec, cells, sweep, axis, other, i);
                progress_step(&progress, ++done);
            }
            progress_step(&progress, ++done); // the last value has no neighbour
        }
    }
    progress_end(&progress);
}

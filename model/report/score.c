// Errors of predictions, summed up.
//
// Invariant: each row belongs to one series and each series to one family; refused rows count in
// no error and in every coverage. Source of the scoring: median absolute percentage error by
// series, then means over series and families, so that no source with many rows outweighs the
// others.
#include "model/report/score.h"

#include <stdlib.h>
#include <string.h>

#include "model/base/num.h"

double score_error(const ScoreRow *row) {
    return 100 * (row->predicted - row->measured) / row->basis;
}

static double size_of(double error) {
    return error < 0 ? -error : error;
}

// ---- Series

// Rows by series: positions of rows, those of one series together and in order.
typedef struct Keyed {
    const ScoreRow *row;
    uint32_t position;
} Keyed;

static int compare_names(const ScoreRow *a, const ScoreRow *b) {
    int order = strcmp(a->family, b->family);
    return order != 0 ? order : strcmp(a->series, b->series);
}

static int compare_keyed(const void *left, const void *right) {
    const Keyed *a = left, *b = right;
    int order = compare_names(a->row, b->row);
    return order != 0 ? order : a->position < b->position ? -1 : a->position > b->position;
}

// The k-th smallest with 10 k >= 9 n is not exceeded by 90 % of n.
static double ninetieth(const double *sorted, uint32_t count) {
    uint64_t rank = ((uint64_t)count * 9 + 9) / 10;
    return sorted[rank - 1];
}

static ScoreErrors errors_of(const Keyed *rows, uint32_t count, uint32_t predicted,
                             double *scratch) {
    if (predicted == 0) return (ScoreErrors){0};
    double sum = 0;
    uint32_t used = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!rows[i].row->is_predicted) continue;
        double error = score_error(rows[i].row);
        sum += error;
        scratch[used++] = size_of(error);
    }
    qsort(scratch, used, sizeof *scratch, num_compare_doubles);
    uint32_t middle = used / 2;
    return (ScoreErrors){
        .median = used % 2 == 1 ? scratch[middle] : (scratch[middle - 1] + scratch[middle]) / 2,
        .p90 = ninetieth(scratch, used),
        .bias = sum / used,
        .worst = scratch[used - 1],
    };
}

static ScoreSeries series_of(const Keyed *rows, uint32_t count, double *scratch) {
    ScoreSeries series = {.family = rows->row->family, .series = rows->row->series, .rows = count};
    for (uint32_t i = 0; i < count; i++) series.predicted += rows[i].row->is_predicted;
    series.errors = errors_of(rows, count, series.predicted, scratch);
    return series;
}

// ---- The order of first rows

typedef struct Placed {
    ScoreSeries series;
    uint32_t first; // position of its first row
} Placed;

static int compare_placed(const void *left, const void *right) {
    uint32_t a = ((const Placed *)left)->first, b = ((const Placed *)right)->first;
    return a < b ? -1 : a > b;
}

static void list_series(const ScoreRow *rows, uint32_t count, Arena *arena, Score *out) {
    Keyed *keyed = mem_alloc(count, sizeof *keyed);
    Placed *placed = mem_alloc(count, sizeof *placed);
    double *scratch = mem_alloc(count, sizeof *scratch);
    for (uint32_t i = 0; i < count; i++) keyed[i] = (Keyed){&rows[i], i};
    qsort(keyed, count, sizeof *keyed, compare_keyed);
    uint32_t series = 0;
    for (uint32_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && compare_names(keyed[i].row, keyed[next].row) == 0;)
            next++;
        placed[series++] = (Placed){series_of(keyed + i, next - i, scratch), keyed[i].position};
    }
    qsort(placed, series, sizeof *placed, compare_placed);
    out->series = arena_alloc(arena, series, sizeof *out->series);
    for (uint32_t i = 0; i < series; i++) out->series[i] = placed[i].series;
    out->series_count = series;
    mem_free(scratch);
    mem_free(placed);
    mem_free(keyed);
}

// ---- Families

static ScoreFamily *family_of(Score *score, const char *name) {
    for (uint32_t i = 0; i < score->family_count; i++)
        if (strcmp(score->families[i].family, name) == 0) return &score->families[i];
    ScoreFamily *family = &score->families[score->family_count++];
    *family = (ScoreFamily){.family = name};
    return family;
}

static void add_series(ScoreFamily *family, const ScoreSeries *series) {
    family->series++;
    family->rows += series->rows;
    family->predicted += series->predicted;
    if (series->predicted == 0) return;
    family->scored++;
    family->errors.median += series->errors.median;
    family->errors.p90 += series->errors.p90;
    family->errors.bias += series->errors.bias;
    if (series->errors.worst > family->errors.worst) family->errors.worst = series->errors.worst;
}

static void list_families(Arena *arena, Score *out) {
    uint32_t scored = 0;
    out->families = arena_alloc(arena, out->series_count, sizeof *out->families);
    for (uint32_t i = 0; i < out->series_count; i++)
        add_series(family_of(out, out->series[i].family), &out->series[i]);
    for (uint32_t i = 0; i < out->family_count; i++) {
        ScoreFamily *family = &out->families[i];
        out->rows += family->rows;
        out->predicted += family->predicted;
        if (family->scored == 0) continue;
        family->errors.median /= family->scored;
        family->errors.p90 /= family->scored;
        family->errors.bias /= family->scored;
        out->mean += family->errors.median;
        scored++;
    }
    if (scored > 0) out->mean /= scored;
}

void score_rows(const ScoreRow *rows, uint32_t count, Arena *arena, Score *out) {
    *out = (Score){0};
    list_series(rows, count, arena, out);
    list_families(arena, out);
}

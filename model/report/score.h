// How well predictions meet records: errors by series, by family of series, and over all.
//
// The error of a row is 100 (predicted - measured) / basis percent, where the basis is what was
// measured unless the row says otherwise. A series is scored by the median of its absolute errors,
// a family by the mean over its series, and all by the mean over families, so that a long series
// counts as much as a short one.
#ifndef MODEL_REPORT_SCORE_H
#define MODEL_REPORT_SCORE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/mem.h"

// Strings are borrowed. `basis` is not 0 when the row is predicted.
typedef struct ScoreRow {
    const char *family, *series;
    bool is_predicted;
    double predicted, measured, basis;
} ScoreRow;

// In percent, all 0 without a predicted row.
typedef struct ScoreErrors {
    double median; // of absolute errors; of an even number the mean of the two in the middle
    double p90;    // of absolute errors: the smallest that at least 90 % of them do not exceed
    double bias;   // mean of signed errors
    double worst;  // the largest absolute error
} ScoreErrors;

typedef struct ScoreSeries {
    const char *family, *series;
    uint32_t rows, predicted; // the coverage is predicted / rows
    ScoreErrors errors;
} ScoreSeries;

// Means over the series of the family that have a predicted row, `scored` of them; the worst is
// over all.
typedef struct ScoreFamily {
    const char *family;
    uint32_t series, scored, rows, predicted;
    ScoreErrors errors;
} ScoreFamily;

// Series and families in the order of their first rows.
typedef struct Score {
    ScoreSeries *series;
    uint32_t series_count;
    ScoreFamily *families;
    uint32_t family_count;
    uint32_t rows, predicted;
    double mean; // of the medians of families that have a predicted row
} Score;

double score_error(const ScoreRow *row); // signed, in percent; the row is predicted
void score_rows(const ScoreRow *rows, uint32_t count, Arena *arena, Score *out);

#endif

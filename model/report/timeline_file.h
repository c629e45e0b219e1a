// A Timeline as a file: what `moesim simulate` predicts and `moesim-run` measures, in one form, so
// that the two can be laid beside each other (compare.h). One run; of a measured one the spans are
// the raw samples.
#ifndef MODEL_REPORT_TIMELINE_FILE_H
#define MODEL_REPORT_TIMELINE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/report/timeline.h"

#define TIMELINE_FILE_VERSION     1
#define TIMELINE_FILE_OPS_MAX     (UINT32_C(1) << 20)
#define TIMELINE_FILE_MEMBERS_MAX (UINT32_C(1) << 20)
#define TIMELINE_FILE_SPANS_MAX   (UINT32_C(1) << 20) // about as many as FILE_CAP_B holds

// Where the times of an operation come from. STAND_IN: something else took its place for a time
// that was given. SKIPPED: only its place in the order was taken.
#define TIMELINE_FILE_WORK_LIST(X)                                                                 \
    X(PREDICTED, "predicted")                                                                      \
    X(MEASURED, "measured")                                                                        \
    X(STAND_IN, "stand-in")                                                                        \
    X(SKIPPED, "skipped")
typedef enum TimelineFileWork {
#define X(name, text) TIMELINE_FILE_##name,
    TIMELINE_FILE_WORK_LIST(X)
#undef X
        TIMELINE_FILE_WORK_COUNT
} TimelineFileWork;
extern const char *const timeline_file_work_names[TIMELINE_FILE_WORK_COUNT];

typedef struct TimelineFileOp {
    const char *name, *role_name;
    RoleId role;
    uint32_t stream;
    OpKind kind;
    OpClass op_class;
    const char *implementation; // "all-to-all pairwise", "gemm"
    TimelineFileWork work;
    LinkClass link; // of the link that it fills most; LINK_CLASS_COUNT: not known, or none
} TimelineFileOp;

// One instance; the instances of one operation on one member follow each other.
typedef struct TimelineFileSpan {
    OpId op;
    uint32_t member;
    Time start_ps, end_ps;
} TimelineFileSpan;

// Freed by timeline_file_free. A zeroed one is empty. All memory is the arena's.
typedef struct TimelineFile {
    Arena arena;
    const char *maker, *machine; // "host", "this machine, 4 ranks in shared memory"
    const char *device;          // that computes, by its name in the catalogue; "": not said
    const char *versions;        // of program, kernel and libraries; "" of a prediction
    bool is_complete;            // false: the run was cut short
    Digest schedule, shape, load, fabric, calibration;
    TimelineForm form;
    Time end_ps;
    TimelineMember *members;
    uint32_t member_count;
    TimelineFileOp *ops;
    uint32_t op_count;
    TimelineFileSpan *spans; // in order of op, member and time
    uint32_t span_count;
} TimelineFile;

// What a Timeline does not say of itself. works and links: [op_count], borrowed; NULL is PREDICTED
// of all, and no link known.
typedef struct TimelineFileFacts {
    const char *machine;
    const char *device;   // or NULL
    const char *versions; // or NULL
    bool is_partial;      // the run was cut short
    const TimelineFileWork *works;
    const LinkClass *links;
} TimelineFileFacts;

// Of a timeline with spans; more than TIMELINE_FILE_SPANS_MAX are refused. Copies all that
// it keeps.
bool timeline_file_build(const Timeline *timeline, const Schedule *schedule,
                         const TimelineFileFacts *facts, TimelineFile *out, Err *err);
void timeline_file_free(TimelineFile *file);

// JSON; reads back to an equal value.
void timeline_file_write(const TimelineFile *file, Text *out);
// Strict. What is read has spans in order, roles below the
// number of members, each operation on members of its role, the instances of
// one operation on one member not before each other's end, and all ends at or before `end_ps`.
bool timeline_file_read(const char *path, TimelineFile *out, Err *err);
bool timeline_file_parse(const char *name, const char *bytes, size_t count, TimelineFile *out,
                         Err *err);

#endif

// Records: published measurements, one a row of a CSV file (RFC 4180), and the one reader of them.
//
// The header line says of which kind a file is. A value without a number, a repeated id (but that
// of a case, of which a ranking has many rows), a row with more or fewer cells than the header,
// bytes that are not UTF-8 or would leave the line that they are printed on are errors, each with
// its line.
#ifndef MODEL_REPORT_RECORD_H
#define MODEL_REPORT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"

#define RECORD_FILE_MAX_B  ((size_t)16 << 20)
#define RECORD_CELL_MAX    4096 // bytes of a cell
#define RECORD_COLUMNS_MAX 64

// Kind, its name, the column whose first word names the series of a row, and the header line.
#define RECORD_KIND_LIST(X)                                                                        \
    X(CHECKPOINT, "checkpoint", "quantity",                                                        \
      "id,source,model,quantity,value,unit,formula_match,note")                                    \
    X(MEMORY, "memory", "metric", "id,source,model,gpu,tp,pp,dp,ep,dtype,metric,value,unit,note")  \
    X(COMM, "communication", "series",                                                             \
      "id,series,source,section,date,gpu,n_gpus,n_nodes,fabric,library,op,dtype,tokens_per_rank,"  \
      "hidden,topk,n_experts,msg_bytes,config,metric,value,unit,read_mode,quality,notes")          \
    X(KERNEL, "kernel", "series",                                                                  \
      "id,series,source,section,date,gpu,library,op,dtype,m,n,k,groups,batch,q_len,kv_len,heads,"  \
      "kv_heads,head_dim,hidden,inter,experts,topk,ep,tp,config,metric,value,unit,read_mode,"      \
      "quality,notes")                                                                             \
    X(SERVING, "serving", "series",                                                                \
      "id,config_id,series,source,section,date,gpu,n_gpus,n_prefill_gpus,n_decode_gpus,fabric,"    \
      "model,weights,kv_dtype,framework,version,mode,tp,pp,dp,ep,moe_tp,spec,accept_len,isl,osl,"  \
      "concurrency,batch_per_gpu,config,metric,value,unit,read_mode,quality,notes")                \
    X(LOAD, "loading", "series",                                                                   \
      "id,series,source,section,date,kind,hw,n_gpus,fabric,model,bytes,config,metric,value,unit,"  \
      "read_mode,quality,notes")                                                                   \
    X(IMBALANCE, "imbalance", "series",                                                            \
      "id,series,source,section,date,model,dataset,phase,ep,layer,config,metric,value,unit,"       \
      "read_mode,quality,notes")                                                                   \
    X(RANKING, "ranking", "metric",                                                                \
      "case_id,source,gpu,n_gpus,nodes,interconnect,model,precision,framework,isl,osl,"            \
      "concurrency_or_rate,tp,pp,dp,ep,other_flags,metric,value,unit")
typedef enum RecordKind {
#define X(name, text, series, columns) RECORD_##name,
    RECORD_KIND_LIST(X)
#undef X
        RECORD_KIND_COUNT
} RecordKind;
extern const char *const record_kind_names[RECORD_KIND_COUNT];

// The header line of a kind, without its end.
const char *record_header(RecordKind kind);

typedef struct Record {
    const char *id, *series;
    double value;
    uint32_t line; // of the file, where the row begins
} Record;

// A zeroed RecordFile has no rows. Cells are the arena's.
typedef struct RecordFile {
    Arena arena;
    const char *name;
    RecordKind kind;
    const char **columns; // names
    uint32_t column_count;
    const char **cells; // row by row
    Record *rows;
    uint32_t row_count;
} RecordFile;

// A file, or its bytes, which `name` stands for in messages. The caller frees *out, which is left
// alone on failure.
bool record_read(const char *path, RecordFile *out, Err *err);
bool record_parse(const char *name, const char *bytes, size_t count, RecordFile *out, Err *err);
void record_free(RecordFile *file);

// The cell of a row under a column that this kind has; "" when the source does not say.
const char *record_cell(const RecordFile *file, uint32_t row, const char *column);

#endif

// Between the files of arch: builds an Arch from a parsed config, as one family or as the family
// that its fields fit.
#ifndef MODEL_MOE_ARCH_BUILD_H
#define MODEL_MOE_ARCH_BUILD_H

#include "model/moe/reader.h"

// How far a config was understood as a family; larger is further.
typedef enum ArchProgress {
    ARCH_READ_NOTHING,
    ARCH_READ_DIMS,
    ARCH_READ_PATTERN,
    ARCH_READ_ALL
} ArchProgress;

// Builds `arch`, whose arena is the reader's, from what reader_open has parsed.
bool arch_build(Reader *reader, const Family *family, Arch *arch, ArchProgress *progress, Err *err);

// For a model_type that no family has: tries all. Of families that understand every field and count
// nearly alike, the one with the nearest name is taken, with a note; when they count differently,
// or when no family understands every field, the message names the families or the field. `reader`
// has been opened on the same input.
bool arch_build_by_fields(const ArchInput *input, Reader *reader, Arch *out, Err *err);

#endif

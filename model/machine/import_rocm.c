// rocm-smi --showtopo, also as other vendors print it (HCU for GPU).
#include "model/machine/import_smi.h"

bool import_rocm_read(Import *import, Err *err) {
    static const ImportSmiTitle titles[] = {{"Weight between", IMPORT_SMI_WEIGHT},
                                            {"Hops between", IMPORT_SMI_HOPS},
                                            {"Link Type between", IMPORT_SMI_TYPE},
                                            {"Link accessible between", IMPORT_SMI_ACCESS}};
    ImportSmi smi;
    return import_smi_parse(import, titles, sizeof titles / sizeof titles[0], &smi, err) &&
           import_smi_build(import, &smi, err);
}

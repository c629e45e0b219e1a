// amd-smi topology, as text.
#include "model/machine/import_smi.h"

bool import_amd_read(Import *import, Err *err) {
    static const ImportSmiTitle titles[] = {{"ACCESS TABLE", IMPORT_SMI_ACCESS},
                                            {"WEIGHT TABLE", IMPORT_SMI_WEIGHT},
                                            {"HOPS TABLE", IMPORT_SMI_HOPS},
                                            {"LINK TYPE TABLE", IMPORT_SMI_TYPE},
                                            {"NUMA BW TABLE", IMPORT_SMI_BANDWIDTH}};
    ImportSmi smi;
    return import_smi_parse(import, titles, sizeof titles / sizeof titles[0], &smi, err) &&
           import_smi_build(import, &smi, err);
}

// The objects of a hwloc topology that matter. Format: hwloc 1.11, 2.x and 3.0, "topology" XML.
#ifndef MODEL_MACHINE_IMPORT_HWLOC_H
#define MODEL_MACHINE_IMPORT_HWLOC_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/xml.h"
#include "model/machine/import_node.h"

#define IMPORT_HWLOC_DEVICES_MAX 4096

typedef enum ImportHwlocKind {
    IMPORT_HWLOC_GPU,
    IMPORT_HWLOC_NIC,
    IMPORT_HWLOC_NVSWITCH
} ImportHwlocKind;

typedef struct ImportHwlocDevice {
    ImportHwlocKind kind;
    uint32_t element; // the PCIDev
    uint32_t cpu;     // number of its package, IMPORT_NONE when it hangs below none
    uint64_t rate_Bps;
    const char *id;   // "10de:1db8"
    const char *name; // GPUModel of its OSDev, ""
    const Device *model;
    ImportEnd end;
} ImportHwlocDevice;

typedef struct ImportHwloc {
    Import *import;
    Xml xml;
    uint32_t version; // 1, 2 or 3
    ImportHwlocDevice *devices;
    uint32_t count;
    uint32_t *packages; // elements
    uint32_t package_count;
    uint32_t ethernets; // network interfaces that are no NICs here
    bool is_numa;       // of version 1 without packages: NUMA nodes stand for CPUs
} ImportHwloc;

// import_hwloc_links.c: the matrices of distances. Adds links; false only for what is malformed.
bool import_hwloc_links(ImportHwloc *hwloc, Err *err);
// The CPU of an object: the package around it, IMPORT_NONE for none.
uint32_t import_hwloc_package(const ImportHwloc *hwloc, uint32_t element);
// The device that an object is, or that it is an OSDev of; IMPORT_NONE for none.
uint32_t import_hwloc_device(const ImportHwloc *hwloc, uint32_t element);

#endif

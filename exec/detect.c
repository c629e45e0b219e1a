// What hwloc finds here, as a topology.
//
// With GPUs: hwloc's own XML, read as a dump of it is. Without: each core is the place of a rank,
// and a message between two goes through memory. Rates are those of the device "CPU core" in the
// catalogue; nothing is measured here (moesim-run bench does that).
//
// Invariant: what is written reads back to the same topology.
#include "exec/detect.h"

#include <hwloc.h>
#include <stdlib.h>

#include "exec/backends.h"
#include "model/base/file.h"
#include "model/base/jsonw.h"
#include "model/base/units.h"
#include "model/machine/import.h"

#define CORE      "CPU core" // of the catalogue
#define CORES_MAX 4096

// A small message between two cores: "0.8 us at 1 KiB", two bound ranks of Open MPI 4.1 in shared
// memory on an AMD EPYC.
#define LATENCY "800 ns"
#define LATENCY_SOURCE                                                                             \
    "latency: Open MPI 4.1 in shared memory, 1 KiB between two cores of an AMD EPYC"

// PCI: base classes of displays and of accelerators, and who makes those that compute.
#define CLASS_DISPLAY     0x03
#define CLASS_ACCELERATOR 0x12
#define VENDOR_NVIDIA     0x10de
#define VENDOR_AMD        0x1002

// ---- A machine of cores

static void write_link(JsonWriter *writer, const Device *core) {
    char rate[UNITS_TEXT_MAX];
    jsonw_open_array(writer, "links");
    jsonw_open_object(writer, NULL);
    jsonw_string(writer, "from", "core[*]");
    jsonw_string(writer, "to", "memory");
    jsonw_string(writer, "class", "memory");
    jsonw_string(writer, "bandwidth", units_write_rate(device_low(core->scale_up_Bps), rate));
    jsonw_string(writer, "latency", LATENCY);
    jsonw_string(writer, "confidence", "C");
    jsonw_string(writer, "source",
                 "bandwidth: the device " CORE " of the catalogue; " LATENCY_SOURCE);
    jsonw_close_object(writer);
    jsonw_close_array(writer);
}

static void write_parts(JsonWriter *writer, uint32_t cores) {
    jsonw_open_object(writer, "parts");
    jsonw_open_object(writer, "core");
    jsonw_string(writer, "kind", "gpu");
    jsonw_string(writer, "device", CORE);
    jsonw_u64(writer, "count", cores);
    jsonw_close_object(writer);
    jsonw_open_object(writer, "memory");
    jsonw_string(writer, "kind", "switch");
    jsonw_close_object(writer);
    jsonw_close_object(writer);
}

static void write_cores(uint32_t cores, const char *found, const char *finder, const Device *core,
                        Text *out) {
    JsonWriter writer = {.text = out};
    jsonw_open_object(&writer, NULL);
    jsonw_string(&writer, "moesim", "topology");
    jsonw_u64(&writer, "version", TOPOLOGY_VERSION);
    jsonw_string(&writer, "name", found);
    jsonw_string(&writer, "source", finder);
    jsonw_string(
        &writer, "note",
        "no GPU was found: each core is the place of one rank, and stands where a GPU does; "
        "rates are nominal, and memory that cores share is not counted once for all");
    jsonw_open_object(&writer, "templates");
    jsonw_open_object(&writer, "machine");
    write_parts(&writer, cores);
    write_link(&writer, core);
    jsonw_close_object(&writer);
    jsonw_close_object(&writer);
    jsonw_string(&writer, "machine", "machine");
    jsonw_close_object(&writer);
    jsonw_finish(&writer);
}

bool detect_cores(uint32_t cores, const char *found, const char *finder, Topology *out, Err *err) {
    DeviceCatalogue catalogue = {0};
    Text text = {0};
    if (cores == 0 || cores > CORES_MAX)
        return err_set(err, "found %u cores, expected 1 to %d", cores, CORES_MAX);
    if (!device_load(&catalogue, err)) return false;
    const Device *core = device_find(&catalogue, CORE);
    bool good = core != NULL || device_unknown(&catalogue, CORE, err);
    if (good) {
        write_cores(cores, found, finder, core, &text);
        good = topology_parse("this machine", text.data, text.length, out, err);
    }
    text_free(&text);
    device_free(&catalogue);
    return good;
}

// ---- hwloc

static bool computes(const hwloc_obj_t device) {
    const struct hwloc_pcidev_attr_s *pci = &device->attr->pcidev;
    unsigned base = pci->class_id >> 8;
    return (base == CLASS_DISPLAY || base == CLASS_ACCELERATOR) &&
           (pci->vendor_id == VENDOR_NVIDIA || pci->vendor_id == VENDOR_AMD);
}

static bool has_gpus(hwloc_topology_t machine) {
    hwloc_obj_t device = NULL;
    while ((device = hwloc_get_next_pcidev(machine, device)) != NULL)
        if (computes(device)) return true;
    return false;
}

static bool read_gpus(hwloc_topology_t machine, Topology *out, Err *err) {
    char *xml = NULL;
    int length = 0;
    if (hwloc_topology_export_xmlbuffer(machine, &xml, &length, 0) != 0 || length < 1)
        return err_set(err, "hwloc cannot write what it found");
    // its terminating 0 is counted
    bool good = import_parse(IMPORT_HWLOC, "this machine", xml, (size_t)length - 1, out, err);
    hwloc_free_xmlbuffer(machine, xml);
    return good;
}

static bool read_cores(hwloc_topology_t machine, Topology *out, Err *err) {
    Arena arena = {0};
    int cores = hwloc_get_nbobjs_by_type(machine, HWLOC_OBJ_CORE);
    if (cores <= 0) cores = hwloc_get_nbobjs_by_type(machine, HWLOC_OBJ_PU);
    hwloc_obj_t package = hwloc_get_obj_by_type(machine, HWLOC_OBJ_PACKAGE, 0);
    const char *model = package != NULL ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;
    unsigned version = hwloc_get_api_version();
    const char *found = arena_printf(&arena, "%d core%s of %s", cores, cores == 1 ? "" : "s",
                                     model != NULL ? model : "an unknown processor");
    const char *finder = arena_printf(&arena, "moesim-run detect, hwloc %u.%u.%u", version >> 16,
                                      version >> 8 & 0xff, version & 0xff);
    bool good = detect_cores((uint32_t)cores, found, finder, out, err);
    arena_free(&arena);
    return good;
}

static bool detect(Topology *out, Err *err) {
    hwloc_topology_t machine;
    // these start drivers and displays, and know nothing that PCI and NVML do not; 0: unless the
    // user says otherwise
    setenv("HWLOC_PLUGINS_BLACKLIST", "hwloc_opencl.so,hwloc_gl.so", 0);
    if (hwloc_topology_init(&machine) != 0) return err_set(err, "hwloc cannot be started");
    // without libpciaccess, which does not give back its memory, PCI is read from Linux itself
    bool good =
        hwloc_topology_set_components(machine, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "pci") ==
            0 &&
        hwloc_topology_set_io_types_filter(machine, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) == 0 &&
        hwloc_topology_load(machine) == 0;
    if (!good)
        err_set(err, "hwloc cannot look at this machine");
    else
        good = (has_gpus(machine) ? read_gpus : read_cores)(machine, out, err);
    hwloc_topology_destroy(machine);
    return good;
}

bool detect_command(const CliArgs *args, Text *out, Err *err) {
    const char *path = cli_text(args, "output");
    Topology topology = {0};
    Text text = {0};
    if (!backends_alone("a machine is described by", err) || !detect(&topology, err)) return false;
    topology_write(&topology, &text);
    bool good = path == NULL || file_write(path, text_string(&text), text.length, err);
    if (path == NULL) text_add_bytes(out, text.data, text.length);
    text_free(&text);
    topology_free(&topology);
    return good;
}

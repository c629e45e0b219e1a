// Finds the device of all GPUs.
//
// Invariant: a device that was found for a need has all that the need names.
#include "model/cost/gpus.h"

#include "model/cost/price.h"

static bool is_known(const Device *device, GpusNeed need) {
    NumFmt used;
    switch (need) {
    case GPUS_NEED_NOTHING: return true;
    case GPUS_NEED_MEMORY: return device_low(device->memory_B) > 0;
    case GPUS_NEED_RATES: break;
    }
    return price_rate(device, NUMFMT_BF16, &used) > 0 && device_low(device->memory_Bps) > 0 &&
           device_low(device->memory_B) > 0;
}

static const char *name_of(const Device *device) {
    return device == NULL ? "one without a device" : device->name;
}

bool gpus_device(const Fabric *fabric, const char *machine, GpusNeed need, const Device **out,
                 Err *err) {
    const Device *first = fabric_device(fabric, 0);
    for (uint32_t i = 0; i < fabric->class_count; i++) {
        const VertexClass *c = &fabric->classes[i];
        if (c->kind != PART_GPU || c->device == first) continue;
        return err_set(err, "%s: mixed GPUs (%s and %s), expected one device", machine,
                       name_of(first), name_of(c->device));
    }
    if (first == NULL && need != GPUS_NEED_NOTHING)
        return err_set(err,
                       "%s: the GPUs name no device of the catalogue, so nothing is known of them: "
                       "add --device NAME",
                       machine);
    if (first != NULL && !is_known(first, need))
        return err_set(err, "%s: the catalogue has no %s for %s", machine,
                       need == GPUS_NEED_MEMORY ? "memory" : "rate, memory or bandwidth",
                       first->name);
    *out = first;
    return true;
}

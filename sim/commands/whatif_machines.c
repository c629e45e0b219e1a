// Loads a list of machines.
//
// Invariant: all machines get the same options; prices are inputs with a source, or unknown.
#include "sim/commands/whatif_machines.h"

#include <inttypes.h>
#include <string.h>

#include "sim/commands/machine_option.h"
#include "sim/commands/output.h"

static SweepMachine borrow(const CliArgs *args, const char *name, const Inputs *inputs) {
    return (SweepMachine){.name = name,
                          .device = cli_text(args, "device"),
                          .degrade = cli_text(args, "degrade"),
                          .catalogue = &inputs->catalogue,
                          .input = inputs_for_ranking(inputs),
                          .experts = inputs->experts};
}

static bool set_price(Inputs *inputs, const char *dollars, Err *err) {
    if (!scenario_set(&inputs->scenario, SCENARIO_PRICE, "--price", dollars, err)) return false;
    inputs->catalogue_price = false;
    scenario_rehash(&inputs->scenario);
    return true;
}

static bool set_named(WhatifMachines *to, const char *item, Err *err) {
    const char *equals = strrchr(item, '='); // a synthetic machine has some in its name
    const char *name = arena_printf(&to->arena, "%.*s", (int)(equals - item), item);
    bool is_found = false;
    for (uint32_t i = 0; i < to->count; i++) {
        if (sweep_find_machine(&to->machines[i], 1, name) == SWEEP_NONE) continue;
        is_found = true;
        if (!set_price(&to->inputs[i], equals + 1, err)) return false;
    }
    return is_found ||
           err_set(err, "--price: no machine of --topo is named \"%s\" or has such GPUs", name);
}

static bool read_prices(const CliArgs *args, WhatifMachines *to, Err *err) {
    const char *text = cli_text(args, "price"), *items[SWEEP_MACHINES_MAX];
    uint32_t count = 0;
    if (text == NULL) return true;
    if (!machine_option_split("price", text, ',', SWEEP_MACHINES_MAX, &to->arena, items, &count,
                              err))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (strchr(items[i], '=') != NULL) {
            if (!set_named(to, items[i], err)) return false;
            continue;
        }
        if (count > 1)
            return err_set(err, "--price: expected NAME=DOLLARS,..., found \"%s\"", items[i]);
        for (uint32_t m = 0; m < to->count; m++)
            if (!set_price(&to->inputs[m], items[i], err)) return false;
    }
    return true;
}

static bool load(const CliArgs *args, WhatifMachines *to, Err *err) {
    const char *names[SWEEP_MACHINES_MAX];
    uint32_t count;
    if (!machine_option_split("topo", cli_text(args, "topo"), '+', SWEEP_MACHINES_MAX, &to->arena,
                              names, &count, err))
        return false;
    to->inputs = mem_alloc(count, sizeof *to->inputs);
    to->machines = arena_alloc(&to->arena, count, sizeof *to->machines);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t before = 0; before < i; before++)
            if (strcmp(names[before], names[i]) == 0)
                return err_set(err, "--topo: %s is listed twice", names[i]);
        if (!inputs_load_on(args, names[i], &to->inputs[i], err)) return false;
        to->machines[to->count++] = borrow(args, names[i], &to->inputs[i]);
    }
    return read_prices(args, to, err);
}

bool whatif_machines_load(const CliArgs *args, WhatifMachines *out, Err *err) {
    *out = (WhatifMachines){0};
    if (!cli_is_given(args, "topo"))
        return err_set(err,
                       "%s: --topo is missing: a file, a shipped name such as nvl72.json, a "
                       "machine such as hgx-h100:4, or several joined by +",
                       args->command->name);
    if (load(args, out, err)) return true;
    whatif_machines_free(out);
    return false;
}

void whatif_machines_free(WhatifMachines *machines) {
    for (uint32_t i = 0; i < machines->count; i++) inputs_free(&machines->inputs[i]);
    mem_free(machines->inputs);
    arena_free(&machines->arena);
    *machines = (WhatifMachines){0};
}

void whatif_machines_add_price(const Inputs *in, Text *out) {
    uint64_t uusd = in->scenario.price_uusd_per_gpu_hour;
    if (uusd == 0) {
        text_add(out, "price unknown: the catalogue has none, add --price");
        return;
    }
    text_addf(out, "$%.*f for a GPU and hour", uusd % 10000 == 0 ? 2 : 6, (double)uusd * 1e-6);
    if (!in->catalogue_price) return;
    text_addf(out, " (device catalogue, low end of $%.2f to $%.2f: %s)",
              (double)in->device->price_uusd_per_hour.low * 1e-6,
              (double)in->device->price_uusd_per_hour.high * 1e-6, in->device->price_source);
}

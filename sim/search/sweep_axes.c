// Reads the axes of a sweep.
//
// Invariant: how many values and cells there are is computed and checked before any is stored; each
// end of a range passes the check that the same field of a scenario passes, so that all values
// between them do.
#include "sim/search/sweep_axes.h"

#include <inttypes.h>
#include <string.h>

#include "model/base/text.h"
#include "model/base/wide.h"
#include "model/machine/port_rate.h"
#include "sim/search/sweep.h"

#define BYTES_PER_GBIT UINT64_C(125000000)

static const char *const kind_names[SWEEP_KIND_COUNT] = {
#define X(name, text) text,
    SWEEP_AXIS_LIST(X)
#undef X
};
const char *const sweep_axes_fail_names[SWEEP_FAIL_COUNT] = {
#define X(name, text) text,
    SWEEP_FAIL_LIST(X)
#undef X
};

bool sweep_axes_is_continuous(SweepKind kind) {
    switch (kind) {
    case SWEEP_LINK:
    case SWEEP_ISL:
    case SWEEP_OSL:
    case SWEEP_CONCURRENCY:
    case SWEEP_MEMORY_FRACTION:
    case SWEEP_PRICE: return true;
    case SWEEP_GPUS:
    case SWEEP_FAIL:
    case SWEEP_KV_FORMAT:
    case SWEEP_KIND_COUNT: break;
    }
    return false;
}

// Named values have no order.
static bool is_ordered(SweepKind kind) {
    return kind == SWEEP_GPUS || sweep_axes_is_continuous(kind);
}

// ---- One value

static const char *name_rate(const SweepAxis *axis, uint64_t Bps, Arena *arena) {
    if (topology_class_is_network(axis->link_class))
        return arena_printf(arena, "%.6g Gbit/s", (double)Bps / (double)BYTES_PER_GBIT);
    return arena_printf(arena, "%.6g GB/s", (double)Bps * 1e-9);
}

static const char *name_price(uint64_t uusd, Arena *arena) {
    if (uusd % 10000 == 0) return arena_printf(arena, "$%.2f", (double)uusd * 1e-6);
    return arena_printf(arena, "$%.6g", (double)uusd * 1e-6);
}

SweepValue sweep_axes_value(const SweepAxis *axis, uint64_t number, Arena *arena) {
    SweepValue value = {.number = number};
    switch (axis->kind) {
    case SWEEP_GPUS:
    case SWEEP_ISL:
    case SWEEP_OSL:
    case SWEEP_CONCURRENCY: value.text = arena_printf(arena, "%" PRIu64, number); break;
    case SWEEP_LINK: value.text = name_rate(axis, number, arena); break;
    case SWEEP_FAIL: value.text = sweep_axes_fail_names[number]; break;
    case SWEEP_KV_FORMAT: value.text = numfmt_names[number]; break;
    case SWEEP_MEMORY_FRACTION:
        value.text = arena_printf(arena, "%.3g", (double)number / 1000);
        break;
    case SWEEP_PRICE: value.text = name_price(number, arena); break;
    case SWEEP_KIND_COUNT: break;
    }
    return value;
}

static bool read_fail(const char *label, const char *text, uint64_t *out, Err *err) {
    char quoted[TEXT_QUOTE_MAX];
    for (uint32_t i = 0; i < SWEEP_FAIL_COUNT; i++) {
        if (strcmp(text, sweep_axes_fail_names[i]) != 0) continue;
        *out = i;
        return true;
    }
    return err_set(err, "%s: expected link, plane, nic, switch or gpu, found %s", label,
                   text_quote(text, quoted));
}

static bool read_gpus(const char *label, const char *text, uint64_t *out, Err *err) {
    if (!units_parse_count(text, out, err)) return err_prefix(err, "%s", label);
    return (*out >= 1 && *out <= TOPOLOGY_PARTS_MAX) ||
           err_set(err, "%s: expected 1 to %d GPUs, found %" PRIu64, label, TOPOLOGY_PARTS_MAX,
                   *out);
}

static bool read_rate(LinkClass link_class, const char *label, const char *text, uint64_t *out,
                      Err *err) {
    return port_rate_parse(link_class, text, out, err) || err_prefix(err, "%s", label);
}

// By the rules of a scenario, on one that is thrown away.
static bool read_field(ScenarioField field, const char *label, const char *text, uint64_t *out,
                       Err *err) {
    Scenario scratch;
    scenario_init(&scratch);
    bool done = scenario_set(&scratch, field, label, text, err);
    if (done) {
        const uint64_t numbers[SCENARIO_FIELD_COUNT] = {
            [SCENARIO_ISL] = scratch.isl,
            [SCENARIO_OSL] = scratch.osl,
            [SCENARIO_CONCURRENCY] = scratch.concurrency,
            [SCENARIO_PRICE] = scratch.price_uusd_per_gpu_hour,
            [SCENARIO_MEMORY_FRACTION] = scratch.memory_permille,
            [SCENARIO_KV_FORMAT] = scratch.kv_format};
        *out = numbers[field];
    }
    scenario_free(&scratch);
    return done;
}

// Those that engines and the search offer.
static bool read_format(const char *label, const char *text, uint64_t *out, Err *err) {
    if (!read_field(SCENARIO_KV_FORMAT, label, text, out, err)) return false;
    return *out == NUMFMT_BF16 || *out == NUMFMT_FP8 ||
           err_set(err, "%s: expected bf16 or fp8, found %s", label, text);
}

static bool read_value(const SweepAxis *axis, const char *label, const char *text, uint64_t *out,
                       Err *err) {
    switch (axis->kind) {
    case SWEEP_GPUS: return read_gpus(label, text, out, err);
    case SWEEP_LINK: return read_rate(axis->link_class, label, text, out, err);
    case SWEEP_FAIL: return read_fail(label, text, out, err);
    case SWEEP_ISL: return read_field(SCENARIO_ISL, label, text, out, err);
    case SWEEP_OSL: return read_field(SCENARIO_OSL, label, text, out, err);
    case SWEEP_CONCURRENCY: return read_field(SCENARIO_CONCURRENCY, label, text, out, err);
    case SWEEP_KV_FORMAT: return read_format(label, text, out, err);
    case SWEEP_MEMORY_FRACTION: return read_field(SCENARIO_MEMORY_FRACTION, label, text, out, err);
    case SWEEP_PRICE: return read_field(SCENARIO_PRICE, label, text, out, err);
    case SWEEP_KIND_COUNT: break;
    }
    return false;
}

// ---- The values of an axis

#define ITEMS_MAX 256 // of a list

// What was read of one item: a value (low == high), or a range that doubles (step 0) or adds.
typedef struct Item {
    uint64_t low, high, step;
    uint64_t count;
} Item;

typedef struct Draft {
    SweepAxis axis;
    const char *label; // "--vary isl"
    char *texts[ITEMS_MAX];
    Item items[ITEMS_MAX];
    uint32_t item_count;
    uint64_t count; // of values
} Draft;

static uint64_t count_item(const Item *item) {
    uint64_t count = 1;
    if (item->low == item->high) return 1;
    if (item->step > 0) return wide_div_up_u64(item->high - item->low, item->step) + 1;
    for (uint64_t at = item->low; at < item->high; at *= 2) count++;
    return count;
}

static bool has_unit(const char *text) {
    size_t length = strlen(text);
    return length > 0 && strspn(text, "0123456789.") < length;
}

// "200" before "1600Gbps" is "200Gbps".
static const char *with_unit(const Draft *draft, const char *text, const char *last, Arena *arena) {
    if (draft->axis.kind != SWEEP_LINK || has_unit(text) || *text == '\0') return text;
    return arena_printf(arena, "%s%s", text, last + strspn(last, "0123456789."));
}

static bool check_range(const Draft *draft, const char *text, const Item *item, bool has_step,
                        Err *err) {
    if (item->low > item->high)
        return err_set(err, "%s: %s runs backwards, expected the smaller end first", draft->label,
                       text);
    return !has_step || item->step > 0 ||
           err_set(err, "%s: %s has a step of 0", draft->label, text);
}

// "a", "a:b" or "a:b:step". `last` is the item whose unit the others take.
static bool read_item(Draft *draft, char *text, const char *last, Arena *arena, Err *err) {
    const char *whole = arena_string(arena, text);
    char *parts[3] = {text};
    uint32_t count = 1;
    for (char *colon; count < 3 && (colon = strchr(parts[count - 1], ':')) != NULL; count++) {
        *colon = '\0';
        parts[count] = colon + 1;
    }
    if (count > 1 && !is_ordered(draft->axis.kind))
        return err_set(err, "%s: expected names separated by commas, found the range %s",
                       draft->label, whole);
    if (strchr(parts[count - 1], ':') != NULL)
        return err_set(err, "%s: expected FROM:TO:STEP, found %s", draft->label, whole);
    const char *unit = count > 1 && has_unit(parts[count - 1]) ? parts[count - 1] : last;
    uint64_t numbers[3] = {0};
    for (uint32_t i = 0; i < count; i++) {
        bool is_step = i == 2;
        const char *value = with_unit(draft, parts[i], unit, arena);
        uint64_t zero;
        if (is_step && text_parse_u64(parts[i], &zero) && zero == 0) continue;
        if (!read_value(&draft->axis, draft->label, value, &numbers[i], err)) return false;
    }
    Item item = {numbers[0], count > 1 ? numbers[1] : numbers[0], numbers[2], 0};
    if (!check_range(draft, whole, &item, count == 3, err)) return false;
    item.count = count_item(&item);
    draft->count = wide_add_saturate(draft->count, item.count);
    draft->items[draft->item_count++] = item;
    return true;
}

static bool read_items(Draft *draft, uint32_t text_count, Arena *arena, Err *err) {
    const char *colon = text_count > 0 ? strrchr(draft->texts[text_count - 1], ':') : NULL;
    const char *last = colon != NULL ? colon + 1 : draft->texts[text_count - 1];
    last = arena_string(arena, last);
    for (uint32_t i = 0; i < text_count; i++)
        if (!read_item(draft, draft->texts[i], last, arena, err)) return false;
    return true;
}

// ---- The text

static bool read_name(Draft *draft, char *name, Err *err) {
    SweepAxis *axis = &draft->axis;
    char quoted[TEXT_QUOTE_MAX];
    char *dot = strchr(name, '.');
    axis->subject = "";
    if (dot != NULL) {
        *dot = '\0';
        axis->subject = dot + 1;
    }
    for (uint32_t i = 0; i < SWEEP_KIND_COUNT; i++)
        if (strcmp(name, kind_names[i]) == 0) axis->kind = (SweepKind)i;
    if (axis->kind == SWEEP_KIND_COUNT) {
        uint32_t near = text_nearest(name, kind_names, SWEEP_KIND_COUNT);
        return err_set(err, "--vary: unknown axis %s%s%s%s", text_quote(axis->name, quoted),
                       near == UINT32_MAX ? ", expected " : ", did you mean ",
                       near == UINT32_MAX ? "gpus, link.CLASS, fail, isl, osl, concurrency, "
                                            "kv-format, memory-fraction or price"
                                          : kind_names[near],
                       near == SWEEP_LINK ? ".CLASS" : "");
    }
    if (axis->kind == SWEEP_LINK && *axis->subject == '\0')
        return err_set(err, "--vary link: expected a class of links, such as link.ib");
    if (*axis->subject != '\0' && axis->kind != SWEEP_LINK && axis->kind != SWEEP_PRICE)
        return err_set(err, "--vary %s: expected %s without a name behind it", axis->name,
                       kind_names[axis->kind]);
    return true;
}

// Reads as far as must be known to read values.
static bool read_class(SweepAxis *axis, Err *err) {
    char quoted[TEXT_QUOTE_MAX];
    if (axis->kind != SWEEP_LINK) return true;
    for (uint32_t i = 0; i < LINK_CLASS_COUNT; i++) {
        if (strcmp(axis->subject, topology_class_names[i]) != 0) continue;
        axis->link_class = (LinkClass)i;
        return true;
    }
    uint32_t near = text_nearest(axis->subject, topology_class_names, LINK_CLASS_COUNT);
    return err_set(err, "--vary %s: unknown class of links %s, did you mean %s?", axis->name,
                   text_quote(axis->subject, quoted),
                   topology_class_names[near == UINT32_MAX ? LINK_IB : near]);
}

static bool start_axis(Draft *draft, char *text, Arena *arena, Err *err) {
    char *equals = strchr(text, '=');
    *equals = '\0';
    *draft = (Draft){.axis = {.kind = SWEEP_KIND_COUNT, .machine = SWEEP_NONE}};
    draft->axis.name = arena_string(arena, text);
    draft->label = arena_printf(arena, "--vary %s", text);
    draft->texts[0] = equals + 1;
    return read_name(draft, text, err) && read_class(&draft->axis, err);
}

static void fill(Draft *draft, Arena *arena) {
    SweepAxis *axis = &draft->axis;
    axis->values = arena_alloc(arena, (size_t)draft->count + 1, sizeof *axis->values);
    bool has_none = false;
    for (uint32_t i = 0; i < draft->item_count; i++)
        has_none = has_none || draft->items[i].low == SWEEP_FAIL_NONE;
    if (axis->kind == SWEEP_FAIL && !has_none)
        axis->values[axis->count++] = sweep_axes_value(axis, SWEEP_FAIL_NONE, arena);
    for (uint32_t i = 0; i < draft->item_count; i++) {
        const Item *item = &draft->items[i];
        for (uint64_t at = item->low; at<item->high; at = item->step> 0 ? at + item->step : at * 2)
            axis->values[axis->count++] = sweep_axes_value(axis, at, arena);
        axis->values[axis->count++] = sweep_axes_value(axis, item->high, arena);
    }
}

static bool end_axes(Draft *drafts, uint32_t count, Arena *arena, SweepAxes *out, Err *err) {
    uint64_t cells = 1;
    for (uint32_t i = 0; i < count; i++) cells = wide_mul_saturate(cells, drafts[i].count);
    if (cells > SWEEP_CELLS_MAX)
        return err_set(err, "--vary: %" PRIu64 " cells, at most %d", cells, SWEEP_CELLS_MAX);
    *out = (SweepAxes){.count = count};
    for (uint32_t i = 0; i < count; i++) {
        fill(&drafts[i], arena);
        out->axes[i] = drafts[i].axis;
    }
    return true;
}

// True when another axis may begin.
static bool check_room(const Draft *drafts, uint32_t count, uint32_t axes, Err *err) {
    if (axes > SWEEP_AXES_MAX)
        return err_set(err, "--vary: expected one or two axes, found %u", axes);
    return count < 2 || strcmp(drafts[0].axis.name, drafts[1].axis.name) != 0 ||
           err_set(err, "--vary: %s is given twice", drafts[0].axis.name);
}

static bool read_axes(char *text, Draft *drafts, Arena *arena, SweepAxes *out, Err *err) {
    uint32_t count = 0, items = 0, axes = 0;
    for (const char *at = text; (at = strchr(at, '=')) != NULL; at++) axes++;
    if (axes == 0)
        return err_set(err, "--vary: expected an axis such as isl=1k:64k, found \"%s\"", text);
    if (!check_room(drafts, 0, axes, err)) return false;
    for (char *rest = text; rest != NULL;) {
        char *item = rest, *comma = strpbrk(rest, ",|");
        rest = comma == NULL ? NULL : comma + 1;
        if (comma != NULL) *comma = '\0';
        if (strchr(item, '=') != NULL) {
            if (count > 0 && !read_items(&drafts[count - 1], items, arena, err)) return false;
            if (!start_axis(&drafts[count++], item, arena, err)) return false;
            items = 1;
        } else if (count == 0) {
            return err_set(err, "--vary: expected an axis such as isl=1k:64k, found \"%s\"", item);
        } else if (items == ITEMS_MAX) {
            return err_set(err, "%s: a list of more than %d values", drafts[count - 1].label,
                           ITEMS_MAX);
        } else {
            drafts[count - 1].texts[items++] = item;
        }
    }
    return read_items(&drafts[count - 1], items, arena, err) &&
           check_room(drafts, count, count, err) && end_axes(drafts, count, arena, out, err);
}

bool sweep_axes_parse(const char *text, Arena *arena, SweepAxes *out, Err *err) {
    Draft *drafts = mem_alloc(SWEEP_AXES_MAX, sizeof *drafts);
    bool done = read_axes(arena_string(arena, text), drafts, arena, out, err);
    mem_free(drafts);
    return done;
}

// ---- What axes name

static bool has_class(const Topology *topology, LinkClass wanted) {
    for (uint32_t t = 0; t < topology->template_count; t++)
        for (uint32_t i = 0; i < topology->templates[t].link_count; i++)
            if (topology->templates[t].links[i].link_class == wanted) return true;
    return false;
}

static bool bind_class(const SweepAxis *axis, const SweepMachine *machine, Err *err) {
    const Topology *topology = machine->input.fabric->topology;
    if (axis->kind != SWEEP_LINK || has_class(topology, axis->link_class)) return true;
    Text has = {0};
    for (uint32_t i = 0; i < LINK_CLASS_COUNT; i++)
        if (has_class(topology, (LinkClass)i))
            text_addf(&has, "%s%s", has.length > 0 ? ", " : "", topology_class_names[i]);
    err_set(err, "--vary %s: %s has no such links, it has %s", axis->name, machine->name,
            text_string(&has));
    text_free(&has);
    return false;
}

static bool bind_price(SweepAxis *axis, const SweepMachine *machines, uint32_t count, Err *err) {
    if (axis->kind != SWEEP_PRICE || *axis->subject == '\0') return true;
    axis->machine = sweep_find_machine(machines, count, axis->subject);
    return axis->machine != SWEEP_NONE ||
           err_set(err, "--vary %s: no machine of --topo is named \"%s\" or has such GPUs",
                   axis->name, axis->subject);
}

bool sweep_axes_bind(SweepAxes *axes, const SweepMachine *machines, uint32_t count, Err *err) {
    for (uint32_t i = 0; i < axes->count; i++) {
        SweepAxis *axis = &axes->axes[i];
        if (!bind_price(axis, machines, count, err)) return false;
        for (uint32_t m = 0; m < count; m++)
            if (!bind_class(axis, &machines[m], err)) return false;
    }
    return true;
}

// Reads the options that only plan-capacity has.
//
// Invariant: every amount is bounded when it is read, so that sums of machines stay in 64 bits. A
// price is only used for a date on which it was known.
#include "sim/commands/plan_capacity_ask.h"

#include <inttypes.h>
#include <string.h>

#include "model/base/num.h"
#include "sim/commands/output.h"

#define UUSD_PER_USD 1e6
#define DOLLARS_MOST 1e12
#define TOKENS_MOST  UINT64_C(1000000000000000000)
#define YEARS_MOST   50

// ---- Dates

static const char *const months[] = {"January",   "February", "March",    "April",
                                     "May",       "June",     "July",     "August",
                                     "September", "October",  "November", "December"};
#define MONTHS (sizeof months / sizeof *months)

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static uint32_t four_digits(const char *text) {
    uint32_t year = 0;
    for (uint32_t i = 0; i < 4; i++) {
        if (!is_digit(text[i])) return 0;
        year = 10 * year + (uint32_t)(text[i] - '0');
    }
    return year;
}

bool plan_capacity_ask_month(const char *text, uint32_t *out) {
    const char *first = NULL;
    for (uint32_t i = 0; i < MONTHS; i++) {
        const char *at = strstr(text, months[i]);
        if (at == NULL || (first != NULL && at > first)) continue;
        const char *year = at + strlen(months[i]);
        if (*year != ' ' || four_digits(year + 1) == 0) continue;
        first = at;
        *out = 12 * four_digits(year + 1) + i;
    }
    return first != NULL;
}

// "2026-06-01", of which the month counts.
static bool read_as_of(const CliArgs *args, PlanCapacityAsk *out, Err *err) {
    const char *text = cli_text(args, "as-of");
    if (text == NULL) return true;
    uint32_t year = four_digits(text), month = 0, day = 0;
    if (year > 0 && strlen(text) == 10 && text[4] == '-' && text[7] == '-' && is_digit(text[5]) &&
        is_digit(text[6]) && is_digit(text[8]) && is_digit(text[9])) {
        month = (uint32_t)(10 * (text[5] - '0') + text[6] - '0');
        day = (uint32_t)(10 * (text[8] - '0') + text[9] - '0');
    }
    if (month < 1 || month > MONTHS || day < 1 || day > 31)
        return err_set(err, "--as-of: expected a date such as 2026-06-01, found \"%s\"", text);
    out->as_of = 12 * year + month - 1;
    out->as_of_text = text;
    return true;
}

static bool check_dates(const PlanCapacityAsk *ask, const WhatifMachines *machines, Err *err) {
    for (uint32_t i = 0; i < machines->count && ask->as_of > 0; i++) {
        const Inputs *in = &machines->inputs[i];
        uint32_t month;
        if (!in->catalogue_price || !plan_capacity_ask_month(in->device->price_source, &month) ||
            month <= ask->as_of)
            continue;
        return err_set(err,
                       "--as-of %s: the price of %s is of %s %u (%s): add --price \"%s=DOLLARS\"",
                       ask->as_of_text, in->device->name, months[month % 12], month / 12,
                       in->device->price_source, in->device->name);
    }
    return true;
}

// ---- Amounts

static bool read_dollars(const char *option, const char *text, uint64_t *out, Err *err) {
    double usd;
    if (*text == '$') text++;
    if (!text_parse_double(text, &usd) || !(usd > 0 && usd <= DOLLARS_MOST))
        return err_set(err, "--%s: expected dollars above 0 and up to %.0f, found \"%s\"", option,
                       DOLLARS_MOST, text);
    *out = (uint64_t)num_round(usd * UUSD_PER_USD);
    return *out > 0 || err_set(err, "--%s: expected at least a millionth of a dollar", option);
}

static bool read_budget(const CliArgs *args, PlanCapacityAsk *out, Err *err) {
    const char *text = cli_text(args, "budget"), *slash;
    Arena arena = {0};
    if (text == NULL) return true;
    slash = strchr(text, '/');
    bool is_month = slash != NULL && strcmp(slash, "/month") == 0;
    if (slash == NULL || !(is_month || strcmp(slash, "/hour") == 0))
        return err_set(err, "--budget: expected DOLLARS/hour or DOLLARS/month, found \"%s\"", text);
    const char *number = arena_printf(&arena, "%.*s", (int)(slash - text), text);
    bool done = read_dollars("budget", number, &out->budget_uusd_per_hour, err);
    arena_free(&arena);
    if (done && is_month)
        out->budget_uusd_per_hour =
            (uint64_t)num_round((double)out->budget_uusd_per_hour / PLAN_CAPACITY_HOURS_PER_MONTH);
    return done;
}

static bool set_capex(const WhatifMachines *machines, const char *name, const char *dollars,
                      PlanCapacityAsk *out, Err *err) {
    bool is_found = false;
    for (uint32_t i = 0; i < machines->count; i++) {
        if (*name != '\0' && sweep_find_machine(&machines->machines[i], 1, name) == SWEEP_NONE)
            continue;
        is_found = true;
        if (!read_dollars("capex", dollars, &out->capex_uusd[i], err)) return false;
    }
    return is_found ||
           err_set(err, "--capex: no machine of --topo is named \"%s\" or has such GPUs", name);
}

// DOLLARS of the only machine, or NAME=DOLLARS,... each of a whole machine.
static bool read_capex(const CliArgs *args, const WhatifMachines *machines, PlanCapacityAsk *out,
                       Err *err) {
    const char *text = cli_text(args, "capex");
    Arena arena = {0};
    bool done = true;
    for (char *item = text == NULL ? NULL : arena_string(&arena, text); done && item != NULL;) {
        char *comma = strchr(item, ','), *equals;
        if (comma != NULL) *comma = '\0';
        equals = strrchr(item, '=');
        if (equals == NULL && (machines->count > 1 || comma != NULL)) {
            done = err_set(err, "--capex: expected NAME=DOLLARS,..., found \"%s\"", text);
        } else {
            if (equals != NULL) *equals = '\0';
            done = set_capex(machines, equals == NULL ? "" : item,
                             equals == NULL ? item : equals + 1, out, err);
        }
        item = comma == NULL ? NULL : comma + 1;
    }
    arena_free(&arena);
    return done;
}

static bool read_life(const CliArgs *args, PlanCapacityAsk *out, Err *err) {
    const char *text = cli_text(args, "life");
    double years;
    if (text == NULL) return true;
    if (!cli_is_given(args, "capex"))
        return err_set(err, "--life: years of use of a machine that --capex buys");
    if (!text_parse_double(text, &years) || !(years >= 0.1 && years <= YEARS_MOST))
        return err_set(err, "--life: expected 0.1 to %d years, found %s", YEARS_MOST, text);
    out->life_months = (uint32_t)num_round(years * 12);
    return true;
}

static bool read_utilisation(const CliArgs *args, PlanCapacityAsk *out, Err *err) {
    double part;
    const char *text = cli_text(args, "utilization");
    if (!text_parse_double(text, &part) || !(part >= 0.001 && part <= 1))
        return err_set(err, "--utilization: expected 0.001 to 1, found %s", text);
    out->utilisation_permille = (uint32_t)num_round(part * 1000);
    return true;
}

bool plan_capacity_ask_read(const CliArgs *args, const WhatifMachines *machines,
                            PlanCapacityAsk *out, Err *err) {
    *out = (PlanCapacityAsk){.tokens_per_day = cli_count(args, "tokens-per-day")};
    if (out->tokens_per_day == 0 || out->tokens_per_day > TOKENS_MOST)
        return err_set(err, "--tokens-per-day: expected 1 to %" PRIu64 ", found %" PRIu64,
                       TOKENS_MOST, out->tokens_per_day);
    return read_budget(args, out, err) && read_capex(args, machines, out, err) &&
           read_life(args, out, err) && read_utilisation(args, out, err) &&
           read_as_of(args, out, err) && check_dates(out, machines, err);
}

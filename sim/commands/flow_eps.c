// Reads --flow-eps, and says with every result what it was and what it did.
//
// Invariant: a value that is not 0 is at least 10^-9, so that nothing reads as exact that is not.
#include "sim/commands/flow_eps.h"

#include "model/base/num.h"

#define PPB     1e9
#define EPS_MAX 0.1 // an end that moves by a tenth of the time so far says little

bool flow_eps_read(const CliArgs *args, uint32_t *out_ppb, Err *err) {
    const char *text = cli_text(args, "flow-eps");
    double eps = 0;
    if (!text_parse_double(text, &eps) || !(eps >= 0 && eps <= EPS_MAX) ||
        (eps > 0 && eps < 1 / PPB))
        return err_set(err, "--flow-eps: expected 0 or 1e-9 to 0.1, found \"%s\"", text);
    *out_ppb = (uint32_t)num_round(eps * PPB);
    return true;
}

static void add_part(uint64_t ppb, Text *out) {
    text_add_double(out, (double)ppb / PPB);
}

void flow_eps_add(uint32_t ppb, uint64_t error_ppb, Text *out) {
    if (ppb == 0) {
        text_add(out, "0 (exact)");
        return;
    }
    add_part(ppb, out);
    text_add(out, ", which moved the end of a transfer by at most ");
    add_part(error_ppb, out);
    text_add(out, " of its time");
}

void flow_eps_write(JsonWriter *writer, uint32_t ppb, uint64_t error_ppb) {
    jsonw_double(writer, "flow_eps", (double)ppb / PPB);
    jsonw_double(writer, "flow_eps_error", (double)error_ppb / PPB);
}

// Reads --flow-eps, and says with every result what it was and what it did.
//
// Invariant: a value that is not 0 is at least 10^-9, so that nothing reads as exact that is not.
#include "sim/commands/flow_eps.h"

#include <string.h>

#include "model/base/num.h"

#define PPB     1e9
#define EPS_MAX 0.1 // an end that moves by a tenth of the time so far says little

bool flow_eps_read(const CliArgs *args, uint32_t *out_ppb, Err *err) {
    const char *text = cli_text(args, "flow-eps");
    double eps = 0;
    bool is_zero = strspn(text, "0.") == strcspn(text, "eE"); // 1e-400 reads as 0, too
    if (!text_parse_double(text, &eps) || !(eps <= EPS_MAX) || (!is_zero && !(eps >= 1 / PPB)))
        return err_set(err, "--flow-eps: expected 0 or 1e-9 to 0.1, found \"%s\"", text);
    *out_ppb = (uint32_t)num_round(eps * PPB);
    return true;
}

void flow_eps_add(uint32_t ppb, uint64_t error_ppb, Text *out) {
    if (ppb == 0) {
        text_add(out, "0 (exact)");
        return;
    }
    text_add_double(out, (double)ppb / PPB);
    text_add(out, " (each end waits at most ");
    text_add_double(out, (double)error_ppb / (PPB / 100));
    text_add(out, " % of its time for others; what links stand idle meanwhile comes on top)");
}

void flow_eps_write(JsonWriter *writer, uint32_t ppb, uint64_t error_ppb) {
    jsonw_double(writer, "flow_eps", (double)ppb / PPB);
    jsonw_double(writer, "flow_eps_error", (double)error_ppb / PPB);
}

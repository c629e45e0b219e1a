// Reads the rates of network ports.
//
// Source: rates of one lane are those of the InfiniBand Trade Association's roadmap, as the data
// file cites it; ports of adapters and switches have four lanes, split ones one or two.
//
// Invariant: what is read is a rate that a port of its generation has.
#include "model/machine/port_rate.h"

#include <inttypes.h>
#include <string.h>

#include "model/base/wide.h"
#include "model/machine/import_fact.h"

#define LANES          4 // of a whole port
#define WORD_MAX       16
#define BYTES_PER_GBIT UINT64_C(125000000)

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// Digits at the start of the text, in Gbit/s; returns what follows, NULL without digits.
static const char *read_gbits(const char *text, uint64_t *out_Bps) {
    const char *at = text;
    uint64_t value = 0;
    for (; is_digit(*at); at++)
        value = wide_add_saturate(wide_mul_saturate(value, 10), (uint64_t)(*at - '0'));
    *out_Bps = wide_mul_saturate(value, BYTES_PER_GBIT);
    return at == text ? NULL : at;
}

// "400G"; of Ethernet also "400GE" and "400GbE".
static bool read_speed(LinkClass link_class, const char *text, uint64_t *out_Bps) {
    const char *unit = read_gbits(text, out_Bps);
    if (unit == NULL) return false;
    return strcmp(unit, "G") == 0 ||
           (link_class == LINK_ETH && (strcmp(unit, "GE") == 0 || strcmp(unit, "GbE") == 0));
}

// The generation that the text begins with, in capitals or not, and what is behind its name.
static const ImportFact *find_generation(const ImportFacts *facts, const char *text,
                                         const char **out_rest) {
    char word[WORD_MAX];
    size_t length = 0;
    for (; length + 1 < WORD_MAX; length++) {
        char c = text[length];
        if (c >= 'a' && c <= 'z') c = (char)(c - 'a' + 'A');
        if (c < 'A' || c > 'Z') break;
        word[length] = c;
    }
    word[length] = '\0';
    *out_rest = text + length;
    return import_fact_find(facts, IMPORT_TABLE_IB_LANE, word);
}

static bool refuse(const ImportFacts *facts, const char *text, Err *err) {
    Text names = {0};
    char quoted[TEXT_QUOTE_MAX];
    for (uint32_t i = 0; i < facts->count; i++)
        if (facts->facts[i].table == IMPORT_TABLE_IB_LANE)
            text_addf(&names, "%s%s", names.length > 0 ? ", " : "", facts->facts[i].key);
    err_set(err,
            "expected a rate such as \"400 Gbit/s\" or \"400G\", or a generation of InfiniBand "
            "(%s), found %s",
            text_string(&names), text_quote(text, quoted));
    text_free(&names);
    return false;
}

// "NDR" or "NDR200".
static bool read_word(const ImportFacts *facts, const char *text, uint64_t *out_Bps, Err *err) {
    const char *rest, *end;
    const ImportFact *lane = find_generation(facts, text, &rest);
    uint64_t Bps;
    if (lane == NULL) return refuse(facts, text, err);
    *out_Bps = LANES * lane->rate_Bps;
    if (*rest == '\0') return true;
    end = read_gbits(rest, &Bps);
    if (end == NULL || *end != '\0') return refuse(facts, text, err);
    *out_Bps = Bps;
    return Bps == lane->rate_Bps || Bps == 2 * lane->rate_Bps || Bps == LANES * lane->rate_Bps ||
           err_set(err,
                   "%s has %" PRIu64 " Gbit/s a lane, expected a port of one, two or four, found "
                   "%s",
                   lane->key, lane->rate_Bps / BYTES_PER_GBIT, rest);
}

static bool is_word(LinkClass link_class, const char *text) {
    return link_class == LINK_IB && *text != '\0' && !is_digit(*text) && *text != '-' &&
           *text != '+' && *text != '.';
}

bool port_rate_parse(LinkClass link_class, const char *text, uint64_t *out_Bps, Err *err) {
    uint64_t Bps = 0;
    if (is_word(link_class, text)) {
        ImportFacts facts = {0};
        bool done = import_fact_load(&facts, err) && read_word(&facts, text, &Bps, err);
        import_fact_free(&facts);
        if (!done) return false;
    } else if (!(topology_class_is_network(link_class) && read_speed(link_class, text, &Bps)) &&
               !units_parse_rate(text, &Bps, err)) {
        return false;
    }
    if (Bps == 0 || Bps > TOPOLOGY_RATE_MAX_BPS)
        return err_set(err, "expected a rate above 0 and at most 100 TB/s");
    *out_Bps = Bps;
    return true;
}

// A model's config.json as input; what follows a zero byte is read as the text of --assume, and
// what follows a second one as the hf_quant_config.json beside it.
//
// A config that is accepted must give a whole model.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/moe/arch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Err err = {0};
    Arena arena = {0};
    Arch arch = {0};
    ArchAssumption assumptions[ARCH_ASSUMPTIONS_MAX];
    uint32_t count = 0;
    const uint8_t *zero = size > 0 ? memchr(data, 0, size) : NULL;
    size_t config_size = zero == NULL ? size : (size_t)(zero - data);
    char *text = arena_alloc(&arena, size - config_size + 1, 1);
    if (zero != NULL) memcpy(text, zero + 1, size - config_size - 1);
    size_t rest = zero == NULL ? 0 : size - config_size - 1, text_size = strlen(text);
    bool good = arch_split_assumptions(text, &arena, assumptions, &count, &err);
    ArchInput input = {.name = "config",
                       .bytes = (const char *)data,
                       .count = config_size,
                       .assumptions = assumptions,
                       .assumption_count = count};
    if (text_size < rest) {
        input.quant_name = "hf_quant_config";
        input.quant_bytes = text + text_size + 1;
        input.quant_count = rest - text_size - 1;
    }
    good = good && arch_parse(&input, &arch, &err);
    if (good && !arch_check(&arch, &err)) {
        fprintf(stderr, "accepted, but %s\n", err.text);
        abort();
    }
    arch_free(&arch);
    arena_free(&arena);
    return 0;
}

// Any script as lines of an engine: what is read is a consistent plan, and a word that was quoted
// is read back as it was. The flags are a few of each engine, so that nothing is read from files.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/plan/launch_parse.h"
#include "model/plan/launch_shell.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition) {
    if (!condition) abort();
}

static void check_quoting(const char *bytes, size_t count) {
    ShellScript script;
    Err err = {0};
    Text line = {0};
    char *word = malloc(count + 1);
    require(word != NULL);
    memcpy(word, bytes, count);
    word[count] = '\0';
    text_add(&line, "x ");
    launch_shell_quote(word, &line);
    if (text_is_utf8(word, strlen(word))) {
        require(launch_shell_parse("word", line.data, line.length, &script, &err));
        require(script.count == 1 && script.items[0].word_count == 2);
        require(strcmp(script.items[0].words[1], word) == 0);
        launch_shell_free(&script);
    }
    text_free(&line);
    free(word);
}

// The shipped flags, read once: no input can change them.
static const LaunchFlags *shipped_flags(void) {
    static LaunchFlags flags[LAUNCH_ENGINE_COUNT];
    Err err = {0};
    for (uint32_t i = 0; i < LAUNCH_ENGINE_COUNT && flags[i].flag_count == 0; i++)
        require(launch_flags_load((LaunchEngine)i, NULL, &flags[i], &err));
    return flags;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *bytes = size == 0 ? "" : (const char *)data;
    LaunchFlags read;
    Plan plan = {0};
    Err err = {0};
    if (launch_parse_plan("fuzz", bytes, size, shipped_flags(), NULL, &plan, NULL, &err))
        require(plan_check(&plan, &err));
    else
        require(err_is_set(&err) && plan.pool_count == 0);
    if (launch_flags_parse("data", bytes, size, NULL, &read, &err)) launch_flags_free(&read);
    check_quoting(bytes, size);
    return 0;
}

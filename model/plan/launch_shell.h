// Shell lines as data: words to write so that a shell reads them back unchanged, and the commands
// of a script.
#ifndef MODEL_PLAN_LAUNCH_SHELL_H
#define MODEL_PLAN_LAUNCH_SHELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/text.h"

// Adds the word so that a POSIX shell takes it as one word and changes nothing in it: as it is when
// it consists of letters, digits and _ @ % + = : , . / - alone, else in single quotes.
void launch_shell_quote(const char *word, Text *out);

// One command or one comment. Quotes and backslashes of words are resolved; "$NAME" is kept.
typedef struct ShellItem {
    uint32_t line; // where it begins, from 1
    const char **words;
    uint32_t word_count; // 0: a comment
    const char *comment; // without the '#'; NULL for a command
} ShellItem;

typedef struct ShellScript {
    Arena arena;
    ShellItem *items; // in the order of the text
    uint32_t count;
} ShellScript;

// Reads simple commands that newlines, ';', '&', '&&' and '||' end, with continued lines and
// comments. Redirections and what follows a '|' are dropped. Refuses what only a shell can answer,
// such as $(...), loops and here-documents: "NAME:LINE: ...".
bool launch_shell_parse(const char *name, const char *bytes, size_t count, ShellScript *out,
                        Err *err);
void launch_shell_free(ShellScript *script);

#endif

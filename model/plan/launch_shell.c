// Quotes words for a POSIX shell and splits scripts into words.
//
// Invariant: a word that was quoted is read back as the same bytes, whatever they are; every byte
// of a script is read once, and nothing is executed or looked up. The rules are those of POSIX.1,
// Shell Command Language, 2.2 (quoting) and 2.3 (token recognition).
#include "model/plan/launch_shell.h"

#include <inttypes.h>
#include <string.h>

static bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("_@%+=:,./-", c) != NULL);
}

void launch_shell_quote(const char *word, Text *out) {
    size_t plain = 0;
    while (is_plain(word[plain])) plain++;
    if (plain > 0 && word[plain] == '\0') {
        text_add(out, word);
        return;
    }
    text_add_char(out, '\'');
    for (; *word != '\0'; word++) {
        if (*word == '\'')
            text_add(out, "'\\''");
        else
            text_add_char(out, *word);
    }
    text_add_char(out, '\'');
}

// ---- Reading

typedef struct Scan {
    const char *name, *at, *end;
    uint32_t line;
    ShellScript *script;
    uint32_t capacity;
    const char **words; // of the command that is being read; heap
    uint32_t word_count, word_capacity;
    uint32_t first_line;
    Text word;
    bool in_word, was_quoted;
    bool drops_word; // the next word is the file of a redirection
    bool drops_rest; // behind a pipe
    Err *err;
} Scan;

static bool fail_at(const Scan *scan, uint32_t line, const char *what) {
    return err_set(scan->err, "%s:%" PRIu32 ": %s", scan->name, line, what);
}

static bool fail(const Scan *scan, const char *what) {
    return fail_at(scan, scan->line, what);
}

static ShellItem *add_item(Scan *scan, uint32_t line) {
    ShellScript *script = scan->script;
    script->items =
        mem_grow(script->items, &scan->capacity, script->count + 1, sizeof *script->items);
    ShellItem *item = &script->items[script->count++];
    *item = (ShellItem){.line = line};
    return item;
}

static void end_word(Scan *scan) {
    if (!scan->in_word) return;
    if (!scan->drops_word && !scan->drops_rest) {
        if (scan->word_count == 0) scan->first_line = scan->line;
        scan->words =
            mem_grow(scan->words, &scan->word_capacity, scan->word_count + 1, sizeof *scan->words);
        scan->words[scan->word_count++] =
            arena_string(&scan->script->arena, text_string(&scan->word));
    }
    scan->drops_word = false;
    scan->in_word = scan->was_quoted = false;
    text_free(&scan->word);
}

static void end_command(Scan *scan) {
    end_word(scan);
    if (scan->word_count > 0) {
        ShellItem *item = add_item(scan, scan->first_line);
        item->words =
            arena_copy(&scan->script->arena, scan->words, scan->word_count, sizeof *scan->words);
        item->word_count = scan->word_count;
    }
    scan->word_count = 0;
    scan->drops_word = scan->drops_rest = false;
}

static void put(Scan *scan, char c) {
    scan->in_word = true;
    text_add_char(&scan->word, c);
}

static bool read_single(Scan *scan) {
    uint32_t start = scan->line;
    scan->in_word = scan->was_quoted = true;
    for (; scan->at < scan->end && *scan->at != '\''; scan->at++) {
        if (*scan->at == '\n') scan->line++;
        put(scan, *scan->at);
    }
    if (scan->at == scan->end) return fail_at(scan, start, "a single quote is not closed");
    scan->at++;
    return true;
}

// `$` of a name, in or outside double quotes; the name itself is read as plain bytes.
static bool read_dollar(Scan *scan) {
    char next = scan->at < scan->end ? *scan->at : '\0';
    if (next == '(') return fail(scan, "$(...) cannot be read, expected its value");
    if (next == '\'') return fail(scan, "$'...' cannot be read, expected single quotes");
    put(scan, '$');
    if (next != '{') return true;
    for (scan->at++; scan->at < scan->end && *scan->at != '}'; scan->at++) {
        if (!is_plain(*scan->at) || strchr("@%+=:,./-", *scan->at) != NULL)
            return fail(scan, "${...} with more than a name cannot be read");
        put(scan, *scan->at);
    }
    if (scan->at == scan->end) return fail(scan, "${ is not closed");
    scan->at++;
    return true;
}

static bool read_double(Scan *scan) {
    uint32_t start = scan->line;
    scan->in_word = scan->was_quoted = true;
    while (scan->at < scan->end && *scan->at != '"') {
        char c = *scan->at++;
        if (c == '`') return fail(scan, "`...` cannot be read, expected its value");
        if (c == '$') {
            if (!read_dollar(scan)) return false;
            continue;
        }
        if (c == '\n') scan->line++;
        if (c == '\\' && scan->at < scan->end && strchr("$`\"\\\n", *scan->at) != NULL &&
            *scan->at != '\0') {
            c = *scan->at++;
            if (c == '\n') {
                scan->line++;
                continue;
            }
        }
        put(scan, c);
    }
    if (scan->at == scan->end) return fail_at(scan, start, "a double quote is not closed");
    scan->at++;
    return true;
}

static void read_backslash(Scan *scan) {
    if (scan->at == scan->end) return;
    char c = *scan->at++;
    if (c == '\r' && scan->at < scan->end && *scan->at == '\n') c = *scan->at++;
    if (c == '\n')
        scan->line++;
    else
        put(scan, c);
}

static void read_comment(Scan *scan) {
    const char *start = scan->at;
    while (scan->at < scan->end && *scan->at != '\n') scan->at++;
    Text text = {0};
    text_add_bytes(&text, start, (size_t)(scan->at - start));
    ShellItem *item = add_item(scan, scan->line);
    item->comment = arena_string(&scan->script->arena, text_string(&text));
    text_free(&text);
}

// The digits before it are its descriptor, what follows is the file or "&1".
static bool read_redirection(Scan *scan, char c) {
    const char *word = text_string(&scan->word);
    if (scan->in_word && !scan->was_quoted && word[strspn(word, "0123456789")] == '\0') {
        scan->in_word = false;
        text_free(&scan->word);
    }
    end_word(scan);
    if (c == '<' && scan->at < scan->end && *scan->at == '<')
        return fail(scan, "a here-document cannot be read");
    while (scan->at < scan->end && (*scan->at == '>' || *scan->at == '&' || *scan->at == '|'))
        scan->at++;
    scan->drops_word = true;
    return true;
}

static bool read_operator(Scan *scan, char c) {
    char next = scan->at < scan->end ? *scan->at : '\0';
    if (c == '&' && next == '>') {
        scan->at++;
        end_word(scan);
        return read_redirection(scan, '>');
    }
    if (c == '|' && next != '|') {
        end_word(scan);
        scan->drops_rest = true;
        return true;
    }
    if ((c == '&' || c == '|') && next == c) scan->at++;
    end_command(scan);
    return true;
}

static bool read_byte(Scan *scan) {
    char c = *scan->at++;
    switch (c) {
    case '\0': return fail(scan, "a byte of 0 in a script");
    case ' ':
    case '\t':
    case '\r': end_word(scan); return true;
    case '\n':
        end_command(scan);
        scan->line++;
        return true;
    case '\'': return read_single(scan);
    case '"': return read_double(scan);
    case '\\': read_backslash(scan); return true;
    case '$': return read_dollar(scan);
    case '`': return fail(scan, "`...` cannot be read, expected its value");
    case '<':
    case '>': return read_redirection(scan, c);
    case ';':
    case '&':
    case '|': return read_operator(scan, c);
    case '(':
    case ')': return fail(scan, "( and ) cannot be read, expected simple commands");
    default: break;
    }
    if (c == '#' && !scan->in_word) {
        end_command(scan);
        read_comment(scan);
        return true;
    }
    put(scan, c);
    return true;
}

bool launch_shell_parse(const char *name, const char *bytes, size_t count, ShellScript *out,
                        Err *err) {
    *out = (ShellScript){0};
    Scan scan = {
        .name = name, .at = bytes, .end = bytes + count, .line = 1, .script = out, .err = err};
    bool done = text_is_utf8(bytes, count) || err_set(err, "%s: not UTF-8", name);
    while (done && scan.at < scan.end) done = read_byte(&scan);
    if (done) end_command(&scan);
    text_free(&scan.word);
    mem_free(scan.words);
    if (!done) launch_shell_free(out);
    return done;
}

void launch_shell_free(ShellScript *script) {
    mem_free(script->items);
    arena_free(&script->arena);
    *script = (ShellScript){0};
}

// The bank of published cases, tests/scenarios/cases.csv (tests/scenarios/README.md says what its
// columns are): it is whole, its commands parse, and those that take milliseconds still print what
// the bank says. With MOESIM_CASES in the environment, searches are run too.
#include "tests/check.h"

#include <unistd.h>

#include "model/base/cli.h"
#include "model/base/text.h"
#include "sim/commands.h"

#define CASES_FILE   "tests/scenarios/cases.csv"
#define OUTPUT_CAP_B ((size_t)1 << 22)
#define LIMIT_S      120 // of the commands of a case

enum { ID, KIND, COMMAND, EXPECTED, GOT, VERDICT, REASON, COLUMNS };
static const char *const columns[COLUMNS] = {"id",  "kind",    "command", "expected",
                                             "got", "verdict", "reason"};

#define CASES_MAX 400

typedef struct Bank {
    Arena arena;
    const char *cells[CASES_MAX][COLUMNS];
    uint32_t count;
} Bank;

static char program[4096]; // moesim of the same build

// ---- Reading

// A cell of RFC 4180; `at` stands behind it.
static const char *read_csv_cell(char **at, Arena *arena) {
    Text text = {0};
    if (**at == '"') {
        for (++*at; **at != '\0'; ++*at) {
            if (**at == '"' && *++*at != '"') break;
            text_add_char(&text, **at);
        }
    } else {
        for (; **at != ',' && **at != '\n' && **at != '\0'; ++*at) text_add_char(&text, **at);
    }
    const char *cell = arena_string(arena, text_string(&text));
    text_free(&text);
    return cell;
}

static void read_csv_line(char **at, uint32_t line, Bank *bank, const char **cells) {
    for (uint32_t i = 0; i < COLUMNS; i++) {
        cells[i] = read_csv_cell(at, &bank->arena);
        char end = i + 1 < COLUMNS ? ',' : '\n';
        if (**at != end) fail_msg("%s:%u: cell %u does not end as it should", CASES_FILE, line, i);
        ++*at;
    }
}

static void open_bank(Bank *bank) {
    Err err = {0};
    char *bytes;
    size_t count;
    memset(bank, 0, sizeof *bank);
    check_ok(file_read(CASES_FILE, OUTPUT_CAP_B, &bank->arena, &bytes, &count, &err), &err);
    char *at = arena_printf(&bank->arena, "%.*s", (int)count, bytes);
    const char *header[COLUMNS];
    read_csv_line(&at, 1, bank, header);
    for (uint32_t i = 0; i < COLUMNS; i++) assert_string_equal(header[i], columns[i]);
    while (*at != '\0') {
        assert_true(bank->count < CASES_MAX);
        read_csv_line(&at, bank->count + 2, bank, bank->cells[bank->count]);
        bank->count++;
    }
}

static bool starts_with(const char *text, const char *start) {
    return strncmp(text, start, strlen(start)) == 0;
}

static bool is_verdict(const Bank *bank, uint32_t i, const char *verdict) {
    return strcmp(bank->cells[i][VERDICT], verdict) == 0;
}

// ---- The bank as a whole

static const char *const kinds[] = {"ranking", "fit", "topology", "cost", "pd"};
static const char *const reasons[] = {"serving dynamics", "missing input", "outside the model"};
static const char *const verdicts[] = {"agrees", "disagrees", "not answered"};
enum { KINDS = 5, REASONS = 3, VERDICTS = 3 };

static uint32_t count_of(const Bank *bank, const char *kind, const char *verdict) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < bank->count; i++)
        count += strcmp(bank->cells[i][KIND], kind) == 0 && is_verdict(bank, i, verdict);
    return count;
}

static void print_counts(const Bank *bank) {
    uint32_t sums[VERDICTS] = {0}, why[REASONS] = {0};
    for (uint32_t k = 0; k < KINDS; k++) {
        uint32_t by[VERDICTS];
        for (uint32_t v = 0; v < VERDICTS; v++)
            sums[v] += by[v] = count_of(bank, kinds[k], verdicts[v]);
        printf("cases %-8s %3u: %3u agree, %3u disagree, %3u not answered\n", kinds[k],
               by[0] + by[1] + by[2], by[0], by[1], by[2]);
    }
    for (uint32_t i = 0; i < bank->count; i++)
        for (uint32_t r = 0; is_verdict(bank, i, "not answered") && r < REASONS; r++)
            why[r] += starts_with(bank->cells[i][REASON], reasons[r]);
    printf("cases of all   %3u: %3u agree, %3u disagree, %3u not answered (%u serving dynamics, %u "
           "missing input, %u outside the model)\n",
           bank->count, sums[0], sums[1], sums[2], why[0], why[1], why[2]);
    fflush(stdout);
}

// 83 rankings, 25 of fit, 21 of topology, 4 of cost and 14 of pools; every one has a verdict.
static void test_cases_are_all_there(void **state) {
    (void)state;
    static const uint32_t want[KINDS] = {83, 25, 21, 4, 14};
    Bank bank;
    open_bank(&bank);
    print_counts(&bank);
    assert_int_equal(bank.count, 147);
    for (uint32_t k = 0; k < KINDS; k++) {
        uint32_t sum = 0;
        for (uint32_t v = 0; v < VERDICTS; v++) sum += count_of(&bank, kinds[k], verdicts[v]);
        assert_int_equal(sum, want[k]);
    }
    arena_free(&bank.arena);
}

// An answer has a command and what it printed, a disagreement says why, and a case without an
// answer has one of three reasons.
static void test_cases_have_a_command_or_a_reason(void **state) {
    (void)state;
    Bank bank;
    open_bank(&bank);
    for (uint32_t i = 0; i < bank.count; i++) {
        const char **cells = bank.cells[i];
        bool is_answered = !is_verdict(&bank, i, "not answered"), has_reason = false;
        for (uint32_t k = 0; k < i; k++)
            if (strcmp(bank.cells[k][ID], cells[ID]) == 0) fail_msg("%s stands twice", cells[ID]);
        for (uint32_t r = 0; r < REASONS; r++) has_reason |= starts_with(cells[REASON], reasons[r]);
        if (*cells[EXPECTED] == '\0') fail_msg("%s: nothing is expected", cells[ID]);
        if (is_answered != (*cells[COMMAND] != '\0') || is_answered != (*cells[GOT] != '\0'))
            fail_msg("%s: an answer has a command and what it printed", cells[ID]);
        if (!is_answered && !has_reason) fail_msg("%s: \"%s\"", cells[ID], cells[REASON]);
        if (is_verdict(&bank, i, "disagrees") && *cells[REASON] == '\0')
            fail_msg("%s: disagrees, but why", cells[ID]);
    }
    arena_free(&bank.arena);
}

static void test_cases_that_must_have_an_answer(void **state) {
    (void)state;
    static const char *const must[] = {"CO-r1-nvl72",    "CO-a800-box",      "TP-marin-bytes",
                                       "TP-nic-down",    "TP-nccltests-267", "TP-deepep-285",
                                       "TP-agrs-vs-a2a", "PD-q35-npd"};
    Bank bank;
    uint32_t found = 0;
    open_bank(&bank);
    for (uint32_t i = 0; i < bank.count; i++) {
        bool is_wanted = strcmp(bank.cells[i][KIND], "fit") == 0;
        for (size_t m = 0; m < sizeof must / sizeof must[0]; m++)
            is_wanted |= strcmp(bank.cells[i][ID], must[m]) == 0;
        found += is_wanted;
        if (is_wanted && is_verdict(&bank, i, "not answered"))
            fail_msg("%s has no answer", bank.cells[i][ID]);
    }
    assert_int_equal(found, 25 + sizeof must / sizeof must[0]);
    arena_free(&bank.arena);
}

// ---- Commands

// Words of one command, of which "double quotes" hold one together, without the file that its
// output goes to (">FILE"); `at` stands behind its end, which is ";", "&&", "|" or the end of the
// line.
static uint32_t read_words(char **at, Arena *arena, char **words, uint32_t capacity) {
    uint32_t count = 0;
    while (**at == ' ') ++*at;
    while (**at != '\0' && **at != ';' && **at != '|' && !starts_with(*at, "&&")) {
        Text word = {0};
        bool quoted = false;
        for (; **at != '\0' && (quoted || (**at != ' ' && **at != ';')); ++*at) {
            if (**at == '"')
                quoted = !quoted;
            else
                text_add_char(&word, **at);
        }
        assert_true(count < capacity);
        if (!starts_with(text_string(&word), ">"))
            words[count++] = arena_string(arena, text_string(&word));
        text_free(&word);
        while (**at == ' ') ++*at;
    }
    if (**at == ';' || **at == '|') *at += 1;
    if (starts_with(*at, "&&")) *at += 2;
    return count;
}

#define WORDS_MAX 64

static void test_cases_have_commands_that_parse(void **state) {
    (void)state;
    Bank bank;
    open_bank(&bank);
    for (uint32_t i = 0; i < bank.count; i++) {
        char *at = arena_string(&bank.arena, bank.cells[i][COMMAND]);
        while (*at != '\0') {
            char *words[WORDS_MAX + 1] = {0};
            Err err = {0};
            CliArgs args;
            int count = (int)read_words(&at, &bank.arena, words, WORDS_MAX);
            assert_true(count > 1);
            if (strcmp(words[0], "echo") == 0) continue; // a line that starts an engine
            assert_string_equal(words[0], "moesim");
            if (!cli_parse(&commands_moesim, count, words, &args, &err))
                fail_msg("%s: %s", bank.cells[i][ID], err.text);
        }
    }
    arena_free(&bank.arena);
}

// Runs of blanks and ends of lines become one blank, so that tables and wrapped lines can be
// quoted.
static void squeeze(Text *text) {
    size_t length = 0;
    for (size_t i = 0; i < text->length; i++) {
        bool is_blank = text->data[i] == ' ' || text->data[i] == '\n';
        if (is_blank && (length == 0 || text->data[length - 1] == ' ')) continue;
        text->data[length++] = is_blank ? ' ' : text->data[i];
    }
    if (text->data != NULL) text->data[length] = '\0';
    text->length = length;
}

// What the commands of a case print, in a folder of their own.
static void run_commands(const char *commands, Text *out) {
    const char *base = getenv("TMPDIR");
    char folder[1024], block[4096];
    Text line = {0};
    size_t count;
    snprintf(folder, sizeof folder, "%s/moesim-cases-XXXXXX", base != NULL ? base : "/tmp");
    assert_non_null(mkdtemp(folder));
    text_addf(&line, "cd %s && { moesim() { timeout %d '%s' \"$@\"; }; %s; } 2>&1; rm -rf %s",
              folder, LIMIT_S, program, commands, folder);
    FILE *pipe = popen(text_string(&line), "r");
    assert_non_null(pipe);
    while ((count = fread(block, 1, sizeof block, pipe)) > 0 && out->length < OUTPUT_CAP_B)
        text_add_bytes(out, block, count);
    pclose(pipe);
    text_free(&line);
    squeeze(out);
}

// `got` is what stands in the output, in pieces that are separated by "; ".
static bool check_got(const char **cells) {
    Text out = {0};
    bool good = true;
    run_commands(cells[COMMAND], &out);
    for (const char *at = cells[GOT]; *at != '\0';) {
        const char *end = strstr(at, "; ");
        size_t length = end != NULL ? (size_t)(end - at) : strlen(at);
        char piece[512];
        assert_true(length < sizeof piece);
        snprintf(piece, sizeof piece, "%.*s", (int)length, at);
        if (strstr(text_string(&out), piece) == NULL) {
            print_error("%s: \"%s\" is not printed by %s\n", cells[ID], piece, cells[COMMAND]);
            good = false;
        }
        at += length + (end != NULL ? 2 : 0);
    }
    text_free(&out);
    return good;
}

// All but searches, plans and packets, which take longer.
static bool is_cheap(const char *command) {
    static const char *const dear[] = {"moesim rank", "moesim explain", "moesim whatif",
                                       "moesim plan-capacity", "--network packet"};
    for (size_t i = 0; i < sizeof dear / sizeof dear[0]; i++)
        if (strstr(command, dear[i]) != NULL) return false;
    return *command != '\0';
}

static void check_all(bool cheap) {
    Bank bank;
    uint32_t run = 0, wrong = 0;
    open_bank(&bank);
    for (uint32_t i = 0; i < bank.count; i++) {
        if (*bank.cells[i][COMMAND] == '\0' || is_cheap(bank.cells[i][COMMAND]) != cheap) continue;
        run++;
        wrong += !check_got(bank.cells[i]);
    }
    arena_free(&bank.arena);
    assert_true(run > 20);
    assert_int_equal(wrong, 0);
}

static void test_cases_print_what_they_say(void **state) {
    (void)state;
    check_all(true);
}

static void test_cases_of_searches_print_what_they_say(void **state) {
    (void)state;
    if (getenv("MOESIM_CASES") == NULL) {
        print_error("skip %s: MOESIM_CASES is not set\n", __func__);
        skip();
    }
    check_all(false);
}

// This program is BUILD/tests/sim/test_cases.
static bool find_program(const char *self) {
    const char *slash = strrchr(self, '/');
    char path[4096];
    snprintf(path, sizeof path, "%.*s/../../moesim", slash != NULL ? (int)(slash - self) : 1,
             slash != NULL ? self : ".");
    if (path[0] == '/') {
        snprintf(program, sizeof program, "%s", path);
    } else {
        char folder[2048];
        if (getcwd(folder, sizeof folder) == NULL) return false;
        snprintf(program, sizeof program, "%s/%.2000s", folder, path);
    }
    return access(program, X_OK) == 0;
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases_are_all_there),
        cmocka_unit_test(test_cases_have_a_command_or_a_reason),
        cmocka_unit_test(test_cases_that_must_have_an_answer),
        cmocka_unit_test(test_cases_have_commands_that_parse),
        cmocka_unit_test(test_cases_print_what_they_say),
        cmocka_unit_test(test_cases_of_searches_print_what_they_say),
    };
    (void)argc;
    if (!find_program(argv[0])) {
        fprintf(stderr, "%s: not built\n", program);
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}

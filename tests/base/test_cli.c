// The command line: parsing, and the texts that come from the same table.
#include "model/base/cli.h"
#include "tests/check.h"

#include <unistd.h>

static const CliOption rank_options[] = {
    {"topo", 't', CLI_TEXT, "FILE", "nvl72.json", "the machine"},
    {"format", 0, CLI_CHOICE, "table|json|csv", "table", "how to print"},
    {"top", 'n', CLI_COUNT, "N", "10", "plans to show"},
    {"ttft", 0, CLI_TIME, "TIME", NULL, "limit of the time to the first token"},
    {"price", 0, CLI_NUMBER, "DOLLARS", NULL, "price of a GPU hour"},
    {"verbose", 'v', CLI_FLAG, NULL, NULL, "say more"},
    {0},
};

static const CliOption no_options[] = {{0}};

static const CliOption topo_options[] = {
    {"like", 'l', CLI_SHIPPED, "MACHINE", NULL, "another machine"}, {0}};

static const CliCommand commands[] = {
    {"rank", "which plan is best", "", "Simulates all legal plans. The best come first.",
     rank_options, 0, 0},
    {"simulate", "price one plan", "PLAN", "", no_options, 1, 1},
    {"compare", "compare runs", "RUN...", "", NULL, 2, 100},
    {0},
};

// Its only operand is of the kind that --like takes.
static const CliCommand shipped_commands[] = {
    {"topo", "show a machine", "MACHINE", "", topo_options, 1, 1},
    {"show", "show a plan", "PLAN", "", no_options, 1, 1},
    {0},
};

static const CliProgram shipped_program = {"moesim", "0.1.0", "machines", shipped_commands,
                                           "November 29, 2026"};

static const CliProgram program = {"moesim", "0.1.0", "plans for serving mixture-of-experts models",
                                   commands, "November 29, 2026"};

#define WORDS_MAX 80

// Parses a line whose words are separated by single blanks; the words stay until the next call.
static bool parse(const char *line, CliArgs *args, Err *err) {
    static char copy[512];
    static char *words[WORDS_MAX + 1];
    int count = 0;
    snprintf(copy, sizeof copy, "%s", line);
    char *at = copy;
    while (*at != '\0' && count < WORDS_MAX) {
        words[count++] = at;
        at += strcspn(at, " ");
        if (*at == ' ') *at++ = '\0';
    }
    words[count] = NULL;
    return cli_parse(&program, count, words, args, err);
}

static CliArgs parsed(const char *line) {
    Err err = {0};
    CliArgs args;
    check_ok(parse(line, &args, &err), &err);
    return args;
}

static void test_cli_parse_fills_defaults(void **state) {
    (void)state;
    CliArgs args = parsed("moesim rank");
    assert_string_equal(args.command->name, "rank");
    assert_string_equal(cli_text(&args, "topo"), "nvl72.json");
    assert_int_equal(cli_choice(&args, "format"), 0);
    assert_int_equal(cli_count(&args, "top"), 10);
    assert_null(cli_text(&args, "ttft"));
    assert_null(cli_text(&args, "verbose"));
    assert_false(cli_is_given(&args, "topo"));
    assert_int_equal(args.operand_count, 0);
}

static void test_cli_parse_reads_every_form(void **state) {
    (void)state;
    const char *lines[] = {
        "moesim rank --topo a.json --format csv --top 2k --ttft 1.5ms --price 2.5 --verbose",
        "moesim rank --topo=a.json --format=csv --top=2000 --ttft=1500us --price=25e-1 -v",
        "moesim rank -t a.json -n 2k -v --price 2.5 --ttft 1.5ms --format csv",
        "moesim rank -ta.json -n2k -v --price 2.5 --ttft 1.5ms --format csv",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        CliArgs args = parsed(lines[i]);
        assert_string_equal(cli_text(&args, "topo"), "a.json");
        assert_int_equal(cli_choice(&args, "format"), 2);
        assert_int_equal(cli_count(&args, "top"), 2000);
        assert_non_null(cli_text(&args, "ttft"));
        assert_non_null(cli_text(&args, "price"));
        assert_string_equal(cli_text(&args, "verbose"), "1");
        assert_true(cli_is_given(&args, "topo"));
    }
}

static void test_cli_parse_takes_operands_anywhere(void **state) {
    (void)state;
    CliArgs args = parsed("moesim simulate plan.json");
    assert_int_equal(args.operand_count, 1);
    assert_string_equal(args.operands[0], "plan.json");
    args = parsed("moesim compare - -- --odd -x");
    assert_int_equal(args.operand_count, 3);
    assert_string_equal(args.operands[0], "-");
    assert_string_equal(args.operands[1], "--odd");
    assert_string_equal(args.operands[2], "-x");
}

// A value may begin with one dash (a negative number, "-" for stdout), not with two.
static void test_cli_parse_values_that_begin_with_a_dash(void **state) {
    (void)state;
    CliArgs args = parsed("moesim rank --price -2.5 --topo -");
    assert_string_equal(cli_text(&args, "price"), "-2.5");
    assert_string_equal(cli_text(&args, "topo"), "-");
}

static void test_cli_parse_refuses_with_one_line(void **state) {
    (void)state;
    const struct {
        const char *line, *message;
    } cases[] = {
        {"moesim", "missing command, see \"moesim help\""},
        {"moesim rnak", "unknown command \"rnak\", did you mean \"rank\"?"},
        {"moesim hlep", "unknown command \"hlep\", did you mean \"help\"?"},
        {"moesim frobnicate", "unknown command \"frobnicate\", see \"moesim help\""},
        {"moesim --topo x", "unknown command \"--topo\", see \"moesim help\""},
        {"moesim rank --tpo x", "rank: unknown option --tpo, did you mean --topo?"},
        {"moesim rank --tpo=x", "rank: unknown option --tpo, did you mean --topo?"},
        {"moesim rank --xyzzy", "rank: unknown option --xyzzy, see \"moesim help rank\""},
        {"moesim rank -z", "rank: unknown option -z, see \"moesim help rank\""},
        {"moesim simulate --topo x p",
         "simulate: unknown option --topo, see \"moesim help simulate\""},
        {"moesim rank --topo a --topo b", "--topo: given twice"},
        {"moesim rank -v --verbose", "--verbose: given twice"},
        {"moesim rank --verbose=1", "--verbose: takes no value, found \"1\""},
        {"moesim rank --topo", "--topo: missing FILE"},
        {"moesim rank --topo --verbose", "--topo: missing FILE"},
        {"moesim rank --format xml", "--format: expected table, json or csv, found \"xml\""},
        {"moesim rank --format=", "--format: expected table, json or csv, found \"\""},
        {"moesim rank --format tab", "--format: expected table, json or csv, found \"tab\""},
        {"moesim rank --top -1",
         "--top: expected a count such as \"4096\" or \"8k\", found \"-1\""},
        {"moesim rank --ttft 5", "--ttft: expected a time such as \"50ms\", found \"5\": no unit"},
        {"moesim rank --price inf", "--price: expected a number such as \"2.5\", found \"inf\""},
        {"moesim rank extra", "rank: unexpected operand \"extra\", expected none"},
        {"moesim simulate", "simulate: missing operand, expected PLAN"},
        {"moesim simulate a b", "simulate: unexpected operand \"b\", expected PLAN"},
        {"moesim compare a", "compare: missing operand, expected RUN..."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Err err = {0};
        CliArgs args;
        check_fails(parse(cases[i].line, &args, &err), &err, cases[i].message);
    }
}

// 65 operands where the table allows 100: the fixed array holds 64.
static void test_cli_parse_limits_operands(void **state) {
    (void)state;
    Err err = {0};
    CliArgs args;
    Text line = {0};
    text_add(&line, "moesim compare");
    for (int i = 0; i < 64; i++) text_add(&line, " x");
    check_ok(parse(text_string(&line), &args, &err), &err);
    assert_int_equal(args.operand_count, 64);
    text_add(&line, " y");
    check_fails(parse(text_string(&line), &args, &err), &err,
                "compare: unexpected operand \"y\", expected RUN...");
    text_free(&line);
}

static void test_cli_help_and_version_are_commands(void **state) {
    (void)state;
    const struct {
        const char *line, *command, *operand;
    } cases[] = {
        {"moesim help", "help", NULL},
        {"moesim --help", "help", NULL},
        {"moesim -h", "help", NULL},
        {"moesim help rank", "help", "rank"},
        {"moesim rank --help", "help", "rank"},
        {"moesim rank --topo x -h", "help", "rank"},
        {"moesim simulate --help", "help", "simulate"},
        {"moesim --version", "version", NULL},
        {"moesim version", "version", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CliArgs args = parsed(cases[i].line);
        assert_string_equal(args.command->name, cases[i].command);
        assert_int_equal(args.operand_count, cases[i].operand != NULL);
        if (cases[i].operand != NULL) assert_string_equal(args.operands[0], cases[i].operand);
    }
}

static void test_cli_answers_for_every_program(void **state) {
    (void)state;
    Text text = {0}, help = {0};
    Err err = {0};
    CliArgs args = parsed("moesim version");
    assert_true(cli_is_built_in(args.command));
    check_ok(cli_answer(&program, &args, &text, &err), &err);
    assert_string_equal(text_string(&text), "moesim 0.1.0\n");
    text_free(&text);
    args = parsed("moesim rank --help");
    check_ok(cli_answer(&program, &args, &text, &err), &err);
    cli_help(&program, &commands[0], &help);
    assert_string_equal(text_string(&text), text_string(&help));
    args = parsed("moesim help rnak");
    check_fails(cli_answer(&program, &args, &text, &err), &err,
                "unknown command \"rnak\", did you mean \"rank\"?");
    args = parsed("moesim rank");
    assert_false(cli_is_built_in(args.command));
    text_free(&text);
    text_free(&help);
}

static void test_cli_help_lists_commands(void **state) {
    (void)state;
    Text text = {0};
    cli_help(&program, NULL, &text);
    check_text_equals(text_string(&text),
                      "usage: moesim COMMAND [OPTION]... [OPERAND]...\n"
                      "\n"
                      "plans for serving mixture-of-experts models\n"
                      "\n"
                      "commands:\n"
                      "  rank        which plan is best\n"
                      "  simulate    price one plan\n"
                      "  compare     compare runs\n"
                      "  help        list the commands, or explain one\n"
                      "  version     print the version\n"
                      "  man         print the manual page (mdoc)\n"
                      "  completion  print the completion script for bash and zsh\n"
                      "\n"
                      "\"moesim help COMMAND\" shows the options of a command\n");
    text_free(&text);
}

static void test_cli_help_shows_options(void **state) {
    (void)state;
    Text text = {0};
    cli_help(&program, &commands[0], &text);
    cli_help(&program, &commands[1], &text);
    check_text_equals(text_string(&text),
                      "usage: moesim rank [OPTION]...\n"
                      "\n"
                      "which plan is best\n"
                      "\n"
                      "Simulates all legal plans. The best come first.\n"
                      "\n"
                      "options:\n"
                      "  -t, --topo FILE              the machine (default nvl72.json)\n"
                      "      --format table|json|csv  how to print (default table)\n"
                      "  -n, --top N                  plans to show (default 10)\n"
                      "      --ttft TIME              limit of the time to the first token\n"
                      "      --price DOLLARS          price of a GPU hour\n"
                      "  -v, --verbose                say more\n"
                      "usage: moesim simulate PLAN\n"
                      "\n"
                      "price one plan\n");
    text_free(&text);
}

// Long text breaks at blanks so that no line passes 80 columns.
static void test_cli_help_wraps_details(void **state) {
    (void)state;
    static const CliCommand wordy = {"x",
                                     "short",
                                     "",
                                     "aaaaaaaaa bbbbbbbbb ccccccccc ddddddddd eeeeeeeee "
                                     "fffffffff ggggggggg hhhhhhhhhh iiiiiiiii",
                                     NULL,
                                     0,
                                     0};
    Text text = {0};
    cli_help(&program, &wordy, &text);
    check_text_equals(
        text_string(&text),
        "usage: moesim x\n\nshort\n\n"
        "aaaaaaaaa bbbbbbbbb ccccccccc ddddddddd eeeeeeeee fffffffff ggggggggg hhhhhhhhhh\n"
        "iiiiiiiii\n");
    text_free(&text);
}

// Writes `text` to a temporary file and runs `command` with its path; the exit status.
static int run_on(const char *command, const char *text) {
    char path[256], line[512];
    const char *base = getenv("TMPDIR");
    snprintf(path, sizeof path, "%.200s/moesim_XXXXXX", base != NULL ? base : "/tmp");
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, text, strlen(text)), strlen(text));
    close(descriptor);
    snprintf(line, sizeof line, "%s %s", command, path);
    int status = system(line);
    unlink(path);
    return status;
}

static void test_cli_man_passes_mandoc_lint(void **state) {
    (void)state;
    static const CliOption odd_options[] = {
        {"x-y", 0, CLI_TEXT, "A \"B\"", ".5", ".starts with a dot, has \\ and 'quotes'"}, {0}};
    static const CliCommand odd[] = {
        {"odd", "'quoted' summary", "[IN] [OUT]", "One. Two - three. .Four", odd_options, 0, 2},
        {0}};
    static const CliProgram odd_program = {"moesim-run", "0.1.0", "runs plans", odd,
                                           "November 29, 2026"};
    if (system("command -v mandoc >/dev/null") != 0) {
        print_error("skip %s: mandoc is not installed\n", __func__);
        skip();
    }
    Text text = {0};
    cli_man(&program, &text);
    int status = run_on("mandoc -T lint -W warning", text_string(&text));
    text_free(&text);
    assert_int_equal(status, 0);
    cli_man(&odd_program, &text);
    status = run_on("mandoc -T lint -W warning", text_string(&text));
    text_free(&text);
    assert_int_equal(status, 0);
}

static void test_cli_man_names_every_option(void **state) {
    (void)state;
    Text text = {0};
    cli_man(&program, &text);
    assert_non_null(strstr(text_string(&text), ".Dd November 29, 2026\n.Dt MOESIM 1\n"));
    assert_non_null(strstr(text_string(&text), ".Ss moesim simulate \"PLAN\"\n"));
    assert_non_null(strstr(text_string(&text), ".It Fl t , Fl \\-topo Ar \"FILE\"\nthe machine\n"
                                               "(default nvl72.json)\n"));
    assert_non_null(strstr(text_string(&text), ".It Fl v , Fl \\-verbose\nsay more\n"));
    text_free(&text);
}

// Sources the script in bash and completes the last of the words; the answers joined by blanks.
static void check_completion(const char *script, const char *words, const char *want) {
    char command[512];
    snprintf(command, sizeof command,
             "bash -c '. \"$0\"; COMP_WORDS=(%s); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _moesim; "
             "[ \"${COMPREPLY[*]}\" = \"%s\" ] || { echo \"%s: ${COMPREPLY[*]}\" >&2; exit 1; }'",
             words, want, want);
    assert_int_equal(run_on(command, script), 0);
}

static void test_cli_completion_completes(void **state) {
    (void)state;
    if (system("command -v bash >/dev/null") != 0) {
        print_error("skip %s: bash is not installed\n", __func__);
        skip();
    }
    Text text = {0};
    cli_completion(&program, &text);
    const char *script = text_string(&text);
    check_completion(script, "moesim \"\"", "rank simulate compare help version man completion");
    check_completion(script, "moesim ra", "rank");
    check_completion(script, "moesim help s", "simulate");
    check_completion(script, "moesim rank --t", "--topo --top --ttft");
    check_completion(script, "moesim rank --format \"\"", "table json csv");
    check_completion(script, "moesim rank --format c", "csv");
    check_completion(script, "moesim rank --topo \"\"", ""); // bash then offers files
    check_completion(script, "moesim simulate -", "--help");
    text_free(&text);
}

// The program lists MACHINE when bash asks; files that match are offered beside the names.
static void test_cli_completion_offers_shipped_names(void **state) {
    (void)state;
    if (system("command -v bash >/dev/null") != 0) {
        print_error("skip %s: bash is not installed\n", __func__);
        skip();
    }
    Text text = {0};
    text_add(&text, "moesim() { [ \"$*\" = \"completion MACHINE\" ] && echo hgx-h100 nvl72; }\n");
    cli_completion(&shipped_program, &text);
    const char *script = text_string(&text);
    check_completion(script, "moesim topo h", "hgx-h100");
    check_completion(script, "moesim topo --like n", "nvl72");
    check_completion(script, "moesim topo -l nv", "nvl72");
    check_completion(script, "moesim topo --l", "--like");
    check_completion(script, "moesim topo Makef", "Makefile");
    check_completion(script, "moesim show n", ""); // bash then offers files
    text_free(&text);
}

static void test_cli_shipped_lists_by_argument(void **state) {
    (void)state;
    Text text = {0};
    Err err = {0};
    check_ok(cli_shipped("MACHINE", &text, &err), &err);
    assert_non_null(strstr(text_string(&text), "nvl72\nnvl72-cluster\n"));
    text_free(&text);
    check_ok(cli_shipped("SCENARIO", &text, &err), &err);
    assert_non_null(strstr(text_string(&text), "chat\n"));
    text_free(&text);
    check_ok(cli_shipped("MODEL", &text, &err), &err);
    assert_non_null(strstr(text_string(&text), "kimi-k3\n"));
    check_fails(cli_shipped("FILE", &text, &err), &err,
                "completion: expected MACHINE, SCENARIO or MODEL, found \"FILE\"");
    text_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cli_parse_fills_defaults),
        cmocka_unit_test(test_cli_parse_reads_every_form),
        cmocka_unit_test(test_cli_parse_takes_operands_anywhere),
        cmocka_unit_test(test_cli_parse_values_that_begin_with_a_dash),
        cmocka_unit_test(test_cli_parse_refuses_with_one_line),
        cmocka_unit_test(test_cli_parse_limits_operands),
        cmocka_unit_test(test_cli_help_and_version_are_commands),
        cmocka_unit_test(test_cli_answers_for_every_program),
        cmocka_unit_test(test_cli_help_lists_commands),
        cmocka_unit_test(test_cli_help_shows_options),
        cmocka_unit_test(test_cli_help_wraps_details),
        cmocka_unit_test(test_cli_man_passes_mandoc_lint),
        cmocka_unit_test(test_cli_man_names_every_option),
        cmocka_unit_test(test_cli_completion_completes),
        cmocka_unit_test(test_cli_completion_offers_shipped_names),
        cmocka_unit_test(test_cli_shipped_lists_by_argument),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

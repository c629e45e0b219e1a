// Record files: small ones written here.
#include "tests/check.h"

#include "model/base/text.h"
#include "model/report/record.h"

#define HEADER "id,source,model,quantity,value,unit,formula_match,note\n"

static bool parse(const char *text, RecordFile *out, Err *err) {
    return record_parse("r.csv", text, strlen(text), out, err);
}

// Quoted cells keep their commas, "" inside quotes is one quote, an empty cell is "", and the
// series is the first word of the quantity.
static void test_record_reads_cells(void **state) {
    (void)state;
    RecordFile file = {0};
    Err err = {0};
    check_ok(parse(HEADER "A1,\"a, \"\"b\"\"\",m/x,tensors,497220,count,exact,\r\n"
                          "A2,s,m/x,\"layer_bytes[0] dense+KDA\",-2.5e3,B,,µ",
                   &file, &err),
             &err);
    assert_int_equal(file.kind, RECORD_CHECKPOINT);
    assert_int_equal(file.row_count, 2);
    assert_string_equal(record_cell(&file, 0, "source"), "a, \"b\"");
    assert_string_equal(record_cell(&file, 0, "note"), "");
    assert_true(file.rows[0].value == 497220);
    assert_int_equal(file.rows[0].line, 2);
    assert_string_equal(file.rows[1].id, "A2");
    assert_string_equal(file.rows[1].series, "layer_bytes");
    assert_string_equal(record_cell(&file, 1, "note"), "µ");
    assert_true(file.rows[1].value == -2500);
    assert_int_equal(file.rows[1].line, 3);
    record_free(&file);
    record_free(&file);
}

static void test_record_skips_a_byte_order_mark(void **state) {
    (void)state;
    RecordFile file = {0};
    Err err = {0};
    check_ok(parse("\xef\xbb\xbf" HEADER, &file, &err), &err);
    assert_int_equal(file.row_count, 0);
    record_free(&file);
}

// The header alone decides what the rows are of.
static void test_record_kind_is_the_header(void **state) {
    (void)state;
    static const struct {
        const char *header;
        RecordKind kind;
    } files[] = {
        {"id,source,model,gpu,tp,pp,dp,ep,dtype,metric,value,unit,note\n", RECORD_MEMORY},
        {"id,series,source,section,date,kind,hw,n_gpus,fabric,model,bytes,config,metric,value,unit,"
         "read_mode,quality,notes\n",
         RECORD_LOAD},
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        RecordFile file = {0};
        Err err = {0};
        check_ok(parse(files[i].header, &file, &err), &err);
        assert_int_equal(file.kind, files[i].kind);
        record_free(&file);
    }
}

static void test_record_refuses(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "r.csv:1: not a record file: column 1 is \"\", expected \"id\""},
        {"case,gpu\n", "r.csv:1: not a record file: column 1 is \"case\", expected \"id\""},
        {"case_id,gpu\n", "r.csv:1: column 2 is \"gpu\", expected \"source\" of ranking records"},
        {"id,source,model,quality\n",
         "r.csv:1: column 4 is \"quality\", expected \"quantity\" of checkpoint records"},
        {"id,source,model,gpu\n",
         "r.csv:1: column 5 is the end of the line, expected \"tp\" of memory records"},
        {"id,source,model,quantity,value,unit,formula_match,note,more\n",
         "r.csv:1: column 9 is \"more\", expected the end of the line of checkpoint records"},
        {HEADER "A1,s,m,q,1,B,exact\n", "r.csv:2: 7 cells, expected 8 as in line 1"},
        {HEADER "\n", "r.csv:2: 1 cell, expected 8 as in line 1"},
        {HEADER ",s,m,q,1,B,exact,\n", "r.csv:2: a row without an id"},
        {HEADER "A1,s,m,,1,B,exact,\n", "r.csv:2: column quantity of a row is empty"},
        {HEADER "A1,s,m,q,1 B,B,exact,\n", "r.csv:2: value: expected a number, found \"1 B\""},
        {HEADER "A1,s,m,q,,B,exact,\n", "r.csv:2: value: expected a number, found \"\""},
        {HEADER "A1,s,m,q,nan,B,exact,\n", "r.csv:2: value: expected a number, found \"nan\""},
        {HEADER "A1,s,m,q,1,B,exact,\nA2,s,m,q,1,B,,\nA1,s,m,q,2,B,exact,\n",
         "r.csv:4: id \"A1\" stands in line 2 already"},
        {HEADER "A1,s,m,q,1,B,exact,\"open\n", "r.csv:2: a quote is not closed"},
        {HEADER "A1,s,m,q,1,B,exact,\"a\"b\n",
         "r.csv:2: expected a comma or the end of the line after a quoted cell"},
        {HEADER "A1,s,m,q,1,B,exact,a\"b\n",
         "r.csv:2: a quote inside a cell that does not begin with one"},
        {HEADER "A1,s,m,q,1,B,exact,\"a\nb\"\n", "r.csv:2: a cell has a control character"},
        {HEADER "A1,s,m,q,1,B,exact,\x1b[2J\n", "r.csv:2: a cell has a control character"},
        {HEADER "A1,s,m,q,1,B,exact,\xff\n", "r.csv:2: not UTF-8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        RecordFile file = {0};
        Err err = {0};
        check_fails(parse(cases[i].text, &file, &err), &err, cases[i].message);
    }
}

// A NUL would end what is printed, and what stands behind it would be lost.
static void test_record_refuses_nul(void **state) {
    (void)state;
    static const char text[] = HEADER "A1,s,m,q,1,B,exact,a\0b\n";
    RecordFile file = {0};
    Err err = {0};
    check_fails(record_parse("r.csv", text, sizeof text - 1, &file, &err), &err,
                "r.csv:2: a cell has a control character");
}

// 4096 bytes of a cell are read, 4097 are not; 64 cells of a line are, 65 are not.
static void test_record_limits(void **state) {
    (void)state;
    for (uint32_t extra = 0; extra < 2; extra++) {
        Text text = {0};
        RecordFile file = {0};
        Err err = {0};
        text_add(&text, HEADER "A1,s,m,q,1,B,exact,");
        for (uint32_t i = 0; i < RECORD_CELL_MAX + extra; i++) text_add_char(&text, 'x');
        bool good = parse(text_string(&text), &file, &err);
        assert_true(good == (extra == 0));
        if (!good) assert_string_equal(err.text, "r.csv:2: a cell is too long");
        record_free(&file);
        text_free(&text);
    }
    char line[RECORD_COLUMNS_MAX + 2];
    memset(line, ',', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    RecordFile file = {0};
    Err err = {0};
    check_fails(parse(line, &file, &err), &err, "r.csv:1: more than 64 cells");
}

// Rows of a case share its id.
static void test_record_repeats_a_case_in_rankings(void **state) {
    (void)state;
    RecordFile file = {0};
    Err err = {0};
    check_ok(parse("case_id,source,gpu,n_gpus,nodes,interconnect,model,precision,framework,isl,osl,"
                   "concurrency_or_rate,tp,pp,dp,ep,other_flags,metric,value,unit\n"
                   "A,s,g,8,1,x,m,p,f,1,1,1,8,1,1,1,,ttft,5,ms\n"
                   "A,s,g,8,1,x,m,p,f,1,1,1,8,1,1,8,,ttft,6,ms\n",
                   &file, &err),
             &err);
    assert_int_equal(file.kind, RECORD_RANKING);
    assert_string_equal(file.rows[0].id, file.rows[1].id);
    assert_string_equal(file.rows[1].series, "ttft");
    record_free(&file);
}

static void test_record_all_published_files(void **state) {
    (void)state;
    static const struct {
        const char *path;
        uint32_t rows;
    } files[] = {{"truth/checkpoints.csv", 66}, {"truth/truth_memory.csv", 44},
                 {"truth/comm.csv", 5422},      {"truth/kernel.csv", 8427},
                 {"truth/serving.csv", 3885},   {"truth/load.csv", 214},
                 {"truth/imbalance.csv", 59},   {"truth/ranking_truth.csv", 993}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        RecordFile file = {0};
        Err err = {0};
        check_ok(record_read(check_shared(files[i].path), &file, &err), &err);
        assert_int_equal(file.row_count, files[i].rows);
        record_free(&file);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_record_reads_cells),
        cmocka_unit_test(test_record_skips_a_byte_order_mark),
        cmocka_unit_test(test_record_kind_is_the_header),
        cmocka_unit_test(test_record_refuses),
        cmocka_unit_test(test_record_refuses_nul),
        cmocka_unit_test(test_record_limits),
        cmocka_unit_test(test_record_repeats_a_case_in_rankings),
        cmocka_unit_test(test_record_all_published_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

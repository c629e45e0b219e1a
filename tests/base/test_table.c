// Tables for people and as CSV.
#include "model/base/table.h"
#include "tests/check.h"

static Table make_table(void) {
    Table table = {0};
    table_column(&table, "plan", TABLE_LEFT);
    table_column(&table, "tok/s", TABLE_RIGHT);
    table_column(&table, "note", TABLE_LEFT);
    table_cell(&table, "TP8");
    table_cellf(&table, "%d", 1234567);
    table_cell(&table, "");
    table_cell(&table, "caf\xc3\xa9");
    table_cell(&table, "9");
    table_cell(&table, "say \"hi\", twice");
    return table;
}

// Widths: plan 4 ("café" has four columns in five bytes), tok/s 7, note without padding at the end.
static void test_table_print_aligns_by_code_points(void **state) {
    (void)state;
    Table table = make_table();
    Text text = {0};
    table_print(&table, &text);
    check_text_equals(text_string(&text), "plan    tok/s  note\n"
                                          "TP8   1234567\n"
                                          "caf\xc3\xa9        9  say \"hi\", twice\n");
    text_free(&text);
    table_free(&table);
    table_free(&table);
}

// Empty cells in the middle keep their column, at the end they leave no blanks.
static void test_table_print_keeps_empty_columns(void **state) {
    (void)state;
    Table table = {0};
    Text text = {0};
    table_column(&table, "a", TABLE_RIGHT);
    table_column(&table, "bb", TABLE_RIGHT);
    table_column(&table, "c", TABLE_LEFT);
    const char *cells[] = {"", "", "x", "1", "", "", "", "", ""};
    for (size_t i = 0; i < 9; i++) table_cell(&table, cells[i]);
    table_print(&table, &text);
    check_text_equals(text_string(&text), "a  bb  c\n"
                                          "       x\n"
                                          "1\n"
                                          "\n");
    text_free(&text);
    table_free(&table);
}

static void test_table_csv_quotes_where_needed(void **state) {
    (void)state;
    Table table = make_table();
    Text text = {0};
    table_print_csv(&table, &text);
    check_text_equals(text_string(&text), "plan,tok/s,note\n"
                                          "TP8,1234567,\n"
                                          "caf\xc3\xa9,9,\"say \"\"hi\"\", twice\"\n");
    text_free(&text);
    table_free(&table);
}

// 8 blanks and 19 words of 4 letters are 8 + 19 x 5 - 1 = 102 columns, two over the width: the last
// word takes the next line. CSV has no notes.
static void test_table_notes_stand_under_their_rows(void **state) {
    (void)state;
    Table table = make_table();
    Text text = {0}, note = {0};
    table_note(&table, "second");
    table_cell(&table, "x");
    table_cell(&table, "1");
    table_cell(&table, "");
    for (int i = 0; i < 19; i++) text_addf(&note, "%sw%03d", i == 0 ? "" : " ", i);
    table_note(&table, text_string(&note));
    table_print(&table, &text);
    check_text_equals(text_string(&text),
                      "plan    tok/s  note\n"
                      "TP8   1234567\n"
                      "caf\xc3\xa9        9  say \"hi\", twice\n"
                      "        second\n"
                      "x           1\n"
                      "        w000 w001 w002 w003 w004 w005 w006 w007 w008 w009 w010 w011 w012 "
                      "w013 w014 w015 w016 w017\n"
                      "        w018\n");
    text_free(&text);
    table_print_csv(&table, &text);
    assert_null(strstr(text_string(&text), "second"));
    text_free(&text);
    text_free(&note);
    table_free(&table);
}

static void test_table_without_rows_has_a_header(void **state) {
    (void)state;
    Table table = {0};
    Text text = {0};
    table_column(&table, "plan", TABLE_LEFT);
    table_print(&table, &text);
    table_print_csv(&table, &text);
    assert_string_equal(text_string(&text), "plan\nplan\n");
    text_free(&text);
    table_free(&table);
}

// 0.1 + 0.2 is the double after 0.3: 17 digits tell them apart.
static void test_table_cell_exact_reads_back_the_same(void **state) {
    (void)state;
    Table table = {0};
    Text text = {0};
    table_column(&table, "a", TABLE_RIGHT);
    table_cell_exact(&table, 0.25);
    table_cell_exact(&table, 0.1 + 0.2);
    table_print_csv(&table, &text);
    assert_string_equal(text_string(&text), "a\n0.25\n0.30000000000000004\n");
    text_free(&text);
    table_free(&table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table_print_aligns_by_code_points),
        cmocka_unit_test(test_table_print_keeps_empty_columns),
        cmocka_unit_test(test_table_csv_quotes_where_needed),
        cmocka_unit_test(test_table_notes_stand_under_their_rows),
        cmocka_unit_test(test_table_without_rows_has_a_header),
        cmocka_unit_test(test_table_cell_exact_reads_back_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

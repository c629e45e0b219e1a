// A page with a table and a picture, and hostile strings in all places.
#include "tests/check.h"

#include "model/base/xml.h"
#include "model/report/html.h"
#include "model/report/svg.h"

static void build(const char *string, Text *out) {
    Table table = {0};
    table_column(&table, string, TABLE_LEFT);
    table_column(&table, "figure", TABLE_RIGHT);
    table_cell(&table, string);
    table_cell(&table, "4.45");
    table_note(&table, string);
    Text svg = {0};
    SvgXY chart = {.title = string, .x = {.title = string}, .y = {.title = string}};
    svg_xy(&chart, &svg);
    html_open(out, string);
    html_heading(out, string);
    html_paragraph(out, string);
    html_lines(out, string);
    html_table(out, &table);
    html_picture(out, text_string(&svg), string);
    html_close(out);
    text_free(&svg);
    table_free(&table);
}

// The page is well-formed XML too, so that the elements can be counted.
static uint32_t count_elements(const Text *page) {
    Xml xml = {0};
    Err err = {0};
    check_ok(xml_parse("page", text_string(page), page->length, &xml, &err), &err);
    uint32_t count = xml.count;
    xml_free(&xml);
    return count;
}

static void test_html_page_stands_alone(void **state) {
    (void)state;
    Text page = {0};
    build("plain", &page);
    const char *text = text_string(&page);
    assert_int_equal(strncmp(text, "<!DOCTYPE html>\n", 16), 0);
    const char *absent[] = {"<script", "src=\"", "href", "@import", "url(", "https:"};
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        assert_null(strstr(text, absent[i]));
    // the one address is the name of SVG's vocabulary
    assert_non_null(strstr(text, "http:"));
    assert_int_equal(strncmp(strstr(text, "http:"), "http://www.w3.org/2000/svg\"", 27), 0);
    assert_null(strstr(strstr(text, "http:") + 1, "http:"));
    assert_non_null(strstr(text, "default-src 'none'"));
    count_elements(&page);
    text_free(&page);
}

static void test_html_table_keeps_cells_and_sides(void **state) {
    (void)state;
    Text page = {0};
    build("name", &page);
    assert_non_null(strstr(text_string(&page),
                           "<tr><th>name</th><th class=\"r\">figure</th></tr>\n</thead>\n<tbody>\n"
                           "<tr><td>name</td><td class=\"r\">4.45</td></tr>\n"
                           "<tr><td class=\"note\" colspan=\"2\">name</td></tr>\n"));
    text_free(&page);
}

static void test_html_hostile_strings_stay_text(void **state) {
    (void)state;
    const char *strings[] = {"</title><script>alert(1)</script>", "\"><img src=x onerror=alert(1)>",
                             "--><!--]]><![CDATA[", "&lt;script&gt;&#60;", "\xff\x01\xE2\x80\xAE"};
    Text plain = {0};
    build("plain", &plain);
    uint32_t elements = count_elements(&plain);
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        Text page = {0};
        build(strings[i], &page);
        assert_int_equal(count_elements(&page), elements);
        assert_null(strstr(text_string(&page), "<script"));
        assert_null(strstr(text_string(&page), "<img"));
        text_free(&page);
    }
    text_free(&plain);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_html_page_stands_alone),
        cmocka_unit_test(test_html_table_keeps_cells_and_sides),
        cmocka_unit_test(test_html_hostile_strings_stay_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// A chart of characters, counted by hand.
#include "tests/check.h"

#include "model/report/plot.h"

static void repeat(Text *text, char c, uint32_t count) {
    while (count-- > 0) text_add_char(text, c);
}

// x and y reach from 0 to 10 in steps of 2. The 70 columns lie 10 / 69 apart: 10 is column 69, 5 is
// column 34.5, which rounds to 35; of 20 rows, 5 is row 9.5, which rounds to 10, the eleventh from
// below. The ticks 2, 4, 6, 8 are columns 13.8, 27.6, 41.4, 55.2 -> 14, 28, 41, 55 and
// rows 3.8, 7.6, 11.4, 15.2 -> 4, 8, 11, 15. A star covers the dot that stands in the same place.
static void test_plot_places_points(void **state) {
    (void)state;
    SvgPoint all[] = {{.x = 5, .y = 5}, {.x = 10, .y = 10}}, best[] = {{.x = 10, .y = 10}};
    SvgSeries series[] = {{.name = "plans", .points = all, .count = 2},
                          {.name = "front", .points = best, .count = 1}};
    SvgXY chart = {.title = "t",
                   .x = {.title = "across"},
                   .y = {.title = "up"},
                   .series = series,
                   .series_count = 2};
    const char *ticks[PLOT_ROWS] = {
        [0] = "0", [4] = "2", [8] = "4", [11] = "6", [15] = "8", [19] = "10"};
    Text want = {0}, got = {0};
    text_add(&want, "up\n");
    for (uint32_t row = PLOT_ROWS; row-- > 0;) {
        text_addf(&want, "%8s %c", ticks[row] == NULL ? "" : ticks[row],
                  ticks[row] == NULL ? '|' : '+');
        if (row == 10) repeat(&want, ' ', 35), text_add_char(&want, '.');
        if (row == 19) repeat(&want, ' ', 69), text_add_char(&want, '*');
        text_add_char(&want, '\n');
    }
    text_add(&want,
             "         ++-------------+-------------+------------+-------------+-------------+\n"
             "          0             2             4            6             8            10\n"
             "          across; . plans, * front\n");
    plot_xy(&chart, ".*", &got);
    check_text_equals(text_string(&got), text_string(&want));
    text_free(&want);
    text_free(&got);
}

// What has no place is left out, and nothing at all is an empty frame of 24 lines.
static void test_plot_of_nothing(void **state) {
    (void)state;
    SvgPoint points[] = {{.x = (double)NAN, .y = 1}, {.x = 1, .y = (double)INFINITY}};
    SvgSeries series[] = {{.name = "s", .points = points, .count = 2}};
    SvgXY chart = {.title = "t",
                   .x = {.title = "x"},
                   .y = {.title = "y"},
                   .series = series,
                   .series_count = 1};
    Text text = {0};
    uint32_t lines = 0;
    plot_xy(&chart, "o", &text);
    for (size_t i = 0; i < text.length; i++) lines += text.data[i] == '\n';
    assert_int_equal(lines, PLOT_ROWS + 4);
    assert_non_null(strstr(text_string(&text), "x; o s\n"));
    text_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plot_places_points),
        cmocka_unit_test(test_plot_of_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// Charts whose coordinates are reckoned by hand, and strings that try to leave their places.
#include "tests/check.h"

#include "model/base/xml.h"
#include "model/report/svg.h"
#include "model/report/svg_axis.h"

static void check_has(const Text *text, const char *part) {
    if (strstr(text_string(text), part) == NULL)
        fail_msg("\"%s\" is not in\n%s", part, text_string(text));
}

// Every chart of every test is well-formed XML, one <svg> at the root.
static uint32_t check_xml(const Text *text) {
    Xml xml = {0};
    Err err = {0};
    check_ok(xml_parse("chart", text_string(text), text->length, &xml, &err), &err);
    assert_true(xml_is(&xml, 0, "svg"));
    uint32_t count = xml.count;
    xml_free(&xml);
    return count;
}

// x: 0 to 20 ms. A sixth is 3.33 ms, so ticks are 5 ms apart, five of them. The plot reaches from
// 72 to 726, 654 wide: 10 ms lie at 72 + 327 = 399, 5 ms at 72 + 163.5 = 235.5, 20 ms at 726.
// y: 0 to 200, a sixth is 33.3, ticks every 50. From 352 up to 52: 100 lies at 352 - 150 = 202.
// By steps, up to 200 first: M399 202 V52 H726.
static void test_svg_xy_of_two_points(void **state) {
    (void)state;
    SvgPoint points[] = {{.x = 0.010, .y = 100, .note = "slow"}, {.x = 0.020, .y = 200}};
    SvgPoint front[] = {{.x = 0.010, .y = 100}, {.x = 0.020, .y = 200, .label = "#1"}};
    SvgSeries series[] = {{.name = "plans", .points = points, .count = 2},
                          {.name = "front", .mark = SVG_STEP_Y_FIRST, .points = front, .count = 2}};
    SvgXY chart = {.title = "two plans",
                   .x = {.title = "TPOT", .unit = SVG_SECONDS},
                   .y = {.title = "tok/s/GPU"},
                   .series = series,
                   .series_count = 2};
    Text text = {0};
    svg_xy(&chart, &text);
    check_has(&text, "<text class=\"middle\" x=\"235.5\" y=\"370\">5 ms</text>");
    check_has(&text, "<text class=\"end\" x=\"66\" y=\"206\">100</text>");
    check_has(&text, "<path class=\"k1 line\" d=\"M399 202V52H726\"/>");
    check_has(&text, "<circle class=\"k0\" cx=\"399\" cy=\"202\" r=\"3.5\"><title>slow</title>");
    check_golden(text_string(&text), "tests/golden/svg_xy.svg");
    check_xml(&text);
    text_free(&text);
}

// NaN has no place anywhere, -1 none on a logarithmic axis: the line 1, (gap), 4, 8 is two pieces.
static void test_svg_xy_breaks_lines_at_gaps(void **state) {
    (void)state;
    SvgPoint points[] = {{1, 1, NULL, NULL},
                         {2, -1, NULL, NULL},
                         {(double)NAN, 1, NULL, NULL},
                         {4, 10, NULL, NULL},
                         {8, 100, NULL, NULL}};
    SvgSeries series[] = {{.name = "s", .mark = SVG_LINE, .points = points, .count = 5}};
    SvgXY chart = {.title = "gaps",
                   .x = {.title = "x"},
                   .y = {.title = "y", .scale = SVG_LOGARITHMIC},
                   .series = series,
                   .series_count = 1};
    Text text = {0};
    svg_xy(&chart, &text);
    // y: log 1 at 352, 10 at 202, 100 at 52; x: 0 to 8, so 1 at 72 + 654 / 8 = 153.75, tenths 153.8
    check_has(&text, "d=\"M153.8 352M399 202L726 52\"");
    check_xml(&text);
    text_free(&text);
}

static void test_svg_xy_of_nothing(void **state) {
    (void)state;
    SvgXY chart = {.title = "", .x = {.title = ""}, .y = {.title = "", .scale = SVG_LOGARITHMIC}};
    Text text = {0};
    svg_xy(&chart, &text);
    check_xml(&text);
    text_free(&text);
}

// Parts 30 and 10 GB of a 40 GB bar beside a limit of 50 GB: the axis ends at 50 (steps of 10), 704
// wide from 16: 30 GB end at 16 + 422.4 = 438.4, 40 GB at 16 + 563.2 = 579.2; the limit at 720. The
// part that no bar has is not in the legend.
static void test_svg_bars_end_to_end(void **state) {
    (void)state;
    const char *names[] = {"#1"}, *parts[] = {"weights", "state", "kv cache"};
    const double values[] = {30e9, 0, 10e9};
    const char *notes[] = {"weights 30.0 GB", NULL, "kv cache 10.0 GB"};
    SvgBars chart = {.title = "memory",
                     .axis = {.title = "of a GPU", .unit = SVG_BYTES},
                     .names = names,
                     .bar_count = 1,
                     .parts = parts,
                     .part_count = 3,
                     .values = values,
                     .notes = notes,
                     .limit = 50e9,
                     .limit_name = "usable"};
    Text text = {0};
    svg_bars(&chart, &text);
    check_has(&text, "<rect class=\"k0\" x=\"16\" y=\"54\" width=\"422.4\" height=\"16\">"
                     "<title>weights 30.0 GB</title></rect>");
    check_has(&text, "<rect class=\"k2\" x=\"438.4\" y=\"54\" width=\"140.8\" height=\"16\">");
    check_has(&text, "<line class=\"limit\" x1=\"720\"");
    assert_null(strstr(text_string(&text), "state"));
    check_xml(&text);
    text_free(&text);
}

// A grid of 2 x 2, row labels of one column: left 16 + 7 + 6 = 29, 715 wide, columns of 357.5.
// Rows of 38 from 52 on, the first row below. The cell that nothing wins has a dash.
static void test_svg_heat_letters_and_colours(void **state) {
    (void)state;
    const char *x[] = {"1k", "2k"}, *y[] = {"8", "9"}, *winners[] = {"TP8", "EP8"};
    const uint32_t cells[] = {0, 1, SVG_NO_WINNER, 0};
    const char *texts[] = {"100", "90", "", "80"};
    SvgHeat chart = {.title = "winners",
                     .x_title = "ISL",
                     .y_title = "GPUs",
                     .x_labels = x,
                     .y_labels = y,
                     .columns = 2,
                     .rows = 2,
                     .winners = winners,
                     .winner_count = 2,
                     .cells = cells,
                     .texts = texts};
    Text text = {0};
    svg_heat(&chart, &text);
    check_has(&text, "<rect class=\"k0 cell\" x=\"29\" y=\"90\" width=\"357.5\" height=\"38\"/>");
    check_has(&text, "<rect class=\"k1 cell\" x=\"386.5\" y=\"90\"");
    check_has(&text, "<rect class=\"k0 cell\" x=\"386.5\" y=\"52\"");
    check_has(&text, ">-</text>");
    check_has(&text, ">B EP8</text>");
    check_has(&text, ">90</text>");
    check_xml(&text);
    text_free(&text);
}

// The letters after Z are AA, AB; a thousand rows do not run over each other or out of 32 bits.
static void test_svg_heat_of_many(void **state) {
    (void)state;
    enum { ROWS = 1000, WINNERS = 28 };
    const char *x[] = {"1"}, *y[ROWS], *winners[WINNERS];
    uint32_t cells[ROWS];
    for (uint32_t i = 0; i < ROWS; i++) y[i] = "row", cells[i] = i % WINNERS;
    for (uint32_t i = 0; i < WINNERS; i++) winners[i] = "plan";
    SvgHeat chart = {.title = "many",
                     .x_title = "x",
                     .y_title = "y",
                     .x_labels = x,
                     .y_labels = y,
                     .columns = 1,
                     .rows = ROWS,
                     .winners = winners,
                     .winner_count = WINNERS,
                     .cells = cells};
    Text text = {0};
    svg_heat(&chart, &text);
    check_has(&text, ">AA plan</text>");
    check_has(&text, ">AB plan</text>");
    check_xml(&text);
    text_free(&text);
}

// ---- Axes

static void settle(const SvgAxis *axis, double low, double high, SvgAxisRange *out) {
    *out = (SvgAxisRange){.axis = axis};
    svg_axis_reach(out, low);
    svg_axis_reach(out, high);
    svg_axis_settle(out);
}

static void check_ticks(SvgUnit unit, SvgScale scale, double low, double high, const char *want) {
    SvgAxis axis = {.unit = unit, .scale = scale};
    SvgAxisRange range;
    Text text = {0};
    settle(&axis, low, high, &range);
    for (uint32_t i = 0; i < svg_axis_tick_count(&range); i++)
        text_addf(&text, "%s%s", i == 0 ? "" : ", ", svg_axis_tick_text(&range, i));
    assert_string_equal(text_string(&text), want);
    text_free(&text);
}

// A sixth of the range, rounded up to 1, 2 or 5 times a power of ten, is the step.
static void test_svg_axis_ticks_are_round(void **state) {
    (void)state;
    check_ticks(SVG_COUNT, SVG_FROM_ZERO, 1, 0.3, "0, 0.2, 0.4, 0.6, 0.8, 1");
    check_ticks(SVG_COUNT, SVG_FROM_ZERO, 2620, 700, "0, 500, 1000, 1500, 2000, 2500, 3000");
    check_ticks(SVG_COUNT, SVG_FROM_ZERO, 12e3, 1, "0, 2k, 4k, 6k, 8k, 10k, 12k");
    check_ticks(SVG_SECONDS, SVG_FROM_ZERO, 2.5e-6, 1e-6,
                "0 us, 0.5 us, 1 us, 1.5 us, 2 us, 2.5 us");
    check_ticks(SVG_BYTES, SVG_FITTED, 61e9, 64e9,
                "61 GB, 61.5 GB, 62 GB, 62.5 GB, 63 GB, 63.5 GB, 64 GB");
    check_ticks(SVG_DOLLARS, SVG_FITTED, 0.5, 2, "$0.5, $1, $1.5, $2");
    check_ticks(SVG_PERCENT, SVG_FITTED, -20, 30, "-20 %, -10 %, 0 %, 10 %, 20 %, 30 %");
}

// Few decades show 1, 2, 5; many the powers of ten; very many every so many of these.
static void test_svg_axis_ticks_of_logarithms(void **state) {
    (void)state;
    check_ticks(SVG_COUNT, SVG_LOGARITHMIC, 8, 72, "5, 10, 20, 50, 100");
    check_ticks(SVG_COUNT, SVG_LOGARITHMIC, 8, 12e3, "10, 100, 1000, 10k");
    check_ticks(SVG_BYTES, SVG_LOGARITHMIC, 1, 1e12,
                "1 B, 100 B, 10 kB, 1 MB, 100 MB, 10 GB, 1 TB");
    check_ticks(SVG_SECONDS, SVG_LOGARITHMIC, 1e-6, 1e-6, "1 us, 2 us");
}

// Equal, extreme and absent values: the ends differ, ticks are few, places stay on the line.
static void test_svg_axis_bears_any_value(void **state) {
    (void)state;
    const double values[] = {
        0, 1, -1, 1e-90, 1e99, -1e99, 1 + 1e-12, 5e-324, 1e300, (double)INFINITY, (double)NAN};
    const size_t count = sizeof values / sizeof *values;
    for (size_t i = 0; i < 3 * count * count; i++) {
        SvgAxis axis = {.scale = (SvgScale)(i % 3)};
        SvgAxisRange range;
        double a = values[i / 3 % count], b = values[i / 3 / count];
        settle(&axis, a, b, &range);
        assert_true(range.low < range.high);
        assert_true(svg_axis_tick_count(&range) <= SVG_AXIS_TICKS);
        if (!svg_axis_holds(&axis, a)) continue;
        assert_true(svg_axis_place(&range, a, 1000) >= 0);
        assert_true(svg_axis_place(&range, a, 1000) <= 1000);
    }
}

// Ticks that a sweep gives stand where its values are: 8, 64, 512 at equal distances by logarithm.
static void test_svg_axis_takes_given_ticks(void **state) {
    (void)state;
    const SvgTick ticks[] = {{8, "8"}, {64, "64"}, {512, "512"}};
    SvgAxis axis = {.scale = SVG_LOGARITHMIC, .ticks = ticks, .tick_count = 3};
    SvgAxisRange range;
    settle(&axis, 8, 512, &range);
    assert_int_equal(svg_axis_place(&range, svg_axis_tick_at(&range, 1), 1000), 500);
    assert_string_equal(svg_axis_tick_text(&range, 2), "512");
}

// ---- Strings

static void check_escaped(const char *string, const char *want) {
    Text text = {0};
    svg_add_escaped(&text, string);
    assert_string_equal(text_string(&text), want);
    text_free(&text);
}

// Controls, broken UTF-8, changes of direction and U+FFFF are no text; a newline is.
static void test_svg_escapes(void **state) {
    (void)state;
    check_escaped("a<b>&\"'", "a&lt;b&gt;&amp;&quot;&#39;");
    check_escaped("line\nline", "line\nline");
    check_escaped("\x01\x1b[1m", "\xEF\xBF\xBD\xEF\xBF\xBD[1m");
    check_escaped("\xff\xc3", "\xEF\xBF\xBD\xEF\xBF\xBD");
    check_escaped("\xE2\x80\xAE|", "\xEF\xBF\xBD|"); // right-to-left override
    check_escaped("\xEF\xBF\xBF|", "\xEF\xBF\xBD|"); // U+FFFF
    check_escaped("\xC3\xA9", "\xC3\xA9");
}

// A chart with hostile strings has as many elements as one with plain ones, and no script.
static void test_svg_hostile_names_stay_text(void **state) {
    (void)state;
    const char *strings[] = {"plain", "</title></svg><script>alert(1)</script>", "\" onload=\"x",
                             "]]>&lol;<!--", "\xff\x01"};
    uint32_t elements = 0;
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        const char *s = strings[i];
        SvgPoint points[] = {{.x = 1, .y = 1, .note = s, .label = s}};
        SvgSeries series[] = {{.name = s, .mark = SVG_LINE, .points = points, .count = 1}};
        const SvgTick ticks[] = {{1, s}};
        SvgXY xy = {.title = s,
                    .x = {.title = s, .ticks = ticks, .tick_count = 1},
                    .y = {.title = s},
                    .series = series,
                    .series_count = 1};
        const uint32_t cells[] = {0};
        SvgHeat heat = {.title = s,
                        .x_title = s,
                        .y_title = s,
                        .x_labels = &s,
                        .y_labels = &s,
                        .columns = 1,
                        .rows = 1,
                        .winners = &s,
                        .winner_count = 1,
                        .cells = cells,
                        .texts = &s,
                        .notes = &s};
        const double values[] = {1};
        SvgBars bars = {.title = s,
                        .axis = {.title = s},
                        .names = &s,
                        .bar_count = 1,
                        .parts = &s,
                        .part_count = 1,
                        .values = values,
                        .notes = &s,
                        .limit = 2,
                        .limit_name = s};
        Text text = {0};
        svg_xy(&xy, &text);
        uint32_t count = check_xml(&text);
        text_free(&text);
        svg_heat(&heat, &text);
        count += check_xml(&text);
        text_free(&text);
        svg_bars(&bars, &text);
        count += check_xml(&text);
        assert_null(strstr(text_string(&text), "<script"));
        text_free(&text);
        if (i == 0) elements = count;
        assert_int_equal(count, elements);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_svg_xy_of_two_points),
        cmocka_unit_test(test_svg_xy_breaks_lines_at_gaps),
        cmocka_unit_test(test_svg_xy_of_nothing),
        cmocka_unit_test(test_svg_bars_end_to_end),
        cmocka_unit_test(test_svg_heat_letters_and_colours),
        cmocka_unit_test(test_svg_heat_of_many),
        cmocka_unit_test(test_svg_axis_ticks_are_round),
        cmocka_unit_test(test_svg_axis_ticks_of_logarithms),
        cmocka_unit_test(test_svg_axis_bears_any_value),
        cmocka_unit_test(test_svg_axis_takes_given_ticks),
        cmocka_unit_test(test_svg_escapes),
        cmocka_unit_test(test_svg_hostile_names_stay_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

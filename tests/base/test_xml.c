// XML as a list of elements, and what is refused: entities, depth, numbers of things.
#include "model/base/xml.h"
#include "tests/check.h"

#include "model/base/text.h"

static void test_xml_lists_elements_in_document_order(void **state) {
    (void)state;
    static const char text[] = "<?xml version=\"1.0\"?>\n"
                               "<!DOCTYPE a SYSTEM \"a.dtd\">\n"
                               "<a x=\"1\">\n"
                               "  <b y=\"&lt;2&gt;\">one<c/>two</b>\n"
                               "  <d/>\n"
                               "</a>\n";
    Xml xml;
    Err err = {{0}};
    check_ok(xml_parse("f", text, strlen(text), &xml, &err), &err);
    assert_int_equal(xml.count, 4);
    assert_int_equal(xml.elements[0].end, 4);
    assert_true(xml_is(&xml, 1, "b"));
    assert_int_equal(xml.elements[1].line, 4);
    assert_int_equal(xml.elements[1].end, 3);
    assert_string_equal(xml.elements[1].text, "onetwo");
    assert_string_equal(xml_attribute(&xml, 1, "y"), "<2>");
    assert_null(xml_attribute(&xml, 1, "x"));
    assert_int_equal(xml.elements[2].parent, 1);
    assert_int_equal(xml.elements[3].parent, 0);
    assert_int_equal(xml.elements[3].depth, 1);
    xml_free(&xml);
    xml_free(&xml);
}

static void check_refused(const char *text, const char *message) {
    Xml xml;
    Err err = {{0}};
    check_fails(xml_parse("f", text, strlen(text), &xml, &err), &err, message);
}

static void test_xml_refuses_what_is_not_well_formed(void **state) {
    (void)state;
    check_refused("", "f:1: expected XML, found: no element found");
    check_refused("<a>\n<b></a>", "f:2: expected XML, found: mismatched tag");
    check_refused("<a x=1/>", "f:1: expected XML, found: not well-formed (invalid token)");
    check_refused("<a/>\n<b/>", "f:2: expected XML, found: junk after document element");
}

// The text that would unfold to 10^9 copies: refused where it declares the first entity.
static void test_xml_refuses_entities(void **state) {
    (void)state;
    check_refused(
        "<!DOCTYPE a [\n<!ENTITY a \"ha\">\n<!ENTITY b \"&a;&a;&a;&a;&a;\">\n]>\n<a>&b;</a>",
        "f:2: declares an entity, which is not read");
    check_refused("<!DOCTYPE a [<!ENTITY x SYSTEM \"/etc/passwd\">]><a>&x;</a>",
                  "f:1: declares an entity, which is not read");
    check_refused("<!DOCTYPE a SYSTEM \"a.dtd\">\n<a>&x;</a>",
                  "f:2: refers to an entity, which is not read");
}

// 64 levels are read, 65 are not.
static void test_xml_bounds_depth(void **state) {
    (void)state;
    for (int levels = 64; levels <= 65; levels++) {
        Text text = {0};
        Xml xml;
        Err err = {{0}};
        for (int i = 0; i < levels; i++) text_add(&text, "<a>");
        for (int i = 0; i < levels; i++) text_add(&text, "</a>");
        bool done = xml_parse("f", text.data, text.length, &xml, &err);
        assert_int_equal(done, levels == 64);
        if (done)
            xml_free(&xml);
        else
            assert_string_equal(err.text, "f:1: elements are nested more than 64 deep");
        text_free(&text);
    }
}

static void test_xml_bounds_attributes(void **state) {
    (void)state;
    Text text = {0};
    text_add(&text, "<a");
    for (int i = 0; i < 257; i++) text_addf(&text, " a%d=\"\"", i);
    text_add(&text, "/>");
    check_refused(text_string(&text), "f:1: more than 256 attributes of one element");
    text_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_xml_lists_elements_in_document_order),
        cmocka_unit_test(test_xml_refuses_what_is_not_well_formed),
        cmocka_unit_test(test_xml_refuses_entities),
        cmocka_unit_test(test_xml_bounds_depth),
        cmocka_unit_test(test_xml_bounds_attributes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

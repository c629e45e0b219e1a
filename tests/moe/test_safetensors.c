// Headers of safetensors files: what is read of a sound one, and each way to be broken.
#include "tests/check.h"

#include <unistd.h>

#include "model/base/text.h"
#include "model/moe/safetensors.h"
#include "tests/moe/st_make.h"

#define ENTRY(name, type, shape, begin, end)                                                       \
    "\"" name "\":{\"dtype\":\"" type "\",\"shape\":" shape ",\"data_offsets\":[" #begin "," #end  \
    "]}"

// Of a file with `data_B` bytes after the header.
static bool parse(const char *header, uint64_t data_B, Arena *arena, Findings *findings,
                  SafetensorsFile *out) {
    size_t count = strlen(header);
    char *copy = malloc(count + 1); // of exactly its size, for the address sanitizer
    assert_non_null(copy);
    memcpy(copy, header, count);
    bool good = safetensors_parse("f", copy, count, SAFETENSORS_PREFIX_B + count + data_B, arena,
                                  findings, out);
    free(copy);
    return good;
}

// Two tensors out of order, a scalar, one without bytes, metadata and padding.
static void test_safetensors_reads_a_header(void **state) {
    (void)state;
    Arena arena = {0};
    Findings findings = {0};
    SafetensorsFile file = {0};
    const char *header = "{" ENTRY("b", "BF16", "[2, 3]", 4,
                                   16) ",\"__metadata__\":{\"format\":"
                                       "\"pt\"}," ENTRY("a", "F32", "[]", 0, 4) "," ENTRY(
                                           "e", "U8", "[0, 5]", 16,
                                           16) "," ENTRY("f", "F4", "[2, 3]", 16, 19) "}   ";
    assert_true(parse(header, 19, &arena, &findings, &file));
    uint64_t start = SAFETENSORS_PREFIX_B + strlen(header);
    assert_int_equal(finding_total(&findings), 0);
    assert_int_equal(file.data_start, start);
    assert_int_equal(file.count, 4);
    assert_string_equal(file.tensors[0].name, "a");
    assert_string_equal(file.tensors[0].type, "F32");
    assert_int_equal(file.tensors[0].rank, 0);
    assert_string_equal(file.tensors[1].name, "b");
    assert_int_equal(file.tensors[1].rank, 2);
    assert_int_equal(file.tensors[1].dims[0], 2);
    assert_int_equal(file.tensors[1].dims[1], 3);
    assert_int_equal(file.tensors[1].bits, 16);
    assert_int_equal(file.tensors[1].begin, start + 4);
    assert_int_equal(file.tensors[1].end, start + 16);
    assert_string_equal(file.tensors[2].name, "e");
    assert_string_equal(file.tensors[3].name, "f");
    assert_int_equal(file.tensors[3].bits, 4);
    safetensors_free(&file);
    safetensors_free(&file);
    arena_free(&arena);
}

// Escapes are undone: \u00e9 is two bytes, the pair is four.
static void test_safetensors_names_may_have_escapes(void **state) {
    (void)state;
    Arena arena = {0};
    Findings findings = {0};
    SafetensorsFile file = {0};
    assert_true(parse("{" ENTRY("\\\"\\u00e9\\ud83d\\ude00\\/", "U8", "[1]", 0, 1) "}", 1, &arena,
                      &findings, &file));
    assert_string_equal(file.tensors[0].name, "\"\xc3\xa9\xf0\x9f\x98\x80/");
    safetensors_free(&file);
    arena_free(&arena);
}

// Files of metadata alone exist.
static void test_safetensors_may_be_empty(void **state) {
    (void)state;
    Arena arena = {0};
    Findings findings = {0};
    SafetensorsFile file = {0};
    assert_true(parse("{\"__metadata__\":{}}", 0, &arena, &findings, &file));
    assert_int_equal(file.count, 0);
    assert_true(parse("{}", 0, &arena, &findings, &file));
    assert_int_equal(finding_total(&findings), 0);
    // or have no shape at all
    assert_true(parse("{" ENTRY("a", "F32", "[]", 0, 4) "}", 4, &arena, &findings, &file));
    assert_int_equal(finding_total(&findings), 0);
    assert_int_equal(file.count, 1);
    safetensors_free(&file);
    arena_free(&arena);
}

typedef struct Bad {
    const char *header, *detail;
} Bad;

static void check_refused(const Bad *cases, size_t count) {
    for (size_t i = 0; i < count; i++) {
        Arena arena = {0};
        Findings findings = {0};
        SafetensorsFile file = {0};
        if (parse(cases[i].header, 8, &arena, &findings, &file))
            fail_msg("accepted %s", cases[i].header);
        assert_null(file.tensors);
        assert_int_equal(findings.counts[FINDING_BAD_HEADER], 1);
        assert_int_equal(findings.unusable, 1);
        assert_string_equal(findings.shown[FINDING_BAD_HEADER][0].subject, "f");
        assert_string_equal(findings.shown[FINDING_BAD_HEADER][0].detail, cases[i].detail);
        finding_free(&findings);
        arena_free(&arena);
    }
}
#define CHECK_REFUSED(cases) check_refused((cases), sizeof(cases) / sizeof(cases)[0])

static void test_safetensors_refuses_what_is_no_header(void **state) {
    (void)state;
    static const Bad cases[] = {
        {"", "does not begin with '{'"},
        {" {}", "does not begin with '{'"},
        {"[]", "does not begin with '{'"},
        {"{", "byte 1 of the header: unexpected end of file, expected a key in double quotes or "
              "'}'"},
        {"{} x", "byte 3 of the header: expected nothing after the value, found 'x'"},
        {"{\"a\":1}", "a: expected an object"},
        {"{\"a\":[[[[1]]]]}", "a: expected an object"},
        {"{\"a\xff\":{}}", "byte 3 of the header: byte 0xff is not UTF-8"},
        {"{\"a\\u0000\":{}}", "byte 3 of the header: \\u0000 is not allowed in a string"},
        {"{\"a\\u001b[31m\":{}}", "control character in the name \"a?[31m\""},
        {"{\"a\\u202eb\":{}}", "control character in the name \"a???b\""},
        {"{\"\\ud800\":{}}",
         "byte 2 of the header: \\ud800 is half of a surrogate pair, expected both halves"},
    };
    CHECK_REFUSED(cases);
}

static void test_safetensors_refuses_bad_entries(void **state) {
    (void)state;
    static const Bad cases[] = {
        {"{\"a\":{}}", "a: missing dtype"},
        {"{\"a\":{\"dtype\":\"U8\"}}", "a: missing shape"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}", "a: missing data_offsets"},
        {"{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\"}}", "a: duplicate key \"dtype\""},
        {"{\"a\":{\"extra\":1}}", "a: unknown key \"extra\", expected dtype, shape, data_offsets"},
        {"{\"a\":{\"dtype\":1}}", "a: dtype: expected a string"},
        {"{\"a\":{\"dtype\":\"BF17\"}}", "a: dtype: unknown type \"BF17\""},
        {"{\"a\":{\"dtype\":\"F8_E4M3FNUZ_and_more\"}}",
         "a: dtype: unknown type \"F8_E4M3FNUZ_and_more\""},
        {"{\"a\":{\"shape\":1}}", "a: shape: expected an array"},
        {"{\"a\":{\"shape\":[-1]}}", "a: shape: expected a whole number of at least 0, found -1"},
        {"{\"a\":{\"shape\":[1.5]}}", "a: shape: expected a whole number of at least 0, found 1.5"},
        {"{\"a\":{\"shape\":[[1]]}}", "a: shape: expected a whole number of at least 0"},
        {"{\"a\":{\"shape\":[1,1,1,1,1,1,1,1,1]}}", "a: shape: more than 8 dimensions"},
        {"{\"a\":{\"shape\":[9223372036854775808]}}",
         "a: byte 15 of the header: integer 9223372036854775808 is not exact in JSON, expected at "
         "most 9007199254740992"},
        {"{\"a\":{\"data_offsets\":[0]}}", "a: data_offsets: expected two numbers"},
        {"{\"a\":{\"data_offsets\":[0,1,2]}}", "a: data_offsets: expected two numbers"},
        {"{\"a\":{\"data_offsets\":0}}", "a: data_offsets: expected two numbers"},
        {"{\"a\":{\"data_offsets\":[8,4]}}", "a: data_offsets: begins at 8 and ends at 4"},
        {"{" ENTRY("a", "U8", "[4294967296,4294967296]", 0, 8) "}",
         "a: shape: more than 2^64 bits"},
        // 2^61 bytes are 2^64 bits
        {"{" ENTRY("a", "U8", "[2147483648,1073741824]", 0, 8) "}",
         "a: shape: more than 2^64 bits"},
        {"{" ENTRY("a", "F4", "[3]", 0, 2) "}", "a: shape: 12 bits are not whole bytes"},
        {"{" ENTRY("a", "F6_E2M3", "[2]", 0, 2) "}", "a: shape: 12 bits are not whole bytes"},
        {"{" ENTRY("a", "U8", "[4]", 0, 4) "," ENTRY("a", "U8", "[4]", 4, 8) "}",
         "duplicate key \"a\""},
        {"{" ENTRY("a", "U8", "[4]", 0, 4) "," ENTRY("\\u0061", "U8", "[4]", 4, 8) "}",
         "duplicate key \"a\""},
        {"{\"__metadata__\":{\"format\":1}}", "__metadata__: format: expected a string"},
        {"{\"__metadata__\":[]}", "__metadata__: expected an object"},
        {"{\"__metadata__\":{\"a\":{}}}", "__metadata__: a: expected a string"},
        {"{\"__metadata__\":{\"a\":\"\",\"a\":\"\"}}", "__metadata__: duplicate key \"a\""},
        {"{\"__metadata__\":{},\"__metadata__\":{}}", "__metadata__: duplicate key"},
    };
    CHECK_REFUSED(cases);
}

static void test_safetensors_refuses_deep_nesting(void **state) {
    (void)state;
    Text header = {0};
    text_add(&header, "{\"a\":{\"shape\":");
    for (uint32_t i = 0; i < 100000; i++) text_add_char(&header, '[');
    Bad deep = {text_string(&header), "a: shape: expected a whole number of at least 0"};
    check_refused(&deep, 1);
    text_free(&header);
}

// What is wrong with the layout, of a file with 8 bytes of data.
typedef struct Layout {
    const char *header;
    FindingKind kind;
    const char *subject, *detail;
} Layout;

static void test_safetensors_reports_layouts(void **state) {
    (void)state;
    static const Layout cases[] = {
        {"{" ENTRY("a", "U8", "[3]", 1, 4) "," ENTRY("b", "U8", "[4]", 4, 8) "}", FINDING_HOLE, "a",
         "1 bytes between the header and it in f"},
        {"{" ENTRY("b", "U8", "[3]", 5, 8) "," ENTRY("a", "U8", "[4]", 0, 4) "}", FINDING_HOLE, "b",
         "1 bytes between a and it in f"},
        {"{" ENTRY("a", "U8", "[5]", 0, 5) "," ENTRY("b", "U8", "[4]", 4, 8) "}", FINDING_OVERLAP,
         "b", "begins 1 bytes before the end of a in f"},
        // b and c lie inside of a
        {"{" ENTRY("a", "U8", "[8]", 0, 8) "," ENTRY("b", "U8", "[2]", 2, 4) "}", FINDING_OVERLAP,
         "b", "begins 6 bytes before the end of a in f"},
        {"{" ENTRY("a", "BF16", "[2, 3]", 0, 8) "}", FINDING_WRONG_SIZE, "a",
         "BF16 [2, 3] takes 12 bytes, its range has 8"},
        {"{" ENTRY("a", "F32", "[]", 0, 8) "}", FINDING_WRONG_SIZE, "a",
         "F32 [] takes 4 bytes, its range has 8"},
        {"{" ENTRY("a", "U8", "[4]", 0, 4) "}", FINDING_TRAILING, "f",
         "69 bytes, its tensors end at 65"},
        {"{" ENTRY("a", "U8", "[16]", 0, 16) "}", FINDING_TRUNCATED, "f",
         "71 bytes, its tensors end at 79"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Arena arena = {0};
        Findings findings = {0};
        SafetensorsFile file = {0};
        if (!parse(cases[i].header, 8, &arena, &findings, &file))
            fail_msg("%s: refused", cases[i].header);
        if (findings.counts[cases[i].kind] != 1 || finding_total(&findings) != 1)
            fail_msg("%s: %d of all, %d of the kind", cases[i].header,
                     (int)finding_total(&findings), (int)findings.counts[cases[i].kind]);
        assert_string_equal(findings.shown[cases[i].kind][0].subject, cases[i].subject);
        assert_string_equal(findings.shown[cases[i].kind][0].detail, cases[i].detail);
        assert_int_equal(findings.unusable, 0);
        safetensors_free(&file);
        finding_free(&findings);
        arena_free(&arena);
    }
}

// The format asks for no alignment: 3 bytes, then 32-bit numbers at an odd place.
static void test_safetensors_accepts_odd_offsets(void **state) {
    (void)state;
    Arena arena = {0};
    Findings findings = {0};
    SafetensorsFile file = {0};
    assert_true(parse("{" ENTRY("a", "U8", "[3]", 0, 3) "," ENTRY("b", "F32", "[2]", 3, 11) "}", 11,
                      &arena, &findings, &file));
    assert_int_equal(finding_total(&findings), 0);
    safetensors_free(&file);
    arena_free(&arena);
}

// Files.

static void check_file(const StFolder *folder, const char *name, FindingKind kind, bool is_usable,
                       const char *detail) {
    Arena arena = {0};
    Findings findings = {0};
    SafetensorsFile file = {0};
    assert_int_equal(safetensors_read(st_make_path(folder, name), name, &arena, &findings, &file),
                     is_usable);
    assert_int_equal(findings.counts[kind], 1);
    assert_int_equal(finding_total(&findings), 1);
    assert_int_equal(findings.unusable, !is_usable);
    assert_string_equal(findings.shown[kind][0].subject, name);
    assert_string_equal(findings.shown[kind][0].detail, detail);
    safetensors_free(&file);
    finding_free(&findings);
    arena_free(&arena);
}

static void test_safetensors_files_that_are_something_else(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t count;
        FindingKind kind;
        const char *detail;
    } cases[] = {
        {"", 0, FINDING_TRUNCATED, "0 bytes, expected 8 and a header"},
        {"\x02\0\0", 3, FINDING_TRUNCATED, "3 bytes, expected 8 and a header"},
        {"\x03\0\0\0\0\0\0\0{}", 10, FINDING_TRUNCATED, "10 bytes, its header alone ends at 11"},
        {"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n", 64,
         FINDING_NOT_DATA, "is a git-lfs pointer; the data itself was not downloaded"},
        {"<!DOCTYPE html>\n<html>", 22, FINDING_NOT_DATA, "is a page of HTML"},
        {"<html><body>", 12, FINDING_NOT_DATA, "is a page of HTML"},
        {"PK\x03\x04\x14\0\x08\x08", 8, FINDING_NOT_DATA,
         "is a zip archive, as PyTorch writes them"},
        {"GGUF\x03\0\0\x01", 8, FINDING_NOT_DATA, "is a GGUF file"},
        {"Entry not found", 15, FINDING_NOT_DATA, "is text"},
        {"\0\0\0\0\0\0\0\x80{}", 10, FINDING_LARGE_HEADER,
         "claims a header of 9223372036854775808 bytes, at most 100000000 are read"},
        // 100,000,001 is 0x05f5e101
        {"\x01\xe1\xf5\x05\0\0\0\0{}", 10, FINDING_LARGE_HEADER,
         "claims a header of 100000001 bytes, at most 100000000 are read"},
        {"\x02\0\0\0\0\0\0\0xx", 10, FINDING_BAD_HEADER, "does not begin with '{'"},
    };
    StFolder folder;
    st_make_folder(&folder);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        st_make_bytes(&folder, "x", cases[i].bytes, cases[i].count);
        check_file(&folder, "x", cases[i].kind, false, cases[i].detail);
    }
    check_file(&folder, "none", FINDING_UNREADABLE, false, "cannot be opened");
    st_make_remove(&folder);
}

static void test_safetensors_a_folder_is_no_file(void **state) {
    (void)state;
    StFolder folder;
    st_make_folder(&folder);
    check_file(&folder, ".", FINDING_UNREADABLE, false, "is not a regular file");
    st_make_remove(&folder);
}

static void test_safetensors_a_truncated_download(void **state) {
    (void)state;
    StFolder folder;
    StTensor tensor = {"a", "BF16", {1024, 1024}, 2, 2 << 20};
    Text header = {0};
    st_make_folder(&folder);
    st_make_header(&tensor, 1, &header);
    // 8 + 104 + 2,097,152 bytes would be whole
    assert_int_equal(header.length, 104);
    st_make_file(&folder, "x", text_string(&header), (2 << 20) - 5);
    check_file(&folder, "x", FINDING_TRUNCATED, true, "2097259 bytes, its tensors end at 2097264");
    text_free(&header);
    st_make_remove(&folder);
}

// 600,000 tensors in one file are read. 1.3 million with names of checkpoints, 125 bytes of header
// each, are 162.5 MB and refused by their length, as by the reference reader
// (huggingface/safetensors#668).
static void test_safetensors_limit_of_one_header(void **state) {
    (void)state;
    Arena arena = {0};
    Findings findings = {0};
    SafetensorsFile file = {0};
    Text header = {0};
    uint32_t count = 600000;
    text_add_char(&header, '{');
    for (uint32_t i = 0; i < count; i++)
        text_addf(&header, "%s\"t%07u\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[%u,%u]}",
                  i == 0 ? "" : ",", i, i, i + 1);
    text_add_char(&header, '}');
    assert_true(safetensors_parse("f", header.data, header.length,
                                  SAFETENSORS_PREFIX_B + header.length + count, &arena, &findings,
                                  &file));
    assert_int_equal(file.count, count);
    assert_string_equal(file.tensors[count - 1].name, "t0599999");
    assert_int_equal(finding_total(&findings), 0);
    safetensors_free(&file);
    text_free(&header);
    arena_free(&arena);
    StFolder folder;
    uint64_t length = 1300000 * 125;
    char start[9] = {0};
    for (uint32_t i = 0; i < 8; i++) start[i] = (char)(length >> (8 * i) & 0xff);
    start[8] = '{';
    st_make_folder(&folder);
    st_make_bytes(&folder, "x", start, sizeof start);
    assert_int_equal(truncate(st_make_path(&folder, "x"), 1 << 30), 0);
    check_file(&folder, "x", FINDING_LARGE_HEADER, false,
               "claims a header of 162500000 bytes, at most 100000000 are read");
    st_make_remove(&folder);
}

static void test_safetensors_findings_are_bounded(void **state) {
    (void)state;
    Arena arena = {0};
    Findings findings = {0};
    SafetensorsFile file = {0};
    Text header = {0};
    text_add_char(&header, '{');
    for (uint32_t i = 0; i < 1000; i++)
        text_addf(&header, "%s\"t%u\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[0,8]}",
                  i == 0 ? "" : ",", i);
    text_add_char(&header, '}');
    assert_true(parse(text_string(&header), 8, &arena, &findings, &file));
    assert_int_equal(findings.counts[FINDING_OVERLAP], 999);
    assert_int_equal(finding_shown(&findings, FINDING_OVERLAP), FINDING_SHOWN_MAX);
    Err err = {0};
    assert_false(finding_none(&findings, &err));
    assert_string_equal(err.text, "999 findings, first: t1: overlapping tensors: begins 8 bytes "
                                  "before the end of t0 in f");
    safetensors_free(&file);
    finding_free(&findings);
    finding_free(&findings);
    text_free(&header);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_safetensors_reads_a_header),
        cmocka_unit_test(test_safetensors_names_may_have_escapes),
        cmocka_unit_test(test_safetensors_may_be_empty),
        cmocka_unit_test(test_safetensors_refuses_what_is_no_header),
        cmocka_unit_test(test_safetensors_refuses_bad_entries),
        cmocka_unit_test(test_safetensors_refuses_deep_nesting),
        cmocka_unit_test(test_safetensors_reports_layouts),
        cmocka_unit_test(test_safetensors_accepts_odd_offsets),
        cmocka_unit_test(test_safetensors_files_that_are_something_else),
        cmocka_unit_test(test_safetensors_a_folder_is_no_file),
        cmocka_unit_test(test_safetensors_a_truncated_download),
        cmocka_unit_test(test_safetensors_limit_of_one_header),
        cmocka_unit_test(test_safetensors_findings_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// Checkpoints: index files, and folders whose files agree or disagree with each other and with
// their index.
#include "tests/check.h"

#include <unistd.h>

#include "model/base/text.h"
#include "model/moe/checkpoint.h"
#include "model/moe/safetensors_index.h"
#include "tests/moe/st_make.h"

#define INDEX "model.safetensors.index.json"

// The index.

static void test_checkpoint_index_is_grouped_by_file(void **state) {
    (void)state;
    const char *text = "{\"weight_map\": {\"d\": \"2.safetensors\", \"a\": \"1.safetensors\", "
                       "\"c\": \"2.safetensors\", \"b\\n\\u0041\": \"1.safetensors\"}}";
    Arena arena = {0};
    Err err = {0};
    SafetensorsIndex index;
    // a line break in a name is refused, in an unknown member it does no harm
    check_fails(safetensors_index_parse("i", text, strlen(text), &arena, &index, &err), &err,
                "i: control character in the name \"b?A\"");
    text = "{\"other\": [[{\"a\\n\": 1}], 2], \"weight_map\": {\"d\": \"2.safetensors\", \"a\": "
           "\"1.safetensors\", \"c\": \"2.safetensors\", \"b\\u0041\": \"1.safetensors\"}, "
           "\"metadata\": {\"total_parameters\": 5, \"x\": {\"y\": []}, \"total_size\": 12.0}}";
    check_ok(safetensors_index_parse("i", text, strlen(text), &arena, &index, &err), &err);
    assert_int_equal(index.file_count, 2);
    assert_int_equal(index.count, 4);
    assert_string_equal(index.files[0], "1.safetensors");
    assert_string_equal(index.files[1], "2.safetensors");
    assert_int_equal(index.file_first[1], 2);
    assert_int_equal(index.file_first[2], 4);
    assert_string_equal(index.names[0], "a");
    assert_string_equal(index.names[1], "bA");
    assert_string_equal(index.names[2], "d");
    assert_string_equal(index.names[3], "c");
    assert_true(index.has_total);
    assert_int_equal(index.total_B, 12);
    arena_free(&arena);
}

static void test_checkpoint_index_refusals(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "i: 1:1: empty file, expected a JSON value"},
        {"[]", "i: expected an object"},
        {"{}", "i: missing \"weight_map\""},
        {"{\"weight_map\": 1}", "i: weight_map: expected an object"},
        {"{\"weight_map\": {}, \"weight_map\": {}}", "i: duplicate key \"weight_map\""},
        {"{\"weight_map\": {\"a\": 1}}", "i: a: expected the name of a file"},
        {"{\"weight_map\": {\"a\": \"../a.safetensors\"}}",
         "i: a: file \"../a.safetensors\", expected a name without a folder"},
        {"{\"weight_map\": {\"a\": \"/etc/passwd\"}}",
         "i: a: file \"/etc/passwd\", expected a name that ends in .safetensors"},
        {"{\"weight_map\": {\"a\": \".safetensors\"}}",
         "i: a: file \".safetensors\", expected a name that ends in .safetensors"},
        {"{\"weight_map\": {\"a\": \"pytorch_model.bin\"}}",
         "i: a: file \"pytorch_model.bin\", expected a name that ends in .safetensors"},
        {"{\"weight_map\": {\"a\": \"1.safetensors\", \"b\": \"1.safetensors\", \"a\": "
         "\"2.safetensors\"}}",
         "i: weight_map: duplicate key \"a\""},
        {"{\"weight_map\": {}, \"metadata\": []}", "i: metadata: expected an object"},
        {"{\"weight_map\": {}, \"metadata\": {\"total_size\": -1}}",
         "i: metadata: total_size: expected a number of bytes, found -1"},
        {"{\"weight_map\": {}, \"metadata\": {\"total_size\": 1.5}}",
         "i: metadata: total_size: expected a number of bytes, found 1.5"},
        {"{\"weight_map\": {}, \"metadata\": {\"total_size\": \"5\"}}",
         "i: metadata: total_size: expected a number of bytes, found \"5\""},
        {"{\"weight_map\": {}, \"metadata\": {\"total_size\": 1, \"total_size\": 1}}",
         "i: metadata: duplicate key \"total_size\""},
        {"{\"weight_map\": {\"a\": \"1.safetensors\"",
         "i: 1:37: unexpected end of file, expected ',' or '}'"},
        {"{\"weight_map\": {\"\xc0\": \"1.safetensors\"}}", "i: 1:18: byte 0xc0 is not UTF-8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Arena arena = {0};
        Err err = {0};
        SafetensorsIndex index;
        check_fails(safetensors_index_parse("i", cases[i].text, strlen(cases[i].text), &arena,
                                            &index, &err),
                    &err, cases[i].message);
        arena_free(&arena);
    }
}

// Folders. Two files: x.safetensors has a (6 bytes) and b (4), y.safetensors has c (8).

static const StTensor in_x[] = {{"a", "BF16", {3}, 1, 6}, {"b", "F32", {0}, 0, 4}};
static const StTensor in_y[] = {{"c", "U8", {2, 4}, 2, 8}};

static void make_files(const StFolder *folder) {
    st_make_tensors(folder, "x.safetensors", in_x, 2);
    st_make_tensors(folder, "y.safetensors", in_y, 1);
}

static void make_index(const StFolder *folder, const char *map, uint64_t total_B) {
    Text text = {0};
    text_addf(&text, "{\"metadata\": {\"total_size\": %llu}, \"weight_map\": {%s}}",
              (unsigned long long)total_B, map);
    st_make_bytes(folder, INDEX, text.data, text.length);
    text_free(&text);
}

#define WHOLE_MAP "\"a\": \"x.safetensors\", \"b\": \"x.safetensors\", \"c\": \"y.safetensors\""

static void test_checkpoint_of_a_folder(void **state) {
    (void)state;
    StFolder folder;
    Checkpoint checkpoint;
    Findings findings = {0};
    Err err = {0};
    st_make_folder(&folder);
    make_files(&folder);
    check_ok(checkpoint_open(folder.path, &checkpoint, &findings, &err), &err);
    check_ok(finding_none(&findings, &err), &err);
    assert_true(checkpoint.has_headers);
    assert_null(checkpoint.index_name);
    assert_int_equal(checkpoint.file_count, 2);
    assert_string_equal(checkpoint.files[0].name, "x.safetensors");
    assert_string_equal(checkpoint.files[1].path, st_make_path(&folder, "y.safetensors"));
    assert_int_equal(checkpoint.files[1].first, 2);
    assert_int_equal(checkpoint.tensor_count, 3);
    uint32_t c = checkpoint_find(&checkpoint, "c");
    assert_int_equal(c, 2);
    assert_string_equal(checkpoint.tensors[c].type, "U8");
    assert_int_equal(checkpoint.tensors[c].file, 1);
    assert_int_equal(checkpoint.tensors[c].dims[1], 4);
    assert_int_equal(checkpoint.tensors[c].begin, checkpoint.files[1].data_start);
    assert_int_equal(checkpoint.tensors[c].end, checkpoint.files[1].size_B);
    assert_int_equal(checkpoint.tensors[1].begin, checkpoint.files[0].data_start + 6);
    assert_int_equal(checkpoint_find(&checkpoint, "d"), CHECKPOINT_NONE);
    checkpoint_free(&checkpoint);
    checkpoint_free(&checkpoint);
    st_make_remove(&folder);
}

static void test_checkpoint_of_one_file(void **state) {
    (void)state;
    StFolder folder;
    Checkpoint checkpoint;
    Findings findings = {0};
    Err err = {0};
    st_make_folder(&folder);
    make_files(&folder);
    check_ok(checkpoint_open(st_make_path(&folder, "y.safetensors"), &checkpoint, &findings, &err),
             &err);
    check_ok(finding_none(&findings, &err), &err);
    assert_int_equal(checkpoint.tensor_count, 1);
    assert_string_equal(checkpoint.tensors[0].name, "c");
    checkpoint_free(&checkpoint);
    st_make_remove(&folder);
}

static void test_checkpoint_with_a_true_index(void **state) {
    (void)state;
    StFolder folder;
    Checkpoint checkpoint;
    Findings findings = {0};
    Err err = {0};
    st_make_folder(&folder);
    make_files(&folder);
    st_make_tensors(&folder, "consolidated.safetensors", in_y, 1); // engines leave it alone
    make_index(&folder, WHOLE_MAP, 18);
    for (uint32_t i = 0; i < 2; i++) { // the folder, and its index by name
        const char *path = i == 0 ? folder.path : st_make_path(&folder, INDEX);
        check_ok(checkpoint_open(path, &checkpoint, &findings, &err), &err);
        check_ok(finding_none(&findings, &err), &err);
        assert_string_equal(checkpoint.index_name, INDEX);
        assert_int_equal(checkpoint.file_count, 2);
        assert_int_equal(checkpoint.tensor_count, 3);
        for (uint32_t k = 0; k < 3; k++) assert_true(checkpoint.tensors[k].is_indexed);
        assert_int_equal(checkpoint.unlisted, 1);
        assert_string_equal(checkpoint.first_unlisted, "consolidated.safetensors");
        checkpoint_free(&checkpoint);
    }
    st_make_remove(&folder);
}

static void test_checkpoint_of_an_index_alone(void **state) {
    (void)state;
    StFolder folder;
    Checkpoint checkpoint;
    Findings findings = {0};
    Err err = {0};
    st_make_folder(&folder);
    make_index(&folder, WHOLE_MAP, 17); // nothing to compare 17 with
    check_ok(checkpoint_open(folder.path, &checkpoint, &findings, &err), &err);
    check_ok(finding_none(&findings, &err), &err);
    assert_false(checkpoint.has_headers);
    assert_int_equal(checkpoint.tensor_count, 3);
    assert_null(checkpoint.tensors[0].type);
    assert_int_equal(checkpoint_find(&checkpoint, "c"), 2);
    assert_int_equal(checkpoint.total_B, 17);
    checkpoint_free(&checkpoint);
    st_make_remove(&folder);
}

// One finding of a kind, with subject and detail, and no others.
typedef struct Wanted {
    FindingKind kind;
    const char *subject, *detail;
} Wanted;

static void check_findings(const StFolder *folder, const Wanted *wanted, uint32_t count) {
    Checkpoint checkpoint;
    Findings findings = {0};
    Err err = {0};
    check_ok(checkpoint_open(folder->path, &checkpoint, &findings, &err), &err);
    for (uint32_t i = 0; i < count; i++) {
        if (findings.counts[wanted[i].kind] != 1)
            fail_msg("%s: %d times", finding_kind_names[wanted[i].kind],
                     (int)findings.counts[wanted[i].kind]);
        assert_string_equal(findings.shown[wanted[i].kind][0].subject, wanted[i].subject);
        assert_string_equal(findings.shown[wanted[i].kind][0].detail, wanted[i].detail);
    }
    assert_int_equal(finding_total(&findings), count);
    checkpoint_free(&checkpoint);
    finding_free(&findings);
}

static void test_checkpoint_index_against_files(void **state) {
    (void)state;
    StFolder folder;
    st_make_folder(&folder);
    make_files(&folder);
    make_index(&folder, WHOLE_MAP, 19);
    check_findings(&folder, &(Wanted){FINDING_TOTAL_SIZE, INDEX, "19 bytes, its tensors have 18"},
                   1);
    make_index(&folder, WHOLE_MAP ", \"d\": \"y.safetensors\"", 18);
    check_findings(&folder, &(Wanted){FINDING_NOT_IN_FILE, "d", "y.safetensors does not have it"},
                   1);
    make_index(&folder, "\"a\": \"x.safetensors\", \"c\": \"y.safetensors\"", 14);
    check_findings(&folder, &(Wanted){FINDING_NOT_IN_INDEX, "b", "x.safetensors has it"}, 1);
    // c is looked for in x; what the index names is 10 bytes
    make_index(&folder,
               "\"a\": \"x.safetensors\", \"b\": \"x.safetensors\", \"c\": \"x.safetensors\"", 10);
    Wanted elsewhere[] = {{FINDING_NOT_IN_FILE, "c", "x.safetensors does not have it"}};
    check_findings(&folder, elsewhere, 1);
    make_index(&folder,
               "\"a\": \"x.safetensors\", \"b\": \"y.safetensors\", \"c\": \"y.safetensors\"", 14);
    Wanted moved[] = {{FINDING_NOT_IN_FILE, "b", "it is in x.safetensors, not in y.safetensors"}};
    check_findings(&folder, moved, 1);
    make_index(&folder, WHOLE_MAP ", \"d\": \"z.safetensors\", \"e\": \"z.safetensors\"", 18);
    Wanted stale[] = {{FINDING_MISSING_FILE, "z.safetensors", INDEX " names it for 2 tensors"}};
    check_findings(&folder, stale, 1);
    st_make_remove(&folder);
}

// The same name in two files: alike, and with other bytes per element.
static void test_checkpoint_same_tensor_in_two_files(void **state) {
    (void)state;
    static const StTensor copy = {"a", "BF16", {3}, 1, 6}, other = {"a", "F16", {3}, 1, 6};
    StFolder folder;
    Checkpoint checkpoint;
    Findings findings = {0};
    Err err = {0};
    st_make_folder(&folder);
    make_files(&folder);
    st_make_tensors(&folder, "z.safetensors", &copy, 1);
    Wanted twice[] = {{FINDING_TWICE, "a", "in x.safetensors and in z.safetensors"}};
    check_findings(&folder, twice, 1);
    make_index(&folder, WHOLE_MAP, 18); // z is not named: what it has does not count
    check_findings(&folder, NULL, 0);
    make_index(&folder,
               "\"a\": \"z.safetensors\", \"b\": \"x.safetensors\", \"c\": \"y.safetensors\"", 18);
    check_findings(&folder, twice, 1);
    st_make_tensors(&folder, "z.safetensors", &other, 1);
    Wanted unlike[] = {{FINDING_TWICE, "a", "in x.safetensors and in z.safetensors, not alike"}};
    check_findings(&folder, unlike, 1);
    check_ok(checkpoint_open(folder.path, &checkpoint, &findings, &err), &err);
    assert_int_equal(checkpoint_find(&checkpoint, "a"), 0); // of the first file
    checkpoint_free(&checkpoint);
    finding_free(&findings);
    st_make_remove(&folder);
}

// One file of two is a pointer: its names are those of the index, and nobody calls them missing.
static void test_checkpoint_goes_on_without_a_file(void **state) {
    (void)state;
    StFolder folder;
    Checkpoint checkpoint;
    Findings findings = {0};
    Err err = {0};
    static const char pointer[] = "version https://git-lfs.github.com/spec/v1\noid sha256:0\n";
    st_make_folder(&folder);
    make_files(&folder);
    make_index(&folder, WHOLE_MAP, 18);
    st_make_bytes(&folder, "x.safetensors", pointer, sizeof pointer - 1);
    check_ok(checkpoint_open(folder.path, &checkpoint, &findings, &err), &err);
    check_fails(finding_none(&findings, &err), &err,
                "x.safetensors: not a safetensors file: is a git-lfs pointer; the data itself was "
                "not downloaded");
    assert_int_equal(findings.unusable, 1);
    assert_false(checkpoint.files[0].is_read);
    assert_int_equal(checkpoint.tensor_count, 3);
    assert_null(checkpoint.tensors[checkpoint_find(&checkpoint, "b")].type);
    assert_non_null(checkpoint.tensors[checkpoint_find(&checkpoint, "c")].type);
    checkpoint_free(&checkpoint);
    finding_free(&findings);
    st_make_remove(&folder);
}

// A cache of downloads holds links to its files; one that leads nowhere is a file that cannot be
// opened, with no index to say what it should hold.
static void test_checkpoint_link_to_nothing(void **state) {
    (void)state;
    StFolder folder;
    Checkpoint checkpoint;
    Findings findings = {0};
    Err err = {0};
    st_make_folder(&folder);
    assert_int_equal(symlink("gone", st_make_path(&folder, "x.safetensors")), 0);
    check_ok(checkpoint_open(folder.path, &checkpoint, &findings, &err), &err);
    check_fails(finding_none(&findings, &err), &err,
                "x.safetensors: unreadable file: cannot be opened");
    assert_int_equal(findings.unusable, 1);
    assert_int_equal(checkpoint.tensor_count, 0);
    checkpoint_free(&checkpoint);
    finding_free(&findings);
    st_make_remove(&folder);
}

static void check_not_opened(const char *path, const char *message) {
    Checkpoint checkpoint;
    Findings findings = {0};
    Err err = {0};
    assert_false(checkpoint_open(path, &checkpoint, &findings, &err));
    assert_string_equal(err.text + strlen(path), message);
}

static void test_checkpoint_needs_something_to_open(void **state) {
    (void)state;
    StFolder folder;
    st_make_folder(&folder);
    check_not_opened(st_make_path(&folder, "none"), ": no such file or folder");
    check_not_opened(folder.path, ": no .safetensors files and no index of them");
    st_make_bytes(&folder, "a.safetensors.index.json", "{}", 2);
    st_make_bytes(&folder, "b.safetensors.index.json", "{}", 2);
    check_not_opened(folder.path,
                     ": 2 index files (a.safetensors.index.json, b.safetensors.index.json, ...), "
                     "expected one; name it");
    check_not_opened(st_make_path(&folder, "a.safetensors.index.json"), ": missing \"weight_map\"");
    st_make_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_checkpoint_index_is_grouped_by_file),
        cmocka_unit_test(test_checkpoint_index_refusals),
        cmocka_unit_test(test_checkpoint_of_a_folder),
        cmocka_unit_test(test_checkpoint_of_one_file),
        cmocka_unit_test(test_checkpoint_with_a_true_index),
        cmocka_unit_test(test_checkpoint_of_an_index_alone),
        cmocka_unit_test(test_checkpoint_index_against_files),
        cmocka_unit_test(test_checkpoint_same_tensor_in_two_files),
        cmocka_unit_test(test_checkpoint_goes_on_without_a_file),
        cmocka_unit_test(test_checkpoint_link_to_nothing),
        cmocka_unit_test(test_checkpoint_needs_something_to_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

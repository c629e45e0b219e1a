#include "tests/check.h"

#include "model/machine/device.h"

static void load(DeviceCatalogue *catalogue) {
    Err err = {{0}};
    check_ok(device_load(catalogue, &err), &err);
}

static void test_device_knows_a_gpu_by_any_of_its_names(void **state) {
    (void)state;
    DeviceCatalogue catalogue;
    load(&catalogue);
    const Device *device = device_find(&catalogue, "H100 SXM");
    assert_non_null(device);
    assert_ptr_equal(device_find(&catalogue, "H100"), device);
    assert_ptr_equal(device_find(&catalogue, "h100 sxm"), device);
    assert_null(device_find(&catalogue, "H1000"));
    assert_string_equal(device->kind, "gpu");
    assert_string_equal(device->generation, "hopper");
    device_free(&catalogue);
}

// 79.18 GiB = 79.18 x 1073741824 B = 85018877624.3 B, rounded down; 3.35 TB/s, 989 and 1979 Tflop/s
// dense, 18 links of 25 GB/s = 450 GB/s; 1.99 to 5.00 dollars per hour.
static void test_device_has_the_figures_of_an_h100(void **state) {
    (void)state;
    DeviceCatalogue catalogue;
    load(&catalogue);
    const Device *device = device_find(&catalogue, "H100");
    assert_int_equal(device_low(device->memory_B), UINT64_C(85018877624));
    assert_int_equal(device->memory_Bps.low, UINT64_C(3350000000000));
    assert_int_equal(device->rate_flops[NUMFMT_BF16].low, UINT64_C(989000000000000));
    assert_int_equal(device->rate_flops[NUMFMT_FP8].low, UINT64_C(1979000000000000));
    assert_int_equal(device->rate_flops[NUMFMT_FP4].low, 0);
    assert_int_equal(device->compute_units, 132);
    assert_int_equal(device->comm_units, 20);
    assert_int_equal(device->l2_B, 50000000);
    assert_int_equal(device->scale_up_links, 18);
    assert_int_equal(device->scale_up_Bps.low, UINT64_C(18) * 25000000000);
    assert_int_equal(device->power_mW.low, 700000);
    assert_int_equal(device->price_uusd_per_hour.low, 1990000);
    assert_int_equal(device->price_uusd_per_hour.high, 5000000);
    assert_int_equal(device->confidence, 'A');
    assert_non_null(strstr(device->price_source, "2026"));
    device_free(&catalogue);
}

// The INT8 rate of a B300 is stated as 154 and as 4500 Tflop/s: both ends stay, the low one is
// used.
static void test_device_keeps_both_ends_of_a_range(void **state) {
    (void)state;
    DeviceCatalogue catalogue;
    load(&catalogue);
    const Device *device = device_find(&catalogue, "B300");
    assert_int_equal(device->rate_flops[NUMFMT_INT8].low, UINT64_C(154000000000000));
    assert_int_equal(device->rate_flops[NUMFMT_INT8].high, UINT64_C(4500000000000000));
    assert_int_equal(device_find(&catalogue, "GB300")->compute_units_high, 160);
    assert_int_equal(device_find(&catalogue, "L40S")->comm_units, 0);
    assert_int_equal(device_find(&catalogue, "CPU core")->gemm_tile_rows, 4);
    assert_int_equal(device_find(&catalogue, "CPU core")->gemm_tile_columns, 16);
    assert_int_equal(device_find(&catalogue, "L40S")->gemm_tile_rows, 0);
    device_free(&catalogue);
}

static void test_device_gives_a_source_for_every_device(void **state) {
    (void)state;
    DeviceCatalogue catalogue;
    load(&catalogue);
    assert_true(catalogue.count >= 26);
    for (uint32_t i = 0; i < catalogue.count; i++) {
        const Device *device = &catalogue.devices[i];
        if (i > 0) assert_true(strcmp(catalogue.devices[i - 1].name, device->name) < 0);
        assert_true(strlen(device->source) > 10);
        assert_non_null(strchr("ABCM", device->confidence));
        if (device->price_uusd_per_hour.high > 0)
            assert_non_null(strstr(device->price_source, "202"));
        if (strcmp(device->kind, "gpu") == 0) {
            assert_true(device->memory_B.low > 0 && device->memory_Bps.low > 0);
            // Volta has f16 in its place; a core of a CPU converts it to f32
            bool has_bf16 =
                strcmp(device->generation, "volta") != 0 && strcmp(device->generation, "cpu") != 0;
            assert_true((device->rate_flops[NUMFMT_BF16].low > 0) == has_bf16);
            assert_true(device->generation[0] != '\0');
        }
    }
    device_free(&catalogue);
}

// Column `index` of a CSV line, quotes removed.
static void field_of(const char *line, int index, char *out, size_t size) {
    size_t length = 0;
    bool quoted = false;
    for (; *line != '\0' && *line != '\n' && *line != '\r'; line++) {
        if (*line == '"') {
            quoted = !quoted;
        } else if (*line == ',' && !quoted) {
            if (index-- == 0) break;
        } else if (index == 0 && length + 1 < size) {
            out[length++] = *line;
        }
    }
    out[length] = '\0';
}

static const Device *find_by_line(const DeviceCatalogue *catalogue, char *name) {
    char *announced = strstr(name, " (2026)");
    if (announced != NULL) *announced = '\0';
    return device_find(catalogue, name);
}

// Of these the driver's figure, or that of a process, is known; the list has the printed one.
static bool is_memory_measured(const Device *device) {
    static const struct {
        const char *name;
        uint64_t memory_B;
    } known[] = {{"H100 SXM", UINT64_C(85018877624)},     // 79.18 GiB, rounded down
                 {"A100 SXM 80G", UINT64_C(85201413734)}, // 79.35 GiB, rounded down
                 {"H20", UINT64_C(97871) << 20},          {"H20-3e", UINT64_C(143771) << 20},
                 {"H200 SXM", UINT64_C(143771) << 20},    {"B200 SXM", UINT64_C(183359) << 20},
                 {"RTX 4090", UINT64_C(24564) << 20},     {"MI300X", UINT64_C(206141652992)},
                 {"B300 SXM", UINT64_C(275040) << 20},    {"GB200", UINT64_C(189471) << 20},
                 {"GB300", UINT64_C(284208) << 20}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i].name, device->name) != 0) continue;
        assert_int_equal(device->memory_B.low, known[i].memory_B);
        assert_int_equal(device->memory_B.high, known[i].memory_B);
        return true;
    }
    return false;
}

// Every GPU of the list of facts is in the catalogue; figures that the list gives as a plain number
// are the same.
static void test_device_covers_the_list_of_gpus(void **state) {
    (void)state;
    const char *path = check_shared("facts/gpus.csv");
    Arena arena = {0};
    Err err = {{0}};
    char *text;
    size_t count;
    DeviceCatalogue catalogue;
    load(&catalogue);
    check_ok(file_read(path, FILE_CAP_B, &arena, &text, &count, &err), &err);
    uint32_t gpus = 0;
    for (char *line = strchr(text, '\n') + 1; *line != '\0'; line = strchr(line, '\n') + 1) {
        char name[64], number[64], *end;
        field_of(line, 0, name, sizeof name);
        const Device *device = find_by_line(&catalogue, name);
        if (device == NULL) fail_msg("%s is not in the catalogue", name);
        static const struct {
            int column;
            NumFmt format;
        } rates[] = {{3, NUMFMT_BF16}, {4, NUMFMT_FP8}, {5, NUMFMT_FP4}, {6, NUMFMT_INT8}};
        for (size_t i = 0; i < 4; i++) {
            field_of(line, rates[i].column, number, sizeof number);
            double tflops = strtod(number, &end);
            if (end == number) assert_int_equal(device->rate_flops[rates[i].format].low, 0);
            check_close((double)device->rate_flops[rates[i].format].low, tflops * 1e12, 1e-12);
        }
        field_of(line, 2, number, sizeof number);
        check_close((double)device->memory_Bps.low, strtod(number, NULL) * 1e12, 1e-12);
        field_of(line, 1, number, sizeof number);
        if (!is_memory_measured(device))
            check_close((double)device->memory_B.low, strtod(number, NULL) * 1e9, 1e-12);
        gpus++;
    }
    assert_int_equal(gpus, 26);
    device_free(&catalogue);
    arena_free(&arena);
}

static void test_device_names_the_nearest_of_an_unknown_one(void **state) {
    (void)state;
    DeviceCatalogue catalogue;
    Err err = {{0}};
    load(&catalogue);
    check_fails(device_unknown(&catalogue, "H1000 SXM", &err), &err,
                "unknown device \"H1000 SXM\", did you mean \"H100 SXM\"?");
    check_fails(device_unknown(&catalogue, "abacus of brass", &err), &err,
                "unknown device \"abacus of brass\"");
    device_free(&catalogue);
}

static void test_device_refuses_a_bad_file(void **state) {
    (void)state;
    DeviceCatalogue catalogue = {0};
    Err err = {{0}};
    check_fails(device_read("tests/bad/device-range.json", &catalogue, &err), &err,
                "tests/bad/device-range.json:3:53: devices.X.memory: expected [low, high], found "
                "low above high");
    check_fails(device_read("tests/bad/device-no-source.json", &catalogue, &err), &err,
                "tests/bad/device-no-source.json:3:8: devices.X: missing \"source\"");
    check_fails(device_read("tests/bad/device-twice.json", &catalogue, &err), &err,
                "tests/bad/device-twice.json:4:8: devices.Y: \"x\" is a name of \"X\" already");
    check_fails(
        device_read("tests/bad/device-undated-price.json", &catalogue, &err), &err,
        "tests/bad/device-undated-price.json:3:27: devices.X.price_usd_per_hour: expected a "
        "\"price_source\" with the date, such as \"..., May 2026\"");
    check_fails(device_read("tests/bad/device-newer.json", &catalogue, &err), &err,
                "tests/bad/device-newer.json:1:34: version: devices format 2 is newer than this "
                "program, which reads up to 1");
    assert_int_equal(catalogue.count, 0);
}

static void test_device_frees_twice(void **state) {
    (void)state;
    DeviceCatalogue catalogue;
    load(&catalogue);
    device_free(&catalogue);
    device_free(&catalogue);
    assert_null(catalogue.devices);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_device_knows_a_gpu_by_any_of_its_names),
        cmocka_unit_test(test_device_has_the_figures_of_an_h100),
        cmocka_unit_test(test_device_keeps_both_ends_of_a_range),
        cmocka_unit_test(test_device_gives_a_source_for_every_device),
        cmocka_unit_test(test_device_covers_the_list_of_gpus),
        cmocka_unit_test(test_device_names_the_nearest_of_an_unknown_one),
        cmocka_unit_test(test_device_refuses_a_bad_file),
        cmocka_unit_test(test_device_frees_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

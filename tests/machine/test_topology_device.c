#include "tests/machine/machine.h"

#include "model/cost/gpus.h"
#include "model/machine/import.h"
#include "model/machine/topology_device.h"

typedef struct Given {
    DeviceCatalogue catalogue;
    Topology topology;
    Err err;
} Given;

static void open_given(Given *given, const char *name) {
    *given = (Given){0};
    check_ok(device_load(&given->catalogue, &given->err), &given->err);
    check_ok(topology_load(name, &given->topology, &given->err), &given->err);
}

static void close_given(Given *given) {
    topology_free(&given->topology);
    device_free(&given->catalogue);
}

// A rack of GB200 with other GPUs has as many of them on the same links; its note says what they
// were.
static void test_topology_device_replaces_all_gpus(void **state) {
    (void)state;
    Given given;
    Fabric fabric = {0};
    const Device *device;
    open_given(&given, "nvl72");
    Digest before = given.topology.digest;
    uint32_t links = given.topology.templates[given.topology.machine].link_count;
    check_ok(topology_device_set(&given.topology, &given.catalogue, "h200", &given.err),
             &given.err);
    assert_string_equal(given.topology.device_before, "GB200");
    assert_non_null(strstr(given.topology.note, "named H200 SXM from outside, instead of GB200"));
    assert_true(given.topology.digest != before);
    assert_int_equal(given.topology.templates[given.topology.machine].link_count, links);
    check_ok(fabric_build(&given.topology, &given.catalogue, &fabric, &given.err), &given.err);
    assert_int_equal(fabric.gpu_count, 72);
    check_ok(gpus_device(&fabric, "it", GPUS_NEED_RATES, &device, &given.err), &given.err);
    assert_string_equal(device->name, "H200 SXM");
    fabric_free(&fabric);
    close_given(&given);
}

// By an alias too, and with the device that a string takes when it names none.
static void test_topology_device_leaves_a_machine_of_that_device_as_it_is(void **state) {
    (void)state;
    Given given;
    open_given(&given, "switch:2,450GB/s");
    Digest before = given.topology.digest;
    check_ok(topology_device_set(&given.topology, &given.catalogue, "H100", &given.err),
             &given.err);
    assert_null(given.topology.device_before);
    assert_false(given.topology.default_device);
    assert_true(given.topology.digest == before);
    close_given(&given);
}

static void test_topology_device_is_that_of_the_string(void **state) {
    (void)state;
    Given given, named;
    open_given(&given, "hgx-h100:2");
    open_given(&named, "hgx-h100:2,device=H200 SXM");
    check_ok(topology_device_set(&given.topology, &given.catalogue, "H200", &given.err),
             &given.err);
    for (uint32_t t = 0; t < given.topology.template_count; t++)
        for (uint32_t i = 0; i < given.topology.templates[t].part_count; i++)
            assert_string_equal(given.topology.templates[t].parts[i].device,
                                named.topology.templates[t].parts[i].device);
    close_given(&given);
    close_given(&named);
}

// A dump without names gets one; it says so among its findings.
static void test_topology_device_names_the_gpus_of_a_dump(void **state) {
    (void)state;
    Given given;
    Fabric fabric = {0};
    const Device *device;
    static const char matrix[] = "\tGPU0\tGPU1\tCPU Affinity\n"
                                 "GPU0\t X \tNV4\t0-7\n"
                                 "GPU1\tNV4\t X \t0-7\n";
    ImportGrammar grammar;
    open_given(&given, "switch:1,1GB/s");
    topology_free(&given.topology);
    assert_true(import_recognise(matrix, sizeof matrix - 1, &grammar));
    check_ok(import_parse(grammar, "dump", matrix, sizeof matrix - 1, &given.topology, &given.err),
             &given.err);
    check_ok(fabric_build(&given.topology, &given.catalogue, &fabric, &given.err), &given.err);
    check_fails(gpus_device(&fabric, "it", GPUS_NEED_RATES, &device, &given.err), &given.err,
                "it: the GPUs name no device of the catalogue, so nothing is known of them: add "
                "--device NAME");
    check_ok(gpus_device(&fabric, "it", GPUS_NEED_NOTHING, &device, &given.err), &given.err);
    assert_null(device);
    fabric_free(&fabric);
    fabric = (Fabric){0};
    check_ok(topology_device_set(&given.topology, &given.catalogue, "A100", &given.err),
             &given.err);
    assert_string_equal(given.topology.device_before, "");
    assert_non_null(strstr(given.topology.note, "; the GPUs were named A100"));
    check_ok(fabric_build(&given.topology, &given.catalogue, &fabric, &given.err), &given.err);
    check_ok(gpus_device(&fabric, "it", GPUS_NEED_RATES, &device, &given.err), &given.err);
    fabric_free(&fabric);
    close_given(&given);
}

static void test_topology_device_refuses_what_is_no_gpu(void **state) {
    (void)state;
    Given given;
    open_given(&given, "nvl72");
    check_fails(topology_device_set(&given.topology, &given.catalogue, "GB2000", &given.err),
                &given.err, "unknown device \"GB2000\", did you mean \"GB200\"?");
    given.err = (Err){{0}};
    check_fails(topology_device_set(&given.topology, &given.catalogue, "ConnectX-7", &given.err),
                &given.err, "expected a GPU, found ConnectX-7, a nic");
    close_given(&given);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_topology_device_replaces_all_gpus),
        cmocka_unit_test(test_topology_device_leaves_a_machine_of_that_device_as_it_is),
        cmocka_unit_test(test_topology_device_is_that_of_the_string),
        cmocka_unit_test(test_topology_device_names_the_gpus_of_a_dump),
        cmocka_unit_test(test_topology_device_refuses_what_is_no_gpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// Tenants own their GPUs and host memories: accepted exactly when they do.
#include "tests/check.h"

#include "model/plan/tenant_proof.h"

typedef struct Machine {
    DeviceCatalogue catalogue;
    Topology topology;
    Fabric fabric;
} Machine;

static void open_machine(Machine *machine, const char *name, const char *faults) {
    Err err = {0};
    *machine = (Machine){0};
    check_ok(device_load(&machine->catalogue, &err), &err);
    if (faults == NULL)
        check_ok(topology_load(name, &machine->topology, &err), &err);
    else
        check_ok(topology_parse("test", faults, strlen(faults), &machine->topology, &err), &err);
    check_ok(fabric_build(&machine->topology, &machine->catalogue, &machine->fabric, &err), &err);
}

static void close_machine(Machine *machine) {
    fabric_free(&machine->fabric);
    topology_free(&machine->topology);
    device_free(&machine->catalogue);
}

#define RUN_MAX 16

// Consecutive GPUs.
static TenantClaim run_of(const char *name, uint32_t *gpus, uint32_t first, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) gpus[i] = first + i;
    return (TenantClaim){name, gpus, count};
}

static bool prove_two(const Fabric *fabric, uint32_t a_first, uint32_t a_count, uint32_t b_first,
                      uint32_t b_count, TenantHosts hosts, TenantProof *out, Err *err) {
    uint32_t a[RUN_MAX], b[RUN_MAX];
    const TenantClaim claims[] = {run_of("a.json", a, a_first, a_count),
                                  run_of("b.json", b, b_first, b_count)};
    return tenant_proof_find(fabric, claims, 2, hosts, out, err);
}

// All pairs of runs of 3 and 2 among 8 GPUs: [x, x + 3) and [y, y + 2) are apart exactly when
// x + 3 <= y or y + 2 <= x. Anything else must be refused.
static void test_tenant_proof_accepts_exactly_disjoint_gpus(void **state) {
    (void)state;
    Machine machine;
    uint32_t accepted = 0;
    open_machine(&machine, "switch:8,450GB/s", NULL);
    for (uint32_t x = 0; x + 3 <= 8; x++)
        for (uint32_t y = 0; y + 2 <= 8; y++) {
            TenantProof proof;
            Err err = {0};
            bool is_apart = x + 3 <= y || y + 2 <= x;
            bool found = prove_two(&machine.fabric, x, 3, y, 2, TENANT_HOSTS_APART, &proof, &err);
            if (found != is_apart)
                fail_msg("GPU %u on and GPU %u on: %s", x, y, found ? "accepted" : err.text);
            if (!found) continue;
            accepted++;
            assert_int_equal(proof.gpus, 5);
            for (uint32_t g = 0; g < 8; g++)
                assert_int_equal(proof.owner[g], g >= x && g < x + 3   ? 0
                                                 : g >= y && g < y + 2 ? 1
                                                                       : FABRIC_NONE);
            tenant_proof_free(&proof);
        }
    // x = 0 leaves 4 places for the two (3 to 6), x = 1: 3, x = 2: 2 + 1 before it, and mirrored
    assert_int_equal(accepted, 2 * (4 + 3 + 3));
    close_machine(&machine);
}

// GPUs 0-3 and 3-4 meet in GPU 3.
static void test_tenant_proof_names_the_gpu_and_both_tenants(void **state) {
    (void)state;
    Machine machine;
    TenantProof proof;
    Err err = {0};
    open_machine(&machine, "switch:8,450GB/s", NULL);
    check_fails(prove_two(&machine.fabric, 0, 4, 3, 2, TENANT_HOSTS_LISTED, &proof, &err), &err,
                "GPU 3 (gpu[3]) is taken by both a.json and b.json");
    uint32_t twice[] = {1, 2, 1};
    const TenantClaim claim = {"a.json", twice, 3};
    check_fails(tenant_proof_find(&machine.fabric, &claim, 1, TENANT_HOSTS_APART, &proof, &err),
                &err, "GPU 1 (gpu[1]) is taken by two ranks of a.json");
    check_fails(prove_two(&machine.fabric, 0, 4, 7, 2, TENANT_HOSTS_APART, &proof, &err), &err,
                "b.json: expected GPUs below 8, found 8");
    close_machine(&machine);
}

// An HGX H100 has 2 CPUs with a memory each; GPUs 0-3 are near the first, 4-7 near the second. Two
// halves are apart; two pairs on one half are not, though their GPUs are.
static void test_tenant_proof_keeps_host_memories_apart(void **state) {
    (void)state;
    Machine machine;
    TenantProof proof;
    Err err = {0};
    open_machine(&machine, "hgx-h100", NULL);
    check_ok(prove_two(&machine.fabric, 0, 4, 4, 4, TENANT_HOSTS_APART, &proof, &err), &err);
    assert_int_equal(proof.parts[TENANT_PART_MEMORY].used, 2);
    assert_int_equal(proof.parts[TENANT_PART_MEMORY].shared, 0);
    assert_int_equal(proof.parts[TENANT_PART_CPU].used, 2);
    assert_int_equal(proof.parts[TENANT_PART_NIC].used, 8);
    assert_int_equal(proof.parts[TENANT_PART_NIC].shared, 0);
    tenant_proof_free(&proof);
    check_fails(prove_two(&machine.fabric, 0, 2, 2, 2, TENANT_HOSTS_APART, &proof, &err), &err,
                "dram[0] is the host memory of both a.json and b.json");
    check_ok(prove_two(&machine.fabric, 0, 2, 2, 2, TENANT_HOSTS_LISTED, &proof, &err), &err);
    assert_int_equal(proof.parts[TENANT_PART_MEMORY].used, 1);
    assert_int_equal(proof.parts[TENANT_PART_MEMORY].shared, 1);
    assert_int_equal(proof.parts[TENANT_PART_CPU].shared, 1);
    assert_int_equal(proof.parts[TENANT_PART_MEMORY].a, 0);
    assert_int_equal(proof.parts[TENANT_PART_MEMORY].b, 1);
    tenant_proof_free(&proof);
    close_machine(&machine);
}

// On a GB200 tray each Grace serves two GPUs with two NICs: GPUs 0 and 1 share both, 1 and 2 none.
static void test_tenant_proof_lists_nics_of_two(void **state) {
    (void)state;
    Machine machine;
    TenantProof proof;
    Err err = {0};
    open_machine(&machine, "nvl72", NULL);
    check_ok(prove_two(&machine.fabric, 0, 1, 1, 1, TENANT_HOSTS_LISTED, &proof, &err), &err);
    assert_int_equal(proof.parts[TENANT_PART_NIC].used, 2);
    assert_int_equal(proof.parts[TENANT_PART_NIC].shared, 2);
    tenant_proof_free(&proof);
    check_ok(prove_two(&machine.fabric, 1, 1, 2, 1, TENANT_HOSTS_APART, &proof, &err), &err);
    assert_int_equal(proof.parts[TENANT_PART_NIC].used, 4);
    assert_int_equal(proof.parts[TENANT_PART_NIC].shared, 0);
    tenant_proof_free(&proof);
    close_machine(&machine);
}

// 4 GPUs on one CPU that names no memory, which then is one NUMA domain; a memory on the switch
// is a pool in reach of both tenants.
#define POOL                                                                                       \
    "{\"moesim\": \"topology\", \"version\": 1, \"name\": \"pool\", \"source\": \"test\","         \
    "\"templates\": {\"box\": {\"parts\": {\"gpu\": {\"kind\": \"gpu\", \"count\": 4},"            \
    "\"cpu\": {\"kind\": \"cpu\", \"count\": 2}, \"fabric\": {\"kind\": \"switch\"},"              \
    "\"pool\": {\"kind\": \"memory\", \"memory\": \"1 TB\"}}, \"links\": ["                        \
    "{\"from\": \"gpu[i]\", \"to\": \"cpu[i/2]\", \"class\": \"pcie\", \"bandwidth\": \"63 "       \
    "GB/s\","                                                                                      \
    "\"latency\": \"300 ns\"},"                                                                    \
    "{\"from\": \"gpu[*]\", \"to\": \"fabric\", \"class\": \"nvlink\", \"bandwidth\": \"450 "      \
    "GB/s\","                                                                                      \
    "\"latency\": \"250 ns\"},"                                                                    \
    "{\"from\": \"fabric\", \"to\": \"pool\", \"class\": \"memory\", \"bandwidth\": \"100 GB/s\"," \
    "\"latency\": \"300 ns\"}]}}, \"machine\": \"box\"%s}"

static void test_tenant_proof_of_numa_domains_and_pools(void **state) {
    (void)state;
    Machine machine;
    TenantProof proof;
    Err err = {0};
    char json[2048];
    snprintf(json, sizeof json, POOL, "");
    open_machine(&machine, NULL, json);
    check_ok(prove_two(&machine.fabric, 0, 2, 2, 2, TENANT_HOSTS_APART, &proof, &err), &err);
    assert_int_equal(proof.parts[TENANT_PART_MEMORY].used, 2);
    assert_int_equal(proof.parts[TENANT_PART_POOLED].used, 1);
    assert_int_equal(proof.parts[TENANT_PART_POOLED].shared, 1);
    tenant_proof_free(&proof);
    check_fails(prove_two(&machine.fabric, 0, 1, 1, 2, TENANT_HOSTS_APART, &proof, &err), &err,
                "cpu[0] is the host memory of both a.json and b.json");
    close_machine(&machine);
}

static void test_tenant_proof_refuses_dead_gpus(void **state) {
    (void)state;
    Machine machine;
    TenantProof proof;
    Err err = {0};
    char json[2048];
    snprintf(json, sizeof json, POOL,
             ", \"faults\": [{\"part\": \"gpu[1]\", \"state\": \"down\"}]");
    open_machine(&machine, NULL, json);
    check_fails(prove_two(&machine.fabric, 0, 2, 2, 2, TENANT_HOSTS_APART, &proof, &err), &err,
                "a.json: GPU 1 is down");
    close_machine(&machine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tenant_proof_accepts_exactly_disjoint_gpus),
        cmocka_unit_test(test_tenant_proof_names_the_gpu_and_both_tenants),
        cmocka_unit_test(test_tenant_proof_keeps_host_memories_apart),
        cmocka_unit_test(test_tenant_proof_lists_nics_of_two),
        cmocka_unit_test(test_tenant_proof_of_numa_domains_and_pools),
        cmocka_unit_test(test_tenant_proof_refuses_dead_gpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// Ends of flows against those that SimGrid 3.32 gave for the same random platforms. tests/bench/run
// makes the comparison anew, on more of them, where SimGrid is installed.
#include "tests/check.h"

#include "tests/sim/simgrid_case.h"

// Both are max-min; SimGrid works in doubles and stops filling a link at a 10^-9th of it.
static void test_flow_ends_are_those_of_simgrid(void **state) {
    (void)state;
    FILE *file = fopen("tests/golden/simgrid/max_min.txt", "r");
    assert_non_null(file);
    SimgridCase *simgrid = mem_alloc(1, sizeof *simgrid);
    uint32_t platforms = 0, flows = 0;
    while (simgrid_case_read(file, simgrid)) {
        double worst = simgrid_case_compare(simgrid);
        if (!(worst <= 1e-3)) // 0.1 %
            fail_msg("platform %llu: an end differs by %g of its time",
                     (unsigned long long)simgrid->seed, worst);
        platforms++;
        flows += simgrid->flow_count;
    }
    assert_true(feof(file));
    assert_int_equal(platforms, 20);
    assert_true(flows > 1000);
    fclose(file);
    mem_free(simgrid);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flow_ends_are_those_of_simgrid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

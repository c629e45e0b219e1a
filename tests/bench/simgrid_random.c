// Random platforms on which SimGrid and the flow engine must agree, numbered by their seeds:
//
//   simgrid_random write SEED PREFIX     PREFIX.xml and PREFIX.flows for simgrid_bench
//   simgrid_random compare SEED FINISH   the largest relative difference of an end from FINISH
//   simgrid_random golden SEED FINISH    the platform with these ends, as tests/golden/simgrid has
//   it
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/simgrid_case.h"

// Every flow has hosts of its own and one more link, which gives all routes the same latency, for
// SimGrid shares by latency, and is never full.
#define LATENCY_S 1e-6
#define LATENCY   "1us"

static FILE *open_file(const char *prefix, const char *suffix, const char *mode) {
    char path[4096];
    int length = snprintf(path, sizeof path, "%s%s", prefix, suffix);
    FILE *file = length < (int)sizeof path ? fopen(path, mode) : NULL;
    if (file != NULL) return file;
    fprintf(stderr, "simgrid_random: cannot open %s%s\n", prefix, suffix);
    exit(2);
}

static void close_file(FILE *file) {
    bool is_wrong = ferror(file) != 0;
    if (fclose(file) == 0 && !is_wrong) return;
    fprintf(stderr, "simgrid_random: cannot write\n");
    exit(2);
}

static void write_platform(const SimgridCase *simgrid, FILE *xml) {
    fprintf(xml, "<?xml version='1.0'?>\n"
                 "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
                 "<platform version=\"4.1\">\n<zone id=\"z\" routing=\"Full\">\n");
    for (uint32_t f = 0; f < simgrid->flow_count; f++)
        fprintf(xml,
                "<host id=\"s%" PRIu32 "\" speed=\"1Gf\"/><host id=\"d%" PRIu32
                "\" speed=\"1Gf\"/><link id=\"w%" PRIu32
                "\" bandwidth=\"10GBps\" latency=\"" LATENCY "\"/>\n",
                f, f, f);
    for (uint32_t i = 0; i < simgrid->link_count; i++)
        fprintf(xml, "<link id=\"l%" PRIu32 "\" bandwidth=\"%" PRIu64 "Bps\" latency=\"0s\"/>\n", i,
                simgrid->capacity_Bps[i]);
    for (uint32_t f = 0; f < simgrid->flow_count; f++) {
        const SimgridFlow *flow = &simgrid->flows[f];
        fprintf(xml,
                "<route src=\"s%" PRIu32 "\" dst=\"d%" PRIu32
                "\" symmetrical=\"NO\"><link_ctn id=\"w%" PRIu32 "\"/>",
                f, f, f);
        for (uint32_t i = 0; i < flow->route_count; i++)
            fprintf(xml, "<link_ctn id=\"l%" PRIu32 "\"/>", flow->route[i]);
        fprintf(xml, "</route>\n");
    }
    fprintf(xml, "</zone>\n</platform>\n");
}

static void write_case(const SimgridCase *simgrid, const char *prefix) {
    FILE *xml = open_file(prefix, ".xml", "w"), *flows = open_file(prefix, ".flows", "w");
    write_platform(simgrid, xml);
    for (uint32_t f = 0; f < simgrid->flow_count; f++)
        fprintf(flows, "s%" PRIu32 " d%" PRIu32 " %" PRIu64 "\n", f, f, simgrid->flows[f].bytes);
    close_file(xml);
    close_file(flows);
}

static void read_finish(SimgridCase *simgrid, const char *path) {
    FILE *file = open_file(path, "", "r");
    for (uint32_t f = 0; f < simgrid->flow_count; f++) {
        double finish_s;
        if (fscanf(file, "%lf", &finish_s) != 1 || !(finish_s > LATENCY_S)) {
            fprintf(stderr, "simgrid_random: %s: no end of flow %" PRIu32 "\n", path, f);
            exit(2);
        }
        simgrid->flows[f].finish_s = finish_s - LATENCY_S;
    }
    fclose(file);
}

int main(int argc, char **argv) {
    static SimgridCase simgrid;
    if (argc != 4) {
        fprintf(stderr, "usage: simgrid_random write|compare|golden SEED FILE\n");
        return 2;
    }
    simgrid_case_draw(strtoull(argv[2], NULL, 10), &simgrid);
    if (strcmp(argv[1], "write") == 0) {
        write_case(&simgrid, argv[3]);
        return 0;
    }
    read_finish(&simgrid, argv[3]);
    if (strcmp(argv[1], "golden") == 0)
        simgrid_case_write(&simgrid, stdout);
    else
        printf("%.3e %" PRIu32 "\n", simgrid_case_compare(&simgrid), simgrid.flow_count);
    return 0;
}

// The parts of a time under drawn constants, and their names.
//
// Invariant: with factors of 1 a time comes out as it was.
#include "sim/search/evaluate.h"

void evaluate_draw(const Calib *calib, uint64_t seed, uint32_t draw, EvaluateParts *factors) {
    for (uint32_t i = 0; i < CALIB_COUNT; i++)
        factors->part_s[i] = calib_draw(calib, (CalibParam)i, seed, draw);
    factors->part_s[EVALUATE_WAIT] = factors->part_s[EVALUATE_LATENCY] = 1;
}

double evaluate_drawn_s(const EvaluateParts *parts, const EvaluateParts *factors) {
    const double *part_s = parts->part_s;
    double busy_s = 0, drawn_s = 0;
    for (uint32_t i = 0; i < EVALUATE_PARTS; i++) {
        if (i == EVALUATE_WAIT) continue;
        busy_s += part_s[i];
        drawn_s += part_s[i] * factors->part_s[i];
    }
    if (busy_s <= 0) return part_s[EVALUATE_WAIT];
    return drawn_s + part_s[EVALUATE_WAIT] * drawn_s / busy_s;
}

double evaluate_drawn_cycle_s(const Evaluation *evaluation, const EvaluateParts *factors) {
    return evaluate_drawn_s(&evaluation->cycle, factors);
}

const char *evaluate_part_name(uint32_t part) {
    static const char *const names[EVALUATE_PARTS] = {
        [CALIB_GEMM_BF16] = "compute bf16",
        [CALIB_GEMM_FP8] = "compute fp8",
        [CALIB_GEMM_FP4] = "compute fp4",
        [CALIB_ATTENTION] = "attention compute",
        [CALIB_MEMORY] = "memory bandwidth",
        [CALIB_KERNEL] = "kernel overhead",
        [CALIB_NVLINK] = "nvlink bandwidth",
        [CALIB_C2C] = "c2c bandwidth",
        [CALIB_PCIE] = "pcie bandwidth",
        [CALIB_IB] = "infiniband bandwidth",
        [CALIB_ETH] = "ethernet bandwidth",
        [CALIB_NVLINK_STEP] = "nvlink step overhead",
        [CALIB_PCIE_STEP] = "pcie step overhead",
        [CALIB_NET_STEP] = "network step overhead",
        [CALIB_COLLECTIVE] = "collective overhead",
        [CALIB_STEP_OVERHEAD] = "engine overhead",
        [CALIB_TIER_COLLISIONS] = "network collisions",
        [CALIB_TIER_BUFFERS] = "network buffers",
        [CALIB_TIER_PACKETS] = "network stages",
        [CALIB_NVLINK_COPY] = "nvlink copies",
        [CALIB_IN_SWITCH] = "nvlink in the switch",
        [EVALUATE_WAIT] = "waiting",
        [EVALUATE_LATENCY] = "wire latency",
    };
    return names[part];
}

#pragma once

#include "report/format.h"
#include "run/run.h"
#include "run/summary_fields.h"

namespace ergometer::report {

/// Power and heat of the example, round numbers again.
inline void add_example_power(run::Run& run) {
  run.has_power = true;
  run.power = {.mean_w_per_gpu = 612.5,
               .p95_w_per_gpu = 680,
               .peak_w_per_gpu = 698,
               .cluster_mean_w = 3200,
               .cluster_peak_w = 3600,
               .facility_mean_w = 3840,
               .energy_j_per_step = 3200,
               .gpu_energy_j_per_step = 2450,
               .tokens_per_j = 20.48,
               .mean_interval_w = {580, 645},
               .peak_interval_w = {680, 700},
               .cluster_mean_interval_w = {2800, 3600},
               .cluster_peak_interval_w = {3200, 4000},
               .energy_interval_j = {2700, 3900},
               .gpu_energy_interval_j = {2100, 2900},
               .gpu_parts = {{"tensor", 300}, {"hbm", 112.5}, {"constant", 200}},
               .node_parts = {{"gpus", 1225}, {"cpu", 200}, {"fans", 175}},
               .run_phases = {{"training", 300, 3200}, {"pauses", 100, 1200}},
               .kinds = {},
               .step_energy = {{"phase", "forward", 1450, 1000, 0.5},
                               {"phase", "idle", 1000, 0, 0.5},
                               {"part", "tensor", 2450, 0, 0}}};
  run.cluster_power = {.interval_s = 0.25,
                       .watts = {3600, 3600, 3000, 2600},
                       .lowest_w = 2600,
                       .p95_w = 3600,
                       .ramps = {{0.1, 4000, 4000}, {1, 0, 0}},
                       .bands = {{0.5, 1, 400}, {1, 2, 120}},
                       .dominant_hz = 1,
                       .dominant_rms_w = 400};
  run.thermal = {.mean_gpu_c = 65.25,
                 .max_gpu_c = 79.5,
                 .spread_c = 15.75,
                 .mean_memory_c = 70,
                 .max_memory_c = 84,
                 .throttled_time_fraction = 0.375,
                 .mean_clock_mhz = 1740,
                 .lowest_clock_mhz = 1650,
                 .inlet_c = 25,
                 .fan_fraction = 0.75,
                 .mean_interval_c = {61, 70},
                 .max_interval_c = {75, 84},
                 .clock_interval_mhz = {1680, 1800},
                 .rows = {{0, 57.25, 60.5, 1790.0}, {1, 73.0, 79.5, 1690.0}},
                 .event_shares = {{"sw_power_cap", 0.25}, {"sw_thermal_slowdown", 0.125}},
                 .limit = "power: the cap holds clocks below 1980 MHz 25.0 % of the time"};
  run.ranks[0].mean_power_w = 600;
  run.ranks[0].peak_power_w = 690;
  run.ranks[0].mean_gpu_c = 60.5;
  run.ranks[0].max_gpu_c = 63;
  run.ranks[0].mean_clock_mhz = 1755;
  run.ranks[1].mean_power_w = 625;
  run.ranks[1].peak_power_w = 698;
  run.ranks[1].mean_gpu_c = 76.25;
  run.ranks[1].max_gpu_c = 79.5;
  run.ranks[1].mean_clock_mhz = 1650;
  run.ranks[1].throttled_time_fraction = 0.75;
  run.telemetry = {{0, 0, 600, 590, 60, 68, 1755, 0},
                   {100000000, 0, 640, 595, 61, 68, 1740, 4},
                   {200000000, 0, 640, 600, 61, 69, 1755, 0}};
}

/// For tests: a Run of two pipeline stages with round numbers, a second long, made by hand.
inline run::Run example_run() {
  run::Run run;
  run.performance.step_time_s = 1.0;
  run.performance.step_time_s_low = 0.875;
  run.performance.step_time_s_high = 1.125;
  run.performance.interval_reasons = {"no fp8 run on cdna3 was ever seen",
                                      "no multi-node MI300X run was ever seen"};
  run.performance.tokens_per_s = 65536;
  run.performance.tokens_per_s_per_gpu = 16384;
  run.performance.model_tflops_per_gpu = 400.25;
  run.performance.hardware_tflops_per_gpu = 500.5;
  run.performance.mfu = 0.4047;
  run.performance.hfu = 0.506;
  run.performance.pipeline_bubble_fraction = 0.0625;
  run.performance.breakdown_s = {0.5, 0.25, 0, 0, 0, 0.03125, 0.015625, 0.203125};
  run.memory.peak_bytes = 60 * kGib;
  run.memory.capacity_bytes = 80 * kGib;
  run.memory.weights_bytes = 10 * kGib;
  run.memory.gradients_bytes = 20 * kGib;
  run.memory.optimizer_bytes = 15 * kGib;
  run.memory.activations_bytes = 12 * kGib;
  run.memory.other_bytes = 3 * kGib;
  run.memory.worst_stage = 1;
  run.memory.stages = {{0, 9, 8, 7, 6, 5, {{"workspace", 5}}},
                       {1, 10 * kGib, 20 * kGib, 15 * kGib, 12 * kGib, 3 * kGib, {}}};
  run.links = {{"nvlink", 1.5e12, 120.5, 380.25, 0.25}, {"nic", 2.5e11, 6.5, 11.5, 0.52}};
  run.limiter = "GEMMs: half of the step";
  run.job_json = R"({
  "model": {"name": "tiny-8b", "parameters": 8030261248, "active_parameters": 8030261248},
  "cluster": {"name": "lab", "gpu": "H100-SXM5-80GB", "gpus": 4, "nodes": 2, "gpus_per_node": 2},
  "parallelism": {"tp": 2, "cp": 1, "pp": 2, "vpp": 1, "dp": 1, "ep": 1, "schedule": "1f1b", "zero": 1,
                  "sequence_parallel": true, "fsdp": false},
  "training": {"mode": "pretrain", "micro_batch_size": 1, "global_batch_size": 16, "micro_batches": 16,
               "seq_length": 4096, "precision": "bf16", "recompute": "selective", "flops": "causal"}
})";
  run.ranks = {{0, 0, 0, 0, 0.9, {0.5, 0.25, 0, 0, 0, 0, 0.05, 0.2}},
               {3, 1, 1, 1, 1.0, {0.5, 0.25, 0, 0, 0, 0.0625, 0, 0.1875}}};
  run.kernels = {{0, 0, "qkv", "gemm", 1000, 2500, 0, 0, 3, 1e12, 2e6, 0},
                 {0, 5, "send_forward", "send_recv", 3500, 1001, 0, 0, -1, 0, 0, 8e6},
                 {2, 5, "recv_forward", "send_recv", 4000, 600, 0, 0, -1, 0, 0, 8e6}};
  return run;
}

}  // namespace ergometer::report

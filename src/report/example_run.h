#pragma once

#include "run/run.h"
#include "run/summary_fields.h"

namespace ergometer::report {

/// For tests: a Run of two pipeline stages with round numbers, a second long, made by hand.
inline run::Run example_run() {
  constexpr double kGib = 1073741824.0;
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

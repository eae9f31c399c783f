#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace ergometer::run {

inline constexpr int kSchemaVersion = 1;

/// The summary of a job, simulated, recorded or imported alike; names and units are the interface
/// contract's.
struct Breakdown {
  double compute = 0, exposed_all_reduce = 0, exposed_all_gather = 0, exposed_reduce_scatter = 0,
         exposed_all_to_all = 0, exposed_send_recv = 0, optimizer = 0,
         idle = 0;  ///< seconds, mean over ranks
};

struct Performance {
  double step_time_s = 0, tokens_per_s = 0, tokens_per_s_per_gpu = 0;
  /// 90 % interval of a predicted step time, and what makes it as wide as it is; a measured one has
  /// no width.
  double step_time_s_low = 0, step_time_s_high = 0;
  std::vector<std::string> interval_reasons;
  double model_tflops_per_gpu = 0, hardware_tflops_per_gpu = 0, mfu = 0, hfu = 0;
  double pipeline_bubble_fraction = 0;
  Breakdown breakdown_s;
};

struct MemoryPart {
  std::string name;
  double bytes = 0;
};

struct StageMemory {
  int64_t stage = 0;
  double weights_bytes = 0, gradients_bytes = 0, optimizer_bytes = 0, activations_bytes = 0,
         other_bytes = 0;
  std::vector<MemoryPart> parts;
};

struct Memory {
  bool fits = true;
  double peak_bytes = 0, capacity_bytes = 0;
  double weights_bytes = 0, gradients_bytes = 0, optimizer_bytes = 0, activations_bytes = 0,
         other_bytes = 0;
  int64_t worst_stage = 0;
  std::string advice;  ///< empty when it fits
  std::vector<StageMemory> stages;
};

struct Link {
  std::string kind;           ///< "nvlink", "xgmi", "pcie", "nic"
  double bytes_per_step = 0;  ///< over the cluster, each byte once at its sender
  double mean_gb_per_s = 0,
         peak_gb_per_s = 0;  ///< per GPU (nvlink, xgmi, pcie) or per NIC, one direction
  double utilization = 0;    ///< mean over line rate
};

struct Rank {
  int64_t rank = 0, node = 0, slot = 0, stage = 0;
  double end_s = 0;
  Breakdown breakdown_s;
};

/// One kernel or wait of a sampled rank, for the trace and the kernel table.
struct Kernel {
  int64_t rank = 0;
  int32_t stream = 0;
  std::string name;  ///< as a profiler would show it
  std::string
      category;  ///< "gemm", "attention", "memory", "collective", "send_recv", "optimizer", "wait"
  int64_t start_ns = 0, duration_ns = 0;
  int64_t micro_batch = -1, chunk = -1, layer = -1;
  double flops = 0, bytes = 0, comm_bytes = 0;
};

/// What was run or simulated, as one JSON object in the contract's form ("job" of the summary).
struct Run {
  std::string source = "simulated";  ///< "simulated" | "recorded" | "imported"
  Performance performance;
  Memory memory;
  std::vector<Link> links;
  std::vector<Rank> ranks;      ///< all of them when asked for, else none
  std::vector<Kernel> kernels;  ///< of sampled ranks
  std::string limiter;          ///< the one thing that limits the job, a sentence
  std::string job_json;
};

/// Writes and reads the Run's SQLite file; its schema is documented in docs/run-file.md.
base::Result<void> write_run(const Run& run, const std::string& path);
base::Result<Run> read_run(const std::string& path);

}  // namespace ergometer::run

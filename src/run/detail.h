#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "run/device_log.h"
#include "run/gpu_trace.h"

namespace ergometer::run {

/// A setting of the job, or a number about hardware and software that it rests on.
struct Assumption {
  std::string group;  ///< "parallelism", "training", ... of settings; "gpu", "node", "fabric", ...
  std::string name;   ///< as in job files and the catalog
  std::string value;  ///< with its unit
  std::string source;
  std::string grade;  ///< "datasheet", "measured", "fitted", "assumed"; empty of a setting
};

/// Where a GPU sits in its node, by its index there: row 0 is nearest the coolant's inlet.
struct Slot {
  int64_t row = 0, lane = 0;
};

/// "forward", "backward", "backward_input", "backward_weight", "send", "receive", "optimizer",
/// "other", "gradient_reduction", "parameter_gather", "embedding_reduction", "gradient_norm",
/// "host", "wait"
std::string_view task_kind_name(PipelineTask::Kind kind);
/// Whether its times can be added without leaving 64 bits; a file may say anything.
bool is_possible(const PipelineTask& task);

/// What one rank does in its step, in order of time from its start. Tasks that are not `beside`
/// others follow each other without a gap: their durations add up to the step.
struct RankTasks {
  int64_t rank = 0, stage = 0;
  std::vector<PipelineTask> tasks;
};

/// A stretch of the step.
struct StepWindow {
  int64_t from_ns = 0, to_ns = 0;
};

/// How a reading is distributed over all GPUs at one time.
struct TelemetryBand {
  Metric metric = Metric::kInstantPower;
  int64_t time_ns = 0;
  double lowest = 0, p5 = 0, p50 = 0, p95 = 0, highest = 0;
};

/// Collectives of one kind over one kind of group in a step: of one rank, mean over the ranks that
/// were looked at.
struct CollectiveUse {
  std::string group;  ///< "tp", "cp", "dp", "ep", "pp", ...
  std::string kind;   ///< "all_reduce", ...
  double calls = 0;
  double bytes = 0;         ///< as nccl-tests counts sizes, of all calls together
  double total_s = 0;       ///< in the collectives' kernels, waiting for other ranks included
  double exposed_s = 0;     ///< of the step: the compute stream stands still for them
  double bus_gb_per_s = 0;  ///< as nccl-tests counts it, waiting left out; 0: unknown
};

}  // namespace ergometer::run

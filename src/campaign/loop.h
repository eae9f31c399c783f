#pragma once

#include <string>
#include <vector>

#include "campaign/loop_file.h"
#include "spec/job/job.h"

namespace ergometer::campaign {

/// Equal steps of a phase, as the engine has played one of them.
struct LoopPart {
  spec::Mode mode = spec::Mode::kPretrain;
  int64_t micro_batch = 0, global_batch = 0, seq_length = 0;
  double times = 0;   ///< steps; of a batch that passes in parts, how many of those
  double step_s = 0;  ///< one
};

struct PlayedLoopPhase {
  std::string name, pool;
  Does does = Does::kTrain;
  spec::Job job;                              ///< of a rollout its first stretch
  std::vector<LoopPart> parts;                ///< what `seconds` adds up, beside `tools_s`
  int64_t steps = 0;                          ///< plays of the job: tokens, or updates
  double seconds = 0, low_s = 0, high_s = 0;  ///< of an iteration; 90 % interval
  double tools_s = 0;                         ///< of them: its last answer waits for tools
  double energy_j = 0;                        ///< at the plugs of its pool, without `tools_s`
  double peak_bytes = 0;                      ///< its own, on the fullest GPU
  double resident_bytes = 0;                  ///< of it what stays while others run
  double beside_bytes = 0;                    ///< what others have left in its pool
  double capacity_bytes = 0;
  double weights_bytes = 0, gradients_bytes = 0, optimizer_bytes = 0;  ///< of the fullest GPU
  bool fits() const { return peak_bytes + beside_bytes <= capacity_bytes; }
};

/// Bytes that move between phases, and how long that takes.
struct LoopSwitch {
  std::string what;
  std::string pool, other_pool;  ///< whose GPUs it takes; no other: empty
  double bytes = 0;              ///< to or from each GPU
  double seconds = 0;
  std::string phase;  ///< whose weights or states they are
  /// Of weights that GPUs gather or send, how many take part, and over how many scale-up domains;
  /// 0: over the link to the host.
  int64_t ranks = 0, domains = 0;
};

struct LoopPool {
  std::string name;
  int64_t gpus = 0;
  double busy_s = 0;      ///< of an iteration
  double standing_w = 0;  ///< at the plugs while its GPUs have nothing to do
};

struct Loop {
  LoopProgram program;
  std::vector<PlayedLoopPhase> phases;
  std::vector<LoopSwitch> switches;
  std::vector<LoopPool> pools;
  double iteration_s = 0, low_s = 0, high_s = 0;
  double latency_s = 0;  ///< from the first prompt of a batch to the weights it was learnt in
  double tail_s = 0;     ///< of the rollout: less than half of the samples are left
  double tokens = 0;     ///< of an iteration, prompts and answers
  double mean_response = 0;
  int64_t longest_response = 0;
  bool has_power = false;
  double energy_j = 0;  ///< of an iteration, waiting GPUs too
  int64_t gpus() const;
  double gpu_hours() const;
  double tokens_per_s() const { return tokens / iteration_s; }
  bool fits() const;
};

/// How long an iteration is whose phases, one behind the other, take `latency_s`, and the busiest
/// pool's `busiest_s`. A rollout may begin with weights that are `staleness` updates old, so that
/// 1 + staleness batches are on their way at once.
double iteration_time(double latency_s, double busiest_s, int64_t staleness);

/// Plays one iteration: every phase by the engine, a rollout stretch by stretch.
Result<Loop> play_loop(const LoopProgram& program);

}  // namespace ergometer::campaign

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "engine/planned.h"
#include "engine/power/other_work.h"
#include "run/run.h"
#include "spec/job/job.h"

namespace ergometer::engine {

enum class EngineKind : uint8_t { kSweep, kEvents };

struct SimulateOptions {
  EngineKind engine = EngineKind::kSweep;
  std::vector<int64_t> sampled_ranks =
      {};                  ///< whose kernels the Run shall hold; each below the number of GPUs
  bool kernels = true;     ///< the Run shall hold them; else a KernelStream gives them
  bool all_ranks = false;  ///< the Run shall hold the table of ranks
  bool intervals = true;   ///< of power and temperature; without them it is sooner done
  /// Whose tasks and use of collectives the Run shall hold.
  std::vector<int64_t> task_ranks = {};
  /// Whose telemetry; empty: of `sampled_ranks`.
  std::vector<int64_t> telemetry_ranks = {};
  bool bands = false;          ///< how telemetry is distributed over all GPUs
  bool telling = false;        ///< with `bands`: telemetry of ranks that stand for all as well
  bool energy_parts = false;   ///< the Run shall hold a step's energy by phase, operator, ...
  bool expert_rows = false;    ///< the Run shall say what uneven experts cost; plays some more jobs
  bool sequence_rows = false;  ///< the same of documents of unlike length
  size_t most_kernels = 0;     ///< of more, those of windows of the step (kernel_window.h); 0: all
  /// What other jobs draw on GPUs of the job's nodes that it does not have.
  std::vector<OtherWork> others = {};
  std::vector<double> clocks_hz = {};  ///< one a rank; empty: the GPU's sustained clock for all
  bool whole_step = false;  ///< every micro batch is played, where a few would tell the step too
};

/// Without kernels and intervals, tasks and collectives of the first rank of every stage.
SimulateOptions one_rank_a_stage(const spec::Job& job);

/// Everything that was found out about a job on the way to its Run, for who wants to explain it.
/// Its plan is whole where spans were asked for.
struct Simulation : Planned {
  Timeline timeline;
  PlayedAt played_at;  ///< the timeline
  run::Run run;
};

/// Predicts one step of a job: lowers and plans it, prices it, runs it, and fills the Run (all but
/// `job_json`, which the report writes). Whether the job fits in memory is part of the answer; the
/// step is simulated all the same.
Result<run::Run> simulate(const spec::Job& job, const SimulateOptions& options);

/// The same, with everything in between.
Result<Simulation> simulate_in_full(const spec::Job& job, const SimulateOptions& options);

}  // namespace ergometer::engine

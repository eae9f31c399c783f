#pragma once

#include <optional>
#include <string>
#include <vector>

#include "optimize/candidate.h"
#include "optimize/clocks.h"
#include "optimize/operator_clocks.h"
#include "optimize/verdict.h"

namespace ergometer::optimize {

/// A candidate that was played, for the list: means over the search's seeds.
struct Row {
  std::string knob, name;
  double step_s = 0, energy_j = 0, peak_w = 0, max_c = 0;
  double gain_pct = 0;  ///< of the objective over the unchanged job, on the same seeds
  bool allowed = true, taken = false;
  bool known = false;  ///< as `Candidate::known`
  std::string refusal;
};

/// A point of the time-energy frontier: what the pipeline's graph says, and what the engine does
/// when every GPU is locked to its stage's clock.
struct FrontierRow {
  ClockPoint clocks;
  double played_step_s = 0, played_gpu_energy_j = 0;
};

/// How the choice fares when the hot GPUs are others.
struct Robustness {
  double worst_pct = 0;           ///< least gain over the draws
  int64_t better = 0, draws = 0;  ///< in how many of them it gains
  /// With the faults the user described on other GPUs; none described: nothing.
  std::optional<double> faults_moved_pct;
};

/// Of the gains by draw of silicon.
Robustness robustness_of(const Gain& gain);

/// Which of the GPUs that do the same work the others are aligned with.
enum class Align : uint8_t { kSlowest, kMedian, kFastest };

/// A GPU that was balanced, with the job's own silicon.
struct BalancedGpu {
  int64_t node = 0, gpu = 0, rank = 0;
  double lead_before_s = 0, lead_s = 0;  ///< how long it waits for the slowest in a step
  double cap_before_w = 0, cap_w = 0;
};

struct Optimized {
  spec::Job unchanged, chosen;
  bool keeps = true;          ///< the unchanged job is the answer
  std::string best_name;      ///< of the best candidate, chosen or not
  Outcome unchanged_outcome;  ///< with the job's own seed
  Outcome chosen_outcome;
  /// Means over the draws that decided; equal when the job stays as it is.
  Outcome unchanged_mean, chosen_mean;
  Gain gain;  ///< of the best candidate, chosen or not
  /// Others of the last round, allowed as well, whose gain is less than the noise floor below the
  /// chosen one's: which of them is best, the plays do not tell.
  std::vector<std::string> as_good = {};
  Robustness robustness;
  std::vector<Row> rows;  ///< the unchanged job first
  std::vector<FrontierRow> frontier;
  std::string no_frontier;  ///< why there is none
  PipelineTables tables;    ///< empty without a frontier
  PipelineFrontier pipeline;
  std::optional<OperatorClocks> operator_clocks;  ///< of the unchanged job, where asked for
  size_t plays = 0;
  std::optional<Align> balanced_to;        ///< nothing: settings were searched (`optimize`)
  std::vector<BalancedGpu> balanced_gpus;  ///< by rank
};

/// Searches knob by knob, plays every candidate with power and heat on several draws of silicon,
/// and lets draws that took no part in the search decide. An input error: the job has no power
/// data.
Result<Optimized> optimize(const spec::Job& job, const Options& options);

}  // namespace ergometer::optimize

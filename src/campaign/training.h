#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "campaign/ask.h"
#include "campaign/deviation.h"
#include "run/run.h"
#include "spec/job/job.h"

namespace ergometer::campaign {

/// What GPUs and whole nodes draw, W, over the job.
struct Draw {
  double gpus_w = 0, cluster_w = 0;
};

/// A phase with its step, as `simulate` tells it.
struct PlayedPhase {
  std::string name;
  int64_t seq_length = 0, global_batch = 0;
  double tokens = 0, steps = 0;
  double step_s = 0;                         ///< under the building's limit, where there is one
  double unlimited_step_s = 0;               ///< without it
  Draw draw;                                 ///< mean over steps
  std::vector<double> hourly_w;              ///< the cluster's, of each hour of the limit's series
  double evaluations = 0, evaluation_s = 0;  ///< how many, and each
  double unlimited_evaluation_s = 0;
  Draw evaluation_draw;
  double training_s() const { return steps * step_s; }
};

/// All phases of a run on so many GPUs.
struct Training {
  spec::Job job;          ///< of the longest phase
  run::Performance step;  ///< its step, without the building's limit
  run::Memory memory;     ///< of the phase that is least likely to fit
  std::vector<PlayedPhase> phases;
  bool has_power = false;
  Draw standing;              ///< while training stands
  double spares_w = 0;        ///< of nodes that stand by
  Deviation step_deviation;   ///< of the true step time, one for all phases
  Deviation power_deviation;  ///< of what nodes draw
  double checkpoint_bytes = 0;
};

/// Resolves and plays every phase. Under a limit of the building the job's nodes may draw what
/// spare nodes leave of limit / PUE, in evaluations too, held by equal caps of the GPUs as the
/// job's own cluster cap is; a series by hour is played at four levels at most, each hour at the
/// one below it, and the steps of all hours count alike.
Result<Training> play_training(const spec::Settings& settings, const Ask& ask);

}  // namespace ergometer::campaign

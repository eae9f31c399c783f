#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "spec/job/job.h"
#include "workload/operator.h"
#include "workload/shapes.h"

namespace ergometer::workload {

/// A micro batch as one is lowered: so many tokens, in documents of one length.
struct BatchSize {
  int64_t tokens = 0, length = 0;
  int64_t tiles = 0;  ///< of images
};

/// Of a step's documents, over all replicas: what is computed, padding among it, and what is real.
struct StepTotals {
  double tokens = 0, real_tokens = 0;
  double pairs = 0, real_pairs = 0;  ///< of attention under the causal mask
  double tiles = 0;                  ///< of images
};

/// What the micro batches of a step are beside the one that is lowered (`base`), whose work is 1.
/// An operator's work follows a measure: 0, tokens, or the pairs of attention within a window, or
/// last, of a model with a vision tower, tiles.
struct SequenceLoads {
  int64_t replicas = 1, micro_batches = 0;
  std::vector<int64_t> windows;            ///< of the measures behind the first; 0: none
  std::vector<std::vector<double>> loads;  ///< [measure][micro batch * replicas + replica]
  BatchSize base, most;                    ///< what is lowered
  std::vector<double> full;                ///< of `most`, by measure
  int64_t slowest = 0;                     ///< the replica with the most work
  double slowest_load = 1;                 ///< its work over the mean of all
  StepTotals totals;

  bool even() const { return loads.empty(); }
  size_t measure(const Operator& op) const;
  bool has_tiles() const { return base.tiles > 0; }
  double of(size_t measure, int64_t micro_batch, int64_t replica) const {
    return loads[measure][static_cast<size_t>(micro_batch * replicas + replica)];
  }
  double largest(size_t measure, int64_t micro_batch) const;
  /// What a replica has in the step, over the mean of all.
  double over_mean(size_t measure, int64_t replica) const;
};

/// Steps that are drawn to find what a run takes of each.
inline constexpr int64_t kDrawnSteps = 15;

/// Of the one of `kDrawnSteps` whose slowest replica's work is nearest to their mean. Even if the
/// job's documents are.
SequenceLoads sequence_loads(const spec::Job& job);
/// Of a drawn step, from 0, beside what another is lowered as.
SequenceLoads sequence_loads(const spec::Job& job, int64_t step, const SequenceLoads& lowered);

/// The mean over `kDrawnSteps`. The job's documents are not alike.
StepTotals mean_step_totals(const spec::Job& job);

/// The shapes of a micro batch of that size.
Shapes shapes_of_batch(const spec::Job& job, const BatchSize& size);

}  // namespace ergometer::workload

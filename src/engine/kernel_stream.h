#pragma once

#include <functional>
#include <span>

#include "engine/simulate.h"

namespace ergometer::engine {

/// The kernels of a simulation's ranks, rank by rank in the order of `ranks`, as its Run would list
/// them: the step is played again for few ranks at a time, so that memory holds the kernels of
/// these alone. `simulation` and `job` are the answer of `simulate_in_full` and what it was asked.
class KernelStream {
 public:
  using Use = std::function<void(const run::Kernel&)>;

  KernelStream(const spec::Job& job, const Simulation& simulation, EngineKind engine,
               std::span<const int64_t> ranks)
      : job_(job), simulation_(simulation), engine_(engine), ranks_(ranks) {}

  /// From the first on, as often as it is asked.
  void each(const Use& use) const;

 private:
  size_t ranks_at_once() const;
  void each_of(std::span<const int64_t> ranks, const Use& use) const;

  const spec::Job& job_;
  const Simulation& simulation_;
  EngineKind engine_;
  std::span<const int64_t> ranks_;
};

}  // namespace ergometer::engine

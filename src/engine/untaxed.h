#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/simulate.h"
#include "spec/job/job.h"

namespace ergometer::engine {

/// What a step is played without.
struct Without {
  WaitsLeftOut waits;
  bool round_trips = false;  ///< of tensors that one kernel writes and the next reads
  bool launches = false;     ///< what the host needs to launch, and kernels' launch latency
};

/// A simulated step, played again without some of what it costs beyond its work: by the sweep, at
/// the clocks and with the contention that were found, all else as it is.
///
/// Without waits in collectives every rank goes on for itself, and a step takes what ranks take on
/// average: who is done goes on with the next. So it does where they wait at one site alone.
/// Without round trips every kernel is priced with the bytes left out that `handed_over` says stay
/// on the chip. Without launches the host takes no time, and the catalog's `kernel.latency` is
/// none; host work that is no launch (data, an optimizer on the host) stays. Nothing of it makes
/// anything longer.
class Untaxed {
 public:
  /// `simulation` of `job`; kept by reference, as the job is, and written whole where a folded plan
  /// does not tell a step.
  static Result<Untaxed> make(const spec::Job& job, Simulation& simulation);

  double step_s(const Without& without);
  /// Names of the operators that ranks wait for each other in, in order of the program.
  std::vector<std::string> sites() const;
  /// How much longer the last rank takes than the mean.
  double last_behind_mean_s(const Without& without);
  /// Pairs of kernels that hand a tensor over, and the bytes that these write and read; a step,
  /// mean over ranks.
  struct Pairs {
    double count = 0, bytes = 0;
  };
  Pairs pairs() const;

 private:
  Untaxed(const spec::Job& job, Simulation& simulation) : job_(job), simulation_(simulation) {}
  Timeline play(const Without& without);

  const spec::Job& job_;
  Simulation& simulation_;
  std::vector<cost::CostModel> models_, launch_free_models_;
  cost::CostTable launch_free_;
  /// Of steps without round trips: with and without launches.
  std::array<Stretch, 2> on_chip_;
};

}  // namespace ergometer::engine

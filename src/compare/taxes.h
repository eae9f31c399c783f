#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/simulate.h"
#include "spec/job/job.h"

namespace ergometer::compare {

/// What a step costs beyond the work itself, in one way. Seconds.
struct Tax {
  double share_s = 0;    ///< of the gap; the shares of all taxes add up to it
  double without_s = 0;  ///< what the step takes without this tax alone
};

/// The three taxes of a predicted step that is run as one kernel behind the other, on ranks that
/// move in step: the gap between the step and the same step played without any of them
/// (engine/untaxed.h), divided among them. A share is the tax's mean effect over the six orders in
/// which the three can be taken away, the Shapley value of eight plays; within bulk synchrony over
/// both orders of its two parts (Owen values). The names are those of `analysis::Taxes`, which are
/// measured one by one in a recording and overlap.
struct Taxes {
  double step_s = 0, untaxed_s = 0;  ///< the gap is their difference
  /// Everybody waits for the last: ranks in collectives, the host for the GPU. Both add up to it.
  Tax bulk_synchrony;
  Tax collective_waiting, host_sync;
  /// Of `collective_waiting`, by the name of the collective and kEndOfStep, the largest first; they
  /// add up. In proportion to what the untaxed step would take longer if ranks waited there alone.
  std::vector<std::pair<std::string, double>> sites;
  Tax memory_round_trips;            ///< an upper bound: see engine/handed_over.h
  double pairs = 0, pair_bytes = 0;  ///< of kernels in a step, mean over ranks; written and read
  Tax launch;

  double gap_s() const { return step_s - untaxed_s; }
};

/// Where ranks wait that are done before the last one.
inline constexpr const char* kEndOfStep = "end of the step";

/// `simulation` of `job`, whose plan may be written whole on the way.
Result<Taxes> taxes(const spec::Job& job, engine::Simulation& simulation);

}  // namespace ergometer::compare

#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analysis/ranks/event_graph.h"

namespace ergometer::analysis {

/// What recorded ranks take longer for, in one way.
struct ReplayedTax {
  double share_ns = 0;    ///< of the gap; the shares of all taxes add up to it
  double without_ns = 0;  ///< how long the replay takes without this tax alone
};

/// The three taxes of recorded traces as shares that add up: the gap between the traces and their
/// replay without any of them, divided by the mean effect of each over all orders in which they can
/// be taken away (analysis/math/owen_values.h), as `compare::Taxes` divides a predicted step's.
///
/// Without bulk synchrony nobody waits for others in collectives, the length is the mean over
/// ranks, and the CPU never waits for the GPU; without round trips kernels are as much shorter as
/// `RoundTrips` says (an upper bound); without launches the CPU is never late and an event starts
/// as soon as what else it waits for is over. Nothing of it makes anything longer.
struct ReplayedTaxes {
  double span_ns = 0, untaxed_ns = 0;  ///< the gap is their difference
  /// Both parts add up to it.
  ReplayedTax bulk_synchrony;
  ReplayedTax collective_waiting, host_sync;
  /// Of `collective_waiting`, by the graph's kind and kEndOfTrace, the largest first: in proportion
  /// to what the untaxed replay takes longer if ranks wait there alone. They add up.
  std::vector<std::pair<std::string, double>> sites;
  ReplayedTax memory_round_trips;
  ReplayedTax launch;

  double gap_ns() const { return span_ns - untaxed_ns; }
};

/// Where ranks wait that are done before the last one.
inline constexpr const char* kEndOfTrace = "end of the trace";

ReplayedTaxes replayed_taxes(const EventGraph& graph);

}  // namespace ergometer::analysis

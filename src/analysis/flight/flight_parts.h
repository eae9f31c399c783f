#pragma once

#include <map>
#include <string>
#include <vector>

#include "analysis/flight/flight_report.h"

namespace ergometer::analysis {

/// What a dump holds of one collective: the call, and those that a coalesced one joins.
using FlightTurn = std::vector<const run::FlightCall*>;

/// A rank that wrote a dump, within a group.
struct FlightMember {
  const run::FlightDump* dump = nullptr;
  std::map<int64_t, FlightTurn> turns;  ///< collectives by sequence
};

/// A group of all dumps together. Groups of one name with other ranks are other groups.
struct FlightGroupCalls {
  std::string name, description;
  std::vector<int64_t> ranks;
  std::map<int64_t, FlightMember> members;  ///< by rank
};
std::vector<FlightGroupCalls> flight_groups(const std::vector<run::FlightDump>& dumps);

/// The group's first collective that not all completed alike, and who did what.
FlightGroupReport compare_calls(const FlightGroupCalls& group);
/// Sends and receives that have not ended.
std::vector<FlightPending> pending_calls(const std::vector<run::FlightDump>& dumps);
/// Sets `culprits` and `in_a_circle`, and brings the groups into their order.
void find_culprits(FlightReport& report);

std::vector<FlightTimes> flight_times(const std::vector<FlightGroupCalls>& groups);
std::vector<FlightArrivals> flight_arrivals(const std::vector<FlightGroupCalls>& groups);
/// Sets `findings` from the rest.
void tell_flight(FlightReport& report);

FlightDid did_of(run::FlightCall::State state);
}  // namespace ergometer::analysis

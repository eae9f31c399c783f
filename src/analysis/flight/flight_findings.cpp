#include <fmt/format.h>

#include <algorithm>

#include "analysis/findings/job_findings.h"
#include "analysis/flight/flight_parts.h"
#include "base/collection.h"
#include "base/text.h"

namespace ergometer::analysis {
namespace {

constexpr size_t kMostFlightFindings = 4;
constexpr const char* kStandsStill =
    "the ranks having stood still when they wrote; of a job that went on, it says who was behind "
    "at that moment";

std::string ranks_of(const std::vector<int64_t>& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "Rank" : "Ranks", rank_list(ranks));
}

std::string lower_ranks(const std::vector<int64_t>& ranks) { return base::lower(ranks_of(ranks)); }

std::string at_frame(const std::string& frame) {
  return frame.empty() ? "" : fmt::format(" at {}", frame);
}

std::vector<int64_t> both(const std::vector<int64_t>& ranks, const std::vector<int64_t>& of) {
  std::vector<int64_t> found;
  for (const int64_t rank : ranks)
    if (base::contains(of, rank)) found.push_back(rank);
  return found;
}

std::vector<int64_t> others_than(const std::vector<int64_t>& ranks,
                                 const std::vector<int64_t>& of) {
  std::vector<int64_t> others;
  for (const int64_t rank : of)
    if (!base::contains(ranks, rank)) others.push_back(rank);
  return others;
}

const FlightCallers* callers_among(const FlightGroupReport& group,
                                   const std::vector<int64_t>& ranks) {
  const auto found = std::ranges::find_if(group.callers, [&](const FlightCallers& callers) {
    return base::contains(ranks, callers.ranks.front());
  });
  return found == group.callers.end() ? nullptr : &*found;
}

/// What most ranks called.
const FlightCallers* most_callers(const FlightGroupReport& group) {
  const auto found = std::ranges::find_if(
      group.callers, [](const FlightCallers& callers) { return !callers.name.empty(); });
  return found == group.callers.end() ? nullptr : &*found;
}

std::string call_text(const FlightCallers& callers) {
  return fmt::format("{}{}{}{}{}", callers.name, callers.sizes.empty() ? "" : " of ", callers.sizes,
                     callers.dtypes.empty() ? "" : " " + callers.dtypes, at_frame(callers.frame));
}

std::string place_of(const FlightGroupReport& group) {
  return fmt::format("collective {} of group {}", group.sequence,
                     group_title(group.name, group.description));
}

Finding flight_finding(std::string name) {
  Finding f = priced(std::move(name), 0, 0);
  f.confidence = kStandsStill;
  return f;
}

Finding not_called(const FlightGroupReport& group, const std::vector<int64_t>& culprits) {
  Finding f = flight_finding("collective_not_called");
  const std::vector<int64_t> ranks = both(group.awaited, culprits);
  f.what = fmt::format("{} did not call {}", ranks_of(ranks), place_of(group));
  if (const FlightCallers* most = most_callers(group))
    f.what += fmt::format(", which {} did: {}", lower_ranks(most->ranks), call_text(*most));
  f.what += '.';
  if (const FlightCallers* absent = callers_among(group, ranks);
      absent != nullptr && !absent->frame.empty())
    f.what += fmt::format(" {} last call of all was at {}.", ranks.size() == 1 ? "Its" : "Their",
                          absent->frame);
  if (const auto others = others_than(ranks, group.awaited); !others.empty())
    f.what += fmt::format(" {} did not either, but wait{} in another group.", ranks_of(others),
                          others.size() == 1 ? "s" : "");
  f.try_next =
      "what these ranks do there: a branch that the others do not take, an exception that was "
      "caught, data that ran out, a checkpoint or file system that hangs, a dead GPU.";
  f.check = fmt::format("py-spy dump on rank {}; its log and dmesg", ranks.front());
  return f;
}

Finding mismatch(const FlightGroupReport& group) {
  Finding f = flight_finding("collective_mismatch");
  f.what = fmt::format("Ranks called different things as {}.", place_of(group));
  for (size_t i = 0; i < std::min<size_t>(group.callers.size(), 3); ++i)
    if (const FlightCallers& callers = group.callers[i]; !callers.name.empty())
      f.what += fmt::format(" {}: {}.", ranks_of(callers.ranks), call_text(callers));
  f.try_next =
      "the same order of collectives on all ranks, and tensors of one size and type: a branch by "
      "rank, uneven batches, parameters that only some ranks have.";
  f.check = "the same job with TORCH_DISTRIBUTED_DEBUG=DETAIL, which compares before it calls";
  f.confidence = "measured";
  return f;
}

Finding not_completed(const FlightGroupReport& group) {
  Finding f = flight_finding("collective_not_completed");
  f.what = fmt::format("All ranks with a dump called {}", place_of(group));
  const FlightCallers& most = group.callers.front();
  f.what += most.name.empty() ? "" : fmt::format(": {}", call_text(most));
  f.what += "; it did not end.";
  if (!group.without_dump.empty())
    f.what += fmt::format(" {} of the group wrote no dump.", ranks_of(group.without_dump));
  else if (!group.awaited.empty())
    f.what += fmt::format(" On {} it has not begun: work before it has not ended there.",
                          lower_ranks(group.awaited));
  f.try_next =
      group.without_dump.empty()
          ? "a link, NIC or switch between its nodes; NCCL's own log (NCCL_DEBUG=INFO); a kernel "
            "before it on the stream that does not end."
          : "the ranks without a dump: dead, or their dumps not yet here.";
  f.check = "nccl-tests on the same nodes; dmesg for Xid and link errors";
  return f;
}

Finding unanswered(const FlightPending& one) {
  Finding f = flight_finding("send_receive_not_answered");
  f.what = fmt::format("Rank {} waits in {} of group {}{} for rank {}, which waits in no {}.",
                       one.rank, one.name, one.group, at_frame(one.frame), one.peer,
                       one.send ? "such receive" : "such send");
  f.try_next =
      "what that rank does: its place in the schedule of the pipeline, the order of its sends and "
      "receives.";
  f.check = fmt::format("py-spy dump on rank {}", one.peer);
  return f;
}

Finding circle() {
  Finding f = flight_finding("circular_wait");
  f.what =
      "Every rank that others wait for waits itself, in another group: they called collectives of "
      "several groups in different orders.";
  f.try_next = "one order of the groups' collectives on all ranks.";
  f.check = "the frames of each group above";
  return f;
}

/// Groups that only wait for ranks that wait elsewhere, or that were told of, are told by those.
bool is_cause(const FlightReport& report, const FlightGroupReport& group,
              const std::vector<int64_t>& told) {
  if (group.fault == FlightFault::kNone) return false;
  if (group.fault == FlightFault::kMismatch || group.awaited.empty()) return true;
  return std::ranges::any_of(both(group.awaited, report.culprits),
                             [&](int64_t rank) { return !base::contains(told, rank); });
}

Finding tell_group(const FlightReport& report, const FlightGroupReport& group) {
  if (group.fault == FlightFault::kMismatch) return mismatch(group);
  return group.fault == FlightFault::kNotCalled ? not_called(group, report.culprits)
                                                : not_completed(group);
}

}  // namespace

void tell_flight(FlightReport& report) {
  auto& findings = report.findings;
  std::vector<int64_t> told;
  for (const FlightGroupReport& group : report.groups) {
    if (findings.size() == kMostFlightFindings || !is_cause(report, group, told)) continue;
    findings.push_back(tell_group(report, group));
    told.insert(told.end(), group.awaited.begin(), group.awaited.end());
  }
  for (const FlightPending& one : report.pending)
    if (!one.answered && base::contains(report.culprits, one.peer) &&
        !base::contains(told, one.peer) && findings.size() < kMostFlightFindings)
      findings.push_back(unanswered(one));
  if (report.in_a_circle) findings.push_back(circle());
}

}  // namespace ergometer::analysis

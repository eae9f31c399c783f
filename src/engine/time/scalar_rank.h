#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "plan/plan.h"

namespace ergometer::engine {

/// The clocks of time of one rank that runs its program alone, instruction by instruction. Whoever
/// drives it says when what it launches ends:
///
///   ScalarRank rank(role.events);
///   const double start_s = rank.start_s(it);            // a launch
///   rank.launch(it, start_s + duration_s, host_s);
///   rank.order(it);                                     // a join, record, wait, arrival
///                                                       // or host synchronisation
class ScalarRank {
 public:
  explicit ScalarRank(int32_t events) : events_s_(static_cast<size_t>(events), 0.0) {}

  double free_s(workload::Stream stream) const { return free_s_[static_cast<size_t>(stream)]; }
  /// When the rank itself is ready to start a launch.
  double start_s(const plan::Instruction& it) const { return std::max(free_s(it.stream), host_s_); }
  void launch(const plan::Instruction& it, double end_s, double host_s) {
    free_s_[static_cast<size_t>(it.stream)] = end_s;
    host_s_ += host_s;
  }
  void order(const plan::Instruction& it) {
    using enum plan::InstructionKind;
    double& t = free_s_[static_cast<size_t>(it.stream)];
    if (it.kind == kJoin)
      t = std::max(t, free_s(it.on));
    else if (it.kind == kWait)
      t = std::max(t, events_s_[static_cast<size_t>(it.slot)]);
    else if (it.kind == kRecord)
      events_s_[static_cast<size_t>(it.slot)] = t;
    else if (it.kind == kHostSync)
      host_s_ = std::max(host_s_, t);
  }

  std::span<double> streams_s() { return free_s_; }
  std::span<double> events_s() { return events_s_; }
  std::span<double> host_s() { return std::span(&host_s_, 1); }

 private:
  std::array<double, workload::kStreamCount> free_s_{};
  double host_s_ = 0;
  std::vector<double> events_s_;
};

}  // namespace ergometer::engine

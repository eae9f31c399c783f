#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "watch/job_now.h"

namespace ergometer::watch {

/// Devices or nodes that a condition holds for: how many, and the first few by name.
struct Concerned {
  static constexpr size_t kNamed = 5;

  int64_t count = 0;
  std::vector<std::string> where = {};

  void add(std::string name) {
    if (++count <= static_cast<int64_t>(kNamed)) where.push_back(std::move(name));
  }
  /// "1 GPU is", "3 GPUs are".
  std::string counted(const char* one, const char* many) const;
};

/// What the latest readings of a job's devices say to an operator: counters of errors that grew in
/// the last ten minutes, GPUs held back by reason, near the temperature at which they slow down, or
/// slower than others of their kind.
class FindingsNow {
 public:
  /// What happened at one moment is shown for so long.
  static constexpr int64_t kShownNs = int64_t{600} * 1'000'000'000;

  std::vector<FindingNow> look(const JobNow& now);

 private:
  static constexpr size_t kCounters = 4;
  /// Counters of errors as they were last, and which grew last and when.
  struct Counted {
    std::array<double, kCounters> values{};
    std::array<bool, kCounters> known{};
    run::Metric failed = run::Metric::kCount;
    int64_t failed_ns = 0;
  };
  void count_errors(const JobNow& now);
  std::vector<FindingNow> errors(int64_t now_ns) const;

  std::map<std::string, Counted> counted_;  ///< by device
};

}  // namespace ergometer::watch

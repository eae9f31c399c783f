#pragma once

#include <cmath>
#include <cstdint>
#include <set>
#include <string_view>

#include "import/telemetry/log_builder.h"

namespace ergometer::importer {

/// When rows were read that do not say so: one of a GPU (or other key) that comes again begins the
/// next round, a period later; the first round is at 0.
class Rounds {
 public:
  explicit Rounds(double period_s) : period_s_(period_s) {}
  int64_t time_ns(int64_t gpu) {
    if (!seen_.insert(gpu).second) {
      ++round_;
      seen_ = {gpu};
    }
    return static_cast<int64_t>(std::llround(static_cast<double>(round_) * period_s_ * 1e9));
  }

 private:
  double period_s_;
  int64_t round_ = 0;
  std::set<int64_t> seen_;  ///< in this round
};

/// Notes that no column says when rows were read, how far apart they are taken (`Rounds`), and who
/// says so: the user, or else `default_of`, "dmon's default".
void note_untimed(std::string_view default_of, LogBuilder& log);

}  // namespace ergometer::importer

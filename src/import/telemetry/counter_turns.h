#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "run/device_log.h"

namespace ergometer::importer {

/// What became of counters of which only 32 bits were kept.
struct CounterTurns {
  int64_t counters = 0;   ///< that turned
  int64_t turns = 0;      ///< steps down: each is a turn, at least one
  int64_t restarts = 0;   ///< steps down that are more than the link could have moved with a turn
  int64_t intervals = 0;  ///< between readings
  int64_t too_long = 0;   ///< of them: the link can turn the counter more than once
  int64_t too_fast = 0;   ///< of them: more passed than the link moves
  double most_gb_per_s = 0;

  void add(const CounterTurns& more);
};

/// A sentence on each of them that says anything.
std::vector<std::string> turn_notes(const std::map<run::Metric, CounterTurns>& all);

}  // namespace ergometer::importer

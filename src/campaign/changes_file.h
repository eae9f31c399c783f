#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "spec/settings/settings.h"

namespace ergometer::campaign {

/// Of a run whose conditions change, and of times in it: a hundred years.
inline constexpr double kLongestReplanS = 3.2e9;

/// What is otherwise around a job for a while.
struct Change {
  std::string name;
  double at_s = 0, until_s = 0;  ///< of the run; until infinity: to its end
  spec::Settings settings;
  int line = 0;
};

/// The conditions that may change while a job runs, a YAML file: under `changes` a list of
/// mappings, each with `at`, `until` if it ends, a `name` if it is to have one, and the settings of
/// a job file that it changes:
///
///     changes:
///       - {at: 30 min, until: 4 h, override: [node1.blocked_inlet=60%, node1.inlet=40C]}
///       - {at: 6 h, cluster_cap: 9 kW}
Result<std::vector<Change>> parse_changes(const std::string& text, const std::string& file);

/// A time from one change to the next.
struct Stretch {
  double from_s = 0, to_s = 0;
  std::vector<std::string> changes;  ///< names of those that hold
  std::string where;                 ///< "changes.yaml:3", the latest of them; empty: none
  spec::Settings settings;           ///< the job's with theirs
  double seconds() const { return to_s - from_s; }
};

/// The run of `length_s` cut at every change. Of two changes that say the same thing the one that
/// begins later counts, of two that begin at once the one that stands behind; overrides of unlike
/// targets add up. An input error: a change that begins behind the end.
Result<std::vector<Stretch>> stretches_of(const spec::Settings& job,
                                          const std::vector<Change>& changes, double length_s,
                                          const std::string& file);

}  // namespace ergometer::campaign

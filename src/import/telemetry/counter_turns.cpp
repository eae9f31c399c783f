#include "import/telemetry/counter_turns.h"

#include <fmt/format.h>

namespace ergometer::importer {

void CounterTurns::add(const CounterTurns& more) {
  counters += more.counters;
  turns += more.turns;
  restarts += more.restarts;
  intervals += more.intervals;
  too_long += more.too_long;
  too_fast += more.too_fast;
  most_gb_per_s = more.most_gb_per_s;
}

std::vector<std::string> turn_notes(const std::map<run::Metric, CounterTurns>& all) {
  std::vector<std::string> notes;
  for (const auto& [metric, t] : all) {
    const char* const name = run::metric_info(metric).name;
    if (t.turns > 0)
      notes.push_back(fmt::format(
          "{}: counters went over 32 bits {} times on {} GPUs; one turn each was added, the least "
          "it can have been: {} of {} intervals are long enough for another at the {:g} GB/s of "
          "the link",
          name, t.turns, t.counters, t.too_long, t.intervals, t.most_gb_per_s));
    if (t.restarts > 0)
      notes.push_back(
          fmt::format("{}: {} falls of counters are more than a turn at the {:g} GB/s of the link; "
                      "they began again there, and what passed in between is not known",
                      name, t.restarts, t.most_gb_per_s));
    if (t.too_fast > 0)
      notes.push_back(
          fmt::format("{}: in {} of {} intervals the counter says more than the {:g} GB/s of the "
                      "link, which is "
                      "not plausible",
                      name, t.too_fast, t.intervals, t.most_gb_per_s));
  }
  return notes;
}

}  // namespace ergometer::importer

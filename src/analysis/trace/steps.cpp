#include "analysis/trace/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"

namespace ergometer::analysis {
namespace {

/// When the first event of each stream began whose launch is recorded; a stream runs in order, so
/// that those before it were launched before the recording began.
class LaunchedBefore {
 public:
  explicit LaunchedBefore(const run::RankTrace& trace) {
    for (const run::GpuEvent& event : trace.events) {
      if (run::launch_of(trace, event) == nullptr) continue;
      lower(first_, event.start_ns);
      lower(of_stream_.try_emplace({event.device, event.stream}, event.start_ns).first->second,
            event.start_ns);
    }
  }
  bool operator()(const run::GpuEvent& event) const {
    const auto of = of_stream_.find({event.device, event.stream});
    return event.start_ns < (of != of_stream_.end() ? of->second : first_);
  }

 private:
  static void lower(int64_t& least, int64_t value) { least = std::min(least, value); }

  int64_t first_ = std::numeric_limits<int64_t>::max();
  std::map<std::pair<int32_t, int32_t>, int64_t> of_stream_;
};

bool is_in(const run::StepMark& step, int64_t time_ns) {
  return time_ns >= step.start_ns && time_ns < step.end_ns;
}

std::string range_text(const StepRange& range) {
  return range.first == range.last ? fmt::format("{}", range.first)
                                   : fmt::format("{}..{}", range.first, range.last);
}

std::string marked_text(const run::RankTrace& trace) {
  if (trace.steps.empty()) return "it marks none (ProfilerStep#N)";
  const StepTimes times = step_times(trace);
  return "it marks " + range_text({times.first, times.last});
}

}  // namespace

Result<StepRange> parse_steps(std::string_view text) {
  const size_t dots = text.find("..");
  const bool one = dots == std::string_view::npos;
  const auto first = base::parse_integer(text.substr(0, dots));
  const auto last = one ? first : base::parse_integer(text.substr(dots + 2));
  if (!first || !last || *first < 0 || *last < *first)
    return input_error("--steps: '{}' is not allowed; it is all, one step (3) or several (3..5)",
                       text);
  return StepRange{*first, *last};
}

Result<run::RankTrace> select_steps(const run::RankTrace& trace, const StepRange& range) {
  std::vector<run::StepMark> wanted;
  for (const run::StepMark& step : trace.steps)
    if (step.number >= range.first && step.number <= range.last) wanted.push_back(step);
  if (wanted.empty())
    return input_error("{}: has no step {}; {}", trace.file, range_text(range), marked_text(trace));
  run::RankTrace chosen = trace;
  chosen.steps = wanted;
  const LaunchedBefore before(trace);
  std::erase_if(chosen.events, [&](const run::GpuEvent& event) {
    const run::Launch* launch = run::launch_of(trace, event);
    if (launch == nullptr && !trace.launches.empty() && before(event)) return true;
    const int64_t time = launch != nullptr ? launch->start_ns : event.start_ns;
    return std::ranges::none_of(wanted,
                                [&](const run::StepMark& step) { return is_in(step, time); });
  });
  std::erase_if(chosen.tasks, [&](const run::PipelineTask& task) {
    return task.step < range.first || task.step > range.last;
  });
  return chosen;
}

std::string note_of_missing_steps(const std::vector<run::RankTrace>& ranks,
                                  const StepRange& range) {
  const auto asked = static_cast<uint64_t>(range.last - range.first) + 1;
  const auto marked = [&](const run::RankTrace& trace) {
    std::set<int64_t> numbers;
    for (const run::StepMark& step : trace.steps)
      if (step.number >= range.first && step.number <= range.last) numbers.insert(step.number);
    return numbers.size();
  };
  const auto lacks = [&](const run::RankTrace& trace) { return marked(trace) < asked; };
  const auto first = std::ranges::find_if(ranks, lacks);
  if (first == ranks.end()) return "";
  const auto more = std::ranges::count_if(first + 1, ranks.end(), lacks);
  return fmt::format("of the {} steps {}, {} has {}: {}{}; numbers are of those", asked,
                     range_text(range), first->file, marked(*first), marked_text(*first),
                     more == 0 ? ""
                               : fmt::format(" (and {} more {} fewer than asked for)", more,
                                             more == 1 ? "trace has" : "traces have"));
}

StepTimes step_times(const run::RankTrace& trace) {
  StepTimes times;
  if (trace.steps.empty()) return times;
  const auto by_number = [](const auto& a, const auto& b) { return a.number < b.number; };
  const auto [lowest, highest] = std::ranges::minmax_element(trace.steps, by_number);
  times.count = static_cast<int64_t>(trace.steps.size());
  times.first = lowest->number;
  times.last = highest->number;
  int64_t length_ns = 0;
  for (size_t i = 0; i < trace.steps.size(); ++i) {
    const run::StepMark& step = trace.steps[i];
    const bool followed =
        i + 1 < trace.steps.size() && trace.steps[i + 1].number == step.number + 1;
    length_ns += (followed ? trace.steps[i + 1].start_ns : step.end_ns) - step.start_ns;
  }
  times.mean_s = static_cast<double>(length_ns) * 1e-9 / static_cast<double>(times.count);
  return times;
}

}  // namespace ergometer::analysis

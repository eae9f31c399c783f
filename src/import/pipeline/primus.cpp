#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "import/pipeline/pipeline_files.h"
#include "import/text/rank_name.h"
#include "import/text/walk_json.h"

namespace ergometer::importer {
namespace {

namespace ondemand = simdjson::ondemand;
using TaskKind = run::PipelineTask::Kind;

/// Milliseconds as whole nanoseconds, from their digits.
std::optional<int64_t> from_milliseconds(std::string_view token) {
  constexpr int64_t kMostExponent = 1000;
  const size_t mark = token.find_first_of("eE");
  std::string_view digits = mark == std::string_view::npos ? "0" : token.substr(mark + 1);
  if (digits.starts_with('+')) digits.remove_prefix(1);
  const auto exponent = whole_number(digits);
  if (!exponent || *exponent > kMostExponent || *exponent < -kMostExponent) return std::nullopt;
  return nanoseconds(fmt::format("{}e{}", token.substr(0, mark), *exponent + 3));
}

/// Starts and ends of the tasks of one kind.
struct Times {
  std::string_view name;
  TaskKind kind;
  std::vector<int64_t> starts, ends;
};

/// What one iteration holds.
struct Iteration {
  std::array<Times, 3> times{{{"fwd", TaskKind::kForward, {}, {}},
                              {"bwd", TaskKind::kBackward, {}, {}},
                              {"wgrad", TaskKind::kBackwardWeight, {}, {}}}};
  int64_t total_ns = 0;
};

class PrimusReader {
 public:
  explicit PrimusReader(const std::string& file) : file_(file) {
    trace_.file = file;
    trace_.rank = trace_.stage = rank_in_name(file).value_or(-1);
  }
  Result<void> read(ondemand::document& document);
  Result<run::RankTrace> finish();

 private:
  Result<void> read_iteration(int64_t number, ondemand::value value);
  Result<void> read_member(const std::string& where, std::string_view key, ondemand::value value,
                           Iteration& to);
  Result<std::vector<int64_t>> read_times(const std::string& where, std::string_view key,
                                          ondemand::value value);
  Result<void> add_tasks(const std::string& where, int64_t number, const Times& times,
                         TaskKind kind);

  std::string file_;
  run::RankTrace trace_;
  int64_t memory_ = 0, backward_in_time_ = 0;
};

Result<std::vector<int64_t>> PrimusReader::read_times(const std::string& where,
                                                      std::string_view key, ondemand::value value) {
  ondemand::array list;
  if (value.get_array().get(list) != simdjson::SUCCESS)
    return input_error("{}{} is no list of times in ms", where, key);
  std::vector<int64_t> times;
  for (auto entry : list) {
    const std::string_view token = trimmed(entry.raw_json_token());
    const auto time = from_milliseconds(token);
    if (!time)
      return input_error("{}{}[{}] = {} is no time in ms", where, key, times.size(), token);
    times.push_back(*time);
  }
  return times;
}

Result<void> PrimusReader::read_member(const std::string& where, std::string_view key,
                                       ondemand::value value, Iteration& to) {
  if (key == "total") to.total_ns = from_milliseconds(trimmed(value.raw_json_token())).value_or(0);
  if (key == "memory") ++memory_;
  for (Times& times : to.times) {
    const bool starts = key == fmt::format("{}_start", times.name);
    if (!starts && key != fmt::format("{}_end", times.name)) continue;
    ERGOMETER_ASSIGN((starts ? times.starts : times.ends), read_times(where, key, value));
  }
  return {};
}

Result<void> PrimusReader::add_tasks(const std::string& where, int64_t number, const Times& times,
                                     TaskKind kind) {
  if (times.starts.size() != times.ends.size())
    return input_error("{}{}_start has {} times and {}_end {}", where, times.name,
                       times.starts.size(), times.name, times.ends.size());
  for (size_t i = 0; i < times.starts.size(); ++i) {
    if (times.ends[i] < times.starts[i]) {
      ++backward_in_time_;
      continue;
    }
    trace_.tasks.push_back({.kind = kind,
                            .step = number,
                            .micro_batch = static_cast<int64_t>(i),
                            .start_ns = times.starts[i],
                            .duration_ns = times.ends[i] - times.starts[i]});
  }
  return {};
}

Result<void> PrimusReader::read_iteration(int64_t number, ondemand::value value) {
  const std::string where = fmt::format("{}: iteration {}: ", file_, number);
  ondemand::object members;
  if (value.get_object().get(members) != simdjson::SUCCESS)
    return input_error(where + "is no object");
  Iteration iteration;
  for (auto member : members) {
    const std::string_view key = member.unescaped_key();
    ERGOMETER_TRY(read_member(where, key, member.value(), iteration));
  }
  const size_t first = trace_.tasks.size();
  const bool zero_bubble = !iteration.times[2].starts.empty();
  for (const Times& times : iteration.times) {
    const TaskKind kind =
        zero_bubble && times.kind == TaskKind::kBackward ? TaskKind::kBackwardInput : times.kind;
    ERGOMETER_TRY(add_tasks(where, number, times, kind));
  }
  int64_t end_ns = iteration.total_ns;
  for (size_t i = first; i < trace_.tasks.size(); ++i)
    end_ns = std::max(end_ns, trace_.tasks[i].start_ns + trace_.tasks[i].duration_ns);
  trace_.steps.push_back({number, 0, end_ns});
  return {};
}

Result<void> PrimusReader::read(ondemand::document& document) {
  for (auto member : document.get_object()) {
    const std::string_view key = member.unescaped_key();
    const auto number = whole_number(key);
    if (!number || *number < 0)
      return input_error("{}: \"{}\" is no number of an iteration", file_, key);
    ERGOMETER_TRY(read_iteration(*number, member.value()));
  }
  return {};
}

Result<run::RankTrace> PrimusReader::finish() {
  if (trace_.tasks.empty()) return input_error("{}: holds no forward and no backward", file_);
  std::ranges::stable_sort(trace_.steps,
                           [](const auto& a, const auto& b) { return a.number < b.number; });
  std::ranges::stable_sort(trace_.tasks, [](const auto& a, const auto& b) {
    return std::tie(a.step, a.start_ns) < std::tie(b.step, b.start_ns);
  });
  if (memory_ > 0)
    trace_.dropped.push_back({file_, "an iteration's memory, which is not analysed", memory_});
  if (backward_in_time_ > 0)
    trace_.dropped.push_back({file_, "an end before its beginning", backward_in_time_});
  return std::move(trace_);
}

/// Whether a trace's steps all begin at the zero of their own clocks.
bool has_step_clocks(const run::RankTrace& trace) {
  return !trace.tasks.empty() && trace.steps.size() > 1 &&
         std::ranges::all_of(trace.steps,
                             [](const run::StepMark& step) { return step.start_ns == 0; });
}

void move_by(run::RankTrace& trace, const std::map<int64_t, int64_t>& offset_of) {
  for (run::StepMark& step : trace.steps) {
    step.start_ns += offset_of.at(step.number);
    step.end_ns += offset_of.at(step.number);
  }
  for (run::PipelineTask& task : trace.tasks) task.start_ns += offset_of.at(task.step);
  std::ranges::stable_sort(trace.tasks,
                           [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
}

}  // namespace

Result<run::RankTrace> read_primus(ByteSource& source, const std::string& file) {
  return read_json<ondemand::parser, simdjson::simdjson_error>(source, file, PrimusReader(file));
}

void join_step_clocks(std::vector<run::RankTrace>& ranks) {
  std::map<int64_t, int64_t> length_of;
  for (const run::RankTrace& trace : ranks)
    if (has_step_clocks(trace))
      for (const run::StepMark& step : trace.steps)
        length_of[step.number] = std::max(length_of[step.number], step.end_ns);
  std::map<int64_t, int64_t> offset_of;
  int64_t offset_ns = 0;
  for (const auto& [number, length_ns] : length_of) {
    offset_of[number] = offset_ns;
    // Times of a damaged file: as they are rather than beyond what can be read.
    if (offset_ns > kLargestTime - length_ns) return;
    offset_ns += length_ns;
  }
  for (run::RankTrace& trace : ranks)
    if (has_step_clocks(trace)) move_by(trace, offset_of);
}

}  // namespace ergometer::importer

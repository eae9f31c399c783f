#include <simdjson.h>

#include <algorithm>
#include <map>

#include "import/pipeline/pipeline_files.h"
#include "import/text/rank_name.h"
#include "import/text/walk_json.h"

namespace ergometer::importer {
namespace {

namespace ondemand = simdjson::ondemand;
using TaskKind = run::PipelineTask::Kind;

/// Events that are open at once; real ones nest a few deep.
constexpr size_t kMostOpen = 256;

struct TimelineEvent {
  std::string name, phase;
  std::optional<int64_t> time_ns, duration_ns;
  int64_t process = -1, thread = -1;
  int64_t iteration = -1, micro_batch = -1, chunk = -1, stage = -1;
};

/// Forward and backward are the names of tasks; what moves between stages says so in its own.
TaskKind kind_of(std::string_view name) {
  const auto has = [&](std::string_view word) { return name.find(word) != std::string_view::npos; };
  if (has("recv") || has("receive")) return TaskKind::kReceive;
  if (has("send")) return TaskKind::kSend;
  if (has("optimizer")) return TaskKind::kOptimizer;
  if (name.starts_with("forward")) return TaskKind::kForward;
  if (!name.starts_with("backward")) return TaskKind::kOther;
  if (has("weight") || has("wgrad")) return TaskKind::kBackwardWeight;
  return has("input") || has("dgrad") ? TaskKind::kBackwardInput : TaskKind::kBackward;
}

/// The events of one rank, on their way to tasks.
class Timeline {
 public:
  void add(const TimelineEvent& event);
  run::RankTrace finish(int64_t rank, const std::string& file);
  int64_t stage() const { return trace_.stage; }
  bool has_tasks() const { return !trace_.tasks.empty(); }

 private:
  void end(const TimelineEvent& event);
  void add_task(const TimelineEvent& from, int64_t start_ns, int64_t end_ns);
  void mark(const TimelineEvent& event);

  run::RankTrace trace_;
  std::vector<TimelineEvent> open_;
  std::map<int64_t, run::StepMark> steps_;
  int64_t without_time_ = 0, without_start_ = 0, other_ = 0, bad_end_ = 0, without_end_ = 0;
};

void Timeline::add(const TimelineEvent& event) {
  if (!event.time_ns) {
    ++without_time_;
  } else if (event.phase == "B") {
    if (open_.size() < kMostOpen)
      open_.push_back(event);
    else
      ++without_end_;
  } else if (event.phase == "E") {
    end(event);
  } else if (event.phase == "X" && event.duration_ns) {
    add_task(event, *event.time_ns, *event.time_ns + *event.duration_ns);
  } else {
    mark(event);
  }
}

/// The end of the last of its name that is open: what lies within it may lack its end.
void Timeline::end(const TimelineEvent& event) {
  const auto begin = std::find_if(open_.rbegin(), open_.rend(),
                                  [&](const TimelineEvent& e) { return e.name == event.name; });
  if (begin == open_.rend()) {
    ++without_start_;
    return;
  }
  TimelineEvent task = *begin;
  open_.erase(std::next(begin).base());
  const auto fill = [](int64_t& value, int64_t more) { value = more >= 0 ? more : value; };
  fill(task.iteration, event.iteration);
  fill(task.micro_batch, event.micro_batch);
  fill(task.chunk, event.chunk);
  fill(task.stage, event.stage);
  add_task(task, *task.time_ns, *event.time_ns);
}

void Timeline::add_task(const TimelineEvent& from, int64_t start_ns, int64_t end_ns) {
  if (end_ns < start_ns || end_ns > kLargestTime) {
    ++bad_end_;
    return;
  }
  if (from.stage >= 0) trace_.stage = from.stage;
  trace_.tasks.push_back({.kind = kind_of(from.name),
                          .step = from.iteration,
                          .micro_batch = from.micro_batch,
                          .chunk = from.chunk,
                          .start_ns = start_ns,
                          .duration_ns = end_ns - start_ns});
}

void Timeline::mark(const TimelineEvent& event) {
  const bool begins = event.name == "iteration begin", ends = event.name == "iteration end";
  if (event.iteration < 0 || (!begins && !ends)) {
    ++other_;
    return;
  }
  run::StepMark& step =
      steps_.try_emplace(event.iteration, run::StepMark{event.iteration, 0, -1}).first->second;
  (begins ? step.start_ns : step.end_ns) = *event.time_ns;
}

run::RankTrace Timeline::finish(int64_t rank, const std::string& file) {
  trace_.rank = rank;
  trace_.file = file;
  std::ranges::stable_sort(trace_.tasks,
                           [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
  for (const auto& [number, step] : steps_)
    if (step.end_ns >= step.start_ns) trace_.steps.push_back(step);
  const auto drop = [&](int64_t count, const char* reason) {
    if (count > 0) trace_.dropped.push_back({file, reason, count});
  };
  drop(other_, "not a task of the pipeline");
  drop(without_time_, "no start");
  drop(without_start_, "an end without a beginning");
  drop(without_end_ + static_cast<int64_t>(open_.size()), "a beginning without an end");
  drop(bad_end_, "an end before its beginning, or too late to be one");
  return std::move(trace_);
}

class MegascanReader {
 public:
  void read(ondemand::document& document);
  Result<std::vector<run::RankTrace>> finish(const std::string& file);

 private:
  void read_events(ondemand::array events);
  void read_arguments(ondemand::value value, TimelineEvent& event);

  /// By process and thread: in order of rank.
  std::map<std::pair<int64_t, int64_t>, Timeline> timelines_;
  std::string scratch_;
};

int64_t argument_number(ondemand::value value) {
  const int64_t number = whole_number(value).value_or(-1);
  return number <= kMostRanks ? number : -1;
}

void MegascanReader::read_arguments(ondemand::value value, TimelineEvent& event) {
  for_each_member(value, [&](std::string_view key, ondemand::value argument) {
    if (key == "iteration") event.iteration = argument_number(argument);
    if (key == "microbatch") event.micro_batch = argument_number(argument);
    if (key == "model_chunk") event.chunk = argument_number(argument);
    if (key == "pp_rank") event.stage = argument_number(argument);
  });
}

void MegascanReader::read_events(ondemand::array events) {
  for (auto entry : events) {
    ondemand::object members;
    if (entry.get_object().get(members) != simdjson::SUCCESS) continue;
    TimelineEvent event;
    for (auto member : members) {
      const std::string_view key = member.unescaped_key();
      ondemand::value value = member.value();
      if (key == "name") event.name = unescaped(unquoted(value.raw_json_token()), scratch_);
      if (key == "ph") event.phase = unquoted(value.raw_json_token());
      if (key == "ts") event.time_ns = nanoseconds(unquoted(value.raw_json_token()));
      if (key == "dur") event.duration_ns = nanoseconds(unquoted(value.raw_json_token()));
      if (key == "pid") event.process = argument_number(value);
      if (key == "tid") event.thread = argument_number(value);
      if (key == "args") read_arguments(value, event);
    }
    timelines_[{event.process, event.thread}].add(event);
  }
}

void MegascanReader::read(ondemand::document& document) {
  if (document.type() == ondemand::json_type::array) {
    read_events(document.get_array());
    return;
  }
  for (auto member : document.get_object()) {
    const std::string_view key = member.unescaped_key();
    if (key == "traceEvents") read_events(member.value().get_array());
  }
}

Result<std::vector<run::RankTrace>> MegascanReader::finish(const std::string& file) {
  std::erase_if(timelines_, [](const auto& entry) { return !entry.second.has_tasks(); });
  if (timelines_.empty()) return input_error("{}: holds no forward and no backward", file);
  std::map<int64_t, int> threads;
  int64_t stages = 0;
  for (const auto& [at, timeline] : timelines_) {
    ++threads[at.first];
    stages = std::max(stages, timeline.stage() + 1);
  }
  // A process is a rank, unless several of its threads are.
  const bool by_process = threads.size() == timelines_.size() && threads.begin()->first >= 0;
  std::vector<run::RankTrace> ranks;
  for (auto& [at, timeline] : timelines_) {
    const auto position = static_cast<int64_t>(ranks.size());
    ranks.push_back(timeline.finish(by_process ? at.first : position, file));
    if (stages > 0) ranks.back().stages = stages;
  }
  return ranks;
}

}  // namespace

Result<std::vector<run::RankTrace>> read_megascan(ByteSource& source, const std::string& file) {
  return read_json<ondemand::parser, simdjson::simdjson_error>(source, file, MegascanReader(),
                                                               file);
}

}  // namespace ergometer::importer

#include "page/timeline_part.h"

#include <fmt/format.h>

#include <algorithm>

#include <set>
#include <string>

#include "base/collection.h"
#include "base/text.h"
#include "page/columns.h"
#include "page/run_part.h"
#include "page/timeline_rows.h"

namespace ergometer::page {
namespace {

using base::JsonWriter;

/// What a browser draws at once without being felt, and a megabyte of page.
constexpr size_t kMostKernels = 40'000;
constexpr size_t kMostRanks = 64;

/// The page tells gradients of inputs from those of weights only where these are tasks of their
/// own.
std::string kind_word(run::PipelineTask::Kind kind) {
  return kind == run::PipelineTask::Kind::kBackwardInput ? "backward"
                                                         : std::string(run::task_kind_name(kind));
}

/// Messages that a file of a timeline tells lie beside its passes too.
bool is_beside(const run::PipelineTask& task) {
  using Kind = run::PipelineTask::Kind;
  return task.beside || task.kind == Kind::kSend || task.kind == Kind::kReceive;
}

void write_tasks(JsonWriter& json, const std::vector<run::PipelineTask>& tasks, TextTable& names) {
  if (tasks.empty()) return;
  using run::PipelineTask;
  json.key("tasks").begin_object();
  column(json, "kind", tasks, [](const PipelineTask& task) { return kind_word(task.kind); });
  column(json, "micro_batch", tasks, &PipelineTask::micro_batch);
  column(json, "chunk", tasks, &PipelineTask::chunk);
  microsecond_column(json, "start_us", base::mapped(tasks, &PipelineTask::start_ns));
  microsecond_column(json, "duration_us", base::mapped(tasks, &PipelineTask::duration_ns));
  column(json, "beside", tasks, [](const PipelineTask& task) { return int64_t{is_beside(task)}; });
  column(json, "what", tasks, [&](const PipelineTask& task) {
    return task.what.empty() ? int64_t{-1} : names.number(task.what);
  });
  json.end_object();
}

/// Pairs of where each begins and ends.
void write_windows(JsonWriter& json, const std::vector<run::StepWindow>& windows) {
  json.array("windows_us", base::kOneLine, windows, [&](const run::StepWindow& window) {
    json.begin_array(base::kOneLine);
    json.value(microseconds(window.from_ns)).value(microseconds(window.to_ns));
    json.end_array();
  });
}

void write_kernels(JsonWriter& json, const TimelineRows& rows, const RankRows& rank) {
  if (rank.kernels.empty()) return;
  json.key("kernels").begin_object();
  write_windows(json, rows.windows);
  column(json, "stream", rank.kernels, &KernelRow::stream);
  column(json, "name", rank.kernels, &KernelRow::name);
  column(json, "category", rank.kernels, &KernelRow::category);
  microsecond_column(json, "start_us", base::mapped(rank.kernels, &KernelRow::start_ns));
  microsecond_column(json, "duration_us", base::mapped(rank.kernels, &KernelRow::duration_ns));
  column(json, "micro_batch", rank.kernels, &KernelRow::micro_batch);
  column(json, "layer", rank.kernels, &KernelRow::layer);
  json.end_object();
}

void write_rank(JsonWriter& json, const RunView& view, TimelineRows& rows, const RankRows& rank) {
  json.member("rank", rank.rank).member("stage", rank.stage);
  write_place(json, view, rank.rank);
  write_tasks(json, rank.tasks, rows.names);
  write_kernels(json, rows, rank);
}

/// The first rank of every stage that has a timeline; where stages are not known, every rank.
std::vector<int64_t> default_ranks(const RunView& view) {
  std::vector<int64_t> ranks = ranks_with_timeline(view);
  const int64_t stage_ranks = view.simulated ? view.job.stage_ranks() : 0;
  if (stage_ranks > 0) {
    std::set<int64_t> stages;
    std::erase_if(ranks, [&](int64_t rank) { return !stages.insert(rank / stage_ranks).second; });
  }
  if (ranks.size() > kMostRanks) ranks.resize(kMostRanks);
  return ranks;
}

std::string left_out(const RunView& view, const TimelineRows& rows, size_t shown, double step_s) {
  const size_t known = ranks_with_timeline(view).size();
  const size_t all =
      view.simulated ? static_cast<size_t>(std::max<int64_t>(view.job.gpus, 0)) : known;
  std::string text;
  if (shown < all)
    text = fmt::format("{} of {} ranks are shown{}", shown, all,
                       view.simulated ? ", one a pipeline stage unless others were asked for" : "");
  if (rows.whole) return text;
  if (!text.empty()) text += "; ";
  const size_t windows = rows.windows.size();
  int64_t length_ns = 0;
  for (const run::StepWindow& window : rows.windows) length_ns += window.to_ns - window.from_ns;
  return text + fmt::format("single kernels are those of {}{} of {}",
                            windows > 1 ? fmt::format("{} windows, together ", windows) : "",
                            base::format_nanoseconds(length_ns),
                            view.simulated
                                ? fmt::format("a step of {}", base::format_seconds(step_s))
                                : "the recording");
}

double step_of(const RunView& view, const TimelineRows& rows) {
  if (view.run().performance.step_time_s > 0) return view.run().performance.step_time_s;
  if (view.told.summary.performance) return view.told.summary.performance->step_time_s;
  return rows.windows.empty() ? 0 : static_cast<double>(rows.windows.back().to_ns) * 1e-9;
}

}  // namespace

std::vector<int64_t> ranks_with_timeline(const RunView& view) {
  std::set<int64_t> ranks;
  for (const run::RankTasks& tasks : view.run().tasks) ranks.insert(tasks.rank);
  for (const run::RankTrace& trace : view.traces)
    if (!trace.events.empty() || !trace.tasks.empty()) ranks.insert(trace.rank);
  return {ranks.begin(), ranks.end()};
}

void write_timeline(JsonWriter& json, const RunView& view, const std::vector<int64_t>& ranks) {
  std::vector<int64_t> shown = ranks_with_timeline(view);
  if (!ranks.empty())
    std::erase_if(shown, [&](int64_t rank) { return !base::contains(ranks, rank); });
  else
    shown = default_ranks(view);
  if (shown.empty()) return;
  TimelineRows rows = timeline_rows(view, shown);
  keep_windows(rows, kMostKernels);
  const double step_s = step_of(view, rows);
  json.key("timeline").begin_object().member("step_s", step_s);
  json.objects("ranks", rows.ranks,
               [&](const RankRows& rank) { write_rank(json, view, rows, rank); });
  // Behind the ranks, whose tasks name what they are.
  column(json, "names", rows.names.texts());
  column(json, "categories", rows.categories.texts());
  column(json, "streams", rows.streams.texts());
  if (const std::string text = left_out(view, rows, rows.ranks.size(), step_s); !text.empty())
    json.member("left_out", text);
  json.end_object();
}

}  // namespace ergometer::page

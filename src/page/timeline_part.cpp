#include "page/timeline_part.h"

#include <fmt/format.h>

#include <algorithm>

#include <set>
#include <string>

#include "base/text.h"
#include "page/columns.h"
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

void write_tasks(JsonWriter& json, const std::vector<run::PipelineTask>& tasks) {
  if (tasks.empty()) return;
  std::vector<std::string> kinds;
  std::vector<int64_t> micro_batches, chunks, starts, durations;
  for (const run::PipelineTask& task : tasks) {
    kinds.push_back(kind_word(task.kind));
    micro_batches.push_back(task.micro_batch);
    chunks.push_back(task.chunk);
    starts.push_back(task.start_ns);
    durations.push_back(task.duration_ns);
  }
  json.key("tasks").begin_object();
  column(json, "kind", kinds);
  column(json, "micro_batch", micro_batches);
  column(json, "chunk", chunks);
  microsecond_column(json, "start_us", starts);
  microsecond_column(json, "duration_us", durations);
  json.end_object();
}

void write_kernels(JsonWriter& json, const TimelineRows& rows, const RankRows& rank) {
  if (rank.kernels.empty()) return;
  const auto whole = [&](const char* name, int64_t KernelRow::* member, bool time) {
    std::vector<int64_t> values;
    for (const KernelRow& kernel : rank.kernels) values.push_back(kernel.*member);
    if (time)
      microsecond_column(json, name, values);
    else
      column(json, name, values);
  };
  json.key("kernels").begin_object();
  microsecond_column(json, "window_us", {rows.from_ns, rows.to_ns});
  whole("stream", &KernelRow::stream, false);
  whole("name", &KernelRow::name, false);
  whole("category", &KernelRow::category, false);
  whole("start_us", &KernelRow::start_ns, true);
  whole("duration_us", &KernelRow::duration_ns, true);
  whole("micro_batch", &KernelRow::micro_batch, false);
  whole("layer", &KernelRow::layer, false);
  json.end_object();
}

void write_rank(JsonWriter& json, const RunView& view, const TimelineRows& rows,
                const RankRows& rank) {
  json.begin_object().member("rank", rank.rank).member("stage", rank.stage);
  if (view.simulated && view.job.gpus_per_node > 0)
    json.member("node", rank.rank / view.job.gpus_per_node)
        .member("slot", rank.rank % view.job.gpus_per_node);
  write_tasks(json, rank.tasks);
  write_kernels(json, rows, rank);
  json.end_object();
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
  return text +
         fmt::format("single kernels are those of {} of {}",
                     base::format_seconds(static_cast<double>(rows.to_ns - rows.from_ns) * 1e-9),
                     view.simulated ? fmt::format("a step of {}", base::format_seconds(step_s))
                                    : "the recording");
}

double step_of(const RunView& view, const TimelineRows& rows) {
  if (view.run().performance.step_time_s > 0) return view.run().performance.step_time_s;
  if (view.told.summary.performance) return view.told.summary.performance->step_time_s;
  return static_cast<double>(rows.to_ns) * 1e-9;
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
    std::erase_if(shown, [&](int64_t rank) {
      return std::find(ranks.begin(), ranks.end(), rank) == ranks.end();
    });
  else
    shown = default_ranks(view);
  if (shown.empty()) return;
  TimelineRows rows = timeline_rows(view, shown);
  keep_stretch(rows, kMostKernels);
  const double step_s = step_of(view, rows);
  json.key("timeline").begin_object().member("step_s", step_s);
  column(json, "names", rows.names.texts());
  column(json, "categories", rows.categories.texts());
  column(json, "streams", rows.streams.texts());
  json.key("ranks").begin_array();
  for (const RankRows& rank : rows.ranks) write_rank(json, view, rows, rank);
  json.end_array();
  if (const std::string text = left_out(view, rows, rows.ranks.size(), step_s); !text.empty())
    json.member("left_out", text);
  json.end_object();
}

}  // namespace ergometer::page

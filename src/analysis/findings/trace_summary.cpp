#include "analysis/findings/trace_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/ranks/pipeline.h"
#include "analysis/trace/step_breakdown.h"
#include "analysis/work/kernel_class.h"
#include "base/collection.h"
#include "base/parallel.h"

namespace ergometer::analysis {
namespace {

std::vector<std::string_view> classes_of_names(const run::RankTrace& trace) {
  return base::mapped(trace.names, [&](const std::string& name) {
    return kernel_class(name, run::GpuClass::kCompute);
  });
}

/// What is told of one rank without the others.
struct RankView {
  std::optional<Attribution> attribution;
  RankSummary summary;
  std::vector<PhaseOfEvent> phases;
  RankTaxes taxes;
};

RankView look_at(const run::RankTrace& trace) {
  RankView view;
  const Attribution& attribution = view.attribution.emplace(trace);
  view.summary = {.breakdown = break_down(trace),
                  .idle = idle_causes(trace),
                  .launches = launch_overhead(trace),
                  .steps = step_times(trace),
                  .gpu = trace.gpu,
                  .truncated = trace.truncated};
  view.phases = phases_of(trace, attribution);
  view.taxes = {view.summary.breakdown.span_ns, view.summary.idle, view.summary.launches,
                round_trips(trace, attribution)};
  return view;
}

/// Whether two ranks say that they ran on different GPUs.
bool on_different_gpus(const std::vector<run::RankTrace>& ranks) {
  std::string_view gpu;
  for (const run::RankTrace& rank : ranks) {
    if (!gpu.empty() && !rank.gpu.empty() && rank.gpu != gpu) return true;
    if (!rank.gpu.empty()) gpu = rank.gpu;
  }
  return false;
}

bool is_mute(const run::RankTrace& rank) { return rank.events.empty() && rank.tasks.empty(); }

/// Which ranks have no GPU events: they were not recorded, which does not make their GPUs idle.
void note_mute(const std::vector<run::RankTrace>& ranks, TraceSummary& summary) {
  std::vector<int64_t> mute;
  for (const run::RankTrace& rank : ranks)
    if (is_mute(rank)) mute.push_back(rank.rank);
  if (mute.empty()) return;
  constexpr size_t kShown = 8;
  const std::span shown = std::span(mute).first(std::min(mute.size(), kShown));
  const std::string more =
      mute.size() > kShown ? fmt::format(" and {} more", mute.size() - kShown) : "";
  summary.notes.push_back(
      fmt::format("{} {}{}: no GPU events were recorded; was the profiler told to record CUDA, and "
                  "could it use CUPTI? Left out of the step and of means",
                  mute.size() == 1 ? "rank" : "ranks", fmt::join(shown, ", "), more));
}

/// How many ranks the job has by what its traces say.
int64_t ranks_of_job(const std::vector<run::RankTrace>& ranks) {
  int64_t most = 0;
  for (const run::RankTrace& trace : ranks) {
    most = std::max(most, trace.world_size);
    for (const run::Collective& collective : trace.collectives)
      most = std::max(most, collective.group_size);
  }
  return most;
}

/// A late rank without a trace makes the others' collectives long, which looks like slow links.
void note_missing(const std::vector<run::RankTrace>& ranks, TraceSummary& summary) {
  constexpr size_t kShown = 8;
  std::set<int64_t> there;
  for (const run::RankTrace& trace : ranks) there.insert(trace.rank);
  const int64_t all = ranks_of_job(ranks), count = std::ssize(there);
  if (count < 2 || all <= count || *there.begin() < 0 || *there.rbegin() >= all) return;
  std::vector<int64_t> missing;
  for (int64_t rank = 0; rank < all && missing.size() < kShown; ++rank)
    if (!there.contains(rank)) missing.push_back(rank);
  const int64_t more = all - count - std::ssize(missing);
  summary.notes.push_back(fmt::format(
      "of the job's {} ranks {} {} no trace: {}{}. What others wait for them in collectives looks "
      "like communication",
      all, all - count, all - count == 1 ? "has" : "have", fmt::join(missing, ", "),
      more > 0 ? fmt::format(" and {} more", more) : ""));
}

}  // namespace

TraceSummary summarize(const std::vector<run::RankTrace>& ranks, Beside beside, size_t threads) {
  std::vector<RankView> views(ranks.size());
  base::parallel_for(ranks.size(), threads, [&](size_t i) { views[i] = look_at(ranks[i]); });
  TraceSummary summary;
  std::vector<Attribution> attributions;
  std::vector<RankTaxes> taxes;
  for (size_t i = 0; i < ranks.size(); ++i) {
    RankView& view = views[i];
    attributions.push_back(std::move(*view.attribution));
    add_phases(ranks[i], std::exchange(view.phases, {}), summary.phases);
    summary.ranks.push_back(std::move(view.summary));
    taxes.push_back(std::move(view.taxes));
  }
  summary.kernels = kernel_table(ranks);
  summary.classes = class_table(summary.kernels);
  summary.shapes = shape_table(ranks, attributions);
  summary.peak = std::move(beside.peak);
  summary.collectives = collective_table(ranks);
  summary.arrivals = arrival_table(ranks);
  summary.taxes = add_up(taxes, summary.arrivals);
  summary.energy = std::move(beside.energy);
  summary.different_gpus = on_different_gpus(ranks);
  if (!summary.different_gpus) summary.performance = step_breakdown(ranks);
  note_mute(ranks, summary);
  if (std::string twice = note_of_twice(ranks); !twice.empty())
    summary.notes.push_back(std::move(twice));
  note_missing(ranks, summary);
  summary.findings = find(summary);
  return summary;
}

run::Run make_run(std::vector<run::RankTrace> traces, std::vector<run::Dropped> dropped,
                  std::vector<run::WorkGraph> graphs) {
  run::Run run;
  run.source = "imported";
  if (const auto performance = step_breakdown(traces)) run.performance = *performance;
  if (const auto pipeline = pipeline_report(traces)) {
    if (run.performance.step_time_s == 0) run.performance.step_time_s = pipeline->step_s;
    run.performance.pipeline_bubble_fraction = pipeline->bubble_fraction;
  }
  for (const run::RankTrace& trace : traces) {
    const std::vector<std::string_view> classes = classes_of_names(trace);
    for (const run::GpuEvent& event : trace.events) {
      run::Kernel kernel;
      kernel.rank = trace.rank;
      kernel.stream = event.stream;
      kernel.name = trace.names[event.name];
      kernel.category = event.kind == run::GpuClass::kCompute
                            ? classes[event.name]
                            : kernel_class(kernel.name, event.kind);
      kernel.start_ns = event.start_ns;
      kernel.duration_ns = event.duration_ns;
      run.kernels.push_back(std::move(kernel));
    }
  }
  run.traces = std::move(traces);
  run.graphs = std::move(graphs);
  run.dropped = std::move(dropped);
  return run;
}

std::string note_of_twice(const std::vector<run::RankTrace>& ranks) {
  std::map<int64_t, const run::RankTrace*> first;
  for (const run::RankTrace& trace : ranks) {
    const auto [at, is_first] = first.emplace(trace.rank, &trace);
    if (!is_first)
      return fmt::format(
          "rank {} is there more than once ({}, {}): means are of all traces, and collectives of "
          "ranks are not brought together; analyze those of one time alone, or compare",
          trace.rank, at->second->file, trace.file);
  }
  return "";
}

double marked_steps(const TraceSummary& summary) {
  return base::largest(summary.ranks, 0.0, [](const RankSummary& it) { return it.steps.count; });
}

}  // namespace ergometer::analysis

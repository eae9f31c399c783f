#include "page/timeline_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/work/kernel_class.h"
#include "report/timeline/trace.h"

namespace ergometer::page {
namespace {

/// Clocks of ranks that are further apart than this tell nothing of each other.
constexpr int64_t kSameClock = 60'000'000'000;

void sort_by_time(std::vector<KernelRow>& kernels) {
  std::ranges::stable_sort(kernels, {}, &KernelRow::start_ns);
}

// --- simulated

void add_tasks(const RunView& view, RankRows& rank) {
  for (const run::RankTasks& tasks : view.run().tasks)
    if (tasks.rank == rank.rank) rank.tasks = tasks.tasks;
  if (!rank.tasks.empty()) return;
  for (const run::RankTrace& trace : view.traces)
    if (trace.rank == rank.rank) rank.tasks = trace.tasks;
}

TimelineRows simulated_rows(const RunView& view, const std::vector<int64_t>& ranks) {
  TimelineRows rows;
  const run::Run& run = view.run();
  const int64_t stage_ranks = std::max<int64_t>(view.job.stage_ranks(), 1);
  rows.whole = run.kernels_to_ns <= 0;
  rows.windows = run.kernel_windows;
  if (rows.whole)
    rows.windows = {{0, std::llround(run.performance.step_time_s * 1e9)}};
  else if (rows.windows.empty())
    rows.windows = {{run.kernels_from_ns, run.kernels_to_ns}};
  std::map<int64_t, size_t> places;
  for (const int64_t rank : ranks) {
    places[rank] = rows.ranks.size();
    rows.ranks.push_back({.rank = rank, .stage = rank / stage_ranks, .tasks = {}, .kernels = {}});
    add_tasks(view, rows.ranks.back());
  }
  for (const run::Kernel& kernel : run.kernels) {
    const auto place = places.find(kernel.rank);
    if (place == places.end()) continue;
    rows.ranks[place->second].kernels.push_back(
        {.stream = rows.streams.number(report::stream_name(kernel.stream)),
         .name = rows.names.number(kernel.name),
         .category = rows.categories.number(kernel.category),
         .start_ns = kernel.start_ns,
         .duration_ns = kernel.duration_ns,
         .micro_batch = kernel.micro_batch,
         .layer = kernel.layer});
  }
  for (RankRows& rank : rows.ranks) sort_by_time(rank.kernels);
  return rows;
}

// --- recorded

/// The first and last time of a trace; of no events those of its tasks.
struct Span {
  int64_t from_ns = INT64_MAX, to_ns = INT64_MIN;
  void add(int64_t start_ns, int64_t duration_ns) {
    from_ns = std::min(from_ns, start_ns);
    to_ns = std::max(to_ns, start_ns + duration_ns);
  }
};

/// A step in the middle of those that are marked; the first ones warm up.
Span span_of(const run::RankTrace& trace) {
  Span span;
  if (!trace.steps.empty()) {
    const run::StepMark& step = trace.steps[trace.steps.size() / 2];
    span.add(step.start_ns, step.end_ns - step.start_ns);
    return span;
  }
  for (const run::GpuEvent& event : trace.events) span.add(event.start_ns, event.duration_ns);
  if (trace.events.empty())
    for (const run::PipelineTask& task : trace.tasks) span.add(task.start_ns, task.duration_ns);
  return span;
}

void add_trace(const run::RankTrace& trace, const Span& span, int64_t zero_ns, TimelineRows& rows) {
  RankRows rank{
      .rank = trace.rank, .stage = std::max<int64_t>(trace.stage, 0), .tasks = {}, .kernels = {}};
  const auto within = [&](int64_t start_ns) {
    return start_ns >= span.from_ns && start_ns <= span.to_ns;
  };
  for (run::PipelineTask task : trace.tasks) {
    if (!within(task.start_ns)) continue;
    task.start_ns -= zero_ns;
    rank.tasks.push_back(task);
  }
  std::vector<int64_t> names(trace.names.size(), -1), categories(trace.names.size(), -1);
  for (const run::GpuEvent& event : trace.events) {
    if (!within(event.start_ns)) continue;
    int64_t& name = names[event.name];
    int64_t& category = categories[event.name];
    if (name < 0) {
      name = rows.names.number(trace.names[event.name]);
      category =
          rows.categories.number(analysis::kernel_class(trace.names[event.name], event.kind));
    }
    rank.kernels.push_back({.stream = rows.streams.number(fmt::format("stream {}", event.stream)),
                            .name = name,
                            .category = category,
                            .start_ns = event.start_ns - zero_ns,
                            .duration_ns = event.duration_ns});
  }
  sort_by_time(rank.kernels);
  rows.ranks.push_back(std::move(rank));
}

TimelineRows recorded_rows(const RunView& view, const std::vector<int64_t>& ranks) {
  TimelineRows rows;
  std::vector<const run::RankTrace*> traces;
  std::vector<Span> spans;
  int64_t earliest = INT64_MAX, latest = INT64_MIN;
  for (const int64_t rank : ranks) {
    const auto trace = std::ranges::find(view.traces, rank, &run::RankTrace::rank);
    // Tasks may be known of a rank whose trace is not there.
    if (trace == view.traces.end()) continue;
    const Span span = span_of(*trace);
    if (span.from_ns > span.to_ns) continue;
    traces.push_back(&*trace);
    spans.push_back(span);
    earliest = std::min(earliest, span.from_ns + trace->base_time_ns);
    latest = std::max(latest, span.from_ns + trace->base_time_ns);
    rows.whole = rows.whole && trace->steps.size() <= 1;
  }
  if (traces.empty()) return rows;
  int64_t to_ns = 0;
  const bool one_clock = latest - earliest <= kSameClock;
  for (size_t i = 0; i < traces.size(); ++i) {
    const int64_t zero_ns = one_clock ? earliest - traces[i]->base_time_ns : spans[i].from_ns;
    add_trace(*traces[i], spans[i], zero_ns, rows);
    to_ns = std::max(to_ns, spans[i].to_ns - zero_ns);
  }
  rows.windows = {{0, to_ns}};
  return rows;
}

using run::StepWindow;

bool within(const KernelRow& kernel, const std::vector<StepWindow>& windows) {
  return std::ranges::any_of(windows, [&](const StepWindow& window) {
    return kernel.start_ns < window.to_ns && kernel.start_ns + kernel.duration_ns > window.from_ns;
  });
}

size_t count_within(const TimelineRows& rows, const std::vector<StepWindow>& windows) {
  size_t count = 0;
  for (const RankRows& rank : rows.ranks)
    count += static_cast<size_t>(std::ranges::count_if(
        rank.kernels, [&](const KernelRow& kernel) { return within(kernel, windows); }));
  return count;
}

constexpr int64_t kParts = 1 << 16;

/// Each window, `parts` of `kParts` as long: the first from its start, the last up to its end,
/// those between around their middle.
std::vector<StepWindow> shortened(std::vector<StepWindow> windows, int64_t parts) {
  for (size_t i = 0; i < windows.size(); ++i) {
    StepWindow& window = windows[i];
    const int64_t length = window.to_ns - window.from_ns;
    const auto left = static_cast<int64_t>(
        static_cast<double>(length) / static_cast<double>(kParts) * static_cast<double>(parts));
    if (i > 0) window.from_ns += (length - left) / (i + 1 < windows.size() ? 2 : 1);
    window.to_ns = window.from_ns + left;
  }
  return windows;
}

}  // namespace

int64_t TextTable::number(std::string_view text) {
  if (const auto found = numbers_.find(text); found != numbers_.end()) return found->second;
  const auto number = static_cast<int64_t>(texts_.size());
  texts_.emplace_back(text);
  numbers_.emplace(text, number);
  return number;
}

TimelineRows timeline_rows(const RunView& view, const std::vector<int64_t>& ranks) {
  return view.simulated ? simulated_rows(view, ranks) : recorded_rows(view, ranks);
}

void keep_windows(TimelineRows& rows, size_t most) {
  if (count_within(rows, rows.windows) <= most) return;
  if (rows.windows.size() == 1) {
    // Warm-up and cool-down of the pipeline stand beside the steady state.
    const auto [from, to] = rows.windows.front();
    const int64_t quarter = (to - from) / 4;
    rows.windows = {{from, from + quarter}, {from + quarter, to - quarter}, {to - quarter, to}};
  }
  int64_t low = 0, high = kParts;
  while (low < high) {
    const int64_t middle = low + (high - low + 1) / 2;
    if (count_within(rows, shortened(rows.windows, middle)) <= most)
      low = middle;
    else
      high = middle - 1;
  }
  rows.windows = shortened(rows.windows, low);
  rows.whole = false;
  for (RankRows& rank : rows.ranks)
    std::erase_if(rank.kernels,
                  [&](const KernelRow& kernel) { return !within(kernel, rows.windows); });
}

}  // namespace ergometer::page

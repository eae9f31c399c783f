#include "engine/views/kernel_window.h"

#include <algorithm>
#include <cmath>

#include "base/collection.h"

namespace ergometer::engine {
namespace {

using Kind = run::PipelineTask::Kind;
using run::StepWindow;

/// The passes of the middle micro batch on the last rank that has tasks.
StepWindow middle_micro_batch(const run::Run& run) {
  StepWindow window{INT64_MAX, INT64_MIN};
  if (run.tasks.empty()) return window;
  const std::vector<run::PipelineTask>& tasks = run.tasks.back().tasks;
  const int64_t last = base::largest(tasks, int64_t{-1}, &run::PipelineTask::micro_batch);
  for (const run::PipelineTask& task : tasks) {
    if (task.micro_batch != last / 2 || task.beside || task.kind == Kind::kWait) continue;
    window.from_ns = std::min(window.from_ns, task.start_ns);
    window.to_ns = std::max(window.to_ns, task.start_ns + task.duration_ns);
  }
  return window;
}

bool within(const run::Kernel& kernel, const StepWindow& window) {
  return kernel.start_ns < window.to_ns && kernel.start_ns + kernel.duration_ns > window.from_ns;
}

size_t count(const run::Run& run, const StepWindow& window) {
  return static_cast<size_t>(std::ranges::count_if(
      run.kernels, [&](const run::Kernel& kernel) { return within(kernel, window); }));
}

/// The longest of the windows `of(0)` to `of(longest_ns)` with `most` kernels at most.
template <class Of>
StepWindow largest(const run::Run& run, size_t most, int64_t longest_ns, Of of) {
  int64_t low = 1, high = std::max<int64_t>(longest_ns, 1);
  while (low < high) {
    const int64_t length = low + (high - low + 1) / 2;
    if (count(run, of(length)) <= most)
      low = length;
    else
      high = length - 1;
  }
  return of(low);
}

/// The three in order; those that meet are one.
std::vector<StepWindow> joined(std::vector<StepWindow> windows) {
  std::ranges::sort(windows, [](const auto& a, const auto& b) { return a.from_ns < b.from_ns; });
  std::vector<StepWindow> apart;
  for (const StepWindow& window : windows) {
    if (!apart.empty() && window.from_ns <= apart.back().to_ns)
      apart.back().to_ns = std::max(apart.back().to_ns, window.to_ns);
    else
      apart.push_back(window);
  }
  return apart;
}

}  // namespace

void keep_windows(run::Run& run, size_t most) {
  if (run.kernels.size() <= most) return;
  const int64_t step_ns = std::llround(run.performance.step_time_s * 1e9);
  StepWindow passes = middle_micro_batch(run);
  if (passes.from_ns >= passes.to_ns) passes = {0, step_ns};
  // A neighbour on either side shows the order of passes; less, if that is too much.
  const int64_t pass_ns = passes.to_ns - passes.from_ns, middle_ns = passes.from_ns + pass_ns / 2;
  const StepWindow start =
      largest(run, most / 4, step_ns / 2, [](int64_t length) { return StepWindow{0, length}; });
  const StepWindow end = largest(run, most / 4, step_ns / 2, [&](int64_t length) {
    return StepWindow{step_ns - length, step_ns};
  });
  const size_t left = most - std::min(most, count(run, start) + count(run, end));
  const StepWindow steady = largest(run, left, 3 * (pass_ns / 2), [&](int64_t half) {
    return StepWindow{std::max<int64_t>(middle_ns - half, 0), middle_ns + half};
  });
  run.kernel_windows = joined({start, steady, end});
  std::erase_if(run.kernels, [&](const run::Kernel& kernel) {
    return std::ranges::none_of(run.kernel_windows,
                                [&](const StepWindow& window) { return within(kernel, window); });
  });
  run.kernels_from_ns = steady.from_ns;
  run.kernels_to_ns = steady.to_ns;
}

}  // namespace ergometer::engine

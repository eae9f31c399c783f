#include "engine/kernel_window.h"

#include <algorithm>

namespace ergometer::engine {
namespace {

using Kind = run::PipelineTask::Kind;

struct Window {
  int64_t from_ns = INT64_MAX, to_ns = INT64_MIN;
};

/// The passes of the middle micro batch on the last rank that has tasks.
Window middle_micro_batch(const run::Run& run) {
  Window window;
  if (run.tasks.empty()) return window;
  const std::vector<run::PipelineTask>& tasks = run.tasks.back().tasks;
  int64_t last = -1;
  for (const run::PipelineTask& task : tasks) last = std::max(last, task.micro_batch);
  for (const run::PipelineTask& task : tasks) {
    if (task.micro_batch != last / 2 || task.kind == Kind::kSend || task.kind == Kind::kReceive)
      continue;
    window.from_ns = std::min(window.from_ns, task.start_ns);
    window.to_ns = std::max(window.to_ns, task.start_ns + task.duration_ns);
  }
  return window;
}

bool within(const run::Kernel& kernel, const Window& window) {
  return kernel.start_ns >= window.from_ns && kernel.start_ns < window.to_ns;
}

size_t count(const run::Run& run, const Window& window) {
  return static_cast<size_t>(
      std::count_if(run.kernels.begin(), run.kernels.end(),
                    [&](const run::Kernel& kernel) { return within(kernel, window); }));
}

/// `half_ns` to either side of the middle.
Window around(int64_t middle_ns, int64_t half_ns) {
  return {std::max<int64_t>(middle_ns - half_ns, 0), middle_ns + half_ns};
}

}  // namespace

void keep_window(run::Run& run, size_t most) {
  if (run.kernels.size() <= most) return;
  Window window = middle_micro_batch(run);
  if (window.from_ns >= window.to_ns) window = {0, INT64_MAX / 2};
  const int64_t middle_ns = window.from_ns + (window.to_ns - window.from_ns) / 2;
  // A neighbour on either side shows the order of passes; less, if that is too much.
  int64_t low = 0, high = 3 * ((window.to_ns - window.from_ns) / 2);
  while (low < high) {
    const int64_t half = low + (high - low + 1) / 2;
    if (count(run, around(middle_ns, half)) <= most)
      low = half;
    else
      high = half - 1;
  }
  window = around(middle_ns, std::max<int64_t>(low, 1));
  std::erase_if(run.kernels, [&](const run::Kernel& kernel) { return !within(kernel, window); });
  run.kernels_from_ns = window.from_ns;
  run.kernels_to_ns = window.to_ns;
}

}  // namespace ergometer::engine

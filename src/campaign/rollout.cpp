#include "campaign/rollout.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace ergometer::campaign {
namespace {

/// Between two samples' ends.
struct Between {
  int64_t steps = 0, active = 0;
  double context = 0;  ///< mean over samples and steps
};

std::vector<Between> between_ends(std::span<const int64_t> lengths, int64_t slots, double prompt) {
  std::vector<Between> result;
  using Running = std::pair<int64_t, int64_t>;  // when it ends, when it began
  std::priority_queue<Running, std::vector<Running>, std::greater<>> running;
  size_t next = 0;
  int64_t now = 0, begun = 0;  // `begun`: sum over those that run
  const auto fill = [&] {
    for (; next < lengths.size() && std::ssize(running) < slots; ++next, begun += now)
      running.emplace(now + lengths[next], now);
  };
  for (fill(); !running.empty(); fill()) {
    const int64_t end = running.top().first, active = std::ssize(running);
    const double middle = static_cast<double>(now + end) / 2;
    const double age = middle - static_cast<double>(begun) / static_cast<double>(active);
    if (end > now) result.push_back({end - now, active, prompt + age});
    now = end;
    for (; !running.empty() && running.top().first == now; running.pop())
      begun -= running.top().second;
  }
  return result;
}

int64_t steps_of(const std::vector<Between>& all) {
  int64_t steps = 0;
  for (const Between& one : all) steps += one.steps;
  return steps;
}

}  // namespace

std::vector<DecodeStretch> decode_stretches(std::span<const int64_t> lengths, int64_t slots,
                                            double prompt) {
  constexpr int64_t kStretches = 8;
  const std::vector<Between> all = between_ends(lengths, slots, prompt);
  const int64_t most_steps = steps_of(all) / kStretches + 1;
  std::vector<DecodeStretch> result;
  int64_t begun_with = 0, most = 0;
  for (const Between& one : all) most = std::max(most, one.active);
  double tokens = 0, context = 0;  // of the last stretch, the context by tokens
  const auto close = [&] {
    if (result.empty()) return;
    result.back().active = tokens / static_cast<double>(result.back().steps);
    result.back().context = context / tokens;
    tokens = context = 0;
  };
  for (const Between& one : all) {
    const bool tail = 2 * one.active < most;
    if (result.empty() || tail != result.back().tail || 2 * one.active < begun_with ||
        result.back().steps >= most_steps) {
      close();
      result.push_back({.tail = tail});
      begun_with = one.active;
    }
    const auto here = static_cast<double>(one.steps * one.active);
    result.back().steps += one.steps;
    tokens += here;
    context += here * one.context;
  }
  close();
  return result;
}

int64_t decode_steps(std::span<const int64_t> lengths, int64_t slots) {
  return steps_of(between_ends(lengths, slots, 0));
}

}  // namespace ergometer::campaign

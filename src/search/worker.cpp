#include "search/worker.h"

#include <algorithm>
#include <array>
#include <optional>

namespace ergometer::search {
namespace {

/// A bound and an estimate add the same terms in different orders.
constexpr double kRounding = 1e-9;

}  // namespace

void Worker::visit(const Layout& layout, int64_t number) {
  const Options choices = space_.options(layout, legal_);
  candidates += choices.candidates();
  if (choices.candidates() == 0) return;
  if (const auto priced = estimator_.set_layout(layout); !priced) {
    unpriced = priced.error().message;
    return;
  }
  gpus_ = space_.base_of(layout).megatron.gpus;
  next_ = number * kOptionsOfALayout;
  for (const Overlap& overlap : choices.overlaps)
    for (size_t first = 0; first < choices.recomputations.size(); first += kLanes) {
      const size_t count = std::min<size_t>(kLanes, choices.recomputations.size() - first);
      const auto recomputations = std::span(choices.recomputations).subspan(first, count);
      estimator_.set_passes(overlap, recomputations);
      for (size_t i = 0; i < count; ++i)
        visit_pass(i, {layout, recomputations[i], overlap, {}}, choices.data);
    }
}

void Worker::visit_pass(size_t pass, const Candidate& candidate,
                        const std::vector<DataOption>& data) {
  std::array<std::optional<LeastCost>, kShardings> least;
  for (const DataOption& option : data) {
    Found found{candidate, {}, gpus_, next_++};
    if (!estimator_.fits(pass, option)) continue;
    ++feasible;
    found.candidate.data = option;
    if (options_.prune) {
      auto& bound = least[static_cast<size_t>(option.sharding)];
      if (!bound) bound = estimator_.least(pass, option.sharding);
      found.estimate = {.step_s = bound->step_s * (1 - kRounding),
                        .energy_j = bound->energy_j * (1 - kRounding),
                        .memory_bytes = estimator_.memory_bytes(pass, option)};
      if (kept.hopeless(found)) continue;
    }
    ++estimated;
    found.estimate = estimator_.estimate(pass, option);
    kept.offer(found);
  }
}

}  // namespace ergometer::search

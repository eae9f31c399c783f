#include "search/worker.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/check.h"

namespace ergometer::search {
namespace {

/// A bound and an estimate add the same terms in different orders.
constexpr double kBoundRounding = 1e-9;

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
  // What is played alike goes together.
  for (const bool expert : {false, true})
    for (const bool pipeline : {false, true}) {
      variants_.clear();
      fitting_.clear();
      int64_t next = number * kOptionsOfALayout;
      for (const Overlap& overlap : choices.overlaps) {
        if (overlap.expert == expert && overlap.pipeline == pipeline)
          find_fitting(layout, overlap, choices, next);
        next += static_cast<int64_t>(choices.recomputations.size() * choices.data.size());
      }
      estimator_.set_passes(variants_);
      for (size_t i = 0; i < fitting_.size(); ++i)
        visit_pass(i, {layout, variants_[i].recomputation, variants_[i].overlap, {}}, fitting_[i],
                   choices.data);
    }
}

/// What does not fit is told by its memory alone.
void Worker::find_fitting(const Layout& layout, const Overlap& overlap, const Options& choices,
                          int64_t number) {
  ERGOMETER_CHECK(choices.data.size() <= 32, "a bit for each data option");
  for (const Recomputation& recomputation : choices.recomputations) {
    Fitting found{0, number};
    for (size_t d = 0; d < choices.data.size(); ++d)
      if (estimator_.fits(overlap, recomputation, choices.data[d])) found.data |= 1u << d;
    if (found.data == 0 && feasible == 0)
      for (size_t d = 0; d < choices.data.size(); ++d) {
        const DataOption& data = choices.data[d];
        take_nearer(NearestMiss{{layout, recomputation, overlap, data},
                                estimator_.needed_bytes(overlap, recomputation, data),
                                estimator_.capacity_bytes(),
                                number + static_cast<int64_t>(d)},
                    nearest);
      }
    if (found.data != 0) {
      variants_.push_back({overlap, recomputation});
      fitting_.push_back(found);
    }
    number += static_cast<int64_t>(choices.data.size());
  }
}

void Worker::visit_pass(size_t pass, const Candidate& candidate, const Fitting& fitting,
                        const std::vector<DataOption>& data) {
  std::array<std::optional<LeastCost>, kShardings> least;
  for (size_t d = 0; d < data.size(); ++d) {
    if ((fitting.data >> d & 1u) == 0) continue;
    const DataOption& option = data[d];
    Found found{candidate, {}, gpus_, fitting.number + static_cast<int64_t>(d)};
    ++feasible;
    found.candidate.data = option;
    if (options_.prune) {
      auto& bound = least[static_cast<size_t>(option.sharding)];
      if (!bound) bound = estimator_.least(pass, option.sharding);
      found.estimate = {.step_s = bound->step_s * (1 - kBoundRounding),
                        .energy_j = bound->energy_j * (1 - kBoundRounding),
                        .memory_bytes = estimator_.memory_bytes(pass, option)};
      if (kept.hopeless(found)) continue;
    }
    ++estimated;
    found.estimate = estimator_.estimate(pass, option);
    kept.offer(found);
  }
}

}  // namespace ergometer::search

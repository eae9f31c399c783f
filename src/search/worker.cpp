#include "search/worker.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "base/check.h"

namespace ergometer::search {
namespace {

/// A bound and an estimate add the same terms in different orders.
constexpr double kBoundRounding = 1e-9;

}  // namespace

void Worker::visit(const Layout& layout, int64_t number) {
  const auto place = static_cast<size_t>(number);
  if (options_.known != nullptr && place < options_.known->layouts.size()) {
    const Known::OfLayout& known = options_.known->layouts[place];
    if (is_hopeless(known)) return;
    if (fits_as_before(layout, known)) return offer_known(number);
  }
  const Options choices = space_.options(layout, legal_);
  candidates += choices.candidates();
  if (choices.candidates() == 0) return;
  if (const auto priced = estimator_.set_layout(layout); !priced) {
    unpriced = priced.error().message;
    return;
  }
  gpus_ = space_.base_of(layout).megatron.gpus;
  constexpr double kNone = std::numeric_limits<double>::infinity();
  found_out_here_ = {kNone, kNone};
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
  // Of blocks whose groups leave the domain the network decides.
  if (!options_.prune || !estimator_.blocks_stay_in_domain()) found_out_here_.least_s = 0;
  found_out_[place] = found_out_here_;
}

/// The network is another one, and what does not use it is too slow by itself.
bool Worker::is_hopeless(const Known::OfLayout& known) const {
  if (options_.differs != Differs::kNetwork) return false;
  Found least;
  least.estimate.step_s = known.least_s * (1 - kBoundRounding);
  return kept.hopeless(least);
}

/// There is more memory, and no more fits: what did is estimated as it was, unless the software
/// waits where memory runs out.
bool Worker::fits_as_before(const Layout& layout, const Known::OfLayout& known) const {
  constexpr double kSumRounding = 1e-6;  // of a small part of a GPU's memory
  if (options_.differs != Differs::kMemory) return false;
  if (space_.base_of(layout).megatron.software.parameters.has("allocator.rate")) return false;
  return known.more_bytes > options_.more_bytes * (1 + kSumRounding);
}

void Worker::offer_known(int64_t number) {
  const std::vector<Found>& known = options_.known->kept;
  const auto before = [](const Found& found, int64_t first) { return found.number < first; };
  for (auto found =
           std::lower_bound(known.begin(), known.end(), number * kOptionsOfALayout, before);
       found != known.end() && found->number < (number + 1) * kOptionsOfALayout; ++found) {
    ++feasible;
    kept.offer(*found);
  }
}

/// What does not fit is told by its memory alone.
void Worker::find_fitting(const Layout& layout, const Overlap& overlap, const Options& choices,
                          int64_t number) {
  ERGOMETER_CHECK(choices.data.size() <= 32, "a bit for each data option");
  for (const Recomputation& recomputation : choices.recomputations) {
    Fitting found{0, number};
    for (size_t d = 0; d < choices.data.size(); ++d) {
      const DataOption& data = choices.data[d];
      if (estimator_.fits(overlap, recomputation, data)) {
        found.data |= 1u << d;
        continue;
      }
      double& next = found_out_here_.more_bytes;
      next = std::min(next, estimator_.needed_bytes(overlap, recomputation, data) -
                                estimator_.capacity_bytes());
    }
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
      found_out_here_.least_s = std::min(found_out_here_.least_s, bound->blocks_s);
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

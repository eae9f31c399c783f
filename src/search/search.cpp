#include "search/search.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/outcome/powered.h"
#include "search/estimates.h"
#include "search/search_unlike.h"

namespace ergometer::search {
namespace {

bool is_of_power(Objective objective) {
  return objective == Objective::kEnergy || objective == Objective::kEnergyDelay ||
         objective == Objective::kTokensPerJoule;
}

}  // namespace

bool Limits::any() const {
  return std::ranges::any_of(most, [](double limit) { return limit > 0; });
}

bool Limits::allow(double step_s, double gpu_w, double gpu_c) const {
  const std::array<double, kLimits> values = {step_s, gpu_w, gpu_c};
  for (size_t i = 0; i < kLimits; ++i)
    if (most[i] > 0 && values[i] > most[i]) return false;
  return true;
}

std::array<double, kLimits> Limits::of(const run::Run& run) {
  return {run.performance.step_time_s, run.power.mean_w_per_gpu, run.thermal.max_gpu_c};
}

void take_nearer(const std::optional<NearestMiss>& other, std::optional<NearestMiss>& nearest) {
  if (!other) return;
  if (!nearest || other->needed < nearest->needed ||
      (other->needed == nearest->needed && other->number < nearest->number))
    nearest = other;
}

bool SearchOptions::needs_power() const {
  return limits.most[1] > 0 || limits.most[2] > 0 || is_of_power(objective);
}

Result<void> check_power(const Space& space, const SearchOptions& options) {
  const bool front = std::ranges::any_of(options.pareto, is_of_power);
  if (!front && !options.needs_power()) return {};
  for (const Space::Base& base : space.bases()) {
    const spec::Job& job = base.megatron;
    if (!job.conditions.constant_clocks && engine::has_power_data(job)) continue;
    const std::string why = job.conditions.constant_clocks
                                ? "clocks are asked to be constant"
                                : fmt::format("the catalog does not know enough of {} in {}",
                                              job.cluster.node.gpu.name, job.cluster.node.name);
    return input_error(
        "search: objectives and limits of energy, power and temperature need a model of "
        "power, and {}",
        why);
  }
  return {};
}

Result<SearchResult> search(const Space& space, const SearchOptions& options) {
  ERGOMETER_TRY(check_power(space, options));
  if (space.has_unlike_nodes()) return search_unlike(space, options);
  ERGOMETER_ASSIGN(const Estimates whole, estimate(space, options, {}, *spread::thread_crew()));
  return answer(space, options, whole);
}

}  // namespace ergometer::search

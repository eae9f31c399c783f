#include "engine/governed_step.h"

#include <algorithm>
#include <cmath>

namespace ergometer::engine {

using physics::ClockDecision;
using physics::Load;
using physics::Response;

double slowdown(double clocked_share, double reference_hz, double clock_hz, double highest_hz) {
  const double slow_hz = kSlowMemoryClock * highest_hz;
  const double rest = std::max(1.0, slow_hz / clock_hz) / std::max(1.0, slow_hz / reference_hz);
  return clocked_share * reference_hz / clock_hz + (1 - clocked_share) * rest;
}

Load GovernedStep::load(size_t gpu, size_t slice, double slice_s) const {
  if (!has_rank(gpu)) return {.core_w = 0, .memory_w = 0, .link_w = 0, .awake = false};
  return physics::load_of(activity_.roles[role_of(gpu)].slices[slice], slice_s);
}

double GovernedStep::clocked_share(size_t gpu, size_t slice) const {
  return std::min(1.0, activity_.roles[role_of(gpu)].clocked_s[slice] / activity_.slice_s());
}

ClockDecision GovernedStep::decide(size_t gpu, size_t slice, double slice_s,
                                   const Response& response,
                                   const Surroundings& surroundings) const {
  if (!has_rank(gpu))
    return {.clock_hz = fleet_.kind.clocks.lowest_hz, .reasons = physics::kGpuIdle};
  ClockDecision decision = physics::decide_clock(
      fleet_.kind, fleet_.silicon[gpu], fleet_.limits[gpu], surroundings.die_c[gpu],
      load(gpu, slice, slice_s), response, surroundings.ceiling_hz[gpu]);
  decision.clock_hz *= fleet_.speed[gpu];
  return decision;
}

void GovernedStep::at_length(double step_s, const Surroundings& surroundings,
                             FleetStep& step) const {
  step.slice_s.assign(static_cast<size_t>(activity_.slices), step_s / activity_.slices);
  step.step_s = step_s;
  fill(surroundings, step);
}

void GovernedStep::find_pace(double reference_hz, const Surroundings& surroundings,
                             FleetStep& step) const {
  const auto slices = static_cast<size_t>(activity_.slices);
  step.slice_s.assign(slices, activity_.slice_s());
  for (size_t slice = 0; slice < slices; ++slice) {
    double longest = 0;
    for (size_t gpu = 0; gpu < fleet_.role.size(); ++gpu) {
      if (!has_rank(gpu)) continue;
      const double share = clocked_share(gpu, slice);
      if (share <= 0) continue;  // it waits whatever its clock
      const Response response{.clocked_share = share, .at_hz = reference_hz};
      const double clock_hz =
          decide(gpu, slice, activity_.slice_s(), response, surroundings).clock_hz;
      longest =
          std::max(longest, slowdown(share, reference_hz, clock_hz, fleet_.kind.clocks.highest_hz));
    }
    if (longest > 0) step.slice_s[slice] *= longest;
  }
}

void GovernedStep::at_pace(double reference_hz, const Surroundings& surroundings,
                           FleetStep& step) const {
  find_pace(reference_hz, surroundings, step);
  step.step_s = 0;
  for (const double s : step.slice_s) step.step_s += s;
  fill(surroundings, step);
}

void GovernedStep::fill(const Surroundings& surroundings, FleetStep& step) const {
  step.gpus.resize(static_cast<size_t>(fleet_.gpus()));
  for (size_t gpu = 0; gpu < step.gpus.size(); ++gpu) fill_gpu(gpu, surroundings, step);
}

void GovernedStep::fill_gpu(size_t gpu, const Surroundings& surroundings, FleetStep& step) const {
  GpuStep sum;
  double work_s = 0, stretched_s = 0;
  const physics::Silicon& silicon = fleet_.silicon[gpu];
  for (size_t slice = 0; slice < step.slice_s.size(); ++slice) {
    const double slice_s = step.slice_s[slice];
    const double share = slice_s / step.step_s;
    const ClockDecision decision = decide(gpu, slice, slice_s, {}, surroundings);
    const Load now = load(gpu, slice, slice_s);
    const double watts =
        fleet_.kind.power_w(decision.clock_hz, surroundings.die_c[gpu], now, silicon);
    const double v = fleet_.kind.relative_voltage(decision.clock_hz, silicon);
    sum.mean_w += share * watts;
    sum.peak_w = std::max(sum.peak_w, watts);
    sum.memory_w += share * fleet_.kind.memory_heat_w(now);
    sum.core_w += share * now.core_w * v * v;
    if (now.awake)
      sum.active_w +=
          share * fleet_.kind.active_w * v * v * decision.clock_hz / fleet_.kind.clocks.highest_hz;
    sum.clock_hz += share * decision.clock_hz;
    if (!has_rank(gpu)) continue;
    const double clocked_s = activity_.roles[role_of(gpu)].clocked_s[slice];
    work_s += clocked_s;
    stretched_s += clocked_s / decision.clock_hz;
  }
  sum.effective_hz = stretched_s > 0 ? work_s / stretched_s : sum.clock_hz;
  step.gpus[gpu] = sum;
}

}  // namespace ergometer::engine

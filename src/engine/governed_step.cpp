#include "engine/governed_step.h"

#include <algorithm>
#include <cmath>

namespace ergometer::engine {
namespace {

using physics::ClockDecision;
using physics::Energy;
using physics::Load;
using physics::Response;

/// By coarse slice, the fine slices side by side that take most for the length of a peak, as energy
/// over the coarse slice.
std::vector<Energy> busiest_parts(const RoleActivity& fine, size_t coarse_slices, double fine_s) {
  const size_t factor = fine.slices.size() / coarse_slices;
  const auto wanted = static_cast<size_t>(std::max(1.0, std::ceil(kPeakS / fine_s)));
  const size_t length = std::min(factor, wanted);
  std::vector<Energy> result(coarse_slices);
  for (size_t slice = 0; slice < coarse_slices; ++slice)
    for (size_t first = slice * factor; first + length <= (slice + 1) * factor; first += length) {
      Energy sum;
      for (size_t i = first; i < first + length; ++i) sum += fine.slices[i];
      const double scale = static_cast<double>(factor) / static_cast<double>(length);
      if (scale * sum.total_j() > result[slice].total_j()) result[slice] = scale * sum;
    }
  return result;
}

}  // namespace

GovernedStep::GovernedStep(const Fleet& fleet, const StepActivity& activity,
                           const StepActivity& fine)
    : fleet_(fleet),
      activity_(activity),
      fine_(fine),
      knee_hz_(fleet.kind.clocks.floor(fleet.kind.voltage.knee_hz)) {
  const auto slices = static_cast<size_t>(activity.slices);
  for (size_t role = 0; role < activity.roles.size(); ++role)
    busiest_.push_back(busiest_parts(fine.roles[role], slices, fine.slice_s()));
}

Load GovernedStep::load(size_t gpu, size_t slice, double slice_s) const {
  if (!has_rank(gpu)) return {.core_w = 0, .memory_w = 0, .link_w = 0, .awake = false};
  return physics::load_of(activity_.roles[role_of(gpu)].slices[slice], slice_s);
}

ClockDecision GovernedStep::decide(size_t gpu, size_t slice, double slice_s,
                                   const Response& response,
                                   const Surroundings& surroundings) const {
  if (!has_rank(gpu))
    return {.clock_hz = fleet_.kind.clocks.lowest_hz, .reasons = physics::kGpuIdle};
  ClockDecision decision = physics::decide_clock(
      fleet_.kind, fleet_.silicon[gpu], fleet_.limits[gpu], surroundings.die_c[gpu],
      load(gpu, slice, slice_s), response, surroundings.ceiling_hz[gpu]);
  if (decision.reasons == physics::kSwPowerCap)
    decision.clock_hz = std::max(decision.clock_hz, knee_hz_);
  decision.clock_hz *= fleet_.speed[gpu];
  return decision;
}

/// The clock at which a GPU's clocked work would take as long as all its work does under its cap.
/// Above the voltage's knee that is the clock decided. Below it a lower clock saves nothing but by
/// slowing everything down, memory too: the slice lasts until its joules fit under the cap.
double GovernedStep::pace_of(size_t gpu, size_t slice, double reference_hz,
                             const Surroundings& surroundings) const {
  const double base_s = activity_.slice_s();
  const double share = std::min(1.0, activity_.roles[role_of(gpu)].clocked_s[slice] / base_s);
  const Response response{.clocked_share = share, .at_hz = reference_hz};
  const ClockDecision decision = decide(gpu, slice, base_s, response, surroundings);
  const double clock_hz = decision.clock_hz;
  if (decision.reasons != physics::kSwPowerCap || clock_hz > knee_hz_ * fleet_.speed[gpu])
    return clock_hz;
  const double longer = 1 - share + share * reference_hz / clock_hz;
  const physics::Silicon& silicon = fleet_.silicon[gpu];
  const double die_c = surroundings.die_c[gpu];
  const double watts =
      fleet_.kind.power_w(clock_hz, die_c, load(gpu, slice, base_s * longer), silicon);
  const double waiting_w = fleet_.kind.power_w(clock_hz, die_c, {}, silicon);
  const double left_w = fleet_.limits[gpu].cap_w - waiting_w;
  if (left_w <= 0) return fleet_.kind.clocks.lowest_hz;
  const double stretch = std::max(1.0, (watts - waiting_w) / left_w);
  return share * reference_hz / (longer * stretch - (1 - share));
}

void GovernedStep::at_length(double step_s, const Surroundings& surroundings,
                             FleetStep& step) const {
  const auto slices = static_cast<size_t>(activity_.slices);
  step.pace_hz.clear();
  step.slice_s.assign(slices, step_s / activity_.slices);
  step.step_s = step_s;
  fill(surroundings, step);
}

void GovernedStep::find_pace(double reference_hz, const Surroundings& surroundings,
                             FleetStep& step) const {
  const auto slices = static_cast<size_t>(activity_.slices);
  step.pace_hz.assign(slices, 0.0);
  step.slice_s.assign(slices, 0.0);
  for (size_t slice = 0; slice < slices; ++slice) {
    double pace_hz = INFINITY, longer = 1;
    for (size_t gpu = 0; gpu < fleet_.role.size(); ++gpu) {
      if (!has_rank(gpu)) continue;
      const double share =
          std::min(1.0, activity_.roles[role_of(gpu)].clocked_s[slice] / activity_.slice_s());
      if (share <= 0) continue;  // it waits whatever its clock
      const double clock_hz = pace_of(gpu, slice, reference_hz, surroundings);
      const double own = 1 - share + share * reference_hz / clock_hz;
      longer = std::isinf(pace_hz) ? own : std::max(longer, own);
      pace_hz = std::min(pace_hz, clock_hz);
    }
    step.pace_hz[slice] = std::isinf(pace_hz) ? reference_hz : pace_hz;
    step.slice_s[slice] = activity_.slice_s() * longer;
  }
}

void GovernedStep::at_pace(double reference_hz, double length_factor,
                           const Surroundings& surroundings, FleetStep& step) const {
  find_pace(reference_hz, surroundings, step);
  step.step_s = 0;
  for (double& s : step.slice_s) step.step_s += s *= length_factor;
  fill(surroundings, step);
}

void GovernedStep::fill(const Surroundings& surroundings, FleetStep& step) const {
  step.gpus.resize(static_cast<size_t>(fleet_.gpus()));
  for (size_t gpu = 0; gpu < step.gpus.size(); ++gpu) fill_gpu(gpu, surroundings, step);
}

/// The clock of a GPU's work in a slice: its own, but where only slowing everything down holds the
/// cap, the pace; and never below the pace, which was found for the slowest.
double GovernedStep::working_clock(size_t gpu, const ClockDecision& decision, size_t slice,
                                   const FleetStep& step) const {
  if (step.pace_hz.empty() || decision.reasons != physics::kSwPowerCap) return decision.clock_hz;
  const double pace_hz = step.pace_hz[slice];
  return decision.clock_hz <= knee_hz_ * fleet_.speed[gpu] ? pace_hz
                                                           : std::max(decision.clock_hz, pace_hz);
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
    const double die_c = surroundings.die_c[gpu];
    const double watts = fleet_.kind.power_w(decision.clock_hz, die_c, now, silicon);
    sum.mean_w += share * (watts + fleet_.burn_w[gpu]);
    sum.memory_w += share * fleet_.kind.memory_heat_w(now);
    const double v = fleet_.kind.relative_voltage(decision.clock_hz, silicon);
    sum.core_w += share * now.core_w * v * v;
    if (now.awake)
      sum.active_w +=
          share * fleet_.kind.active_w * v * v * decision.clock_hz / fleet_.kind.clocks.highest_hz;
    sum.clock_hz +=
        share * std::max(working_clock(gpu, decision, slice, step), fleet_.kind.clocks.lowest_hz);
    if ((decision.reasons & physics::kThrottleReasons) != 0) sum.throttled += share;
    for (size_t i = 0; i < kCountedReasons.size(); ++i)
      if ((decision.reasons & kCountedReasons[i]) != 0) sum.reasons[i] += static_cast<float>(share);
    double peak_w = watts;
    if (has_rank(gpu)) {
      const double clocked_s = activity_.roles[role_of(gpu)].clocked_s[slice];
      work_s += clocked_s;
      stretched_s += clocked_s / working_clock(gpu, decision, slice, step);
      peak_w =
          fleet_.kind.power_w(decision.clock_hz, die_c,
                              physics::load_of(busiest_[role_of(gpu)][slice], slice_s), silicon);
    }
    sum.peak_w = std::max(sum.peak_w, peak_w);
  }
  sum.peak_w = std::min(sum.peak_w, fleet_.kind.excursion * fleet_.kind.cap_w);
  sum.effective_hz = stretched_s > 0 ? work_s / stretched_s : sum.clock_hz;
  step.gpus[gpu] = sum;
}

void GovernedStep::slice_power(int slice, const FleetStep& step, const Surroundings& surroundings,
                               std::span<double> watts, std::span<double> memory_w,
                               std::span<double> clock_hz, std::span<uint32_t> reasons) const {
  const auto at = static_cast<size_t>(slice);
  for (size_t gpu = 0; gpu < watts.size(); ++gpu) {
    const double slice_s = step.slice_s[at];
    const ClockDecision decision = decide(gpu, at, slice_s, {}, surroundings);
    const Load now = load(gpu, at, slice_s);
    watts[gpu] =
        fleet_.kind.power_w(decision.clock_hz, surroundings.die_c[gpu], now, fleet_.silicon[gpu]) +
        fleet_.burn_w[gpu];
    memory_w[gpu] = fleet_.kind.memory_heat_w(now);
    clock_hz[gpu] = decision.clock_hz;
    reasons[gpu] = decision.reasons;
  }
}

}  // namespace ergometer::engine

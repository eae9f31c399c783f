#include "engine/power/governed_step.h"

#include <algorithm>
#include <cmath>

#include "engine/power/board_loops.h"

namespace ergometer::engine {

using physics::Load;

GovernedStep::GovernedStep(const Fleet& fleet, const StepActivity& activity)
    : fleet_(fleet), activity_(activity) {
  for (size_t gpu = 0; gpu < fleet.like.size(); ++gpu) {
    if (!fleet.is_first(gpu)) continue;
    const physics::GpuPower& kind = fleet.of_gpu(gpu).gpu;
    const physics::ClockLimits& limits = fleet.limits[gpu];
    boards_.gpu.push_back(gpu);
    boards_.role.push_back(fleet.role[gpu]);
    boards_.voltage.push_back(fleet.silicon[gpu].voltage);
    boards_.cap_w.push_back(limits.cap_w > 0 ? limits.cap_w : kind.cap_w);
    const double seen = std::min(1.0, kind.held_over_s / activity.step_s);
    boards_.trim_w.push_back(seen * kind.burst_trim() * boards_.cap_w.back());
    boards_.leakage_t0_w.push_back(kind.leakage_w * fleet.silicon[gpu].leakage);
    boards_.ceiling_hz.push_back(limits.ceiling_hz(kind.clocks));
    boards_.braked.push_back(limits.brake ? 1 : 0);
  }
  for (size_t slice = 0; slice < static_cast<size_t>(activity.slices); ++slice) {
    shares_.push_back(0);
    for (const RoleActivity& role : activity.roles)
      shares_.push_back(std::min(1.0, role.clocked_s[slice] / activity.slice_s()));
  }
  const auto slices = static_cast<size_t>(activity.slices);
  loads_ = loads_in(std::vector<double>(slices, activity.slice_s()));
}

std::vector<Load> GovernedStep::loads_in(const std::vector<double>& slice_s) const {
  std::vector<Load> loads;
  loads.reserve(shares_.size());
  for (size_t slice = 0; slice < slice_s.size(); ++slice) {
    loads.push_back({.awake = false});
    for (const RoleActivity& role : activity_.roles)
      loads.push_back(physics::load_of(role.slices[slice], slice_s[slice]));
  }
  return loads;
}

template <class Each>
void GovernedStep::for_each_piece(const Surroundings& surroundings, const Each& each) const {
  for (size_t first = 0; first < boards_.gpu.size();) {
    const FleetKind& kind = fleet_.of_gpu(boards_.gpu[first]);
    size_t last = first;
    std::array<double, kGpus> die_c{};
    for (; last < boards_.gpu.size() && last - first < kGpus; ++last) {
      if (&fleet_.of_gpu(boards_.gpu[last]) != &kind) break;
      die_c[last - first] = surroundings.die_c[boards_.gpu[last]];
    }
    Piece piece{.kind = &kind, .first = first, .count = last - first, .leakage_w = {}};
    kind.gpu.leakages_at(std::span(die_c).first(piece.count),
                         std::span(boards_.leakage_t0_w).subspan(first, piece.count),
                         std::span(piece.leakage_w).first(piece.count));
    each(piece);
    first = last;
  }
}

template <class Each>
void GovernedStep::for_each_slices(const Each& each) const {
  const auto slices = static_cast<size_t>(activity_.slices);
  for (size_t first = 0; first < slices; first += kSlices)
    each(first, std::min(slices, first + kSlices));
}

/// All at once, and one by one those that more than their caps hold.
void GovernedStep::decide(const Piece& piece, const Surroundings& surroundings, size_t first,
                          size_t last, const Work& work, Clocks& clock_hz) const {
  const physics::GpuPower& kind = piece.kind->gpu;
  const double at_hz = work.at_hz > 0 ? work.at_hz * piece.kind->pace : kind.clocks.highest_hz;
  Clocks leakage_w, voltage, cap_w, core_w, steady_w, share, start_hz, most_hz;
  size_t count = 0;
  for (size_t slice = first; slice < last; ++slice)
    for (size_t i = 0; i < piece.count; ++i, ++count) {
      const size_t row = index(slice, boards_.role[piece.first + i]);
      leakage_w[count] = piece.leakage_w[i];
      voltage[count] = boards_.voltage[piece.first + i];
      cap_w[count] = boards_.cap_w[piece.first + i] - boards_.trim_w[piece.first + i];
      core_w[count] = work.loads[row].core_w;
      steady_w[count] = work.loads[row].memory_w + work.loads[row].link_w;
      share[count] = work.follows ? shares_[row] : 0;
      start_hz[count] = at_hz;
      most_hz[count] = boards_.ceiling_hz[piece.first + i];
    }
  physics::decide_each(kind,
                       {.count = count,
                        .leakage_w = leakage_w.data(),
                        .voltage = voltage.data(),
                        .cap_w = cap_w.data(),
                        .core_w = core_w.data(),
                        .steady_w = steady_w.data(),
                        .clocked_share = share.data(),
                        .at_hz = start_hz.data(),
                        .ceiling_hz = most_hz.data()},
                       clock_hz.data());
  for (size_t at = 0; at < count; ++at) {
    const size_t board = piece.first + at % piece.count, gpu = boards_.gpu[board];
    if (boards_.role[board] < 0) {
      clock_hz[at] = kind.clocks.lowest_hz;
      continue;
    }
    const double ceiling_hz = surroundings.ceiling_hz[gpu];
    if (boards_.braked[board] != 0 || ceiling_hz > 0 || clock_hz[at] <= 0) {
      physics::ClockLimits limits = fleet_.limits[gpu];
      limits.cap_w = cap_w[at];
      clock_hz[at] = physics::decide_clock_leaking(
                         kind, fleet_.silicon[gpu], limits, leakage_w[at],
                         work.loads[index(first + at / piece.count, boards_.role[board])],
                         {.clocked_share = share[at], .at_hz = at_hz}, ceiling_hz)
                         .clock_hz;
    }
    clock_hz[at] *= fleet_.speed[gpu];
  }
}

double GovernedStep::trim(const FleetStep& step) {
  double largest = 0;
  for (size_t board = 0; board < boards_.gpu.size(); ++board) {
    const size_t gpu = boards_.gpu[board];
    const double held_w = fleet_.of_gpu(gpu).gpu.held * boards_.cap_w[board];
    const double beyond_w = std::max(0.0, step.gpus[gpu].mean_w - held_w);
    const double before_w = boards_.trim_w[board];
    boards_.trim_w[board] = std::min(0.0, before_w + beyond_w);
    largest = std::max(largest, (boards_.trim_w[board] - before_w) / boards_.cap_w[board]);
  }
  return largest;
}

std::vector<double> GovernedStep::trims_w() const {
  std::vector<double> trims_w(fleet_.like.size(), 0.0);
  for (size_t board = 0; board < boards_.gpu.size(); ++board)
    trims_w[boards_.gpu[board]] = boards_.trim_w[board];
  for (size_t gpu = 0; gpu < trims_w.size(); ++gpu) trims_w[gpu] = trims_w[fleet_.first_like(gpu)];
  return trims_w;
}

void GovernedStep::at_length(double step_s, const Surroundings& surroundings,
                             FleetStep& step) const {
  step.slice_s.assign(static_cast<size_t>(activity_.slices), step_s / activity_.slices);
  step.step_s = step_s;
  fill(0, surroundings, step);
}

void GovernedStep::at_pace(double reference_hz, const Surroundings& surroundings,
                           FleetStep& step) const {
  find_pace(reference_hz, surroundings, step);
  step.step_s = 0;
  for (const double s : step.slice_s) step.step_s += s;
  fill(reference_hz, surroundings, step);
}

void GovernedStep::find_pace(double reference_hz, const Surroundings& surroundings,
                             FleetStep& step) const {
  const auto slices = static_cast<size_t>(activity_.slices);
  step.slice_s.assign(slices, activity_.slice_s());
  const Work work{loads_, reference_hz, true};
  // Of GPUs in one role the slowest takes longest. Who has no clocked work waits at any clock.
  std::vector<double> slowest_hz(shares_.size(), INFINITY);
  for_each_piece(surroundings, [&](const Piece& piece) {
    for_each_slices([&](size_t first, size_t last) {
      Clocks clock_hz;
      decide(piece, surroundings, first, last, work, clock_hz);
      size_t at = 0;
      for (size_t slice = first; slice < last; ++slice)
        for (size_t i = 0; i < piece.count; ++i, ++at)
          if (const size_t row = index(slice, boards_.role[piece.first + i]); shares_[row] > 0)
            slowest_hz[row] = std::min(slowest_hz[row], clock_hz[at]);
    });
  });
  for (size_t slice = 0; slice < slices; ++slice) {
    double longest = 0;
    for (size_t role = 0; role < activity_.roles.size(); ++role) {
      const size_t row = index(slice, static_cast<int32_t>(role));
      if (slowest_hz[row] == INFINITY) continue;
      const FleetKind& kind = fleet_.kinds[fleet_.kind_of_role(role)];
      longest = std::max(longest, slowdown(shares_[row], reference_hz * kind.pace, slowest_hz[row],
                                           kind.gpu.clocks.highest_hz));
    }
    if (longest > 0) step.slice_s[slice] *= longest;
  }
}

/// What is summed over the slices of a piece's GPUs, one number each.
struct GovernedStep::Sums {
  std::array<GpuStep, kGpus> gpus{};
  std::array<double, kGpus> work_s{}, stretched_s{};
};

void GovernedStep::fill(double near_hz, const Surroundings& surroundings, FleetStep& step) const {
  step.gpus.assign(fleet_.like.size(), {});
  const std::vector<Load> loads = loads_in(step.slice_s);
  const Work work{loads, near_hz, false};
  for_each_piece(surroundings, [&](const Piece& piece) {
    Sums sums;
    for_each_slices([&](size_t first, size_t last) {
      Clocks clock_hz;
      decide(piece, surroundings, first, last, work, clock_hz);
      for (size_t slice = first; slice < last; ++slice)
        add_slice(piece, slice, loads, step, clock_hz.data() + (slice - first) * piece.count, sums);
    });
    for (size_t i = 0; i < piece.count; ++i) {
      GpuStep& gpu = step.gpus[boards_.gpu[piece.first + i]];
      gpu = sums.gpus[i];
      gpu.effective_hz =
          sums.stretched_s[i] > 0 ? sums.work_s[i] / sums.stretched_s[i] : gpu.clock_hz;
    }
  });
  for (size_t gpu = 0; gpu < step.gpus.size(); ++gpu)
    step.gpus[gpu] = step.gpus[fleet_.first_like(gpu)];
}

void GovernedStep::add_slice(const Piece& piece, size_t slice, const std::vector<Load>& loads,
                             const FleetStep& step, const double* clock_hz, Sums& sums) const {
  const physics::GpuPower& kind = piece.kind->gpu;
  const int32_t* role = boards_.role.data() + piece.first;
  std::array<double, kGpus> watts, voltage;
  const size_t others = board_loops::draw(kind,
                                          {.count = piece.count,
                                           .role = role,
                                           .clock_hz = clock_hz,
                                           .leakage_w = piece.leakage_w.data(),
                                           .silicon = boards_.voltage.data() + piece.first,
                                           .loads = loads.data() + index(slice, -1)},
                                          INFINITY, watts.data(), voltage.data());
  const double share = step.slice_s[slice] / step.step_s;
  for (size_t i = 0; i < piece.count; ++i) {
    const Load& now = loads[index(slice, role[i])];
    const double v = voltage[i];
    const size_t gpu = boards_.gpu[piece.first + i];
    const bool is_others = fleet_.is_others(gpu);
    if (others > 0 && role[i] < 0)
      watts[i] =
          is_others ? fleet_.other_w[gpu] : kind.power_at(v, clock_hz[i], piece.leakage_w[i], now);
    GpuStep& sum = sums.gpus[i];
    sum.mean_w += share * watts[i];
    sum.peak_w = std::max(sum.peak_w, watts[i]);
    sum.memory_w += share * (is_others ? fleet_.other_memory_w[gpu] : kind.memory_heat_w(now));
    sum.core_w += share * now.core_w * v * v;
    if (now.awake)
      sum.active_w += share * kind.active_w * v * v * clock_hz[i] / kind.clocks.highest_hz;
    sum.clock_hz += share * clock_hz[i];
    if (role[i] < 0) continue;
    const double clocked_s = activity_.roles[static_cast<size_t>(role[i])].clocked_s[slice];
    sums.work_s[i] += clocked_s;
    sums.stretched_s[i] += clocked_s / clock_hz[i];
  }
}

}  // namespace ergometer::engine

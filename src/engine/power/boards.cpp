#include "engine/power/boards.h"

#include <algorithm>
#include <array>

#include "base/collection.h"
#include "base/exponential.h"
#include "engine/power/board_loops.h"

namespace ergometer::engine {
namespace {

using board_loops::Special;

constexpr double kMostTrim = 0.25;  ///< of the cap, assumed

/// GPUs of a piece: what a tick does with one touches some 200 bytes of each.
constexpr size_t kPiece = physics::Governed::kMost;

physics::Smoothing smoothing_of(const spec::Conditions& conditions, const Fleet& fleet,
                                GpuRange alike) {
  // The floor is a share of the cap in force; single GPUs with a lower one are faults. What is
  // burnt counts at the board, which holds its mean a little below the cap.
  double cap_w = 0;
  for (size_t gpu = alike.first; gpu < alike.first + alike.count; ++gpu)
    cap_w = std::max(cap_w, fleet.limits[gpu].cap_w);
  return {.floor_w = conditions.smoothing_floor * cap_w,
          .up_w_per_s = conditions.smoothing_up_w_per_s,
          .down_w_per_s = conditions.smoothing_down_w_per_s,
          .hysteresis_s = conditions.smoothing_hysteresis_s,
          .most_w = fleet.of_gpu(alike.first).gpu.held * cap_w};
}

template <class Each>
void for_each_piece(GpuRange gpus, const Each& each) {
  for (size_t done = 0; done < gpus.count; done += kPiece)
    each(GpuRange{gpus.first + done, std::min(kPiece, gpus.count - done)});
}

}  // namespace

Boards::Boards(const Fleet& fleet, const spec::Conditions& conditions,
               const Surroundings& surroundings, double start_hz, std::span<const double> trim_w)
    : fleet_(fleet), trim_w_(trim_w.begin(), trim_w.end()) {
  const auto gpus = static_cast<size_t>(fleet.gpus());
  find_at_work();
  thermal_.resize(gpus);
  for (size_t gpu = 0; gpu < gpus; ++gpu) {
    thermal_[gpu].ceiling_hz = surroundings.ceiling_hz[gpu];
    const physics::ClockLimits& limits = fleet.limits[gpu];
    const FleetKind& kind = fleet.of_gpu(gpu);
    cap_w_.push_back(limits.cap_w > 0 ? limits.cap_w : kind.gpu.cap_w);
    ceiling_hz_.push_back(limits.ceiling_hz(kind.gpu.clocks));
    voltage_.push_back(fleet.silicon[gpu].voltage);
    leakage_t0_w_.push_back(kind.gpu.leakage_w * fleet.silicon[gpu].leakage);
    special_.push_back(static_cast<uint8_t>(
        (fleet.role[gpu] < 0 ? Special::kNoRank : 0) | (limits.brake ? Special::kBraked : 0) |
        (thermal_[gpu].is_at_rest() ? 0 : Special::kHeldByHeat)));
  }
  for (const FleetKind& kind : fleet.kinds) {
    const size_t until = clock_hz_.size() + fleet.gpus_of(kind).count;
    quiet_.emplace_back(kind.gpu);
    clock_hz_.resize(until, kind.gpu.clocks.highest_hz);
    whole_hz_.resize(until, start_hz * kind.pace);
  }
  recent_hz_ = whole_hz_;
  for (std::vector<double>* values : {&leakage_w_, &slowed_s_, &clock_s_})
    values->assign(gpus, 0.0);
  for (size_t gpu = trim_w_.size(); gpu < gpus; ++gpu)
    trim_w_.push_back(fleet.of_gpu(gpu).gpu.burst_trim() * cap_w_[gpu]);
  for (const FleetKind& kind : fleet.kinds) {
    const physics::Smoothing smoothing = smoothing_of(conditions, fleet, fleet.gpus_of(kind));
    if (smoothing.floor_w > 0 || smoothing.up_w_per_s > 0 || smoothing.down_w_per_s > 0)
      smoothers_.resize(smoothers_.size() + fleet.gpus_of(kind).count,
                        physics::Smoother(smoothing));
  }
}

void Boards::find_at_work() {
  for (size_t gpu = 0; gpu < fleet_.role.size(); ++gpu) {
    if (fleet_.role[gpu] < 0) continue;
    if (gpu == 0 || fleet_.role[gpu] != fleet_.role[gpu - 1]) at_work_.push_back({gpu, 0});
    ++at_work_.back().count;
  }
}

void Boards::size(Tick& tick) const {
  for (std::vector<double>* values : {&tick.watts, &tick.burnt_w, &tick.voltage, &tick.clock_hz})
    values->assign(clock_hz_.size(), 0.0);
  tick.reasons.assign(clock_hz_.size(), 0);
}

void Boards::decide(const Seen& seen, double reference_hz, std::span<const double> die_c,
                    Tick& tick, std::vector<double>& slowest_hz) {
  for (const FleetKind& kind : fleet_.kinds)
    for_each_piece(fleet_.gpus_of(kind), [&](GpuRange gpus) {
      kind.gpu.leakages_at(die_c.subspan(gpus.first, gpus.count),
                           std::span(leakage_t0_w_).subspan(gpus.first, gpus.count),
                           std::span(leakage_w_).subspan(gpus.first, gpus.count));
      decide_piece(gpus, seen, reference_hz * kind.pace, tick);
    });
  for (const GpuRange& gpus : at_work_) {
    double& slowest = slowest_hz[static_cast<size_t>(fleet_.role[gpus.first])];
    slowest =
        std::min(slowest, board_loops::least_of(tick.clock_hz.data() + gpus.first, gpus.count));
  }
}

/// All GPUs at once, and one by one those that more than their caps hold.
void Boards::decide_piece(GpuRange gpus, const Seen& seen, double reference_hz, Tick& tick) {
  std::array<double, kPiece> cap_w, core_w, steady_w, share, at_hz, decided_hz;
  const size_t first = gpus.first;
  const physics::GpuPower& kind = fleet_.of_gpu(first).gpu;
  board_loops::see({.count = gpus.count,
                    .role = fleet_.role.data() + first,
                    .reference_hz = reference_hz,
                    .core_w = seen.core_w.data(),
                    .steady_w = seen.steady_w.data(),
                    .clocked_s = seen.clocked_s.data(),
                    .rises = seen.rises.data(),
                    .whole_hz = whole_hz_.data() + first,
                    .recent_hz = recent_hz_.data() + first,
                    .cap_w = cap_w_.data() + first,
                    .trim_w = trim_w_.data() + first},
                   {cap_w.data(), core_w.data(), steady_w.data(), share.data(), at_hz.data()});
  physics::decide_each(kind,
                       {.count = gpus.count,
                        .leakage_w = leakage_w_.data() + first,
                        .voltage = voltage_.data() + first,
                        .cap_w = cap_w.data(),
                        .core_w = core_w.data(),
                        .steady_w = steady_w.data(),
                        .clocked_share = share.data(),
                        .at_hz = at_hz.data(),
                        .ceiling_hz = ceiling_hz_.data() + first},
                       decided_hz.data());
  const size_t others =
      board_loops::take_decided(kind.clocks.highest_hz, {.count = gpus.count,
                                                         .decided_hz = decided_hz.data(),
                                                         .speed = fleet_.speed.data() + first,
                                                         .ceiling_hz = ceiling_hz_.data() + first,
                                                         .special = special_.data() + first,
                                                         .clock_hz = clock_hz_.data() + first,
                                                         .reached_hz = tick.clock_hz.data() + first,
                                                         .reasons = tick.reasons.data() + first});
  if (others > 0) decide_others(gpus, decided_hz.data(), seen, reference_hz, tick);
}

void Boards::decide_others(GpuRange gpus, const double* decided_hz, const Seen& seen,
                           double reference_hz, Tick& tick) {
  for (size_t i = 0; i < gpus.count; ++i) {
    const size_t gpu = gpus.first + i;
    if (special_[gpu] == 0 && decided_hz[i] > 0) continue;
    if (fleet_.role[gpu] < 0) {
      const physics::ClockLattice& clocks = fleet_.of_gpu(gpu).gpu.clocks;
      clock_hz_[gpu] = clocks.highest_hz;
      tick.clock_hz[gpu] = clocks.lowest_hz;
      tick.reasons[gpu] = physics::kGpuIdle;
      continue;
    }
    const physics::ClockDecision decision = decide_alone(gpu, seen, reference_hz);
    clock_hz_[gpu] = decision.clock_hz;
    tick.clock_hz[gpu] = decision.clock_hz * fleet_.speed[gpu];
    tick.reasons[gpu] = decision.reasons & ~uint32_t{physics::kSwThermalSlowdown};
  }
}

physics::ClockDecision Boards::decide_alone(size_t gpu, const Seen& seen,
                                            double reference_hz) const {
  const size_t row = fleet_.row_of(gpu);
  const double at_hz = seen.rises[row] != 0 ? recent_hz_[gpu] : whole_hz_[gpu];
  const double slower = reference_hz > 0 ? reference_hz / at_hz : 1;
  physics::ClockLimits limits = fleet_.limits[gpu];
  limits.cap_w = cap_w_[gpu] - trim_w_[gpu];
  return physics::decide_clock_leaking(
      fleet_.of_gpu(gpu).gpu, fleet_.silicon[gpu], limits, leakage_w_[gpu],
      {.core_w = seen.core_w[row], .memory_w = seen.steady_w[row]},
      {.clocked_share = std::min(1.0, slower * seen.clocked_s[row]), .at_hz = at_hz},
      thermal_[gpu].ceiling_hz);
}

void Boards::draw(GpuRange all, Tick& tick) {
  const physics::GpuPower& kind = fleet_.of_gpu(all.first).gpu;
  const double most_w = kind.excursion * kind.cap_w;
  for_each_piece(all, [&](GpuRange gpus) {
    const size_t first = gpus.first;
    const size_t others =
        board_loops::draw(kind,
                          {.count = gpus.count,
                           .role = fleet_.role.data() + first,
                           .clock_hz = tick.clock_hz.data() + first,
                           .leakage_w = leakage_w_.data() + first,
                           .silicon = voltage_.data() + first,
                           .loads = tick.loads.data()},
                          most_w, tick.watts.data() + first, tick.voltage.data() + first);
    if (others > 0)
      for (size_t gpu = first; gpu < first + gpus.count; ++gpu)
        if (fleet_.role[gpu] < 0 || tick.watts[gpu] > most_w) draw_alone(gpu, tick);
    if (!smoothers_.empty()) smooth(gpus, tick);
  });
}

/// Of a GPU that is idle or another job's, or whose clock the fast limiter cuts: its power goes too
/// far beyond the cap.
void Boards::draw_alone(size_t gpu, Tick& tick) {
  const physics::GpuPower& kind = fleet_.of_gpu(gpu).gpu;
  const physics::Silicon& silicon = fleet_.silicon[gpu];
  const physics::Load& load = tick.loads[fleet_.row_of(gpu)];
  double& clock_hz = tick.clock_hz[gpu];
  if (fleet_.is_others(gpu)) {
    tick.watts[gpu] = fleet_.other_w[gpu];
    return;
  }
  if (load.awake) {
    physics::ClockLimits limits = fleet_.limits[gpu];
    limits.cap_w = kind.excursion * kind.cap_w;
    const physics::ClockDecision cut = physics::decide_clock_leaking(
        kind, silicon, limits, leakage_w_[gpu], load, {}, thermal_[gpu].ceiling_hz);
    clock_hz = std::min(clock_hz, cut.clock_hz);
  }
  tick.voltage[gpu] = kind.relative_voltage(clock_hz, silicon);
  tick.watts[gpu] = kind.power_leaking(clock_hz, leakage_w_[gpu], load, silicon);
}

void Boards::smooth(GpuRange gpus, Tick& tick) {
  for (size_t gpu = gpus.first; gpu < gpus.first + gpus.count; ++gpu) {
    if (fleet_.role[gpu] < 0) continue;
    const double smoothed_w = smoothers_[gpu].advance(tick.watts[gpu], tick.length_s);
    tick.burnt_w[gpu] = smoothed_w - tick.watts[gpu];
    tick.watts[gpu] = smoothed_w;
  }
}

void Boards::finish(GpuRange all, const FleetHeat& heat, const Done& done, Tick& tick) {
  for_each_piece(all, [&](GpuRange gpus) {
    limit(gpus, heat, done, tick);
    remember(gpus, done, tick);
  });
}

/// Governors see the power of the tick, and the temperatures that it ends with.
void Boards::limit(GpuRange gpus, const FleetHeat& heat, const Done& done, Tick& tick) {
  const size_t first = gpus.first;
  const board_loops::Limiting limiting{.count = gpus.count,
                                       .die_c = heat.surroundings().die_c.data() + first,
                                       .memory_c = heat.memory_c().data() + first,
                                       .special = special_.data() + first,
                                       .watts = tick.watts.data() + first,
                                       .burnt_w = tick.burnt_w.data() + first,
                                       .cap_w = cap_w_.data() + first,
                                       .trim_w = trim_w_.data() + first};
  const size_t kind = fleet_.kind_of(first);
  const physics::GpuPower& power = fleet_.kinds[kind].gpu;
  board_loops::trim({.held = power.held,
                     .least = power.burst_trim(),
                     .most = kMostTrim,
                     .part = 1 - base::exponential(-done.length_s / power.held_over_s)},
                    limiting);
  if (board_loops::count_hot(quiet_[kind].die_c, quiet_[kind].memory_c, limiting) == 0) return;
  for (size_t gpu = first; gpu < first + gpus.count; ++gpu)
    limit_heat(gpu, heat, done.thermal_periods, tick);
}

void Boards::limit_heat(size_t gpu, const FleetHeat& heat, double periods, Tick& tick) {
  if (fleet_.role[gpu] < 0) return;
  physics::ThermalGovernor& thermal = thermal_[gpu];
  thermal.advance(fleet_.of_gpu(gpu).gpu, periods, heat.surroundings().die_c[gpu],
                  heat.memory_c()[gpu], clock_hz_[gpu]);
  tick.reasons[gpu] |= thermal.reasons();
  special_[gpu] = static_cast<uint8_t>((special_[gpu] & ~Special::kHeldByHeat) |
                                       (thermal.is_at_rest() ? 0 : Special::kHeldByHeat));
}

void Boards::cut_windows(size_t ticks) {
  window_hz_.clear();
  for (size_t i = 0; i < ticks; ++i)
    window_hz_.insert(window_hz_.end(), whole_hz_.begin(), whole_hz_.end());
  recent_hz_ = whole_hz_;
}

/// Takes the tick into the window and into the means since the mark.
void Boards::remember(GpuRange gpus, const Done& done, const Tick& tick) {
  const size_t first = gpus.first;
  const Window& window = done.window;
  const auto clocks_of = [&](size_t at) {
    return window_hz_.data() + at * clock_hz_.size() + first;
  };
  board_loops::remember({.count = gpus.count,
                         .clock_hz = clock_hz_.data() + first,
                         .leaving_hz = clocks_of(window.back(window.recent)),
                         .oldest_hz = clocks_of(window.now),
                         .whole_hz = whole_hz_.data() + first,
                         .recent_hz = recent_hz_.data() + first,
                         .whole_ticks = static_cast<double>(window.ticks),
                         .recent_ticks = static_cast<double>(window.recent)});
  std::copy_n(clock_hz_.begin() + static_cast<std::ptrdiff_t>(first), gpus.count,
              clocks_of(window.now));
  const FleetKind& kind = fleet_.of_gpu(first);
  board_loops::count(done.length_s, done.base_hz * kind.pace, kind.gpu.clocks.highest_hz,
                     {.count = gpus.count,
                      .role = fleet_.role.data() + first,
                      .clocked_s = done.clocked_s.data(),
                      .rest_s = done.rest_s.data(),
                      .clock_hz = tick.clock_hz.data() + first,
                      .clock_sum_s = clock_s_.data() + first,
                      .slowed_s = slowed_s_.data() + first});
}

void Boards::mark() {
  std::ranges::fill(slowed_s_, 0.0);
  std::ranges::fill(clock_s_, 0.0);
}

std::vector<double> Boards::effective_hz(double base_hz, std::span<const double> work_s,
                                         double marked_s) const {
  std::vector<double> result;
  result.reserve(clock_hz_.size());
  for (size_t gpu = 0; gpu < clock_hz_.size(); ++gpu) {
    const FleetKind& kind = fleet_.of_gpu(gpu);
    const double own_s = work_s[fleet_.row_of(gpu)], own_hz = base_hz * kind.pace;
    // Where memory is faster than at a very low reference clock, compute alone cannot make up for
    // it.
    const double least_s = own_s * own_hz / kind.gpu.clocks.highest_hz;
    result.push_back(own_s > 0 ? own_hz * own_s / std::max(least_s, slowed_s_[gpu])
                               : clock_s_[gpu] / marked_s);
  }
  return result;
}

bool Boards::held_by_heat() const {
  return std::ranges::any_of(thermal_, [](const auto& thermal) { return thermal.reasons() != 0; });
}

double Boards::most_missing_w() const {
  return base::largest(smoothers_, 0.0, &physics::Smoother::most_missing_w);
}

double Boards::steepest_w_per_s() const {
  return base::largest(smoothers_, 0.0, &physics::Smoother::steepest_w_per_s);
}

void Boards::count_smoothing_anew() {
  for (physics::Smoother& it : smoothers_) it.count_anew();
}

double Boards::shut_down(GpuRange gpus) const {
  double count = 0;
  for (size_t gpu = gpus.first; gpu < gpus.first + gpus.count; ++gpu)
    if (thermal_[gpu].shut_down && fleet_.role[gpu] >= 0) count += fleet_.weight_of(gpu);
  return count;
}

}  // namespace ergometer::engine

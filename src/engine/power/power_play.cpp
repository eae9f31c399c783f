#include "engine/power/power_play.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/power/board_loops.h"

namespace ergometer::engine {
namespace {

/// Time in which a governor takes back what went beyond its cap. Assumed.
constexpr double kTrimS = 1;
constexpr double kMostTrim = 0.25;  ///< of the cap

physics::Smoothing smoothing_of(const spec::Conditions& conditions, const Fleet& fleet) {
  // The floor is a share of the cap in force; single GPUs with a lower one are faults.
  double cap_w = 0;
  for (const physics::ClockLimits& limits : fleet.limits) cap_w = std::max(cap_w, limits.cap_w);
  return {.floor_w = conditions.smoothing_floor * cap_w,
          .up_w_per_s = conditions.smoothing_up_w_per_s,
          .down_w_per_s = conditions.smoothing_down_w_per_s,
          .hysteresis_s = conditions.smoothing_hysteresis_s,
          .most_w = cap_w};
}

}  // namespace

PowerPlay::PowerPlay(const Fleet& fleet, const StepActivity& work,
                     const spec::Conditions& conditions, FleetHeat& heat, double reference_hz)
    : fleet_(fleet), work_(work), heat_(heat), reference_hz_(reference_hz) {
  const auto gpus = static_cast<size_t>(fleet.gpus());
  const double highest_hz = fleet.kind.clocks.highest_hz;
  const Surroundings surroundings = heat.surroundings();
  boards_.thermal.resize(gpus);
  for (size_t gpu = 0; gpu < gpus; ++gpu) {
    boards_.thermal[gpu].ceiling_hz = surroundings.ceiling_hz[gpu];
    const physics::ClockLimits& limits = fleet.limits[gpu];
    boards_.cap_w.push_back(limits.cap_w > 0 ? limits.cap_w : fleet.kind.cap_w);
    boards_.told.push_back(limits.brake || limits.lock_hz > 0);
    boards_.voltage.push_back(fleet.silicon[gpu].voltage);
    boards_.leakage_t0_w.push_back(fleet.kind.leakage_w * fleet.silicon[gpu].leakage);
  }
  boards_.clock_hz.assign(gpus, highest_hz);
  boards_.whole_hz.assign(gpus, reference_hz > 0 ? reference_hz : highest_hz);
  boards_.recent_hz = boards_.whole_hz;
  for (std::vector<double>* values :
       {&boards_.leakage_w, &boards_.trim_w, &boards_.work_s, &boards_.slowed_s, &boards_.clock_s})
    values->assign(gpus, 0.0);
  const physics::Smoothing smoothing = smoothing_of(conditions, fleet);
  if (smoothing.floor_w > 0 || smoothing.up_w_per_s > 0 || smoothing.down_w_per_s > 0)
    smoothers_.assign(gpus, physics::Smoother(smoothing));
  for (std::vector<double>* values :
       {&tick_.watts, &tick_.core_w, &tick_.active_w, &tick_.burnt_w, &tick_.memory_w,
        &tick_.links_w, &tick_.hbm_w, &tick_.clock_hz, &load_core_w_, &clocked_s_, &rest_s_})
    values->assign(gpus, 0.0);
  tick_.reasons.assign(gpus, 0);
  done_.resize(work.roles.size());
  slowest_hz_.resize(work.roles.size());
  seen_.resize(work.roles.size());
  // Before the first tick the window holds the mean step.
  for (const RoleActivity& role : work.roles) {
    Work& mean = windows_.emplace_back().whole;
    for (size_t i = 0; i < role.slices.size(); ++i) {
      const physics::Energy& energy = role.slices[i];
      mean += (1 / work.step_s) *
              Work{energy.core_j(), energy.memory_j, energy.link_j, role.clocked_s[i]};
    }
    windows_.back().recent = mean;
  }
}

PowerPlay::Work& PowerPlay::Work::operator+=(const Work& other) {
  core_j += other.core_j;
  memory_j += other.memory_j;
  link_j += other.link_j;
  clocked_s += other.clocked_s;
  return *this;
}

/// What the governor expects of the next tick: that it is like the last window, or like its last
/// ticks where those ask for more. So it is quick to lower a clock and slow to raise it.
PowerPlay::Seen PowerPlay::seen_of(const Window& window) const {
  const bool rises = window.recent.core_j > window.whole.core_j;
  const Work& work = rises ? window.recent : window.whole;
  return {.load = {.core_w = work.core_j, .memory_w = work.memory_j, .link_w = work.link_j},
          .clocked_s = work.clocked_s,
          .rises = rises};
}

physics::Response PowerPlay::response(const Seen& seen, double at_hz) const {
  const double slower = reference_hz_ > 0 ? reference_hz_ / at_hz : 1;
  return {.clocked_share = std::min(1.0, slower * seen.clocked_s), .at_hz = at_hz};
}

void PowerPlay::decide() {
  std::ranges::fill(slowest_hz_, INFINITY);
  for (size_t role = 0; role < seen_.size(); ++role) seen_[role] = seen_of(windows_[role]);
  fleet_.kind.leakages_at(heat_.surroundings().die_c, boards_.leakage_t0_w, boards_.leakage_w);
  const size_t gpus = boards_.clock_hz.size();
  for (size_t first = 0; first < gpus; first += physics::Governed::kMost)
    decide(first, std::min(physics::Governed::kMost, gpus - first));
}

/// All GPUs at once, and one by one those that more than their caps hold.
void PowerPlay::decide(size_t first, size_t count) {
  std::array<double, physics::Governed::kMost> cap_w, core_w, steady_w, share, at_hz, decided_hz;
  for (size_t i = 0; i < count; ++i) {
    const size_t gpu = first + i;
    const Seen& seen = seen_[static_cast<size_t>(std::max(0, fleet_.role[gpu]))];
    const physics::Response response = this->response(seen, seen_at_hz(seen, gpu));
    cap_w[i] = boards_.cap_w[gpu] - boards_.trim_w[gpu];
    core_w[i] = seen.load.core_w;
    steady_w[i] = seen.load.memory_w + seen.load.link_w;
    share[i] = response.clocked_share;
    at_hz[i] = response.at_hz;
  }
  physics::decide_each(fleet_.kind,
                       {.count = count,
                        .leakage_w = boards_.leakage_w.data() + first,
                        .voltage = boards_.voltage.data() + first,
                        .cap_w = cap_w.data(),
                        .core_w = core_w.data(),
                        .steady_w = steady_w.data(),
                        .clocked_share = share.data(),
                        .at_hz = at_hz.data()},
                       decided_hz.data());
  for (size_t i = 0; i < count; ++i) {
    const size_t gpu = first + i;
    if (fleet_.role[gpu] < 0) {
      tick_.clock_hz[gpu] = fleet_.kind.clocks.lowest_hz;
      tick_.reasons[gpu] = physics::kGpuIdle;
      continue;
    }
    const bool found =
        decided_hz[i] > 0 && !boards_.told[gpu] && boards_.thermal[gpu].ceiling_hz <= 0;
    const physics::ClockDecision decision =
        found ? physics::ClockDecision{decided_hz[i], decided_hz[i] < fleet_.kind.clocks.highest_hz
                                                          ? uint32_t{physics::kSwPowerCap}
                                                          : 0}
              : decide_alone(gpu);
    boards_.clock_hz[gpu] = decision.clock_hz;
    tick_.clock_hz[gpu] = decision.clock_hz * fleet_.speed[gpu];
    tick_.reasons[gpu] = decision.reasons & ~uint32_t{physics::kSwThermalSlowdown};
    double& slowest_hz = slowest_hz_[static_cast<size_t>(fleet_.role[gpu])];
    slowest_hz = std::min(slowest_hz, tick_.clock_hz[gpu]);
  }
}

physics::ClockDecision PowerPlay::decide_alone(size_t gpu) const {
  const Seen& seen = seen_[static_cast<size_t>(fleet_.role[gpu])];
  physics::ClockLimits limits = fleet_.limits[gpu];
  limits.cap_w = boards_.cap_w[gpu] - boards_.trim_w[gpu];
  return physics::decide_clock_leaking(
      fleet_.kind, fleet_.silicon[gpu], limits, boards_.leakage_w[gpu], seen.load,
      response(seen, seen_at_hz(seen, gpu)), boards_.thermal[gpu].ceiling_hz);
}

/// How much longer a slice takes than its price, at the clocks of this tick.
double PowerPlay::pace(size_t slice) const {
  if (reference_hz_ <= 0) return length_factor_;
  double longest = 0;
  for (size_t role = 0; role < slowest_hz_.size(); ++role) {
    if (std::isinf(slowest_hz_[role])) continue;
    const double share = std::min(1.0, work_.roles[role].clocked_s[slice] / work_.slice_s());
    if (share <= 0) continue;  // it waits whatever its clock
    longest = std::max(
        longest, slowdown(share, reference_hz_, slowest_hz_[role], fleet_.kind.clocks.highest_hz));
  }
  return length_factor_ * (longest > 0 ? longest : 1);
}

/// Does as much of the step, and of those that follow, as fits into the tick.
void PowerPlay::work_on(double dt_s) {
  std::ranges::fill(done_, Work{});
  done_s_ = 0;
  for (double left_s = dt_s; left_s > 0;) {
    const double slice_s = work_.slice_s() * pace(slice_);
    const double share = std::min(1 - into_slice_, left_s / slice_s);
    for (size_t role = 0; role < done_.size(); ++role) {
      const physics::Energy& energy = work_.roles[role].slices[slice_];
      done_[role] += share * Work{energy.core_j(), energy.memory_j, energy.link_j,
                                  work_.roles[role].clocked_s[slice_]};
    }
    done_s_ += share * work_.slice_s();
    steps_ += share / work_.slices;
    if (into_slice_ + share < 1) {
      into_slice_ += share;
      return;
    }
    left_s -= share * slice_s;
    into_slice_ = 0;
    slice_ = (slice_ + 1) % static_cast<size_t>(work_.slices);
  }
}

/// What the GPU does in this tick, as power at relative voltage 1.
physics::Load PowerPlay::load_of(size_t gpu, double dt_s) const {
  if (fleet_.role[gpu] < 0) return {.awake = false};
  const Work& done = done_[static_cast<size_t>(fleet_.role[gpu])];
  return {.core_w = done.core_j / dt_s,
          .memory_w = done.memory_j / dt_s,
          .link_w = done.link_j / dt_s,
          .awake = true};
}

/// The power of the work done, at the clocks and temperatures of this tick.
void PowerPlay::draw(double dt_s) {
  const double most_w = fleet_.kind.excursion * fleet_.kind.cap_w;
  physics::Load load;
  for (size_t gpu = 0; gpu < tick_.watts.size(); ++gpu) {
    // As a rule the one before has the same role.
    if (gpu == 0 || fleet_.role[gpu] != fleet_.role[gpu - 1]) load = load_of(gpu, dt_s);
    load_core_w_[gpu] = load.core_w;
    tick_.hbm_w[gpu] = load.memory_w;
    tick_.links_w[gpu] = load.link_w;
  }
  board_loops::draw(
      fleet_.kind,
      {.count = tick_.watts.size(),
       .clock_hz = tick_.clock_hz.data(),
       .leakage_w = boards_.leakage_w.data(),
       .voltage = boards_.voltage.data(),
       .load_core_w = load_core_w_.data(),
       .load_memory_w = tick_.hbm_w.data(),
       .load_link_w = tick_.links_w.data()},
      {tick_.watts.data(), tick_.core_w.data(), tick_.active_w.data(), tick_.memory_w.data()});
  for (size_t gpu = 0; gpu < tick_.watts.size(); ++gpu)
    if (fleet_.role[gpu] < 0 || tick_.watts[gpu] > most_w) draw_alone(gpu, dt_s);
  for (size_t gpu = 0; gpu < smoothers_.size(); ++gpu) smooth(gpu, dt_s);
}

/// Of a GPU that is idle, or whose clock the fast limiter cuts: its power goes too far beyond the
/// cap.
void PowerPlay::draw_alone(size_t gpu, double dt_s) {
  const physics::GpuPower& kind = fleet_.kind;
  const physics::Silicon& silicon = fleet_.silicon[gpu];
  const physics::Load load = load_of(gpu, dt_s);
  double& clock_hz = tick_.clock_hz[gpu];
  if (load.awake) {
    physics::ClockLimits limits = fleet_.limits[gpu];
    limits.cap_w = kind.excursion * kind.cap_w;
    const physics::ClockDecision cut = physics::decide_clock_leaking(
        kind, silicon, limits, boards_.leakage_w[gpu], load, {}, boards_.thermal[gpu].ceiling_hz);
    clock_hz = std::min(clock_hz, cut.clock_hz);
  }
  const double v = kind.relative_voltage(clock_hz, silicon);
  tick_.watts[gpu] = kind.power_leaking(clock_hz, boards_.leakage_w[gpu], load, silicon);
  tick_.core_w[gpu] = load.core_w * v * v;
  tick_.active_w[gpu] = load.awake ? kind.active_w * v * v * clock_hz / kind.clocks.highest_hz : 0;
}

void PowerPlay::smooth(size_t gpu, double dt_s) {
  if (fleet_.role[gpu] < 0) return;
  const double smoothed_w = smoothers_[gpu].advance(tick_.watts[gpu], dt_s);
  tick_.burnt_w[gpu] = smoothed_w - tick_.watts[gpu];
  tick_.watts[gpu] = smoothed_w;
}

/// Thermal governors see the temperatures that the tick ends with.
void PowerPlay::limit_heat(double dt_s) {
  const auto die_c = heat_.surroundings().die_c;
  const auto memory_c = heat_.memory_c();
  const physics::QuietBelow quiet(fleet_.kind);
  for (size_t gpu = 0; gpu < die_c.size(); ++gpu) {
    if (fleet_.role[gpu] < 0) continue;
    physics::ThermalGovernor& thermal = boards_.thermal[gpu];
    if (die_c[gpu] < quiet.die_c && memory_c[gpu] < quiet.memory_c && thermal.is_at_rest()) {
      thermal.pass(dt_s);
    } else {
      thermal.advance(fleet_.kind, dt_s, die_c[gpu], memory_c[gpu], boards_.clock_hz[gpu]);
      tick_.reasons[gpu] |= thermal.reasons();
    }
    const double cap_w = boards_.cap_w[gpu];
    const double beyond_w = tick_.watts[gpu] - tick_.burnt_w[gpu] - fleet_.kind.held * cap_w;
    boards_.trim_w[gpu] =
        std::clamp(boards_.trim_w[gpu] + beyond_w * dt_s / kTrimS, 0.0, kMostTrim * cap_w);
  }
}

/// Ticks of another length: windows keep their means.
void PowerPlay::cut_windows(double dt_s) {
  window_tick_s_ = dt_s;
  window_ticks_ = static_cast<size_t>(std::max(1.0, std::round(kGovernorWindowS / dt_s)));
  recent_ticks_ = static_cast<size_t>(std::max(1.0, std::round(kGovernorAlarmS / dt_s)));
  window_at_ = 0;
  for (Window& window : windows_) window.ticks.assign(window_ticks_, dt_s * window.whole);
  window_hz_.clear();
  for (size_t i = 0; i < window_ticks_; ++i)
    window_hz_.insert(window_hz_.end(), boards_.whole_hz.begin(), boards_.whole_hz.end());
  boards_.recent_hz = boards_.whole_hz;
}

/// Takes the tick into the governor's window and into the mean of clocks.
void PowerPlay::remember(double dt_s) {
  if (window_tick_s_ != dt_s) cut_windows(dt_s);
  const size_t now = window_at_;
  const auto back = [&](size_t ticks) { return (now + window_ticks_ - ticks) % window_ticks_; };
  for (size_t role = 0; role < windows_.size(); ++role) {
    Window& window = windows_[role];
    window.ticks[now] = done_[role];
    Work whole, recent;
    for (size_t i = 0; i < window_ticks_; ++i) {
      whole += window.ticks[back(i)];
      if (i + 1 == recent_ticks_) recent = whole;
    }
    window.whole = 1 / (dt_s * static_cast<double>(window_ticks_)) * whole;
    window.recent = 1 / (dt_s * static_cast<double>(recent_ticks_)) * recent;
  }
  const size_t gpus = boards_.clock_hz.size();
  double* const now_hz = window_hz_.data() + now * gpus;
  const double* const recent_hz =
      recent_ticks_ < window_ticks_ ? window_hz_.data() + back(recent_ticks_) * gpus : now_hz;
  const auto whole_ticks = static_cast<double>(window_ticks_),
             recent_ticks = static_cast<double>(recent_ticks_);
  for (size_t gpu = 0; gpu < gpus; ++gpu) {
    const double clock_hz = boards_.clock_hz[gpu], oldest_hz = now_hz[gpu],
                 leaving_hz = recent_hz[gpu];
    now_hz[gpu] = clock_hz;
    boards_.whole_hz[gpu] += (clock_hz - oldest_hz) / whole_ticks;
    boards_.recent_hz[gpu] += (clock_hz - leaving_hz) / recent_ticks;
  }
  window_at_ = (window_at_ + 1) % window_ticks_;
  count_clocks(dt_s);
}

/// Takes the tick into the mean of clocks since the mark.
void PowerPlay::count_clocks(double dt_s) {
  const double highest_hz = fleet_.kind.clocks.highest_hz;
  for (size_t gpu = 0; gpu < clocked_s_.size(); ++gpu) {
    if (fleet_.role[gpu] < 0) continue;
    clocked_s_[gpu] = done_[static_cast<size_t>(fleet_.role[gpu])].clocked_s;
    rest_s_[gpu] = std::max(0.0, done_s_ - clocked_s_[gpu]);
  }
  board_loops::count(dt_s, reference_hz_ > 0 ? reference_hz_ : highest_hz, highest_hz,
                     {.count = clocked_s_.size(),
                      .clock_hz = tick_.clock_hz.data(),
                      .clocked_s = clocked_s_.data(),
                      .rest_s = rest_s_.data(),
                      .clock_sum_s = boards_.clock_s.data(),
                      .work_s = boards_.work_s.data(),
                      .slowed_s = boards_.slowed_s.data()});
}

const Tick& PowerPlay::advance(double dt_s) {
  tick_.start_s = now_s_;
  tick_.length_s = dt_s;
  decide();
  work_on(dt_s);
  draw(dt_s);
  heat_.advance(dt_s, tick_.watts, tick_.memory_w);
  tick_.cluster_w = heat_.cluster_w();
  limit_heat(dt_s);
  remember(dt_s);
  now_s_ += dt_s;
  return tick_;
}

void PowerPlay::mark() {
  marked_s_ = now_s_;
  marked_steps_ = steps_;
  for (std::vector<double>* sums : {&boards_.work_s, &boards_.slowed_s, &boards_.clock_s})
    std::ranges::fill(*sums, 0.0);
}

void PowerPlay::restart() {
  now_s_ = steps_ = 0;
  mark();
}

std::vector<double> PowerPlay::effective_hz() const {
  const double base_hz = reference_hz_ > 0 ? reference_hz_ : fleet_.kind.clocks.highest_hz;
  std::vector<double> result;
  result.reserve(boards_.work_s.size());
  for (size_t gpu = 0; gpu < boards_.work_s.size(); ++gpu) {
    const double work_s = boards_.work_s[gpu];
    // Where memory is faster than at a very low reference clock, compute alone cannot make up for
    // it.
    const double least_s = work_s * base_hz / fleet_.kind.clocks.highest_hz;
    result.push_back(work_s > 0 ? base_hz * work_s / std::max(least_s, boards_.slowed_s[gpu])
                                : boards_.clock_s[gpu] / (now_s_ - marked_s_));
  }
  return result;
}

bool PowerPlay::held_by_heat() const {
  return std::ranges::any_of(boards_.thermal,
                             [](const auto& thermal) { return thermal.reasons() != 0; });
}

double PowerPlay::shut_down() const {
  double count = 0;
  for (size_t gpu = 0; gpu < boards_.thermal.size(); ++gpu)
    if (boards_.thermal[gpu].shut_down && fleet_.role[gpu] >= 0) count += fleet_.weight_of(gpu);
  return count;
}

}  // namespace ergometer::engine

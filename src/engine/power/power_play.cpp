#include "engine/power/power_play.h"

#include <algorithm>
#include <cmath>

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
  boards_.resize(gpus);
  const Surroundings surroundings = heat.surroundings();
  for (size_t gpu = 0; gpu < gpus; ++gpu) {
    if (fleet.is_first(gpu)) played_.push_back(gpu);
    boards_[gpu].thermal.ceiling_hz = surroundings.ceiling_hz[gpu];
    boards_[gpu].clock_hz = fleet.kind.clocks.highest_hz;
    boards_[gpu].whole_hz = boards_[gpu].recent_hz =
        reference_hz > 0 ? reference_hz : fleet.kind.clocks.highest_hz;
  }
  const physics::Smoothing smoothing = smoothing_of(conditions, fleet);
  if (smoothing.floor_w > 0 || smoothing.up_w_per_s > 0 || smoothing.down_w_per_s > 0)
    smoothers_.assign(gpus, physics::Smoother(smoothing));
  for (std::vector<double>* values :
       {&tick_.watts, &tick_.core_w, &tick_.active_w, &tick_.burnt_w, &tick_.memory_w,
        &tick_.links_w, &tick_.hbm_w, &tick_.clock_hz})
    values->assign(gpus, 0.0);
  tick_.reasons.assign(gpus, 0);
  done_.resize(work.roles.size());
  slowest_hz_.resize(work.roles.size());
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

double PowerPlay::cap_w(size_t gpu) const {
  const double asked_w = fleet_.limits[gpu].cap_w;
  return asked_w > 0 ? asked_w : fleet_.kind.cap_w;
}

/// What the governor expects of the next tick: that it is like the last window, or like its last
/// ticks where those ask for more. So it is quick to lower a clock and slow to raise it.
PowerPlay::Seen PowerPlay::expected(size_t gpu) const {
  const Window& window = windows_[static_cast<size_t>(fleet_.role[gpu])];
  const Board& board = boards_[gpu];
  const bool rises = window.recent.core_j > window.whole.core_j;
  const Work& seen = rises ? window.recent : window.whole;
  const double clock_hz = rises ? board.recent_hz : board.whole_hz;
  const double slower = reference_hz_ > 0 ? reference_hz_ / clock_hz : 1;
  return {.load = {.core_w = seen.core_j,
                   .memory_w = seen.memory_j,
                   .link_w = seen.link_j,
                   .awake = true},
          .response = {.clocked_share = std::min(1.0, slower * seen.clocked_s), .at_hz = clock_hz}};
}

void PowerPlay::decide() {
  std::ranges::fill(slowest_hz_, INFINITY);
  const Surroundings surroundings = heat_.surroundings();
  for (const size_t gpu : played_) {
    Board& board = boards_[gpu];
    board.leakage_w = fleet_.kind.leakage_at(surroundings.die_c[gpu], fleet_.silicon[gpu]);
    if (fleet_.role[gpu] < 0) {
      tick_.clock_hz[gpu] = fleet_.kind.clocks.lowest_hz;
      tick_.reasons[gpu] = physics::kGpuIdle;
      continue;
    }
    const auto role = static_cast<size_t>(fleet_.role[gpu]);
    physics::ClockLimits limits = fleet_.limits[gpu];
    limits.cap_w = cap_w(gpu) - board.trim_w;
    const Seen seen = expected(gpu);
    const physics::ClockDecision decision =
        physics::decide_clock_leaking(fleet_.kind, fleet_.silicon[gpu], limits, board.leakage_w,
                                      seen.load, seen.response, board.thermal.ceiling_hz);
    board.clock_hz = decision.clock_hz;
    tick_.clock_hz[gpu] = decision.clock_hz * fleet_.speed[gpu];
    tick_.reasons[gpu] = decision.reasons & ~uint32_t{physics::kSwThermalSlowdown};
    slowest_hz_[role] = std::min(slowest_hz_[role], tick_.clock_hz[gpu]);
  }
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

/// The power of the work done, at the clocks and temperatures of this tick.
void PowerPlay::draw(double dt_s) {
  const physics::GpuPower& kind = fleet_.kind;
  for (const size_t gpu : played_) {
    const physics::Silicon& silicon = fleet_.silicon[gpu];
    physics::Load load{.awake = false};
    if (fleet_.role[gpu] >= 0) {
      const Work& done = done_[static_cast<size_t>(fleet_.role[gpu])];
      load = {.core_w = done.core_j / dt_s,
              .memory_w = done.memory_j / dt_s,
              .link_w = done.link_j / dt_s,
              .awake = true};
    }
    const double leakage_w = boards_[gpu].leakage_w;
    double& clock_hz = tick_.clock_hz[gpu];
    double watts = kind.power_leaking(clock_hz, leakage_w, load, silicon);
    const double most_w = kind.excursion * kind.cap_w;
    if (watts > most_w && load.awake) {  // the fast limiter
      physics::ClockLimits limits = fleet_.limits[gpu];
      limits.cap_w = most_w;
      const physics::ClockDecision cut = physics::decide_clock_leaking(
          kind, silicon, limits, leakage_w, load, {}, boards_[gpu].thermal.ceiling_hz);
      clock_hz = std::min(clock_hz, cut.clock_hz);
      watts = kind.power_leaking(clock_hz, leakage_w, load, silicon);
    }
    const double v = kind.relative_voltage(clock_hz, silicon);
    tick_.core_w[gpu] = load.core_w * v * v;
    tick_.active_w[gpu] =
        load.awake ? kind.active_w * v * v * clock_hz / kind.clocks.highest_hz : 0;
    tick_.links_w[gpu] = load.link_w;
    tick_.hbm_w[gpu] = load.memory_w;
    tick_.memory_w[gpu] = kind.memory_heat_w(load);
    tick_.burnt_w[gpu] = 0;
    if (!smoothers_.empty() && load.awake) {
      const double smoothed_w = smoothers_[gpu].advance(watts, dt_s);
      tick_.burnt_w[gpu] = smoothed_w - watts;
      watts = smoothed_w;
    }
    tick_.watts[gpu] = watts;
  }
}

void PowerPlay::copy_to_those_like_it() {
  if (played_.size() == boards_.size()) return;
  for (std::vector<double>* values :
       {&tick_.watts, &tick_.core_w, &tick_.active_w, &tick_.burnt_w, &tick_.memory_w,
        &tick_.links_w, &tick_.hbm_w, &tick_.clock_hz})
    for (size_t gpu = 0; gpu < boards_.size(); ++gpu)
      (*values)[gpu] = (*values)[fleet_.first_like(gpu)];
}

/// Thermal governors see the temperatures that the tick ends with.
void PowerPlay::limit_heat(double dt_s) {
  const auto die_c = heat_.surroundings().die_c;
  const auto memory_c = heat_.memory_c();
  for (const size_t gpu : played_) {
    if (fleet_.role[gpu] < 0) continue;
    Board& board = boards_[gpu];
    board.thermal.advance(fleet_.kind, dt_s, die_c[gpu], memory_c[gpu], board.clock_hz);
    tick_.reasons[gpu] |= board.thermal.reasons();
    const double beyond_w = tick_.watts[gpu] - tick_.burnt_w[gpu] - fleet_.kind.held * cap_w(gpu);
    board.trim_w = std::clamp(board.trim_w + beyond_w * dt_s / kTrimS, 0.0, kMostTrim * cap_w(gpu));
  }
  if (played_.size() == boards_.size()) return;
  for (size_t gpu = 0; gpu < boards_.size(); ++gpu)
    tick_.reasons[gpu] = tick_.reasons[fleet_.first_like(gpu)];
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
    for (const Board& board : boards_) window_hz_.push_back(board.whole_hz);
  for (Board& board : boards_) board.recent_hz = board.whole_hz;
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
  double* const now_hz = window_hz_.data() + now * boards_.size();
  const double* const recent_hz = recent_ticks_ < window_ticks_
                                      ? window_hz_.data() + back(recent_ticks_) * boards_.size()
                                      : now_hz;
  for (const size_t gpu : played_) {
    Board& board = boards_[gpu];
    const double oldest_hz = now_hz[gpu], leaving_hz = recent_hz[gpu];
    now_hz[gpu] = board.clock_hz;
    board.whole_hz += (board.clock_hz - oldest_hz) / static_cast<double>(window_ticks_);
    board.recent_hz += (board.clock_hz - leaving_hz) / static_cast<double>(recent_ticks_);
  }
  window_at_ = (window_at_ + 1) % window_ticks_;
  const double highest_hz = fleet_.kind.clocks.highest_hz;
  for (const size_t gpu : played_) {
    Board& board = boards_[gpu];
    const double clock_hz = tick_.clock_hz[gpu];
    board.clock_s += clock_hz * dt_s;
    if (fleet_.role[gpu] < 0) continue;
    const Work& done = done_[static_cast<size_t>(fleet_.role[gpu])];
    const double base_hz = reference_hz_ > 0 ? reference_hz_ : highest_hz;
    // The clock that slows the clocked work as much as this one slows all of it.
    const double rest_s = std::max(0.0, done_s_ - done.clocked_s);
    board.work_s += done.clocked_s;
    board.slowed_s += done.clocked_s * base_hz / clock_hz +
                      rest_s * (slowdown(0, base_hz, clock_hz, highest_hz) - 1);
  }
}

const Tick& PowerPlay::advance(double dt_s) {
  tick_.start_s = now_s_;
  tick_.length_s = dt_s;
  decide();
  work_on(dt_s);
  draw(dt_s);
  copy_to_those_like_it();
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
  for (Board& board : boards_) board.work_s = board.slowed_s = board.clock_s = 0;
}

void PowerPlay::restart() {
  now_s_ = steps_ = 0;
  mark();
}

std::vector<double> PowerPlay::effective_hz() const {
  const double base_hz = reference_hz_ > 0 ? reference_hz_ : fleet_.kind.clocks.highest_hz;
  std::vector<double> result;
  result.reserve(boards_.size());
  for (size_t gpu = 0; gpu < boards_.size(); ++gpu) {
    const Board& board = boards_[fleet_.first_like(gpu)];
    // Where memory is faster than at a very low reference clock, compute alone cannot make up for
    // it.
    const double least_s = board.work_s * base_hz / fleet_.kind.clocks.highest_hz;
    result.push_back(board.work_s > 0 ? base_hz * board.work_s / std::max(least_s, board.slowed_s)
                                      : board.clock_s / (now_s_ - marked_s_));
  }
  return result;
}

bool PowerPlay::held_by_heat() const {
  return std::ranges::any_of(played_,
                             [&](size_t gpu) { return boards_[gpu].thermal.reasons() != 0; });
}

double PowerPlay::shut_down() const {
  double count = 0;
  for (size_t gpu = 0; gpu < boards_.size(); ++gpu)
    if (boards_[fleet_.first_like(gpu)].thermal.shut_down && fleet_.role[gpu] >= 0)
      count += fleet_.weight_of(gpu);
  return count;
}

}  // namespace ergometer::engine

#include "engine/power/power_play.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace ergometer::engine {
namespace {

/// What the ticks of a window add up to, the newest first, so far back as `recent` and in all.
ERGOMETER_WIDTHS void add_up(const Window& ring, std::span<const RoleWork> ticks,
                             std::span<RoleWork> whole, std::span<RoleWork> recent) {
  for (size_t role = 0; role < whole.size(); ++role) {
    RoleWork sum;
    for (size_t i = 0; i < ring.recent; ++i) sum += ticks[ring.back(i) * whole.size() + role];
    recent[role] = sum;
    for (size_t i = ring.recent; i < ring.ticks; ++i)
      sum += ticks[ring.back(i) * whole.size() + role];
    whole[role] = sum;
  }
}

}  // namespace

PowerPlay::PowerPlay(const Fleet& fleet, const StepActivity& work,
                     const spec::Conditions& conditions, FleetHeat& heat, double reference_hz,
                     std::span<const double> trim_w)
    : fleet_(fleet),
      work_(work),
      heat_(heat),
      reference_hz_(reference_hz),
      boards_(fleet, conditions, heat.surroundings(), base_hz(), trim_w) {
  boards_.size(tick_);
  const size_t rows = work.roles.size() + 1;
  tick_.loads.assign(rows, {});
  tick_.loads.front().awake = false;
  for (std::vector<double>* values : {&seen_.core_w, &seen_.steady_w, &seen_.clocked_s,
                                      &seen_.rises, &done_.clocked_s, &done_.rest_s, &work_s_})
    values->assign(rows, 0.0);
  worked_.resize(work.roles.size());
  slowest_hz_.resize(work.roles.size());
  take_slices();
}

/// Before the first tick the window holds the mean step.
void PowerPlay::take_slices() {
  const size_t roles = work_.roles.size();
  whole_.resize(roles);
  whole_sum_.resize(roles);
  recent_sum_.resize(roles);
  slices_.reserve(roles * static_cast<size_t>(work_.slices));
  clocked_shares_.reserve(slices_.capacity());
  for (size_t slice = 0; slice < static_cast<size_t>(work_.slices); ++slice)
    for (size_t role = 0; role < roles; ++role) {
      const physics::Energy& energy = work_.roles[role].slices[slice];
      const double clocked_s = work_.roles[role].clocked_s[slice];
      slices_.push_back({energy.core_j(), energy.memory_j, energy.link_j, clocked_s});
      clocked_shares_.push_back(std::min(1.0, clocked_s / work_.slice_s()));
      whole_[role] += (1 / work_.step_s) * slices_.back();
    }
  recent_ = whole_;
}

double PowerPlay::base_hz() const {
  return reference_hz_ > 0 ? reference_hz_ : fleet_.kinds.front().gpu.clocks.highest_hz;
}

/// What governors expect of the next tick: that it is like the last window, or like its last ticks
/// where those ask for more. So they are quick to lower a clock and slow to raise it.
void PowerPlay::see() {
  for (size_t role = 0; role < whole_.size(); ++role) {
    const bool rises = recent_[role].core_j > whole_[role].core_j;
    const RoleWork& work = rises ? recent_[role] : whole_[role];
    seen_.core_w[role + 1] = work.core_j;
    seen_.steady_w[role + 1] = work.memory_j + work.link_j;
    seen_.clocked_s[role + 1] = work.clocked_s;
    seen_.rises[role + 1] = rises ? 1 : 0;
  }
}

/// How much longer a slice takes than its price, at the clocks of this tick.
double PowerPlay::pace(size_t slice) const {
  if (reference_hz_ <= 0) return length_factor_;
  double longest = 0;
  for (size_t role = 0; role < slowest_hz_.size(); ++role) {
    if (std::isinf(slowest_hz_[role])) continue;
    const double share = clocked_shares_[slice * slowest_hz_.size() + role];
    if (share <= 0) continue;  // it waits whatever its clock
    const FleetKind& kind = fleet_.kinds[fleet_.kind_of_role(role)];
    longest = std::max(longest, slowdown(share, reference_hz_ * kind.pace, slowest_hz_[role],
                                         kind.gpu.clocks.highest_hz));
  }
  return length_factor_ * (longest > 0 ? longest : 1);
}

/// Does as much of the step, and of those that follow, as fits into the tick.
void PowerPlay::work_on() {
  std::ranges::fill(worked_, RoleWork{});
  worked_s_ = 0;
  for (double left_s = tick_.length_s; left_s > 0;) {
    const double slice_s = work_.slice_s() * pace(slice_);
    const double share = std::min(1 - into_slice_, left_s / slice_s);
    for (size_t role = 0; role < worked_.size(); ++role)
      worked_[role] += share * slices_[slice_ * worked_.size() + role];
    worked_s_ += share * work_.slice_s();
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

/// What GPUs of each role did in this tick, as power at relative voltage 1 and as time.
void PowerPlay::tell_work() {
  const double dt_s = tick_.length_s;
  for (size_t role = 0; role < worked_.size(); ++role) {
    const RoleWork& work = worked_[role];
    tick_.loads[role + 1] = {.core_w = work.core_j / dt_s,
                             .memory_w = work.memory_j / dt_s,
                             .link_w = work.link_j / dt_s,
                             .awake = true};
    done_.clocked_s[role + 1] = work.clocked_s;
    done_.rest_s[role + 1] = std::max(0.0, worked_s_ - work.clocked_s);
    work_s_[role + 1] += work.clocked_s;
  }
  done_.base_hz = base_hz();
  done_.length_s = dt_s;
  done_.thermal_periods = thermal_time_.pass(dt_s);
}

/// Ticks of another length: windows keep their means; what was in each tick where there are as
/// many.
void PowerPlay::cut_windows(double dt_s) {
  const auto ticks = [&](double seconds) {
    return static_cast<size_t>(std::max(1.0, std::round(seconds / dt_s)));
  };
  const Window cut = {.ticks = ticks(kGovernorWindowS), .recent = ticks(kGovernorAlarmS), .now = 0};
  const double longer = dt_s / std::exchange(window_tick_s_, dt_s);
  if (!window_.empty() && cut.ticks == done_.window.ticks && cut.recent == done_.window.recent) {
    for (std::vector<RoleWork>* each : {&window_, &whole_sum_, &recent_sum_})
      for (RoleWork& work : *each) work = longer * work;
    return;
  }
  done_.window = cut;
  window_.clear();
  for (size_t tick = 0; tick < done_.window.ticks; ++tick)
    for (const RoleWork& work : whole_) window_.push_back(dt_s * work);
  add_up(done_.window, window_, whole_sum_, recent_sum_);
  boards_.cut_windows(done_.window.ticks);
}

/// Takes the tick into the governors' windows.
void PowerPlay::remember() {
  const Window& ring = done_.window;
  const size_t roles = worked_.size();
  RoleWork* const now = window_.data() + ring.now * roles;
  const RoleWork* const leaving = window_.data() + ring.back(ring.recent) * roles;
  for (size_t role = 0; role < roles; ++role) {
    recent_sum_[role] += worked_[role];
    recent_sum_[role] += -1 * leaving[role];
    whole_sum_[role] += worked_[role];
    whole_sum_[role] += -1 * now[role];
    now[role] = worked_[role];
  }
  // What sums that go on leave of the ticks gone by is rounding: from time to time they begin anew.
  if (ring.now == 0) add_up(ring, window_, whole_sum_, recent_sum_);
  for (size_t role = 0; role < roles; ++role) {
    whole_[role] = 1 / (tick_.length_s * static_cast<double>(ring.ticks)) * whole_sum_[role];
    recent_[role] = 1 / (tick_.length_s * static_cast<double>(ring.recent)) * recent_sum_[role];
  }
}

/// Power, heat and what comes of them, for the nodes of one part.
void PowerPlay::play_part(size_t part) {
  const GpuRange gpus = heat_.gpus_of(part);
  boards_.draw(gpus, tick_);
  heat_.advance(part, tick_.length_s, tick_.watts, tick_.loads);
  boards_.finish(gpus, heat_, done_, tick_);
}

const Tick& PowerPlay::advance(double dt_s) {
  tick_.start_s = now_s_;
  tick_.length_s = dt_s;
  see();
  std::ranges::fill(slowest_hz_, INFINITY);
  boards_.decide(seen_, reference_hz_, heat_.surroundings().die_c, tick_, slowest_hz_);
  work_on();
  tell_work();
  if (window_tick_s_ != dt_s) cut_windows(dt_s);
  for (size_t part = 0; part < heat_.parts(); ++part) play_part(part);
  heat_.move_coolant(dt_s);
  tick_.cluster_w = heat_.cluster_w();
  remember();
  done_.window.now = (done_.window.now + 1) % done_.window.ticks;
  now_s_ += dt_s;
  return tick_;
}

void PowerPlay::mark() {
  marked_s_ = now_s_;
  marked_steps_ = steps_;
  std::ranges::fill(work_s_, 0.0);
  boards_.mark();
}

void PowerPlay::restart() {
  now_s_ = steps_ = into_slice_ = 0;
  slice_ = 0;
  boards_.count_smoothing_anew();
  mark();
}

}  // namespace ergometer::engine

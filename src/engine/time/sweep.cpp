// The max-plus sweep.
//
// The order of work on every stream of every rank is known before the step runs. So an instruction
// starts at the latest end of what it waits for and ends its duration later, and one pass over the
// programs gives the exact timeline:  t' = max(t, h) + fixed + clocked * (reference clock / clock),
// all times in seconds. All ranks of a role run the same program: their times lie side by side in
// one vector a stream, and every step of the compiled program (engine/time/compile.h) is one loop
// over ranks (engine/time/kernels.h). Ranks that repeat each other, in groups and clocks, as
// data-parallel replicas do, are played once. Nothing is allocated per step. A role runs until it
// waits for a message or for the other roles; the roles take turns.
//
// Parts of the step: compute and optimizer time follow from the program alone; communication is
// charged as it happens; what is left of the step is idle.
#include "engine/time/sweep.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/collection.h"
#include "engine/time/between_roles.h"
#include "engine/time/compile.h"
#include "engine/time/kernels.h"
#include "engine/time/replay.h"
#include "engine/time/steady.h"

namespace ergometer::engine {
namespace {

using workload::GroupKind;
using Times = std::vector<double>;

/// A rank whose ends of collectives and receives are written down for `replay`.
struct Sample {
  int64_t rank = 0;
  size_t position = 0;
  Times ends_s;
};

/// The ranks of one role: their times and how far they are.
struct RoleState {
  const CompiledRole* compiled = nullptr;
  std::unique_ptr<const PricedOperators> own;  ///< of a role on nodes of several kinds
  size_t next = 0;                             ///< step to run
  size_t until = 0;                            ///< step to stop before
  bool arrived = false;  ///< at the meeting with other roles that step `next` is
  Times inverse_clock;   ///< reference clock / clock
  std::array<Times, workload::kStreamCount> free_s;
  Times host_since_s;  ///< empty until the host first waits for the GPU
  double host_s = 0;
  double host_before_s = 0;  ///< of `host_s`, what `host_since_s` has taken over
  std::vector<Times> events_s;
  std::array<Times, kPartCount> parts_s;  ///< of communication; empty until charged
  std::array<size_t, 2> meetings{};       ///< done so far: world, embedding
  std::vector<Sample> samples;
  double host_gaps_s = 0;  ///< of the role's first rank

  kernels::HostTime host() const {
    return {host_since_s.empty() ? nullptr : host_since_s.data(), host_s};
  }
};

/// Ranks of several roles waiting for each other.
struct Meeting {
  size_t arrived = 0;
  double latest_s = 0;  ///< world: over everybody
  Times latest_at_s;    ///< embedding: per index in the role
};

class Sweep {
 public:
  Sweep(const EngineInput& input, const RankLayout& layout, CompiledRoles& compiled)
      : input_(input),
        layout_(layout),
        compiled_(compiled),
        n_(layout.ranks()),
        all_(input.plan.ranks_per_role),
        loads_(rank_loads(input)),
        messages_(input.plan.messages, layout.ranks()),
        gatherings_(input.plan, layout.ranks()) {
    set_positions();
    if (!loads_.even()) set_loads();
    set_roles();
    ERGOMETER_CHECK(input.plan.periods_left_out == 0 || input.sampled_ranks.empty(),
                    "a folded plan has no spans of the whole step");
    for (const int64_t rank : input.sampled_ranks) add_sample(rank);
    if (input.plan.periods_left_out > 0) find_receivers();
  }

  Timeline run(std::span<const size_t> order) {
    if (input_.plan.periods_left_out > 0) {
      SteadyPhase steady;
      for (size_t mark = 0; mark < 3; ++mark) {
        for (RoleState& role : roles_) role.until = role.compiled->periods[mark];
        run_until_stop(order);
        steady.mark(moved_times());
      }
      is_steady_ = steady.can_leave_out(input_.plan.periods_left_out);
      if (is_steady_) steady.leave_out(input_.plan.periods_left_out, 0);
    }
    for (RoleState& role : roles_) role.until = role.compiled->steps.size();
    run_until_stop(order);
    return collect();
  }

 private:
  void set_positions();
  void set_loads();
  void set_roles();
  void add_sample(int64_t rank);
  void find_receivers();
  void run_until_stop(std::span<const size_t> order);
  std::vector<MovedTimes> moved_times();
  bool advance(size_t role);
  bool execute(size_t role, const Step& step);
  void compute(RoleState& role, const Step& step);
  void compute_loaded(RoleState& role, const Step& step);
  const kernels::OwnDurations& own_durations(const RoleState& role, const Step& step);
  void spend(RoleState& role, const Step& step, double* part);
  void take(RoleState& role, const Step& step, const Times& there_s);
  bool receive(RoleState& role, const Step& step);
  bool meet(size_t role_index, const Step& step);
  void arrive(RoleState& role, const Step& step);
  bool gather(RoleState& role, const Step& step);
  void collective(RoleState& role, const Step& step);
  void send(RoleState& role, const Step& step);
  void wait(RoleState& role, const Step& step, const Times& other);
  void sync_host(RoleState& role, const Step& step);
  Meeting& meeting(GroupKind kind, size_t number);
  Timeline collect() const;
  void collect_role(const RoleState& role, RankTimes* ranks) const;

  static Times& stream(RoleState& role, workload::Stream stream) {
    return role.free_s[static_cast<size_t>(stream)];
  }
  /// Where a step's exposed time goes; null when it is not charged.
  double* charged(RoleState& role, const Step& step) const {
    return step.charge == Charge::kNone ? nullptr : seconds_of(role, step.part);
  }
  /// The same of compute, which is charged on its own stream alone.
  double* charged_compute(RoleState& role, const Step& step, Part part) const {
    return step.stream == workload::Stream::kCompute ? seconds_of(role, part) : nullptr;
  }
  double* seconds_of(RoleState& role, Part part) const {
    Times& seconds = role.parts_s[static_cast<size_t>(part)];
    if (seconds.empty()) seconds.assign(static_cast<size_t>(n_), 0.0);
    return seconds.data();
  }
  /// Adds what the first rank's compute stream is about to wait for the host in `step`.
  void note_host_gap(RoleState& role, const Step& step) const {
    if (step.stream != workload::Stream::kCompute) return;
    const double since = role.host_since_s.empty() ? 0 : role.host_since_s.front();
    const double late_s = since + role.host_s - stream(role, step.stream).front();
    const double x = role.inverse_clock.front();
    role.host_gaps_s += std::max(0.0, late_s + (step.after_host.at(x) - step.duration.at(x)));
  }
  /// Lets a step's stream wait until the host has launched it.
  Times& begin(RoleState& role, const Step& step) const {
    note_host_gap(role, step);
    Times& t = stream(role, step.stream);
    kernels::wait_for_host(t.data(), n_, role.host());
    return t;
  }
  /// Behind what other ranks take part in.
  static void end(RoleState& role, const Step& step) {
    role.host_s += step.host_s;
    for (Sample& sample : role.samples)
      sample.ends_s.push_back(stream(role, step.stream)[sample.position]);
  }

  const EngineInput& input_;
  const RankLayout& layout_;
  CompiledRoles& compiled_;
  int64_t n_;    ///< ranks of a role that are played
  int64_t all_;  ///< and those that they stand for: rank i is played as i % n_
  RankLoads loads_;
  kernels::OwnDurations own_;     ///< working memory
  std::vector<Times> less_;       ///< by row: loads of ranks, less that of the telling one
  std::vector<size_t> position_;  ///< in a role's vectors, by index in the role
  std::vector<RoleState> roles_;
  MessageBuffers messages_;
  Gatherings gatherings_;
  std::array<std::vector<Meeting>, 2> meetings_;
  std::vector<size_t> receivers_;  ///< by message, of a folded plan
  bool is_steady_ = true;
};

void Sweep::set_positions() {
  position_.resize(static_cast<size_t>(n_));
  for (int64_t i = 0; i < n_; ++i)
    position_[static_cast<size_t>(i)] = static_cast<size_t>(layout_.position(i));
}

void Sweep::set_loads() {
  for (int32_t row = 0; row < loads_.rows(); ++row) {
    Times& less = less_.emplace_back(static_cast<size_t>(n_));
    for (int64_t i = 0; i < n_; ++i)
      less[position_[static_cast<size_t>(i)]] = loads_.of(row, i) - loads_.telling(row);
  }
}

/// A kernel that ends the later, the more the rank has to do.
void Sweep::compute_loaded(RoleState& role, const Step& step) {
  kernels::compute_loaded(stream(role, step.stream).data(), role.inverse_clock.data(),
                          less_[static_cast<size_t>(step.row)].data(), n_, step.duration,
                          step.per_load, role.host(), charged_compute(role, step, Part::kCompute));
}

/// What a step takes on each rank, where ranks differ by their nodes or micro batches.
const kernels::OwnDurations& Sweep::own_durations(const RoleState& role, const Step& step) {
  own_.fixed_s.resize(static_cast<size_t>(n_));
  own_.clocked_s.resize(static_cast<size_t>(n_));
  if (step.row >= 0) {
    const Times& less = less_[static_cast<size_t>(step.row)];
    for (size_t at = 0; at < less.size(); ++at) {
      own_.fixed_s[at] = step.duration.fixed_s + less[at] * step.per_load.fixed_s;
      own_.clocked_s[at] = step.duration.clocked_s + less[at] * step.per_load.clocked_s;
    }
    return own_;
  }
  for (int64_t i = 0; i < n_; ++i) {
    const ClockedTime duration = role.own->duration(static_cast<size_t>(step.each), i);
    const size_t at = position_[static_cast<size_t>(i)];
    own_.fixed_s[at] = duration.fixed_s;
    own_.clocked_s[at] = duration.clocked_s;
  }
  return own_;
}

/// Lets a step's duration pass on all ranks.
void Sweep::spend(RoleState& role, const Step& step, double* part) {
  Times& t = stream(role, step.stream);
  if (step.each >= 0)
    kernels::spend_own(t.data(), role.inverse_clock.data(), n_, own_durations(role, step), part);
  else
    kernels::spend(t.data(), role.inverse_clock.data(), n_, step.duration, part);
}

void Sweep::compute(RoleState& role, const Step& step) {
  Times& t = stream(role, step.stream);
  if (step.row >= 0) return compute_loaded(role, step);
  if (step.each < 0)
    return kernels::compute(t.data(), role.inverse_clock.data(), n_, step.duration, step.after_host,
                            role.host());
  kernels::wait_for_host(t.data(), n_, role.host());
  spend(role, step, charged_compute(role, step, step.part));
}

void Sweep::set_roles() {
  const auto clocks = input_.clocks_hz;
  const size_t n = static_cast<size_t>(n_), all = static_cast<size_t>(all_);
  ERGOMETER_CHECK(clocks.size() == 1 || clocks.size() == all * input_.plan.roles.size(),
                  "one clock a rank, or one");
  roles_.resize(input_.plan.roles.size());
  for (size_t r = 0; r < roles_.size(); ++r) {
    RoleState& role = roles_[r];
    role.inverse_clock.resize(n);
    for (size_t i = 0; i < n; ++i) {
      const double clock = clocks.size() == 1 ? clocks[0] : clocks[r * all + i];
      role.inverse_clock[position_[i]] = input_.costs.reference_clock_hz / clock;
    }
    const auto [low, high] = std::ranges::minmax_element(role.inverse_clock);
    if (RankGroups(input_.job, static_cast<int64_t>(r)).mixed())
      role.own = std::make_unique<const PricedOperators>(input_, r);
    role.compiled = &compiled_.of(input_, r, {.low = *low, .high = *high});
    for (Times& t : role.free_s) t.assign(n, 0.0);
    role.events_s.assign(static_cast<size_t>(role.compiled->event_buffers), Times(n, 0.0));
  }
}

void Sweep::add_sample(int64_t rank) {
  const size_t role = static_cast<size_t>(rank / all_);
  ERGOMETER_CHECK(rank >= 0 && role < roles_.size(), "a sampled rank outside the job");
  roles_[role].samples.push_back(
      {.rank = rank, .position = position_[static_cast<size_t>(rank % all_ % n_)], .ends_s = {}});
}

void Sweep::find_receivers() {
  receivers_.resize(static_cast<size_t>(messages_.messages()));
  for (size_t r = 0; r < roles_.size(); ++r)
    for (const int32_t message : roles_[r].compiled->received)
      receivers_[static_cast<size_t>(message)] = r;
}

void Sweep::run_until_stop(std::span<const size_t> order) {
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t i = 0; i < roles_.size(); ++i) moved |= advance(order.empty() ? i : order[i]);
  }
  for (const RoleState& role : roles_)
    ERGOMETER_CHECK(role.next == role.until, "deadlock: a role waits for what is never sent");
}

/// Everything that decides what follows, and what is added up.
std::vector<MovedTimes> Sweep::moved_times() {
  using enum MovedTimes::Kind;
  std::vector<MovedTimes> times;
  for (size_t r = 0; r < roles_.size(); ++r) {
    RoleState& role = roles_[r];
    const auto add = [&](MovedTimes::Kind kind, std::span<double> values) {
      times.push_back({.kind = kind, .role = r, .values = values});
    };
    const auto joined = joined_streams(input_.plan.roles[r]);
    for (size_t stream = 0; stream < role.free_s.size(); ++stream)
      times.push_back({.kind = kStream,
                       .role = r,
                       .values = role.free_s[stream],
                       .stream = static_cast<int>(stream),
                       .joined = joined[stream]});
    for (Times& t : role.events_s) add(kAwaited, t);
    if (!role.host_since_s.empty()) {
      for (double& since_s : role.host_since_s) since_s += role.host_s;
      role.host_before_s += std::exchange(role.host_s, 0.0);
      add(kSum, std::span(&role.host_before_s, 1));
    }
    add(kAwaited, role.host_since_s.empty() ? std::span(&role.host_s, 1)
                                            : std::span<double>(role.host_since_s));
    for (Times& t : role.parts_s) add(kSum, t);
    add(kSum, std::span(&role.host_gaps_s, 1));
  }
  for (int32_t message = 0; message < messages_.messages(); ++message)
    if (Times* left_s = messages_.find(message); left_s != nullptr)
      times.push_back(
          {.kind = kAwaited, .role = receivers_[static_cast<size_t>(message)], .values = *left_s});
  return times;
}

/// Runs a role until it has to wait for another; true if it got anywhere.
bool Sweep::advance(size_t role_index) {
  RoleState& role = roles_[role_index];
  const size_t first = role.next;
  const bool had_arrived = role.arrived;
  while (role.next < role.until && execute(role_index, role.compiled->steps[role.next]))
    ++role.next;
  return role.next != first || role.arrived != had_arrived;
}

bool Sweep::execute(size_t role_index, const Step& step) {
  RoleState& role = roles_[role_index];
  Times& t = stream(role, step.stream);
  switch (step.kind) {
    case StepKind::kCompute:
      note_host_gap(role, step);
      compute(role, step);
      role.host_s += step.host_s;
      return true;
    case StepKind::kCollective: collective(role, step); return true;
    case StepKind::kWorld:
      return step.group == GroupKind::kStages ? gather(role, step) : meet(role_index, step);
    case StepKind::kArrive: arrive(role, step); return true;
    case StepKind::kSend: send(role, step); return true;
    case StepKind::kRecv: return receive(role, step);
    case StepKind::kJoin: wait(role, step, stream(role, step.on)); return true;
    case StepKind::kRecord: role.events_s[static_cast<size_t>(step.slot)] = t; return true;
    case StepKind::kWait:
      wait(role, step, role.events_s[static_cast<size_t>(step.slot)]);
      return true;
    case StepKind::kHostSync: sync_host(role, step); return true;
  }
  return true;
}

void Sweep::collective(RoleState& role, const Step& step) {
  Times& t = stream(role, step.stream);
  note_host_gap(role, step);
  double* part = charged(role, step);
  const bool own = step.each >= 0;  // then all meet, and each goes on for its own time
  kernels::collective(t.data(), role.inverse_clock.data(), layout_.group(step.group),
                      own ? ClockedTime{} : step.duration, role.host(), part);
  if (own) spend(role, step, part);
  end(role, step);
}

void Sweep::send(RoleState& role, const Step& step) {
  messages_.send(step.slot, begin(role, step));
  spend(role, step, charged(role, step));
  role.host_s += step.host_s;
}

/// A transfer or collective that starts when what others bring is there.
void Sweep::take(RoleState& role, const Step& step, const Times& there_s) {
  kernels::wait_for(begin(role, step).data(), there_s.data(), n_);
  spend(role, step, charged(role, step));
  end(role, step);
}

bool Sweep::receive(RoleState& role, const Step& step) {
  const Times* left_s = messages_.find(step.slot);
  if (left_s == nullptr) return false;
  take(role, step, *left_s);
  messages_.receive(step.slot);
  return true;
}

void Sweep::arrive(RoleState& role, const Step& step) {
  Times ready_s = stream(role, step.stream);
  kernels::wait_for_host(ready_s.data(), n_, role.host());
  gatherings_.arrive(step.slot, ready_s);
}

bool Sweep::gather(RoleState& role, const Step& step) {
  const Times* latest_s = gatherings_.find(step.slot);
  if (latest_s == nullptr) return false;
  take(role, step, *latest_s);
  gatherings_.leave(step.slot);
  return true;
}

void Sweep::wait(RoleState& role, const Step& step, const Times& other) {
  Times& t = stream(role, step.stream);
  double* part = charged(role, step);
  if (&t == &other) return;
  if (part == nullptr) return kernels::wait_for(t.data(), other.data(), n_);
  if (step.each >= 0 && step.charge == Charge::kDuration)
    return kernels::wait_charged_own(t.data(), other.data(), role.inverse_clock.data(), n_, part,
                                     own_durations(role, step));
  kernels::wait_charged(t.data(), other.data(), role.inverse_clock.data(), n_, part,
                        step.charge == Charge::kDuration, step.duration);
}

void Sweep::sync_host(RoleState& role, const Step& step) {
  if (role.host_since_s.empty()) role.host_since_s.assign(static_cast<size_t>(n_), 0.0);
  kernels::raise_host(role.host_since_s.data(), stream(role, step.stream).data(), n_, role.host_s);
}

Meeting& Sweep::meeting(GroupKind kind, size_t number) {
  std::vector<Meeting>& meetings = meetings_[kind == GroupKind::kWorld ? 0 : 1];
  if (meetings.size() <= number) meetings.resize(number + 1);
  Meeting& found = meetings[number];
  if (kind == GroupKind::kEmbedding && found.arrived == 0)
    found.latest_at_s.assign(static_cast<size_t>(n_), 0.0);
  return found;
}

bool Sweep::meet(size_t role_index, const Step& step) {
  RoleState& role = roles_[role_index];
  Times& t = stream(role, step.stream);
  const bool world = step.group == GroupKind::kWorld;
  size_t& done = role.meetings[world ? 0 : 1];
  Meeting& here = meeting(step.group, done);
  if (!role.arrived) {
    role.arrived = true;
    ++here.arrived;
    begin(role, step);
    if (world)
      here.latest_s = std::max(here.latest_s, kernels::largest(t.data(), n_));
    else
      kernels::wait_for(here.latest_at_s.data(), t.data(), n_);
  }
  const size_t expected = world ? roles_.size() : std::min<size_t>(roles_.size(), 2);
  if (here.arrived < expected) return false;
  if (world)
    std::ranges::fill(t, here.latest_s);
  else
    std::copy(here.latest_at_s.begin(), here.latest_at_s.end(), t.begin());
  spend(role, step, charged(role, step));
  role.arrived = false;
  ++done;
  end(role, step);
  return true;
}

void Sweep::collect_role(const RoleState& role, RankTimes* ranks) const {
  for (int64_t i = 0; i < all_; ++i) {
    if (i >= n_) {
      ranks[i] = ranks[i - n_];
      continue;
    }
    const size_t at = position_[static_cast<size_t>(i)];
    RankTimes& rank = ranks[i];
    for (const Times& t : role.free_s) rank.end_s = std::max(rank.end_s, t[at]);
    for (size_t part = 0; part < kPartCount; ++part)
      if (!role.parts_s[part].empty()) rank.parts_s[part] = role.parts_s[part][at];
    // Of compute, steps charge what the rank takes less than the fullest, and what differs by
    // nodes.
    rank.parts_s[static_cast<size_t>(Part::kCompute)] +=
        role.compiled->compute.at(role.inverse_clock[at]);
    rank.parts_s[static_cast<size_t>(Part::kOptimizer)] +=
        role.compiled->optimizer.at(role.inverse_clock[at]);
  }
}

Timeline Sweep::collect() const {
  Timeline timeline;
  timeline.ranks.resize(static_cast<size_t>(all_) * roles_.size());
  for (size_t r = 0; r < roles_.size(); ++r)
    collect_role(roles_[r], &timeline.ranks[r * static_cast<size_t>(all_)]);
  for (const RankTimes& rank : timeline.ranks)
    timeline.step_s = std::max(timeline.step_s, rank.end_s);
  for (RankTimes& rank : timeline.ranks) {
    const double busy_s = base::sum(rank.parts_s);
    // A rank that is never idle may have parts that add up to a rounding error more than the step.
    rank.parts_s[static_cast<size_t>(Part::kIdle)] = std::max(0.0, timeline.step_s - busy_s);
  }
  for (const RoleState& role : roles_) {
    timeline.host_gaps_s.push_back(role.host_gaps_s);
    timeline.launches_s.push_back(role.host_before_s + role.host_s);
  }
  timeline.steady = is_steady_;
  for (const int64_t wanted : input_.sampled_ranks) {
    const RoleState& role = roles_[static_cast<size_t>(wanted / all_)];
    const auto sample = std::ranges::find(role.samples, wanted, &Sample::rank);
    const auto spans = replay(input_, static_cast<size_t>(wanted / all_), wanted,
                              role.inverse_clock[sample->position], sample->ends_s);
    timeline.spans.insert(timeline.spans.end(), spans.begin(), spans.end());
  }
  return timeline;
}

}  // namespace

Timeline sweep_ranks(const EngineInput& input, const RankLayout& layout,
                     std::span<const size_t> order) {
  CompiledRoles compiled;
  return Sweep(input, layout, compiled).run(order);
}

Timeline sweep(const EngineInput& input, CompiledRoles& compiled) {
  const RankLayout layout =
      RankLayout::of_distinct(input.job, input.plan.ranks_per_role, input.clocks_hz);
  return Sweep(input, layout, compiled).run({});
}

Timeline sweep(const EngineInput& input) {
  CompiledRoles compiled;
  return sweep(input, compiled);
}

}  // namespace ergometer::engine

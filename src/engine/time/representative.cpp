#include "engine/time/representative.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "engine/time/between_roles.h"
#include "engine/time/compile.h"
#include "engine/time/scalar_rank.h"
#include "engine/time/steady.h"

namespace ergometer::engine {
namespace {

using plan::Instruction;
using plan::InstructionKind;

constexpr double kNotSent = -1;

struct RoleMeeting {
  size_t arrived = 0;
  double latest_s = 0;
};

struct Runner {
  const plan::Role& program;
  PricedOperators operators;
  const std::vector<double>& durations_s;
  ScalarRank rank;
  Activities& activities;
  size_t next = 0, until = 0;
  bool arrived = false;
  std::array<size_t, 2> meetings{};

  Runner(const EngineInput& input, size_t role, const std::vector<double>& durations,
         Activities& result)
      : program(input.plan.roles[role]),
        operators(input, role),
        durations_s(durations),
        rank(program.events),
        activities(result) {
    activities.begin_s.resize(program.program.size());
    activities.end_s.resize(program.program.size());
  }
};

class Representatives {
 public:
  Representatives(const EngineInput& input, const std::vector<std::vector<double>>& durations_s,
                  std::vector<Activities>& activities)
      : plan_(input.plan), gatherings_(input.plan, 1) {
    activities.resize(input.plan.roles.size());
    for (size_t role = 0; role < input.plan.roles.size(); ++role)
      runners_.emplace_back(input, role, durations_s[role], activities[role]);
    sent_s_.assign(static_cast<size_t>(input.plan.messages), kNotSent);
  }

  LeftOut run() {
    LeftOut left_out;
    if (plan_.periods_left_out > 0) {
      SteadyPhase steady;
      for (size_t mark = 0; mark < 3; ++mark) {
        for (Runner& runner : runners_) runner.until = runner.program.periods[mark];
        run_until_stop();
        steady.mark(moved_times());
      }
      left_out.steady = steady.can_leave_out(plan_.periods_left_out) && steady.has_one_pace();
      if (left_out.steady) {
        left_out.period_s = steady.period_s();
        steady.leave_out(plan_.periods_left_out, left_out.period_s);
      }
    }
    for (Runner& runner : runners_) runner.until = runner.program.program.size();
    run_until_stop();
    return left_out;
  }

 private:
  void run_until_stop() {
    for (bool moved = true; moved;) {
      moved = false;
      for (Runner& runner : runners_) moved |= advance(runner);
    }
    for (const Runner& runner : runners_)
      ERGOMETER_CHECK(runner.next == runner.until, "deadlock: a role waits for what is never sent");
  }

  std::vector<MovedTimes> moved_times() {
    using enum MovedTimes::Kind;
    std::vector<MovedTimes> times;
    for (size_t role = 0; role < runners_.size(); ++role) {
      ScalarRank& rank = runners_[role].rank;
      const auto joined = joined_streams(plan_.roles[role]);
      for (size_t stream = 0; stream < joined.size(); ++stream)
        times.push_back({.kind = kStream,
                         .role = role,
                         .values = rank.streams_s().subspan(stream, 1),
                         .stream = static_cast<int>(stream),
                         .joined = joined[stream]});
      for (double& t : rank.events_s())
        times.push_back({.kind = kAwaited, .role = role, .values = std::span(&t, 1)});
      times.push_back({.kind = kAwaited, .role = role, .values = rank.host_s()});
    }
    return times;
  }

  bool advance(Runner& runner) {
    const size_t first = runner.next;
    const bool had_arrived = runner.arrived;
    while (runner.next < runner.until && execute(runner, runner.program.program[runner.next]))
      ++runner.next;
    return runner.next != first || runner.arrived != had_arrived;
  }

  bool execute(Runner& runner, const Instruction& it) {
    double begin_s = 0;
    if (!launches(it.kind)) {
      if (it.kind == InstructionKind::kArrive)
        gatherings_.arrive(it.slot, {runner.rank.start_s(it)});
      runner.rank.order(it);
      begin_s = runner.rank.free_s(it.stream);
    } else {
      begin_s = runner.rank.start_s(it);
      if (!wait_for_others(runner, it, begin_s)) return false;
      runner.rank.launch(it, begin_s + runner.durations_s[runner.next],
                         runner.operators.of(it).host_s);
    }
    runner.activities.begin_s[runner.next] = begin_s;
    runner.activities.end_s[runner.next] = runner.rank.free_s(it.stream);
    return true;
  }

  /// Moves `begin_s` to when what other roles contribute is there; false if it is not there yet.
  bool wait_for_others(Runner& runner, const Instruction& it, double& begin_s) {
    if (it.kind == InstructionKind::kSend) sent_s_[static_cast<size_t>(it.slot)] = begin_s;
    if (it.kind == InstructionKind::kRecv) {
      const double sent_s = sent_s_[static_cast<size_t>(it.slot)];
      begin_s = std::max(begin_s, sent_s);
      return sent_s != kNotSent;
    }
    if (it.kind != InstructionKind::kWorld) return true;
    const bool gathers = runner.operators.of(it).group == workload::GroupKind::kStages;
    return gathers ? gather(it, begin_s) : meet(runner, it, begin_s);
  }

  bool gather(const Instruction& it, double& begin_s) {
    const std::vector<double>* latest_s = gatherings_.find(it.slot);
    if (latest_s == nullptr) return false;
    begin_s = std::max(begin_s, latest_s->front());
    gatherings_.leave(it.slot);
    return true;
  }

  bool meet(Runner& runner, const Instruction& it, double& begin_s) {
    const bool world = runner.operators.of(it).group == workload::GroupKind::kWorld;
    const size_t kind = world ? 0 : 1;
    std::vector<RoleMeeting>& meetings = meetings_[kind];
    if (meetings.size() <= runner.meetings[kind]) meetings.resize(runner.meetings[kind] + 1);
    RoleMeeting& here = meetings[runner.meetings[kind]];
    if (!runner.arrived) {
      ++here.arrived;
      here.latest_s = std::max(here.latest_s, begin_s);
      runner.arrived = true;
    }
    if (here.arrived < (world ? runners_.size() : std::min<size_t>(runners_.size(), 2)))
      return false;
    begin_s = here.latest_s;
    ++runner.meetings[kind];
    runner.arrived = false;
    return true;
  }

  const plan::Plan& plan_;
  std::vector<Runner> runners_;
  std::vector<double> sent_s_;
  Gatherings gatherings_;
  std::array<std::vector<RoleMeeting>, 2> meetings_;
};

}  // namespace

LeftOut run_representatives(const EngineInput& input,
                            const std::vector<std::vector<double>>& durations_s,
                            std::vector<Activities>& activities) {
  return Representatives(input, durations_s, activities).run();
}

}  // namespace ergometer::engine

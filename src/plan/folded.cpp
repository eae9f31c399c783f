#include "plan/folded.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "plan/schedule.h"

namespace ergometer::plan {
namespace {

/// Micro batches that a period of the steady phase takes; 0: there is none, or none that is known.
int64_t period_of(const spec::Job& job) {
  const spec::Parallelism& p = job.parallelism;
  const bool known = p.schedule == spec::Schedule::kOneFOneB ||
                     p.schedule == spec::Schedule::kInterleaved ||
                     p.schedule == spec::Schedule::kZbH1;
  if (forward_only(job) || !known || p.divides_vocabulary() || p.trains_apart()) return 0;
  return p.vpp > 1 ? group_size(job, job.micro_batches()) : p.pp;
}

/// How many micro batches hold `periods` steady periods on every stage, and differ from the job's
/// by whole periods.
int64_t micro_batches_of(const spec::Job& job, int64_t periods, int64_t period) {
  const int64_t chunks = job.parallelism.vpp, all = job.micro_batches();
  const int64_t ahead = warm_up_forwards(job, 0, all);
  const int64_t least = periods * period + (ahead + chunks - 1) / chunks;
  return least + ((all - least) % period + period) % period;
}

/// A place in the program of every role.
using Places = std::vector<size_t>;

/// Where a forward's own work begins: behind the transfers before it.
size_t begin_of(const Role& role, const ScheduleSlot& forward) {
  const auto found = std::ranges::find_if(role.program, [&](const Instruction& it) {
    return it.micro_batch == forward.micro_batch && it.chunk == forward.chunk &&
           it.stream == workload::Stream::kCompute &&
           (it.kind == InstructionKind::kCompute || it.kind == InstructionKind::kCollective);
  });
  return static_cast<size_t>(found - role.program.begin());
}

/// Where the forward begins with which a role's steady phase has so many forwards behind it.
Places places_behind(const spec::Job& job, const Plan& plan, int64_t micro_batches,
                     int64_t steady_forwards) {
  Places places;
  for (const Role& role : plan.roles) {
    const int64_t wanted = warm_up_forwards(job, role.stage, micro_batches) + steady_forwards;
    int64_t number = 0;
    ScheduleSlot forward;
    for (const ScheduleSlot& slot : schedule(job, role.stage, micro_batches)) {
      if (slot.kind != SlotKind::kForward) continue;
      forward = slot;
      if (number++ == wanted) break;
    }
    places.push_back(begin_of(role, forward));
  }
  return places;
}

/// Who sends each message, and where in its program.
std::vector<std::pair<size_t, size_t>> senders(const Plan& plan) {
  std::vector<std::pair<size_t, size_t>> result(static_cast<size_t>(plan.messages));
  for (size_t role = 0; role < plan.roles.size(); ++role)
    for (size_t i = 0; i < plan.roles[role].program.size(); ++i) {
      const Instruction& it = plan.roles[role].program[i];
      if (it.kind == InstructionKind::kSend) result[static_cast<size_t>(it.slot)] = {role, i};
    }
  return result;
}

/// Moves places on until all that is received before them was sent before them.
void close_over_messages(const Plan& plan, const std::vector<std::pair<size_t, size_t>>& sent,
                         Places& places) {
  Places looked_at(places.size(), 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t role = 0; role < places.size(); ++role)
      for (size_t& i = looked_at[role]; i < places[role]; ++i) {
        const Instruction& it = plan.roles[role].program[i];
        if (it.kind != InstructionKind::kRecv) continue;
        const auto [from, position] = sent[static_cast<size_t>(it.slot)];
        if (position < places[from]) continue;
        places[from] = position + 1;
        moved = true;
      }
  }
}

/// Whether a period's instruction is the same as that of the period before, for micro batches that
/// come `period` later.
bool repeats(const Instruction& before, const Instruction& after, int64_t period) {
  const bool message =
      before.kind == InstructionKind::kSend || before.kind == InstructionKind::kRecv;
  const auto what = [](const Instruction& it) {
    return std::tie(it.kind, it.stream, it.on, it.op, it.chunk, it.layer);
  };
  return what(before) == what(after) && (message || before.slot == after.slot) &&
         before.kind != InstructionKind::kWorld &&
         after.micro_batch == (before.micro_batch < 0 ? -1 : before.micro_batch + period);
}

bool is_periodic(const Role& role, int64_t period) {
  const auto [first, middle, last] = role.periods;
  if (middle - first != last - middle || first >= middle || last > role.program.size())
    return false;
  for (size_t i = first; i < middle; ++i)
    if (!repeats(role.program[i], role.program[i + middle - first], period)) return false;
  return true;
}

}  // namespace

std::optional<Plan> make_folded_plan(const spec::Job& job, const workload::Workload& workload,
                                     int64_t periods) {
  const int64_t period = period_of(job);
  if (period == 0 || !job.training.sequence_lengths.is_even() ||
      !job.parallelism.group_micro_batches.empty())
    return std::nullopt;
  const int64_t written = micro_batches_of(job, periods, period);
  if (written >= job.micro_batches()) return std::nullopt;
  Plan plan = make_plan(job, workload, written);
  plan.periods_left_out = (job.micro_batches() - written) / period;
  const auto sent = senders(plan);
  for (size_t mark = 0; mark < 3; ++mark) {
    const int64_t before = periods - 3 + static_cast<int64_t>(mark);
    Places places = places_behind(job, plan, written, before * period * job.parallelism.vpp);
    close_over_messages(plan, sent, places);
    for (size_t role = 0; role < places.size(); ++role)
      plan.roles[role].periods[mark] = places[role];
  }
  const bool periodic =
      std::ranges::all_of(plan.roles, [&](const Role& role) { return is_periodic(role, period); });
  return periodic ? std::optional(std::move(plan)) : std::nullopt;
}

}  // namespace ergometer::plan

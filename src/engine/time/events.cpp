// The reference engine: a discrete-event simulation of every rank on its own, to hold the sweep to.
//
// Time is a signed 64-bit count of picoseconds; events happen in the order (time, sequence number).
// Each rank has a host that issues its program's instructions, a launch cost apart, and queues
// (streams) that work in issue order: the instruction at the head of an idle queue starts as soon
// as what it waits for has happened. Nothing here is shared with the sweep but the types of its
// input and output.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <queue>
#include <vector>

#include "base/check.h"
#include "engine/time/event_state.h"
#include "engine/time/rank_loads.h"
#include "spec/job/node_groups.h"

namespace ergometer::engine {
namespace {

using plan::Instruction;
using plan::InstructionKind;
using workload::CollectiveKind;
using workload::GroupKind;
using workload::Operator;
using workload::Stream;

class EventEngine {
 public:
  explicit EventEngine(const EngineInput& input) : input_(input), n_(input.plan.ranks_per_role) {
    for (size_t kind = 0; kind < groups_.size(); ++kind)
      if (inside_role(static_cast<GroupKind>(kind)))
        groups_[kind] = plan::rank_group(input.job, static_cast<GroupKind>(kind));
    make_ranks();
    messages_.resize(static_cast<size_t>(input.plan.messages * n_));
    gatherings_.resize(input.plan.gatherings.size() * static_cast<size_t>(n_));
  }

  Timeline run() {
    for (int64_t rank = 0; rank < static_cast<int64_t>(ranks_.size()); ++rank)
      schedule(0, rank, kHost);
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.time;
      if (event.stream == kHost)
        issue(event.rank);
      else
        end_head(event.rank, event.stream);
      settle(event.rank);
    }
    return collect();
  }

 private:
  static bool inside_role(GroupKind kind) {
    return kind != GroupKind::kPipeline && kind != GroupKind::kEmbedding &&
           kind != GroupKind::kWorld && kind != GroupKind::kStages;
  }
  RankProcess& rank_at(int64_t rank) { return ranks_[static_cast<size_t>(rank)]; }
  const Instruction& instruction(const RankProcess& rank, size_t index) const {
    return input_.plan.roles[rank.role].program[index];
  }
  const Operator* op_of(const Instruction& it) const {
    return it.op < 0 ? nullptr : &input_.plan.operators[static_cast<size_t>(it.op)];
  }
  void schedule(Picoseconds time, int64_t rank, int stream) {
    events_.push({time, ++sequence_, rank, stream});
  }
  static const Entry& head(const RankProcess& rank, int stream) {
    return rank.queues[static_cast<size_t>(stream)].entries.front();
  }
  /// What the instruction at a queue's head waits for is there: it ends its duration later.
  void run_head(int64_t rank_number, int stream) {
    const RankProcess& rank = rank_at(rank_number);
    schedule(now_ + duration(rank, head(rank, stream).index), rank_number, stream);
  }

  void make_ranks();
  Picoseconds duration(const RankProcess& rank, size_t index) const;
  size_t group_of(const RankProcess& rank) const {
    return spec::group_of_rank(input_.job, static_cast<int64_t>(rank.role) * n_ + rank.index);
  }
  /// On the rank's own node.
  const cost::Prices& prices_of(const RankProcess& rank) const {
    return input_.costs.groups.empty() ? input_.costs : input_.costs.groups[group_of(rank)];
  }
  bool is_left_out(const RankProcess& rank, size_t index) const {
    const Instruction& it = instruction(rank, index);
    return !input_.costs.groups.empty() &&
           engine::is_left_out(input_.job, group_of(rank), it, *op_of(it));
  }
  double load_of(const RankProcess& rank, const Instruction& it) const;
  double load_of_documents(const RankProcess& rank, const Instruction& it) const;
  void issue(int64_t rank);
  void enqueue(RankProcess& rank, size_t index);
  void settle(int64_t rank);
  bool begin_head(int64_t rank, int stream);
  bool order(RankProcess& rank, Queue& queue, const Instruction& it);
  void launch(int64_t rank, int stream);
  void arrive(int64_t rank, int stream);
  Gathering& gathering(const RankProcess& rank, const Instruction& it);
  /// How many roles arrive at an instruction's gathering.
  int32_t arrivals_at(const Instruction& it) const {
    return input_.plan.gatherings[static_cast<size_t>(it.slot)];
  }
  void arrive_at(Gathering& here, int32_t all);
  void wait_at(Gathering& here, int32_t all, int64_t rank, int stream);
  void end_head(int64_t rank, int stream);
  void charge(RankProcess& rank, const Instruction& it, Picoseconds spent, Picoseconds limit);
  void leave_span(RankProcess& rank, size_t index, Picoseconds start, Picoseconds end) const;
  GroupCall call_of(const RankProcess& rank, const Entry& entry) const;
  size_t members(GroupKind kind) const;
  Timeline collect() const;

  const EngineInput& input_;
  int64_t n_;
  std::array<plan::RankGroup, workload::kGroupKindCount> groups_;
  std::vector<RankProcess> ranks_;
  std::vector<Message> messages_;
  std::vector<Gathering> gatherings_;  ///< by number and index in the role
  std::map<GroupCall, std::vector<Waiting>> arrivals_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  Picoseconds now_ = 0;
  int64_t sequence_ = 0;
};

bool launches_work(InstructionKind kind) {
  return kind != InstructionKind::kJoin && kind != InstructionKind::kRecord &&
         kind != InstructionKind::kWait && kind != InstructionKind::kArrive &&
         kind != InstructionKind::kHostSync;
}

void EventEngine::make_ranks() {
  ranks_.resize(static_cast<size_t>(n_) * input_.plan.roles.size());
  for (size_t r = 0; r < ranks_.size(); ++r) {
    RankProcess& rank = ranks_[r];
    rank.role = r / static_cast<size_t>(n_);
    rank.index = static_cast<int64_t>(r) % n_;
    const double clock = input_.clocks_hz.size() == 1 ? input_.clocks_hz[0] : input_.clocks_hz[r];
    rank.inverse_clock = input_.costs.reference_clock_hz / clock;
    rank.slots.resize(static_cast<size_t>(input_.plan.roles[rank.role].events));
  }
  for (const int64_t rank : input_.sampled_ranks) rank_at(rank).sampled = true;
}

Picoseconds EventEngine::duration(const RankProcess& rank, size_t index) const {
  const int32_t op = instruction(rank, index).op;
  if (op < 0 || is_left_out(rank, index)) return 0;
  const cost::Prices& prices = prices_of(rank);
  const cost::Price& price = prices.prices[rank.role][static_cast<size_t>(op)];
  double stretch = 1;
  if (!input_.stretch.empty() && !input_.stretch[rank.role].empty())
    stretch = input_.stretch[rank.role][index];
  double duration_s = stretch * (price.fixed_s + price.clocked_s * rank.inverse_clock);
  if (input_.plan.uneven != nullptr) {
    const cost::Price& more = prices.per_load[rank.role][static_cast<size_t>(op)];
    const double load = load_of(rank, instruction(rank, index));
    duration_s += stretch * (load - 1) * (more.fixed_s + more.clocked_s * rank.inverse_clock);
  }
  return std::llround(duration_s * kPicosecondsPerSecond);
}

/// Of a rank's experts in an instruction's layer, or of its micro batch; of a collective that
/// others are in as well, the fullest's.
double EventEngine::load_of(const RankProcess& rank, const Instruction& it) const {
  if (!input_.plan.uneven->sequences.even()) return load_of_documents(rank, it);
  const workload::ExpertLoads& loads = input_.plan.uneven->loads;
  if (op_of(it)->kind == workload::OperatorKind::kCollective) return loads.fullest(it.layer);
  const plan::RankGroup group = groups_[static_cast<size_t>(GroupKind::kExpert)];
  return loads.of(it.layer, rank.index / group.stride % group.size);
}

double EventEngine::load_of_documents(const RankProcess& rank, const Instruction& it) const {
  if (it.micro_batch < 0) return 1;
  const workload::SequenceLoads& loads = input_.plan.uneven->sequences;
  const Operator& op = *op_of(it);
  const int64_t replica_ranks = n_ / loads.replicas;
  if (op.group == GroupKind::kExpert || op.group == GroupKind::kExpertTensor) {
    const plan::RankGroup group = groups_[static_cast<size_t>(op.group)];
    if (op.kind == workload::OperatorKind::kCollective && group.size * group.stride > replica_ranks)
      return loads.largest(loads.measure(op), it.micro_batch);
  }
  return loads.of(loads.measure(op), it.micro_batch, rank.index / replica_ranks);
}

/// The host issues until it has launched something that costs it time, or must wait for the GPU.
void EventEngine::issue(int64_t rank_number) {
  RankProcess& rank = rank_at(rank_number);
  const std::vector<Instruction>& program = input_.plan.roles[rank.role].program;
  while (rank.next < program.size()) {
    const Instruction& it = program[rank.next];
    if (it.kind == InstructionKind::kHostSync) {
      const Queue& queue = rank.queues[static_cast<size_t>(it.stream)];
      rank.host_waits = queue.done < queue.issued;
      if (rank.host_waits) return;
      rank.host = std::max(rank.host, queue.free);
      ++rank.next;
      continue;
    }
    enqueue(rank, rank.next++);
    settle(rank_number);  // at once: what the host issues later must not be seen by a join
    const Operator* op = op_of(it);
    if (op == nullptr || !launches_work(it.kind)) continue;
    const Picoseconds cost = std::llround(input_.costs.host_s(*op) * kPicosecondsPerSecond);
    rank.host = std::max(rank.host, now_) + cost;
    if (cost > 0) return schedule(rank.host, rank_number, kHost);
  }
}

void EventEngine::enqueue(RankProcess& rank, size_t index) {
  const Instruction& it = instruction(rank, index);
  Entry entry{.index = index, .issued = now_, .ticket = 0};
  if (it.kind == InstructionKind::kJoin)
    entry.ticket = rank.queues[static_cast<size_t>(it.on)].issued;
  if (it.kind == InstructionKind::kRecord)
    rank.slots[static_cast<size_t>(it.slot)].push_back(kNotYet);
  if (it.kind == InstructionKind::kRecord || it.kind == InstructionKind::kWait)
    entry.ticket = std::ssize(rank.slots[static_cast<size_t>(it.slot)]);
  if (it.kind == InstructionKind::kWorld && op_of(it)->group != GroupKind::kStages)
    entry.ticket = rank.meetings[op_of(it)->group == GroupKind::kWorld ? 0 : 1]++;
  Queue& queue = rank.queues[static_cast<size_t>(it.stream)];
  ++queue.issued;
  queue.entries.push_back(entry);
}

/// Begins whatever can begin on the rank, until nothing more can, and lets a waiting host go on.
void EventEngine::settle(int64_t rank_number) {
  RankProcess& rank = rank_at(rank_number);
  for (bool moved = true; moved;) {
    moved = false;
    for (int stream = 0; stream < workload::kStreamCount; ++stream)
      moved |= begin_head(rank_number, stream);
  }
  if (!rank.host_waits) return;
  const Queue& awaited = rank.queues[static_cast<size_t>(instruction(rank, rank.next).stream)];
  if (awaited.done < awaited.issued) return;
  rank.host_waits = false;
  issue(rank_number);
  settle(rank_number);
}

bool EventEngine::begin_head(int64_t rank_number, int stream) {
  RankProcess& rank = rank_at(rank_number);
  Queue& queue = rank.queues[static_cast<size_t>(stream)];
  if (queue.started || queue.entries.empty()) return false;
  const Entry entry = queue.entries.front();
  const Instruction& it = instruction(rank, entry.index);
  if (!launches_work(it.kind)) return order(rank, queue, it);
  queue.started = true;
  queue.start = std::max(queue.free, entry.issued);
  ERGOMETER_CHECK(queue.start == now_, "an instruction begins when it can");
  if (it.stream == Stream::kCompute) rank.host_gaps += queue.start - queue.free;
  launch(rank_number, stream);
  return true;
}

/// Joins, records and waits take no time; false while what they wait for has not happened.
bool EventEngine::order(RankProcess& rank, Queue& queue, const Instruction& it) {
  const Entry entry = queue.entries.front();
  Picoseconds until = queue.free;
  if (it.kind == InstructionKind::kJoin && it.on != it.stream) {
    const Queue& other = rank.queues[static_cast<size_t>(it.on)];
    if (other.done < entry.ticket) return false;
    until = std::max(until, other.free);
  }
  if (it.kind == InstructionKind::kRecord) {
    rank.slots[static_cast<size_t>(it.slot)][static_cast<size_t>(entry.ticket - 1)] = queue.free;
  } else if (it.kind == InstructionKind::kWait && entry.ticket > 0) {
    const Picoseconds time =
        rank.slots[static_cast<size_t>(it.slot)][static_cast<size_t>(entry.ticket - 1)];
    if (time == kNotYet) return false;
    until = std::max(until, time);
  }
  if (it.kind == InstructionKind::kArrive) arrive_at(gathering(rank, it), arrivals_at(it));
  if (it.kind != InstructionKind::kRecord && it.kind != InstructionKind::kArrive) {
    charge(rank, it, until - queue.free, duration(rank, entry.index));
    leave_span(rank, entry.index, queue.free, until);
  }
  queue.free = until;
  queue.entries.pop_front();
  ++queue.done;
  return true;
}

Gathering& EventEngine::gathering(const RankProcess& rank, const Instruction& it) {
  return gatherings_[static_cast<size_t>(int64_t{it.slot} * n_ + rank.index)];
}

/// Of several roles' ranks of one index the last lets all go on that wait.
void EventEngine::arrive_at(Gathering& here, int32_t all) {
  if (++here.arrived < all) return;
  for (const auto& [rank, stream] : here.waiting) run_head(rank, stream);
}

/// One of a gathering goes on at once where all have arrived.
void EventEngine::wait_at(Gathering& here, int32_t all, int64_t rank_number, int stream) {
  if (here.arrived < all)
    here.waiting.push_back({rank_number, stream});
  else
    run_head(rank_number, stream);
}

void EventEngine::launch(int64_t rank_number, int stream) {
  RankProcess& rank = rank_at(rank_number);
  const Instruction& it = instruction(rank, head(rank, stream).index);
  if (it.kind == InstructionKind::kWorld && op_of(it)->group == GroupKind::kStages)
    return wait_at(gathering(rank, it), arrivals_at(it), rank_number, stream);
  if (it.kind == InstructionKind::kCollective || it.kind == InstructionKind::kWorld)
    return arrive(rank_number, stream);
  if (it.kind == InstructionKind::kCompute) return run_head(rank_number, stream);
  Message& message = messages_[static_cast<size_t>(it.slot * n_ + rank.index)];
  if (it.kind == InstructionKind::kRecv) {
    message.receiver = rank_number;
    message.stream = stream;
    if (message.sent) run_head(rank_number, stream);
    return;
  }
  message.sent = true;
  run_head(rank_number, stream);
  if (message.receiver >= 0) run_head(message.receiver, message.stream);
}

/// Ranks of a role run the same program, so that the instruction tells them their meeting; roles
/// have programs of their own and count the meetings.
GroupCall EventEngine::call_of(const RankProcess& rank, const Entry& entry) const {
  const GroupKind kind = op_of(instruction(rank, entry.index))->group;
  if (kind == GroupKind::kWorld) return {.kind = kind, .number = entry.ticket};
  if (kind == GroupKind::kEmbedding)
    return {.kind = kind, .leader = rank.index, .number = entry.ticket};
  const plan::RankGroup group = groups_[static_cast<size_t>(kind)];
  const int64_t block = group.stride * group.size;
  return {.kind = kind,
          .role = static_cast<int64_t>(rank.role),
          .leader = rank.index / block * block + rank.index % group.stride,
          .number = static_cast<int64_t>(entry.index)};
}

/// How many ranks meet in a group; that of the embedding has the first and the last stage's.
size_t EventEngine::members(GroupKind kind) const {
  if (kind == GroupKind::kWorld) return ranks_.size();
  if (kind == GroupKind::kEmbedding) return std::min<size_t>(input_.plan.roles.size(), 2);
  return static_cast<size_t>(groups_[static_cast<size_t>(kind)].size);
}

void EventEngine::arrive(int64_t rank_number, int stream) {
  const RankProcess& rank = rank_at(rank_number);
  const GroupCall call = call_of(rank, head(rank, stream));
  std::vector<Waiting>& present = arrivals_[call];
  present.push_back({rank_number, stream});
  if (present.size() < members(call.kind)) return;
  for (const auto& [member, queue] : present) run_head(member, queue);
  arrivals_.erase(call);
}

void EventEngine::end_head(int64_t rank_number, int stream) {
  RankProcess& rank = rank_at(rank_number);
  Queue& queue = rank.queues[static_cast<size_t>(stream)];
  const size_t index = queue.entries.front().index;
  charge(rank, instruction(rank, index), now_ - queue.start, duration(rank, index));
  leave_span(rank, index, queue.start, now_);
  queue.entries.pop_front();
  queue.started = false;
  queue.free = now_;
  ++queue.done;
  rank.end = now_;
}

void EventEngine::charge(RankProcess& rank, const Instruction& it, Picoseconds spent,
                         Picoseconds limit) {
  const Operator* op = op_of(it);
  if (it.stream != Stream::kCompute || op == nullptr) return;
  if (op->kind != workload::OperatorKind::kCollective) {
    if (it.kind != InstructionKind::kCompute) return;
    const Part part = op->pass == workload::Pass::kOptimizer ? Part::kOptimizer : Part::kCompute;
    rank.parts[static_cast<size_t>(part)] += spent;
    return;
  }
  constexpr std::array<std::pair<CollectiveKind, Part>, 5> kParts = {
      {{CollectiveKind::kAllReduce, Part::kAllReduce},
       {CollectiveKind::kAllGather, Part::kAllGather},
       {CollectiveKind::kReduceScatter, Part::kReduceScatter},
       {CollectiveKind::kAllToAll, Part::kAllToAll},
       {CollectiveKind::kSendRecv, Part::kSendRecv}}};
  for (const auto& [kind, part] : kParts)
    if (kind == op->collective)
      rank.parts[static_cast<size_t>(part)] +=
          inside_role(op->group) ? spent : std::min(spent, limit);
}

void EventEngine::leave_span(RankProcess& rank, size_t index, Picoseconds start,
                             Picoseconds end) const {
  if (!rank.sampled) return;
  rank.spans.push_back({.rank = static_cast<int64_t>(rank.role) * n_ + rank.index,
                        .instruction = static_cast<int32_t>(index),
                        .start_s = seconds(start),
                        .end_s = seconds(end)});
}

Timeline EventEngine::collect() const {
  Timeline timeline;
  Picoseconds step = 0;
  for (const RankProcess& rank : ranks_) {
    for (const Queue& queue : rank.queues)
      ERGOMETER_CHECK(queue.entries.empty(), "deadlock: a rank waits for what never happens");
    step = std::max(step, rank.end);
  }
  timeline.step_s = seconds(step);
  for (const RankProcess& rank : ranks_) {
    RankTimes times;
    times.end_s = seconds(rank.end);
    Picoseconds idle = step;
    for (const Picoseconds part : rank.parts) idle -= part;
    for (size_t part = 0; part < kPartCount; ++part)
      times.parts_s[part] = seconds(rank.parts[part]);
    times.parts_s[static_cast<size_t>(Part::kIdle)] = seconds(idle);
    timeline.ranks.push_back(times);
    if (rank.index == 0) timeline.host_gaps_s.push_back(seconds(rank.host_gaps));
  }
  for (const int64_t wanted : input_.sampled_ranks) {
    std::vector<Span> spans = ranks_[static_cast<size_t>(wanted)].spans;
    std::ranges::sort(spans, {}, &Span::instruction);
    timeline.spans.insert(timeline.spans.end(), spans.begin(), spans.end());
  }
  return timeline;
}

}  // namespace

Timeline simulate_events(const EngineInput& input) { return EventEngine(input).run(); }

}  // namespace ergometer::engine

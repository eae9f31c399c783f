// What running side by side does to durations.
//
// On a rank, at most one instruction of every stream is at work at a time. Over every interval in
// which the same ones are at work, each proceeds at a rate <= 1:
//   a copy to or from the host: its share of the node's PCIe links; 1 where the node says no tree;
//   a kernel beside collectives: 1 / (1 + sum over them of (compute_slowdown - 1)), divided by the
//     number of kernels that share the GPU at that moment;
//   a collective beside kernels: 1 / (1 + sum of (collective_slowdown - 1)), times its share of the
//     links: what max-min fairness gives it of the demand (bytes / duration) it has when alone.
// An instruction that took T seconds did W = integral of its rate of work, so it is stretched by T
// / W. Stretching moves everything behind it; so the timeline and the stretch are found in turns,
// until they settle. One rank of every role is looked at, at the reference clock: stretch is a
// property of the program, not of a rank. Only the bandwidth part of a collective shares: the
// demand is taken over its whole duration, latency included, so that a latency-bound collective
// asks for little. Of a node's PCIe tree the fullest link of each collective counts as one that
// they share, and so does that of copies to and from the host.
//
// Links between switches, or of the nodes of a torus and circuits, are shared like cards, where one
// collective or another fills them more than the cards (engine/links/network_lines.h).
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "cost/given_choice.h"
#include "cost/pcie_groups.h"
#include "engine/links/fair_share.h"
#include "engine/links/network_lines.h"
#include "engine/time/compile.h"
#include "engine/time/representative.h"
#include "spec/job/node_groups.h"

namespace ergometer::engine {
namespace {

using plan::Instruction;
using plan::InstructionKind;
using workload::Operator;

constexpr int kRounds = 8;
constexpr int kUndampedStretches = 3;  ///< then the mean of old and new, lest two states alternate
constexpr double kSettled = 1e-3;      ///< largest relative change of a stretch that counts as none
/// The same of the step: what single instructions meet may go on changing places without an end.
constexpr double kSettledStep = 2e-4;
/// Two of every kind, one a direction; behind them those of the network.
enum Link : size_t { kIntraOut, kIntraIn, kNicOut, kNicIn, kPcieOut, kPcieIn, kNodeLinks };
constexpr size_t kLinks = kNodeLinks + 2 * NetworkLines::kMost;

/// What a collective asks of the rank's links when it is alone, bytes/s; of the network's share of
/// their time.
using Demand = std::array<double, kLinks>;

/// An instruction while it is at work (not while it waits for others).
struct Activity {
  int32_t instruction = 0;
  int32_t op = -1;
  bool communication = false;
  bool sends = false, receives = false;
  const Demand* demand = nullptr;  ///< of communication, and of copies to and from the host
  double begin_s = 0, end_s = 0;
  double work_s = 0;  ///< done at the rates found

  /// `ends`: of the links before, one direction is for what is sent and one for what is received.
  double bytes_per_s(size_t link, size_t ends) const {
    const bool out = link % 2 == 0;
    return link < ends && !(out ? sends : receives) ? 0 : (*demand)[link];
  }
};

/// The activities of one stream, in order, and the one at work or next.
struct Lane {
  std::vector<Activity> activities;
  size_t next = 0;
};
using Lanes = std::array<Lane, workload::kStreamCount>;

/// What a GPU's links carry, bytes/s; of the fullest link of the node's PCIe tree, and of the
/// network's links, all of their time.
Demand capacity_of(const spec::Node& node) {
  const double nics =
      std::accumulate(node.nics.begin(), node.nics.end(), 0.0,
                      [](double sum, const spec::Nic& nic) { return sum + nic.bytes_per_s; });
  const double nic = node.gpus > 0 ? nics / node.gpus : 0;
  Demand capacity;
  capacity.fill(1);
  capacity[kIntraOut] = capacity[kIntraIn] = node.intra_bytes_per_s;
  capacity[kNicOut] = capacity[kNicIn] = nic;
  return capacity;
}

using Durations = std::vector<std::vector<double>>;

bool is_beside(const Instruction& it) { return it.stream != workload::Stream::kCompute; }

/// Not a copy to or from the host, nor a wait for it.
bool needs_sms(const Operator& op) { return op.kernels > 0; }

class Contention {
 public:
  Contention(const spec::Job& job, const plan::Plan& plan, std::span<const cost::CostModel> models,
             const cost::CostTable& costs)
      : job_(job),
        plan_(plan),
        models_(models),
        costs_(costs),
        traffic_(job, plan, costs.slowest_group),
        slowdowns_(models.size()) {
    NetworkLines lines(job, plan);
    links_ = kNodeLinks + 2 * lines.count();
    ends_ = lines.is_tree() ? links_ : kNodeLinks;
    for (size_t group = 0; group < spec::group_count(job.cluster); ++group)
      capacities_.push_back(capacity_of(spec::node_of_group(job.cluster, group)));
    for (size_t role = 0; role < plan.roles.size(); ++role) {
      demands_.emplace_back();
      durations_s_.emplace_back(plan.roles[role].program.size());
      std::vector<size_t>& launched = launched_.emplace_back();
      for (size_t i = 0; i < plan.roles[role].program.size(); ++i)
        if (launches(plan.roles[role].program[i].kind)) launched.push_back(i);
      for (size_t number = 0; number < plan.operators.size(); ++number)
        demands_[role].push_back(demand(role, number, lines));
    }
  }

  std::optional<Stretch> settle() {
    Stretch stretch = all_ones();
    Stretch found = stretch;
    double step_s = 0;
    for (int round = 0; round < kRounds; ++round) {
      run(stretch);
      if (!left_out_.steady) return std::nullopt;
      const double before_s = std::exchange(step_s, end_s());
      if (round > 1 && std::abs(step_s - before_s) <= kSettledStep * step_s) break;
      look_at(found);
      const double change = move_to(found, round < kUndampedStretches ? 1.0 : 0.5, stretch);
      if (change < kSettled) break;
    }
    return std::optional(std::move(stretch));
  }

  /// Whether anything can run beside anything.
  bool has_side_streams() const {
    for (size_t role = 0; role < launched_.size(); ++role)
      for (const size_t i : launched_[role])
        if (is_beside(plan_.roles[role].program[i])) return true;
    return false;
  }

 private:
  /// The group of nodes whose prices the role has.
  size_t group_of(size_t role) const {
    return costs_.slowest_group.empty() ? 0 : costs_.slowest_group[role];
  }
  Stretch all_ones() const;
  /// Null: the role's nodes say no PCIe tree.
  const cost::PcieGroups* pcie_of(size_t role) const {
    const size_t group = group_of(role);
    return group < costs_.pcie.size() ? costs_.pcie[group].get() : nullptr;
  }
  Demand demand(size_t role, size_t number, NetworkLines& lines) const;
  Demand demand_of_copy(const Operator& copy, size_t role, double alone_s) const;
  void run(const Stretch& stretch);
  double end_s() const;
  void look_at(Stretch& found);
  std::vector<std::pair<double, double>> side_work(size_t role, const Activities& times) const;
  void fill_lanes(size_t role, const Activities& times);
  Activity activity_of(size_t role, size_t index, const Activities& times) const;
  void share_time();
  void advance(std::span<Activity* const> active, double interval_s);
  double compute_rate(const Activity& kernel, std::span<Activity* const> active);
  double communication_rate(const Activity& collective, std::span<Activity* const> active);
  double link_share(const Activity& collective, std::span<Activity* const> active) const;
  double move_to(const Stretch& found, double weight, Stretch& stretch) const;
  const Operator& op(int32_t number) const { return plan_.operators[static_cast<size_t>(number)]; }
  /// The two slowdowns of a kernel beside a collective; asked of the cost model once a pair.
  std::pair<double, double> slowdowns(int32_t kernel, int32_t collective);

  const spec::Job& job_;
  const plan::Plan& plan_;
  std::span<const cost::CostModel> models_;
  const cost::CostTable& costs_;
  cost::PlanTraffic traffic_;
  std::vector<Demand> capacities_;             ///< by group of nodes
  size_t links_ = kNodeLinks;                  ///< those of kLinks that there are
  size_t ends_ = kNodeLinks;                   ///< Activity::bytes_per_s
  size_t group_ = 0;                           ///< of the role at hand
  std::vector<std::vector<Demand>> demands_;   ///< [role][operator]
  std::vector<std::vector<size_t>> launched_;  ///< by role: the instructions that take time
  // Working memory of a round, kept from round to round.
  Durations durations_s_;
  std::vector<Activities> times_;
  LeftOut left_out_;
  Lanes lanes_;
  struct Slowdowns {
    int32_t collective = 0;
    std::pair<double, double> both;
  };
  /// [group][kernel], as they meet: few of all pairs do.
  std::vector<std::vector<std::vector<Slowdowns>>> slowdowns_;
};

Stretch Contention::all_ones() const {
  Stretch stretch;
  for (const plan::Role& role : plan_.roles) stretch.emplace_back(role.program.size(), 1.0f);
  return stretch;
}

Demand Contention::demand(size_t role, size_t number, NetworkLines& lines) const {
  const Operator& it = plan_.operators[number];
  const double alone_s = costs_.prices[role][number].seconds();
  if (alone_s > 0 && it.to_host_bytes + it.from_host_bytes > 0)
    return demand_of_copy(it, role, alone_s);
  if (it.kind != workload::OperatorKind::kCollective || alone_s <= 0) return {};
  const cost::Traffic traffic = traffic_.of(role, number);
  const Demand& capacity = capacities_[group_of(role)];
  const double intra = std::min(traffic.intra_bytes / alone_s, capacity[kIntraOut]);
  const double nic = std::min(traffic.nic_bytes / alone_s, capacity[kNicOut]);
  double pcie = 0;
  if (const auto* groups = pcie_of(role);
      groups != nullptr && groups->carries(plan_.placements[role][number]))
    pcie =
        std::min(1.0, (traffic.intra_bytes + traffic.nic_bytes) * groups->s_per_byte(it) / alone_s);
  Demand demand{intra, intra, nic, nic, pcie, pcie};
  if (capacity[kNicOut] > 0)
    lines.ask(role, number, traffic.nic_bytes / alone_s / capacity[kNicOut],
              std::span(demand).subspan(kNodeLinks));
  return demand;
}

Demand Contention::demand_of_copy(const Operator& copy, size_t role, double alone_s) const {
  const cost::PcieGroups* groups = pcie_of(role);
  if (groups == nullptr) return {};
  const auto of = [&](double bytes) {
    return std::min(1.0, bytes * groups->host_s_per_byte() / alone_s);
  };
  return {0, 0, 0, 0, of(copy.to_host_bytes), of(copy.from_host_bytes)};
}

void Contention::run(const Stretch& stretch) {
  const EngineInput input{.job = job_,
                          .plan = plan_,
                          .costs = costs_,
                          .clocks_hz = std::span(&costs_.reference_clock_hz, 1),
                          .sampled_ranks = {},
                          .stretch = stretch};
  for (size_t role = 0; role < plan_.roles.size(); ++role) {
    const PricedOperators operators(input, role);
    std::vector<double>& row = durations_s_[role];
    for (const size_t i : launched_[role]) row[i] = operators.duration(i).at(1);
  }
  left_out_ = run_representatives(input, durations_s_, times_);
}

/// Of the last round: when the last role is done.
double Contention::end_s() const {
  double end_s = 0;
  for (const Activities& times : times_)
    if (!times.end_s.empty()) end_s = std::max(end_s, *std::ranges::max_element(times.end_s));
  return end_s + left_out_.period_s * static_cast<double>(plan_.periods_left_out);
}

void Contention::look_at(Stretch& found) {
  for (size_t role = 0; role < plan_.roles.size(); ++role) {
    group_ = group_of(role);
    std::ranges::fill(found[role], 1.0f);
    fill_lanes(role, times_[role]);
    share_time();
    for (const Lane& lane : lanes_)
      for (const Activity& it : lane.activities)
        if (it.work_s > 0)
          found[role][static_cast<size_t>(it.instruction)] =
              static_cast<float>(std::max(1.0, (it.end_s - it.begin_s) / it.work_s));
  }
}

Activity Contention::activity_of(size_t role, size_t index, const Activities& times) const {
  const Instruction& it = plan_.roles[role].program[index];
  Activity activity;
  activity.instruction = static_cast<int32_t>(index);
  activity.op = it.op;
  activity.communication = op(it.op).kind == workload::OperatorKind::kCollective;
  activity.sends = it.kind != InstructionKind::kRecv;
  activity.receives = it.kind != InstructionKind::kSend;
  activity.demand = &demands_[role][static_cast<size_t>(it.op)];
  activity.begin_s = times.begin_s[index];
  activity.end_s = times.end_s[index];
  return activity;
}

/// Periods in which some stream beside the compute stream is at work, in order, without overlap.
std::vector<std::pair<double, double>> Contention::side_work(size_t role,
                                                             const Activities& times) const {
  std::vector<std::pair<double, double>> periods;
  for (const size_t i : launched_[role])
    if (is_beside(plan_.roles[role].program[i]))
      periods.emplace_back(times.begin_s[i], times.end_s[i]);
  std::ranges::sort(periods);
  size_t kept = 0;
  for (const auto& period : periods) {
    if (kept > 0 && period.first <= periods[kept - 1].second)
      periods[kept - 1].second = std::max(periods[kept - 1].second, period.second);
    else
      periods[kept++] = period;
  }
  periods.resize(kept);
  return periods;
}

/// Everything on the side streams, and of the compute stream, which is nearly everything there is,
/// only what something runs beside.
void Contention::fill_lanes(size_t role, const Activities& times) {
  const plan::Role& source = plan_.roles[role];
  const auto periods = side_work(role, times);
  for (Lane& lane : lanes_) {
    lane.activities.clear();
    lane.next = 0;
  }
  size_t period = 0;
  for (const size_t i : launched_[role]) {
    const Instruction& it = source.program[i];
    if (it.op < 0 || times.end_s[i] <= times.begin_s[i]) continue;
    if (!is_beside(it)) {
      while (period < periods.size() && periods[period].second <= times.begin_s[i]) ++period;
      if (period == periods.size() || periods[period].first >= times.end_s[i]) continue;
    }
    lanes_[static_cast<size_t>(it.stream)].activities.push_back(activity_of(role, i, times));
  }
}

/// Walks through the time of one rank, interval by interval between two changes.
void Contention::share_time() {
  std::array<Lane*, workload::kStreamCount> used{};
  size_t lanes = 0;
  for (Lane& lane : lanes_)
    if (!lane.activities.empty()) used[lanes++] = &lane;
  for (double now = 0;;) {
    std::array<Activity*, workload::kStreamCount> active{};
    size_t count = 0;
    double next_s = INFINITY;
    for (size_t i = 0; i < lanes; ++i) {
      Lane& lane = *used[i];
      while (lane.next < lane.activities.size() && lane.activities[lane.next].end_s <= now)
        ++lane.next;
      if (lane.next == lane.activities.size()) continue;
      Activity& head = lane.activities[lane.next];
      const bool at_work = head.begin_s <= now;
      next_s = std::min(next_s, at_work ? head.end_s : head.begin_s);
      if (at_work) active[count++] = &head;
    }
    if (std::isinf(next_s)) return;
    advance(std::span(active.data(), count), next_s - now);
    now = next_s;
  }
}

void Contention::advance(std::span<Activity* const> active, double interval_s) {
  for (Activity* it : active) {
    double rate = 1;
    if (active.size() > 1)
      rate = it->communication       ? communication_rate(*it, active)
             : needs_sms(op(it->op)) ? compute_rate(*it, active)
                                     : link_share(*it, active);
    it->work_s += rate * interval_s;
  }
}

double Contention::compute_rate(const Activity& kernel, std::span<Activity* const> active) {
  double slowdown = 1, kernels = 0;
  for (const Activity* other : active) {
    if (other->communication)
      slowdown += slowdowns(kernel.op, other->op).first - 1;
    else if (needs_sms(op(other->op)))
      kernels += 1;
  }
  return 1 / (slowdown * kernels);
}

double Contention::communication_rate(const Activity& collective,
                                      std::span<Activity* const> active) {
  double slowdown = 1;
  bool shares = false;
  for (const Activity* other : active) {
    if (other->communication)
      shares |= other != &collective;
    else if (needs_sms(op(other->op)))
      slowdown += slowdowns(other->op, collective.op).second - 1;
    else
      shares = true;
  }
  return (shares ? link_share(collective, active) : 1) / slowdown;
}

/// What of its demand a collective gets, on the link where it gets least.
double Contention::link_share(const Activity& collective, std::span<Activity* const> active) const {
  double share = 1;
  for (size_t link = 0; link < links_; ++link) {
    const double own = collective.bytes_per_s(link, ends_);
    if (own <= 0 || capacities_[group_][link] <= 0) continue;
    std::array<double, workload::kStreamCount> demands{};
    size_t count = 0;
    for (const Activity* it : active)
      if (it->bytes_per_s(link, ends_) > 0) demands[count++] = it->bytes_per_s(link, ends_);
    if (count < 2) continue;  // alone on this link: its price knows the link
    share = std::min(
        share, fair_share(own, std::span(demands).first(count), capacities_[group_][link]) / own);
  }
  return share;
}

std::pair<double, double> Contention::slowdowns(int32_t kernel, int32_t collective) {
  slowdowns_[group_].resize(plan_.operators.size());
  std::vector<Slowdowns>& met = slowdowns_[group_][static_cast<size_t>(kernel)];
  for (const Slowdowns& known : met)
    if (known.collective == collective) return known.both;
  const cost::CostModel& model = models_[group_];
  const Slowdowns& found =
      met.emplace_back(Slowdowns{collective,
                                 {model.compute_slowdown(op(kernel), op(collective)),
                                  model.collective_slowdown(op(collective), op(kernel))}});
  return found.both;
}

/// Moves `stretch` the part `weight` of the way to `found`; the largest relative change.
double Contention::move_to(const Stretch& found, double weight, Stretch& stretch) const {
  double change = 0;
  for (size_t role = 0; role < stretch.size(); ++role)
    for (const size_t i : launched_[role]) {
      if (found[role][i] == stretch[role][i]) continue;  // most are alone, then and now
      const double before = stretch[role][i];
      const double after = before + weight * (static_cast<double>(found[role][i]) - before);
      change = std::max(change, std::abs(after / before - 1));
      stretch[role][i] = static_cast<float>(after);
    }
  return change;
}

}  // namespace

std::optional<Stretch> settle_folded(const spec::Job& job, const plan::Plan& plan,
                                     std::span<const cost::CostModel> models,
                                     const cost::CostTable& costs) {
  Contention contention(job, plan, models, costs);
  if (!contention.has_side_streams()) return Stretch{};
  return contention.settle();
}

Stretch settle_contention(const spec::Job& job, const plan::Plan& plan,
                          const cost::CostModel& model, const cost::CostTable& costs) {
  ERGOMETER_CHECK(plan.periods_left_out == 0, "a whole plan");
  return *settle_folded(job, plan, std::span(&model, 1), costs);
}

}  // namespace ergometer::engine

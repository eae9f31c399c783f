#include "engine/outcome/pcie_use.h"

#include <algorithm>

#include "base/collection.h"
#include "cost/given_choice.h"
#include "plan/links.h"
#include "spec/job/node_groups.h"

namespace ergometer::engine {
namespace {

using TreeLink = plan::PcieLoad::Link;

/// Of the roles on a node, how many lie there.
size_t roles_on(const EngineInput& input, int64_t ranks) {
  return static_cast<size_t>(std::max<int64_t>(1, ranks / input.plan.ranks_per_role));
}

/// Bytes that one execution by one role's ranks puts on every link of the fullest node, and what it
/// would be if all roles there ran it at once.
struct OnLinks {
  std::vector<TreeLink> part;
  double all_over_part = 1;
};

/// Of a node's roles, those that have no stage to send to.
size_t silent(const EngineInput& input, const workload::Operator& op, bool back, size_t node,
              size_t roles_on_node) {
  const spec::Parallelism& parallel = input.job.parallelism;
  const bool in_a_circle = parallel.vpp > 1 && !parallel.turns();
  if (op.group != workload::GroupKind::kPipeline || in_a_circle) return 0;
  const size_t end = back ? 0 : input.plan.roles.size() - 1;
  return end / roles_on_node == node ? 1 : 0;
}

OnLinks scaled(const std::vector<TreeLink>& links, double up, double down, double roles) {
  OnLinks result{.part = links, .all_over_part = roles};
  for (TreeLink& link : result.part) {
    link.up_bytes *= up / roles;
    link.down_bytes *= down / roles;
  }
  return result;
}

OnLinks on_links(const EngineInput& input, const cost::PcieGroups& groups, size_t role, size_t op,
                 const cost::Traffic& sent, size_t roles_on_node) {
  const workload::Operator& it = input.plan.operators[op];
  if (it.to_host_bytes + it.from_host_bytes > 0)
    return scaled(groups.host_links(), it.to_host_bytes, it.from_host_bytes,
                  static_cast<double>(roles_on(input, groups.host_ranks())));
  const plan::GroupPlacement& where = input.plan.placements[role][op];
  if (it.kind != workload::OperatorKind::kCollective || !groups.carries(where)) return {};
  const double bytes = sent.intra_bytes + sent.nic_bytes;
  // What goes back a stage takes the way of what comes, in the other direction.
  const bool back =
      it.group == workload::GroupKind::kPipeline && !plan::is_with_next_stage(it.name);
  const size_t there = roles_on(input, groups.ranks(it));
  // Of a node's stages each sends its own part.
  const size_t quiet = silent(input, it, back, role / roles_on_node, roles_on_node);
  const size_t sending = there > quiet ? there - quiet : 1;
  std::vector<TreeLink> links = groups.links(it);
  if (back)
    for (TreeLink& link : links) std::swap(link.up_bytes, link.down_bytes);
  return scaled(links, bytes, bytes, static_cast<double>(sending));
}

size_t roles_on_full_node(const EngineInput& input) {
  return static_cast<size_t>(
      std::max<int64_t>(1, input.job.cluster.node.gpus / input.plan.ranks_per_role));
}

}  // namespace

PcieUse::PcieUse(const EngineInput& input)
    : input_(input), roles_on_node_(roles_on_full_node(input)) {
  for (size_t group = 0; group < input.costs.pcie.size(); ++group) {
    if (input.costs.pcie[group] == nullptr) continue;
    Kind kind{.group = group, .groups = input.costs.pcie[group]};
    for (size_t role = 0; role < input.plan.roles.size(); ++role)
      kind.has_role.push_back(
          !spec::is_mixed(input.job.cluster) ||
          base::contains(spec::groups_of_stage(input.job, static_cast<int64_t>(role)), group));
    kinds_.push_back(std::move(kind));
  }
}

void PcieUse::add(size_t role, size_t op, double times, const cost::Traffic& sent) {
  for (Kind& kind : kinds_)
    if (kind.has_role[role]) add(kind, role, op, times, sent);
}

void PcieUse::add(Kind& kind, size_t role, size_t op, double times, const cost::Traffic& sent) {
  const OnLinks links = on_links(input_, *kind.groups, role, op, sent, roles_on_node_);
  if (links.part.empty()) return;
  if (role / roles_on_node_ != kind.node) close_node(kind);
  kind.node = role / roles_on_node_;
  kind.here.resize(std::max(kind.here.size(), links.part.size()));
  const double seconds = input_.costs.prices[role][op].seconds();
  for (size_t i = 0; i < links.part.size(); ++i) {
    const TreeLink& link = links.part[i];
    kind.here[i].level = link.level;
    kind.here[i].bytes_per_s = link.bytes_per_s;
    kind.here[i].up_bytes += times * link.up_bytes;
    kind.here[i].down_bytes += times * link.down_bytes;
    if (seconds <= 0 || link.level == plan::PcieLoad::Level::kGpu) continue;
    double& peak = of(link.level).load.peak_bytes_per_s;
    peak = std::max(peak, links.all_over_part * link.bytes() / seconds);
  }
}

void PcieUse::close_node(Kind& kind) {
  for (const TreeLink& it : kind.here) {
    if (it.level == plan::PcieLoad::Level::kGpu || it.bytes_per_s <= 0) continue;
    Fullest& most = of(it.level);
    const bool fuller =
        most.bytes_per_s <= 0 || it.bytes() / it.bytes_per_s > most.load.bytes / most.bytes_per_s;
    if (!fuller) continue;
    most.load.bytes = it.bytes();
    most.bytes_per_s = it.bytes_per_s;
  }
  kind.here.clear();
}

bool PcieUse::has_switches() const {
  return std::ranges::any_of(kinds_,
                             [](const Kind& it) { return it.groups->tree().switches() > 0; });
}
bool PcieUse::has_sockets() const {
  return std::ranges::any_of(kinds_,
                             [](const Kind& it) { return it.groups->tree().sockets() > 1; });
}

void PcieUse::write(double step_s, std::vector<run::Link>& links) {
  for (Kind& kind : kinds_) close_node(kind);
  const auto row = [&](const Fullest& use) {
    if (input_.job.gpus > 1 || use.load.bytes > 0)
      links.push_back(link(use.kind, use.load, 1, 1, 1, use.bytes_per_s, step_s));
  };
  if (has_switches()) row(uplink_);
  if (has_sockets()) row(socket_);
}

std::vector<PcieLinkUse> pcie_use(const EngineInput& input) {
  std::vector<PcieLinkUse> uses;
  if (spec::is_mixed(input.job.cluster) || input.costs.pcie.empty() ||
      input.costs.pcie.front() == nullptr)
    return uses;
  const cost::PcieGroups& groups = *input.costs.pcie.front();
  uses.resize(groups.tree().bridges.size());
  const size_t roles_on_node = roles_on_full_node(input);
  const cost::PlanTraffic traffic(input.job, input.plan, input.costs.slowest_group);
  const auto add = [&](size_t role, size_t op, double times, double share) {
    const OnLinks links = on_links(input, groups, role, op, traffic.of(role, op), roles_on_node);
    const double seconds = input.costs.prices[role][op].seconds();
    for (size_t i = 0; i < uses.size() && i < links.part.size(); ++i) {
      const TreeLink& link = links.part[i];
      if (link.bytes() <= 0 || link.bytes_per_s <= 0) continue;
      const double rate =
          link.bytes_per_s * (link.level == plan::PcieLoad::Level::kSocket ? 1 : share);
      uses[i].busy_s += times * seconds / links.all_over_part;
      uses[i].load += times * link.bytes() / rate;
    }
  };
  for (size_t role = 0; role < input.plan.roles.size(); ++role) {
    const std::vector<double> sends = executions(input, role), copies = copies_of(input, role);
    for (size_t op = 0; op < sends.size(); ++op) {
      if (sends[op] > 0) add(role, op, sends[op], cost::kPcieShare);
      if (copies[op] > 0) add(role, op, copies[op], spec::kCopyShare);
    }
  }
  for (PcieLinkUse& use : uses)
    if (use.busy_s > 0) use.load /= use.busy_s;
  return uses;
}

}  // namespace ergometer::engine

#include "engine/outcome/link_use.h"

#include <algorithm>
#include <string_view>

#include "base/collection.h"
#include "cost/given_choice.h"
#include "cost/network_load.h"
#include "engine/outcome/link_load.h"
#include "engine/outcome/pcie_use.h"
#include "spec/job/circuits.h"
#include "spec/job/host_link.h"
#include "spec/job/node_groups.h"

namespace ergometer::engine {
namespace {

const char* name_of(spec::IntraKind kind) {
  switch (kind) {
    case spec::IntraKind::kNvlinkSwitch:
    case spec::IntraKind::kNvlinkMesh: return "nvlink";
    case spec::IntraKind::kXgmiMesh: return "xgmi";
    case spec::IntraKind::kPcie: return "pcie";
  }
  return "nvlink";
}

/// Of the job's nodes on average, where they are unlike.
struct Lines {
  double nics = 0;  ///< of a node
  double nic_bytes_per_s = 0;
};

Lines lines_of(const spec::Node& node) {
  Lines lines{.nics = static_cast<double>(node.nics.size())};
  for (const spec::Nic& it : node.nics) lines.nic_bytes_per_s += it.bytes_per_s / lines.nics;
  return lines;
}

Lines lines_of(const spec::Job& job) {
  if (!spec::is_mixed(job.cluster)) return lines_of(job.cluster.node);
  Lines mean;
  const double share = 1 / static_cast<double>(job.nodes());
  for (int64_t node = 0; node < job.nodes(); ++node) {
    const Lines here = lines_of(spec::node_at(job.cluster, node));
    mean.nics += share * here.nics;
    mean.nic_bytes_per_s += share * here.nic_bytes_per_s;
  }
  return mean;
}

/// The links of one kind inside nodes, of which unlike nodes may have several.
struct IntraUse {
  const char* kind;
  double gpus = 0, line_bytes_per_s = 0;  ///< those that have it, and theirs in the mean
  std::vector<double> shares;             ///< of each role's ranks
  LinkLoad load = {};
};

std::vector<IntraUse> intra_uses(const EngineInput& input) {
  const spec::Job& job = input.job;
  const size_t roles = input.plan.roles.size();
  const spec::Node& first = job.cluster.node;
  if (!spec::is_mixed(job.cluster))
    return {{.kind = name_of(first.intra),
             .gpus = static_cast<double>(job.gpus),
             .line_bytes_per_s = first.intra_bytes_per_s,
             .shares = std::vector<double>(roles, 1)}};
  std::vector<IntraUse> uses;
  for (int64_t rank = 0; rank < job.gpus; ++rank) {
    const spec::Node& node = spec::node_of_group(job.cluster, spec::group_of_rank(job, rank));
    auto use = std::ranges::find(uses, std::string_view(name_of(node.intra)), &IntraUse::kind);
    if (use == uses.end())
      use = uses.insert(use, {.kind = name_of(node.intra), .shares = std::vector<double>(roles)});
    use->gpus += 1;
    use->line_bytes_per_s += (node.intra_bytes_per_s - use->line_bytes_per_s) / use->gpus;
    use->shares[static_cast<size_t>(rank / input.plan.ranks_per_role)] +=
        1 / static_cast<double>(input.plan.ranks_per_role);
  }
  return uses;
}

/// What the fullest link of every dimension of a network without a tree carries.
class FabricUse {
 public:
  explicit FabricUse(const EngineInput& input)
      : input_(input),
        dimensions_(spec::dimensions_of(input.job)),
        ranks_on_node_(static_cast<double>(
            std::min<int64_t>(input.job.cluster.node.gpus, input.plan.ranks_per_role))),
        roles_on_node_(static_cast<size_t>(
            std::max<int64_t>(1, input.job.cluster.node.gpus / input.plan.ranks_per_role))) {
    for (const spec::Dimension& it : dimensions_) loads_.push_back({.dimension = &it});
  }

  /// Adds up the roles whose ranks share a node; of nodes only the busiest counts.
  void add(size_t role, size_t op, double times, const cost::Traffic& sent, double seconds) {
    if (loads_.empty() || sent.nic_bytes <= 0) return;
    const plan::GroupPlacement& where = input_.plan.placements[role][op];
    const plan::FabricLoad load = cost::network_load(input_.job, input_.plan.operators[op], where);
    for (DimensionUse& use : loads_) {
      const auto link = std::ranges::find(load.links, std::string_view(use.dimension->name),
                                          &plan::LinkLoad::link);
      if (link == load.links.end()) continue;
      if (use.node != role / roles_on_node_) {
        use.node = role / roles_on_node_;
        use.busiest_bytes = use.fullest_bytes();
        use.load.bytes = use.forth_bytes = use.back_bytes = 0;
      }
      const double bytes = sent.nic_bytes * ranks_on_node_ * link->bytes;
      use.load.add(bytes, times, seconds);
      const cost::Directions directions =
          cost::directions_on(input_.job, where, use.dimension->name);
      if (directions.both()) continue;
      (directions.forth ? use.forth_bytes : use.back_bytes) += bytes * times;
    }
  }

  void write(double step_s, std::vector<run::Link>& links) const {
    for (DimensionUse use : loads_) {
      use.load.bytes = use.fullest_bytes();
      links.push_back(link(use.dimension->name.c_str(), use.load, 1, 1, 1,
                           use.dimension->link_bytes_per_s, step_s));
    }
  }

 private:
  struct DimensionUse {
    const spec::Dimension* dimension = nullptr;
    LinkLoad load = {};
    double forth_bytes = 0, back_bytes = 0;  ///< of these, from stage to stage
    size_t node = 0;                         ///< the roles at hand, by the node that they share
    double busiest_bytes = 0;                ///< of those before, one direction

    double fullest_bytes() const {
      return std::max(busiest_bytes, load.bytes - std::min(forth_bytes, back_bytes));
    }
  };
  const EngineInput& input_;
  std::vector<spec::Dimension> dimensions_;
  double ranks_on_node_;
  size_t roles_on_node_;
  std::vector<DimensionUse> loads_;
};

/// Copies between GPUs and the memory of their hosts.
class HostUse {
 public:
  void add(const EngineInput& input, size_t role, size_t op, double times) {
    const workload::Operator& it = input.plan.operators[op];
    const double seconds = input.costs.prices[role][op].seconds();
    to_.add(it.to_host_bytes, times, seconds);
    from_.add(it.from_host_bytes, times, seconds);
  }
  bool copies() const { return to_.bytes > 0 || from_.bytes > 0; }
  /// The fuller direction.
  run::Link row(const EngineInput& input, double step_s) const {
    const auto ranks = static_cast<double>(input.plan.ranks_per_role);
    const double line_bytes_per_s =
        input.job.cluster.node.gpu.parameters.value_or("host_link", spec::kAssumedHostLink);
    return link("host", to_.bytes > from_.bytes ? to_ : from_, ranks,
                static_cast<double>(input.job.gpus), 1, line_bytes_per_s, step_s);
  }

 private:
  LinkLoad to_, from_;
};

/// How far all other links hold a message up, at least 1: cards' ports to their planes and the
/// other tiers. So much less than at the cards' line rate climbs the one.
double held_up_elsewhere(const plan::FabricLoad& load, const plan::LinkLoad& one) {
  double slowdown = 1;
  for (const plan::LinkLoad& link : load.links)
    if (&link != &one) slowdown = std::max(slowdown, link.slowdown);
  return slowdown;
}

/// Adds a role's sends above a tier: their time, and their load times that time. `s_per_byte`: of a
/// byte that each of its ranks on a node sends, at the cards' line rate.
void add_uplink_use(const EngineInput& input, const cost::PlanTraffic& traffic, size_t role,
                    double s_per_byte, UplinkUse& use) {
  const std::vector<double> times = executions(input, role);
  for (size_t op = 0; op < times.size(); ++op) {
    if (times[op] <= 0) continue;
    const plan::GroupPlacement& where = input.plan.placements[role][op];
    const plan::FabricLoad load = cost::network_load(input.job, input.plan.operators[op], where);
    const auto link = std::ranges::find(load.links, use.tier, &plan::LinkLoad::link);
    if (link == load.links.end()) continue;
    const double seconds =
        traffic.of(role, op).nic_bytes * times[op] * s_per_byte * load.slowdown();
    use.busy_s += seconds;
    use.load += seconds * link->slowdown / held_up_elsewhere(load, *link);
  }
}

}  // namespace

std::vector<run::Link> link_use(const EngineInput& input, double step_s) {
  const cost::PlanTraffic traffic(input.job, input.plan, input.costs.slowest_group);
  LinkLoad nic;
  std::vector<IntraUse> intra = intra_uses(input);
  FabricUse fabric(input);
  PcieUse pcie(input);
  HostUse host;
  for (size_t role = 0; role < input.plan.roles.size(); ++role) {
    const std::vector<double> times = executions(input, role);
    for (size_t op = 0; op < times.size(); ++op) {
      if (times[op] <= 0) continue;
      const cost::Traffic sent = traffic.of(role, op);
      const double seconds = input.costs.prices[role][op].seconds();
      for (IntraUse& use : intra)
        use.load.add(sent.intra_bytes, use.shares[role] * times[op], seconds);
      nic.add(sent.nic_bytes, times[op], seconds);
      fabric.add(role, op, times[op], sent, seconds);
      pcie.add(role, op, times[op], sent);
    }
    const std::vector<double> copies = copies_of(input, role);
    for (size_t op = 0; op < copies.size(); ++op) {
      if (copies[op] <= 0) continue;
      host.add(input, role, op, copies[op]);
      pcie.add(role, op, copies[op], {});
    }
  }
  const spec::Node& node = input.job.cluster.node;
  const Lines lines = lines_of(input.job);
  const auto ranks = static_cast<double>(input.plan.ranks_per_role);
  std::vector<run::Link> links;
  if (node.gpus > 1 && input.job.gpus > 1)
    for (const IntraUse& use : intra)
      links.push_back(link(use.kind, use.load, ranks, use.gpus, 1, use.line_bytes_per_s, step_s));
  pcie.write(step_s, links);
  if (host.copies()) links.push_back(host.row(input, step_s));
  if (input.job.nodes() > 1 && lines.nics > 0)
    links.push_back(link("nic", nic, ranks, lines.nics * static_cast<double>(input.job.nodes()),
                         node.gpus / lines.nics, lines.nic_bytes_per_s, step_s));
  if (input.job.nodes() > 1) fabric.write(step_s, links);
  return links;
}

std::vector<UplinkUse> uplink_use(const EngineInput& input) {
  std::vector<UplinkUse> uses;
  const spec::Cluster& cluster = input.job.cluster;
  if (input.job.nodes() <= 1 || !cluster.fabric.topology.dimensions.empty()) return uses;
  const double line_bytes_per_s = base::sum(cluster.node.nics, &spec::Nic::bytes_per_s);
  const int64_t ranks = input.plan.ranks_per_role, node_gpus = cluster.node.gpus;
  const auto ranks_on_node = static_cast<double>(std::min<int64_t>(node_gpus, ranks));
  const auto roles_on_node = static_cast<size_t>(std::max<int64_t>(1, node_gpus / ranks));
  const cost::PlanTraffic traffic(input.job, input.plan, input.costs.slowest_group);
  for (const spec::FabricTier& tier : cluster.fabric.tiers) {
    UplinkUse busiest{.tier = tier.name}, node{.tier = tier.name};
    for (size_t role = 0; role < input.plan.roles.size(); ++role) {
      if (role % roles_on_node == 0) node = {.tier = tier.name};
      add_uplink_use(input, traffic, role, ranks_on_node / line_bytes_per_s, node);
      if (node.busy_s > busiest.busy_s) busiest = node;
    }
    if (busiest.busy_s <= 0) continue;
    busiest.load /= busiest.busy_s;
    uses.push_back(busiest);
  }
  return uses;
}

}  // namespace ergometer::engine

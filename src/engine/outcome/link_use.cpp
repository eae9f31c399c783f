#include "engine/outcome/link_use.h"

#include <algorithm>
#include <memory>
#include <string_view>

#include "base/collection.h"
#include "cost/network_load.h"
#include "cost/pcie_groups.h"
#include "engine/time/compile.h"
#include "spec/job/circuits.h"
#include "spec/job/node_groups.h"

namespace ergometer::engine {
namespace {

/// Bytes of one rank of each role added up over the roles, and the highest rate of one rank.
struct LinkLoad {
  double bytes = 0, peak_bytes_per_s = 0;
  void add(double bytes_sent, double times, double seconds) {
    bytes += bytes_sent * times;
    if (seconds > 0 && times > 0)
      peak_bytes_per_s = std::max(peak_bytes_per_s, bytes_sent / seconds);
  }
};

/// How often a role's program runs each operator; receives count at their sender.
/// On a rank in the mean.
std::vector<double> executions(const EngineInput& input, size_t number) {
  const plan::Plan& plan = input.plan;
  const plan::Role& role = plan.roles[number];
  const PricedOperators operators(input, number);
  const auto share_of_ranks = [&](size_t index) {
    if (input.job.parallelism.group_micro_batches.empty()) return 1.0;
    int64_t ranks = 0;
    for (int64_t rank = 0; rank < plan.ranks_per_role; ++rank)
      ranks += operators.is_left_out(index, rank) ? 0 : 1;
    return static_cast<double>(ranks) / static_cast<double>(plan.ranks_per_role);
  };
  std::vector<double> times(plan.operators.size(), 0);
  for (size_t i = 0; i < role.program.size(); ++i) {
    const plan::Instruction& it = role.program[i];
    const bool sends = it.kind == plan::InstructionKind::kCollective ||
                       it.kind == plan::InstructionKind::kWorld ||
                       it.kind == plan::InstructionKind::kSend;
    if (sends && it.op >= 0)
      times[static_cast<size_t>(it.op)] += share_of_ranks(i) * plan.times(role, i);
  }
  return times;
}

const char* name_of(spec::IntraKind kind) {
  switch (kind) {
    case spec::IntraKind::kNvlinkSwitch:
    case spec::IntraKind::kNvlinkMesh: return "nvlink";
    case spec::IntraKind::kXgmiMesh: return "xgmi";
    case spec::IntraKind::kPcie: return "pcie";
  }
  return "nvlink";
}

/// `ranks_per_link`: how many ranks send through one link.
run::Link link(const char* kind, const LinkLoad& use, double ranks_per_role, double links,
               double ranks_per_link, double line_bytes_per_s, double step_s) {
  constexpr double kGiga = 1e9;
  run::Link row;
  row.kind = kind;
  row.bytes_per_step = use.bytes * ranks_per_role;
  const double mean = step_s > 0 ? row.bytes_per_step / links / step_s : 0;
  row.mean_gb_per_s = mean / kGiga;
  // Operations side by side may send more than any of them alone.
  double peak = std::max(use.peak_bytes_per_s * ranks_per_link, mean);
  // Where a card's ranks are of several stages they do not all send at once.
  if (line_bytes_per_s > 0) peak = std::min(peak, std::max(line_bytes_per_s, mean));
  row.peak_gb_per_s = peak / kGiga;
  row.utilization = line_bytes_per_s > 0 ? mean / line_bytes_per_s : 0;
  return row;
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
    const workload::Operator& it = input_.plan.operators[op];
    const plan::FabricLoad load =
        cost::network_load(input_.job, it, input_.plan.placements[role][op]);
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
      // Stages send forth over one direction of a link, and back over the other.
      if (it.group != workload::GroupKind::kPipeline ||
          cost::is_one_ring(input_.job, input_.plan.placements[role][op], use.dimension->name))
        continue;
      (it.pass == workload::Pass::kForward ? use.forth_bytes : use.back_bytes) += bytes * times;
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

/// What the fullest links of nodes' PCIe trees carry, those upward from switches and those between
/// sockets.
class PcieUse {
 public:
  explicit PcieUse(const EngineInput& input)
      : input_(input),
        roles_on_node_(static_cast<size_t>(
            std::max<int64_t>(1, input.job.cluster.node.gpus / input.plan.ranks_per_role))) {
    if (input.job.gpus > 1 && !spec::is_mixed(input.job.cluster))
      groups_ = cost::PcieGroups::make(input.job);
  }

  void add(size_t role, size_t op, double times, const cost::Traffic& sent, double seconds) {
    const workload::Operator& it = input_.plan.operators[op];
    if (groups_ == nullptr || !groups_->carries(input_.plan.placements[role][op])) return;
    if (role / roles_on_node_ != node_) close_node();
    node_ = role / roles_on_node_;
    const std::vector<plan::PcieLoad::Link>& links = groups_->links(it);
    here_.resize(std::max(here_.size(), links.size()));
    // What goes back a stage takes the way of what comes, in the other direction.
    const bool back =
        it.group == workload::GroupKind::kPipeline && it.pass != workload::Pass::kForward;
    // Of a node's stages each sends its own part.
    const double at_once = sent.intra_bytes + sent.nic_bytes;
    const double bytes =
        at_once / static_cast<double>(std::max<size_t>(1, roles_on_node_ - silent(it, back)));
    for (size_t i = 0; i < links.size(); ++i) {
      here_[i].level = links[i].level;
      here_[i].bytes_per_s = links[i].bytes_per_s;
      here_[i].up_bytes += bytes * times * (back ? links[i].down_bytes : links[i].up_bytes);
      here_[i].down_bytes += bytes * times * (back ? links[i].up_bytes : links[i].down_bytes);
      if (seconds <= 0 || links[i].level == plan::PcieLoad::Level::kGpu) continue;
      double& peak = of(links[i].level).load.peak_bytes_per_s;
      peak = std::max(peak, at_once * links[i].bytes() / seconds);
    }
  }

  void write(double step_s, std::vector<run::Link>& links) {
    if (groups_ == nullptr) return;
    close_node();
    if (groups_->tree().switches() > 0) write(uplink_, step_s, links);
    if (groups_->tree().sockets() > 1) write(socket_, step_s, links);
  }

 private:
  struct Fullest {
    const char* kind;
    LinkLoad load = {};
    double bytes_per_s = 0;  ///< its line rate
  };
  /// Of the node's roles, those that have no stage to send to.
  size_t silent(const workload::Operator& op, bool back) const {
    if (op.group != workload::GroupKind::kPipeline || input_.job.parallelism.vpp > 1) return 0;
    const size_t end = back ? 0 : input_.plan.roles.size() - 1;
    return end / roles_on_node_ == node_ ? 1 : 0;
  }
  Fullest& of(plan::PcieLoad::Level level) {
    return level == plan::PcieLoad::Level::kSocket ? socket_ : uplink_;
  }
  void close_node() {
    for (const plan::PcieLoad::Link& it : here_) {
      if (it.level == plan::PcieLoad::Level::kGpu || it.bytes_per_s <= 0) continue;
      Fullest& most = of(it.level);
      const bool fuller =
          most.bytes_per_s <= 0 || it.bytes() / it.bytes_per_s > most.load.bytes / most.bytes_per_s;
      if (!fuller) continue;
      most.load.bytes = it.bytes();
      most.bytes_per_s = it.bytes_per_s;
    }
    here_.clear();
  }
  static void write(const Fullest& use, double step_s, std::vector<run::Link>& links) {
    links.push_back(link(use.kind, use.load, 1, 1, 1, use.bytes_per_s, step_s));
  }

  const EngineInput& input_;
  std::shared_ptr<const cost::PcieGroups> groups_;
  size_t roles_on_node_, node_ = 0;
  std::vector<plan::PcieLoad::Link> here_;  ///< of the roles on one node
  Fullest uplink_{"uplink"}, socket_{"socket"};
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
void add_uplink_use(const EngineInput& input, size_t role, double s_per_byte, UplinkUse& use) {
  const std::vector<double> times = executions(input, role);
  for (size_t op = 0; op < times.size(); ++op) {
    if (times[op] <= 0) continue;
    const plan::GroupPlacement& where = input.plan.placements[role][op];
    const plan::FabricLoad load = cost::network_load(input.job, input.plan.operators[op], where);
    const auto link = std::ranges::find(load.links, use.tier, &plan::LinkLoad::link);
    if (link == load.links.end()) continue;
    const double seconds = cost::traffic(input.plan.operators[op], where).nic_bytes * times[op] *
                           s_per_byte * load.slowdown();
    use.busy_s += seconds;
    use.load += seconds * link->slowdown / held_up_elsewhere(load, *link);
  }
}

}  // namespace

std::vector<run::Link> link_use(const EngineInput& input, double step_s) {
  LinkLoad nic;
  std::vector<IntraUse> intra = intra_uses(input);
  FabricUse fabric(input);
  PcieUse pcie(input);
  for (size_t role = 0; role < input.plan.roles.size(); ++role) {
    const std::vector<double> times = executions(input, role);
    for (size_t op = 0; op < times.size(); ++op) {
      if (times[op] <= 0) continue;
      const cost::Traffic sent =
          cost::traffic(input.plan.operators[op], input.plan.placements[role][op]);
      const double seconds = input.costs.prices[role][op].seconds();
      for (IntraUse& use : intra)
        use.load.add(sent.intra_bytes, use.shares[role] * times[op], seconds);
      nic.add(sent.nic_bytes, times[op], seconds);
      fabric.add(role, op, times[op], sent, seconds);
      pcie.add(role, op, times[op], sent, seconds);
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
  for (const spec::FabricTier& tier : cluster.fabric.tiers) {
    UplinkUse busiest{.tier = tier.name}, node{.tier = tier.name};
    for (size_t role = 0; role < input.plan.roles.size(); ++role) {
      if (role % roles_on_node == 0) node = {.tier = tier.name};
      add_uplink_use(input, role, ranks_on_node / line_bytes_per_s, node);
      if (node.busy_s > busiest.busy_s) busiest = node;
    }
    if (busiest.busy_s <= 0) continue;
    busiest.load /= busiest.busy_s;
    uses.push_back(busiest);
  }
  return uses;
}

}  // namespace ergometer::engine

#include "plan/placement.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "base/collection.h"
#include "plan/network/fabric_load.h"
#include "spec/job/node_groups.h"

namespace ergometer::plan {
namespace {

using workload::GroupKind;

/// A scheduler leaves at most this share of a rack's GPUs unused to give a job equal parts of its
/// racks (assumed: 16 of an NVL72's 18 trays is the usual segment).
constexpr double kLeastDomainShare = 0.75;

/// Where GPUs sit, and which rank each runs. A job fills its nodes and scale-up domains in the
/// order of ranks, or as its rank map says.
struct Site {
  int64_t gpus_per_node, gpus_per_domain;
  const spec::Parallelism& parallel;
  std::vector<int64_t> rank_of;  ///< by GPU, -1: none; empty: GPU r runs rank r
  explicit Site(const spec::Job& job)
      : gpus_per_node(job.cluster.node.gpus),
        gpus_per_domain(domain_segment(job)),
        parallel(job.parallelism) {
    if (parallel.rank_map.empty()) return;
    rank_of.assign(static_cast<size_t>(job.nodes() * gpus_per_node), -1);
    for (int64_t rank = 0; rank < job.gpus; ++rank)
      rank_of[static_cast<size_t>(parallel.gpu_of(rank))] = rank;
  }
  int64_t gpu(int64_t rank) const { return parallel.gpu_of(rank); }
  int64_t rank(int64_t gpu) const {
    if (rank_of.empty()) return gpu;
    return gpu < std::ssize(rank_of) ? rank_of[static_cast<size_t>(gpu)] : -1;
  }
  int64_t node(int64_t gpu) const { return gpu / gpus_per_node; }
  int64_t domain(int64_t gpu) const { return gpu / gpus_per_domain; }

  /// The card of its domain that a GPU sends through: cards of one number are joined by a rail.
  int64_t rail(const spec::Cluster& cluster, int64_t gpu) const {
    const std::vector<spec::Nic>& nics = spec::node_at(cluster, node(gpu)).nics;
    const auto own = std::ranges::find_if(nics, [&](const spec::Nic& nic) {
      return base::contains(nic.gpus, static_cast<int>(gpu % gpus_per_node));
    });
    const int64_t node_of_domain = gpu % gpus_per_domain / gpus_per_node;
    return node_of_domain * std::ssize(nics) + (own - nics.begin());
  }

  /// The GPUs between which those of the ranks [first, first + count) lie: [begin, end).
  std::pair<int64_t, int64_t> range(int64_t first, int64_t count) const {
    if (rank_of.empty()) return {first, first + count};
    int64_t begin = std::ssize(rank_of), end = 0;
    for (int64_t rank = first; rank < first + count; ++rank) {
      begin = std::min(begin, gpu(rank));
      end = std::max(end, gpu(rank) + 1);
    }
    return {begin, end};
  }
};

/// Switch tiers between two nodes: the first tier whose switch group joins them, counted from 1.
int64_t tiers_climbed(const spec::Fabric& fabric, int64_t node, int64_t other) {
  for (size_t tier = 0; tier < fabric.tiers.size(); ++tier) {
    const int64_t below = fabric.tiers[tier].nodes_below;
    if (below == 0 || node / below == other / below) return static_cast<int64_t>(tier) + 1;
  }
  return std::max<int64_t>(static_cast<int64_t>(fabric.tiers.size()), 1);
}

/// Sets what the fabric's own links leave to groups that reach `tiers` tiers, whose members are a
/// ring or send to the next stage.
void place_on_fabric(const spec::Job& job, double stride, GroupPlacement& placement) {
  const spec::Cluster& cluster = job.cluster;
  placement.node_stride = stride;
  const FabricGroup group = group_on_fabric(job, placement);
  const FabricLoad ring = fabric_load(cluster, placement.neighbours, group),
                   exchange = fabric_load(cluster, Pattern::kAllToAll, group);
  placement.ring_uplink = placement.tree_uplink = ring.slowdown();
  placement.exchange_uplink = exchange.slowdown();
  const spec::Topology& topology = cluster.fabric.topology;
  if (spec::has_tiers(cluster.fabric.kind)) return;
  const FabricLoad tree = fabric_load(cluster, Pattern::kTree, group);
  placement.tree_uplink = tree.slowdown();
  placement.ring_hop_s = ring.hops_beyond_first() * topology.hop_s;
  placement.tree_hop_s = 2 * tree.hops_beyond_first() * topology.hop_s;
  placement.exchange_hop_s = exchange.hops_beyond_first() * topology.hop_s;
}

/// Of what goes from members on the rails `here` to those on the rails `there`, which share has to
/// change its rail on the way: in an exchange, and where every member may choose its receiver.
struct RailCrossings {
  double exchange = 0, neighbours = 0;
};
RailCrossings crossings(const std::vector<int64_t>& here, const std::vector<int64_t>& there) {
  double same = 0;
  for (const int64_t rail : here) same += static_cast<double>(std::ranges::count(there, rail));
  const double pairs = static_cast<double>(here.size()) * static_cast<double>(there.size());
  return {1 - same / pairs, same > 0 ? 0.0 : 1.0};
}

/// The ranks [first, first + count) and those of all stages that lie in domains with them, as whole
/// stages: {first, count}. With a rank map that may be any.
std::pair<int64_t, int64_t> beside(const spec::Job& job, const Site& site, int64_t first,
                                   int64_t count) {
  if (!site.rank_of.empty()) return {0, job.gpus};
  const int64_t domain = site.gpus_per_domain, stage = job.stage_ranks();
  const int64_t begin = first / domain * domain;
  const int64_t end = std::min(job.gpus, ((first + count - 1) / domain + 1) * domain);
  const int64_t from = begin / stage * stage;
  return {from, (end + stage - 1) / stage * stage - from};
}

/// The groups of one kind on the ranks [first, first + count), every one with what the collective
/// model needs, and beside them the other stages' groups, with which they share NICs.
class Groups {
 public:
  Groups(const spec::Job& job, int64_t first, int64_t count, RankGroup group)
      : job_(job), cluster_(job.cluster), site_(job), group_(group) {
    ERGOMETER_CHECK(count % group.size == 0, "groups tile the ranks");
    std::tie(first_, count_) = beside(job, site_, first, count);
    own_ = static_cast<size_t>((first - first_) / group.size);
    own_count_ = static_cast<size_t>(count / group.size);
    groups_.resize(static_cast<size_t>(count_ / group.size));
    std::tie(begin_, end_) = site_.range(first_, count_);
    locate();
    share_nics();
  }

  /// The group that decides: the slowest network share, then the widest reach. `neighbours`: how
  /// its members send to the next of them.
  GroupPlacement worst(Pattern neighbours, int64_t onward) const {
    const auto own = std::span(groups_).subspan(own_, own_count_);
    const Group* worst = &own.front();
    for (const Group& group : own) {
      if (group.worse_than(*worst)) worst = &group;
    }
    GroupPlacement placement;
    placement.neighbours = neighbours;
    placement.circuits_onward = onward;
    placement.size = group_.size;
    placement.nodes = worst->domains;
    placement.ranks_per_node = worst->fewest;
    if (worst->domains > 1) {
      ERGOMETER_CHECK(worst->nic_bytes_per_s > 0, "a group that leaves its domain owns a NIC");
      placement.nic_bytes_per_s = worst->nic_bytes_per_s;
      placement.tiers = worst->tiers;
      const auto members = static_cast<double>(worst->domains);
      const double reach = static_cast<double>((group_.size - 1) * group_.stride) /
                           static_cast<double>(site_.gpus_per_node);
      place_on_fabric(job_, std::max(1.0, reach / (members - 1)), placement);
      if (cluster_.fabric.kind == spec::FabricKind::kRailOnly)
        cross_rails(static_cast<size_t>(worst - groups_.data()), placement);
    }
    return placement;
  }

 private:
  struct Group {
    int64_t domains = 0, fewest = std::numeric_limits<int64_t>::max(), tiers = 0;
    double nic_bytes_per_s = std::numeric_limits<double>::infinity();
    int64_t first_gpu = -1, last_gpu = -1;
    int64_t domain = -1,
            in_domain = 0;  ///< while scanning: the domain at hand and the members found in it
    double in_domain_bytes_per_s = 0;
    bool worse_than(const Group& other) const {
      if (domains == 1 || other.domains == 1) return domains > other.domains;
      if (nic_bytes_per_s != other.nic_bytes_per_s) return nic_bytes_per_s < other.nic_bytes_per_s;
      return domains != other.domains ? domains > other.domains : tiers > other.tiers;
    }
  };

  /// What the first two domains of a group have to pass on to other rails.
  void cross_rails(size_t group, GroupPlacement& placement) const {
    const auto index = static_cast<int64_t>(group);
    const int64_t base =
        first_ + index / group_.stride * group_.size * group_.stride + index % group_.stride;
    std::vector<std::pair<int64_t, std::vector<int64_t>>> domains;
    for (int64_t i = 0; i < group_.size; ++i) {
      const int64_t gpu = site_.gpu(base + i * group_.stride), domain = site_.domain(gpu);
      if (domains.empty() || domains.back().first != domain) {
        if (domains.size() == 2) break;
        domains.push_back({domain, {}});
      }
      domains.back().second.push_back(site_.rail(cluster_, gpu));
    }
    const RailCrossings found = crossings(domains[0].second, domains[1].second);
    placement.exchange_crosses_rails = found.exchange;
    placement.ring_crosses_rails = found.neighbours;
  }

  size_t group_of(int64_t rank) const {
    const int64_t index = rank - first_, block = group_.size * group_.stride;
    return static_cast<size_t>(index / block * group_.stride + index % group_.stride);
  }

  /// Whether GPU `gpu` runs one of the ranks at hand.
  bool is_member(int64_t gpu) const {
    const int64_t rank = site_.rank(gpu);
    return rank >= first_ && rank < first_ + count_;
  }

  /// Counts domains and the fewest members on one of them. GPUs ascend, so a domain once left never
  /// returns.
  void locate() {
    for (int64_t gpu = begin_; gpu < end_; ++gpu) {
      if (!is_member(gpu)) continue;
      Group& group = groups_[group_of(site_.rank(gpu))];
      if (group.first_gpu < 0) group.first_gpu = gpu;
      group.last_gpu = gpu;
      if (group.domain != site_.domain(gpu)) {
        if (group.domain >= 0) group.fewest = std::min(group.fewest, group.in_domain);
        group.domain = site_.domain(gpu);
        group.in_domain = 0;
        ++group.domains;
      }
      ++group.in_domain;
    }
    for (Group& group : groups_) {
      group.fewest = std::min(group.fewest, group.in_domain);
      group.tiers =
          tiers_climbed(cluster_.fabric, site_.node(group.first_gpu), site_.node(group.last_gpu));
    }
  }

  /// Adds up, domain by domain, what each group gets from the NICs its members own there: a NIC is
  /// divided evenly between the groups that own one of its GPUs and leave the domain. A group's
  /// rate is its poorest domain's.
  void share_nics() {
    for (int64_t domain = site_.domain(begin_); domain <= site_.domain(end_ - 1); ++domain) {
      const int64_t from = std::max(begin_, domain * site_.gpus_per_domain);
      const int64_t to = std::min(end_, (domain + 1) * site_.gpus_per_domain);
      for (int64_t node = site_.node(from); node <= site_.node(to - 1); ++node) {
        for (const spec::Nic& nic : spec::node_at(cluster_, node).nics)
          add_nic(nic, node, from, to);
      }
      for (int64_t gpu = from; gpu < to; ++gpu)
        if (is_member(gpu)) close_domain(groups_[group_of(site_.rank(gpu))], domain);
    }
  }

  void add_nic(const spec::Nic& nic, int64_t node, int64_t from, int64_t to) {
    owners_.clear();
    for (const int index : nic.gpus) {
      const int64_t gpu = node * site_.gpus_per_node + index;
      if (gpu < from || gpu >= to || !is_member(gpu)) continue;
      const size_t group = group_of(site_.rank(gpu));
      if (groups_[group].domains > 1) owners_.push_back(group);
    }
    base::sort_unique(owners_);
    const double share = nic.bytes_per_s / static_cast<double>(std::max<size_t>(owners_.size(), 1));
    for (const size_t group : owners_) groups_[group].in_domain_bytes_per_s += share;
  }

  static void close_domain(Group& group, int64_t domain) {
    // `domain` marks a group that is done here: a group with several members in the domain comes by
    // again.
    if (group.domains == 1 || group.domain == -2 - domain) return;
    group.domain = -2 - domain;
    group.nic_bytes_per_s = std::min(group.nic_bytes_per_s, group.in_domain_bytes_per_s);
    group.in_domain_bytes_per_s = 0;
  }

  const spec::Job& job_;
  const spec::Cluster& cluster_;
  Site site_;
  int64_t first_ = 0, count_ = 0;   ///< ranks, with those beside
  size_t own_ = 0, own_count_ = 0;  ///< of the groups, those on the ranks asked for
  int64_t begin_ = 0, end_ = 0;     ///< the GPUs of these ranks lie in [begin, end)
  RankGroup group_;
  std::vector<Group> groups_;
  std::vector<size_t> owners_;
};

/// What each rank of a stage gets from its NICs while every rank of the stage that has to leave its
/// domain sends or receives at once.
void end_shares(const spec::Job& job, int64_t first, const std::vector<char>& leaves,
                std::vector<double>& bytes_per_s) {
  const Site site(job);
  const auto count = static_cast<int64_t>(leaves.size());
  bytes_per_s.assign(leaves.size(), 0);
  const auto [begin, end] = site.range(first, count);
  for (int64_t node = site.node(begin); node <= site.node(end - 1); ++node) {
    for (const spec::Nic& nic : spec::node_at(job.cluster, node).nics) {
      std::vector<size_t> users;
      for (const int gpu : nic.gpus) {
        const int64_t rank = site.rank(node * site.gpus_per_node + gpu), index = rank - first;
        if (index < 0 || index >= count || leaves[static_cast<size_t>(index)] == 0) continue;
        users.push_back(static_cast<size_t>(index));
      }
      for (const size_t user : users)
        bytes_per_s[user] += nic.bytes_per_s / static_cast<double>(users.size());
    }
  }
}

}  // namespace

int64_t domain_segment(const spec::Job& job) {
  const int64_t domain = std::max<int64_t>(job.cluster.domain_gpus, 1);
  const int64_t node = std::max<int64_t>(job.cluster.node.gpus, 1);
  if (job.gpus <= domain) return domain;
  const auto least = kLeastDomainShare * static_cast<double>(domain);
  for (int64_t part = domain / node * node; static_cast<double>(part) >= least && part > 0;
       part -= node) {
    if (job.gpus % part == 0) return part;
  }
  return domain;
}

RankGroup rank_group(const spec::Job& job, GroupKind kind) {
  const spec::Parallelism& parallel = job.parallelism;
  const int64_t stage = job.stage_ranks();
  const int64_t replicas = parallel.cp * parallel.dp;
  const int64_t etp = parallel.etp > 0 ? parallel.etp : parallel.tp;
  const bool hybrid = parallel.fsdp_shard_size > 0 && parallel.fsdp_shard_size < replicas;
  const int64_t shard = hybrid ? parallel.fsdp_shard_size : replicas;
  switch (kind) {
    case GroupKind::kTensor: return {parallel.tp, 1};
    case GroupKind::kContext: return {parallel.cp, parallel.tp};
    case GroupKind::kExpert: return {parallel.ep, etp};
    case GroupKind::kExpertTensor: return {etp, 1};
    case GroupKind::kData: return {replicas, parallel.tp};
    case GroupKind::kExpertData: {
      const int64_t apart = etp * parallel.ep, copy = hybrid ? parallel.tp * shard : stage;
      return {std::max<int64_t>(1, copy / apart), apart};
    }
    case GroupKind::kShard: return {shard, parallel.tp};
    case GroupKind::kReplica: return {replicas / shard, parallel.tp * shard};
    case GroupKind::kPipeline: return {2, stage};
    case GroupKind::kEmbedding: return {2, (parallel.pp - 1) * stage};
    case GroupKind::kWorld: return {job.gpus, 1};
    case GroupKind::kStages: return {parallel.pp, stage};
  }
  ERGOMETER_CHECK(false, "every kind of group is listed");
}

FabricGroup group_on_fabric(const spec::Job& job, const GroupPlacement& where) {
  const auto members = static_cast<double>(where.nodes), size = static_cast<double>(where.size);
  FabricGroup group{members, where.node_stride, where.tiers};
  group.nodes = job.nodes();
  group.stages = job.parallelism.pp;
  group.onward = where.circuits_onward;
  group.way = where.way;
  if (!job.cluster.node.nics.empty())
    group.senders = static_cast<double>(job.cluster.node.nics.front().gpus.size());
  group.flows = (size - size / members) * group.senders;
  return group;
}

namespace {

/// Of ranks of two stages, each with its like, which send to each other or are a ring of two:
/// `placement` says which.
GroupPlacement between_stages(const spec::Job& job, int64_t stage, int64_t peer,
                              GroupPlacement placement) {
  const Site site(job);
  const int64_t ranks = job.stage_ranks();
  placement.size = stage == peer ? 1 : 2;
  placement.ranks_per_node = placement.size;
  std::vector<char> leaves(static_cast<size_t>(ranks));
  bool any = false;
  for (int64_t i = 0; i < ranks; ++i) {
    const bool crosses =
        site.domain(site.gpu(stage * ranks + i)) != site.domain(site.gpu(peer * ranks + i));
    leaves[static_cast<size_t>(i)] = crosses ? 1 : 0;
    any = any || crosses;
  }
  if (!any) return placement;

  placement.nodes = 2;
  placement.ranks_per_node = 1;
  placement.nic_bytes_per_s = std::numeric_limits<double>::infinity();
  std::vector<double> here, there;
  end_shares(job, stage * ranks, leaves, here);
  end_shares(job, peer * ranks, leaves, there);
  for (int64_t i = 0; i < ranks; ++i) {
    const auto index = static_cast<size_t>(i);
    if (leaves[index] == 0) continue;
    placement.nic_bytes_per_s = std::min({placement.nic_bytes_per_s, here[index], there[index]});
    const int64_t from = site.gpu(stage * ranks + i), to = site.gpu(peer * ranks + i);
    placement.tiers = std::max(placement.tiers,
                               tiers_climbed(job.cluster.fabric, site.node(from), site.node(to)));
    if (job.cluster.fabric.kind == spec::FabricKind::kRailOnly &&
        site.rail(job.cluster, from) != site.rail(job.cluster, to))
      placement.ring_crosses_rails = placement.exchange_crosses_rails = 1;
  }
  const double distance = std::abs(static_cast<double>((peer - stage) * ranks)) /
                          static_cast<double>(site.gpus_per_node);
  place_on_fabric(job, std::max(1.0, distance), placement);
  ERGOMETER_CHECK(placement.nic_bytes_per_s > 0, "a rank that sends to another domain owns a NIC");
  return placement;
}

}  // namespace

GroupPlacement placement(const spec::Job& job, GroupKind kind, int64_t stage, int64_t onward) {
  const int64_t stages = job.parallelism.pp, ranks = job.stage_ranks();
  const RankGroup group = rank_group(job, kind);
  // Keys and values go round context parallelism's ring as single messages, all one way.
  const bool passes_on =
      kind == GroupKind::kContext && job.parallelism.cp_comm == spec::CpComm::kP2p;
  switch (kind) {
    case GroupKind::kPipeline: return pipeline_placement(job, stage, (stage + 1) % stages, onward);
    case GroupKind::kEmbedding: {
      // Between its two ends a collective has all planes; over links of nodes it goes the short
      // way.
      GroupPlacement ends;
      ends.neighbours = spec::has_tiers(job.cluster.fabric.kind) ? Pattern::kRing : Pattern::kSend;
      ends.circuits_onward = onward;
      return between_stages(job, 0, stages - 1, ends);
    }
    case GroupKind::kWorld:
    case GroupKind::kStages: return Groups(job, 0, job.gpus, group).worst(Pattern::kRing, onward);
    default:
      return Groups(job, stage * ranks, ranks, group)
          .worst(passes_on ? Pattern::kSend : Pattern::kRing, onward);
  }
}

GroupPlacement pipeline_placement(const spec::Job& job, int64_t stage, int64_t peer,
                                  int64_t onward) {
  GroupPlacement neighbours;
  neighbours.neighbours = Pattern::kSend;
  neighbours.way = peer > stage ? Way::kForth : Way::kBack;
  neighbours.circuits_onward = onward;
  return between_stages(job, stage, peer, neighbours);
}

}  // namespace ergometer::plan

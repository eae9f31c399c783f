// What it predicts: bytes on the links of a node's PCIe tree for each byte that every rank sends.
//
//   ring           every member to the next one, in the order of the tree; where the group goes
//                  beyond the node, as many rings as NICs of its members, each an even part, which
//                  come in and go out through one NIC; of a scale-up domain of several
//                  nodes each has its members' part
//   all with all   a rank's byte in n - 1 even parts; those to other nodes over its own NICs
//   send           to the next member, or the same rank of the next stage; all stages at once
//
// A ring of n that enters k switches once each loads every uplink with 1 byte each way, whatever n;
// an exchange of 4 GPUs, two behind each of two switches, with 2 x 2 / 3. Staged in the host's
// memory, a ring loads the uplink of m GPUs with m.
//
// Time: bytes / (0.76 x line rate) of the fullest link: what protocol and packets leave, 12 of the
// 15.75 GB/s of PCIe 3 x16, as NCCL's search counts it (NVIDIA/nccl src/graph/topo.h; 24 of 31.5
// and 48 of 63 for the next two). A message by itself has what the collectives' file says of a
// pair, which staging may make far less (collective.cpp).
//
// Checked, not fitted: eight A100 as four on each of two sockets, with the 16 GB/s that NCCL counts
// on between AMD's: rings of 8 and 4 28 % and 0.5 % fast, exchanges 16 % slow and 9 % fast
// (SimuMax's a100_pcie, whose own tree is not told).
//
// A copy to the host's memory climbs to its socket's root complex and has 0.8 of the line rate
// (spec/job/pcie_tree.h).
//
// Range: even groups. What the host's memory carries is not counted; nodes beyond the first eight
// lie like these, but for the last, which may be half filled.
#include "cost/pcie_groups.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/collection.h"
#include "cost/network_load.h"
#include "spec/job/host_link.h"

namespace ergometer::cost {
namespace {

using plan::PcieLoad;
using workload::GroupKind;

constexpr int64_t kNodesSeen = 8;

bool is_of_all_stages(GroupKind kind) {
  return kind == GroupKind::kWorld || kind == GroupKind::kStages || kind == GroupKind::kEmbedding;
}

/// The first nodes, and the last.
std::vector<int64_t> nodes_seen(const spec::Job& job) {
  std::vector<int64_t> nodes;
  for (int64_t node = 0; node < std::min(job.nodes(), kNodesSeen); ++node) nodes.push_back(node);
  if (job.nodes() > kNodesSeen) nodes.push_back(job.nodes() - 1);
  return nodes;
}

/// GPUs that meet without NICs.
int64_t domain_of(const spec::Job& job, bool meet_over_pcie) {
  const int64_t gpus = job.cluster.node.gpus;
  return meet_over_pcie ? gpus : std::max(gpus, plan::domain_segment(job));
}

std::vector<int> nics_of(const spec::Node& node, int gpu) {
  std::vector<int> nics;
  for (size_t i = 0; i < node.nics.size(); ++i)
    if (base::contains(node.nics[i].gpus, gpu)) nics.push_back(static_cast<int>(i));
  return nics;
}

/// Which of the groups of a kind a rank belongs to; -1: to none.
int64_t group_of(const spec::Job& job, GroupKind kind, int64_t rank) {
  const plan::RankGroup group = plan::rank_group(job, kind);
  const int64_t scope = is_of_all_stages(kind) ? job.gpus : job.stage_ranks();
  const int64_t block = group.size * group.stride;
  const int64_t first = rank / scope * scope, index = rank - first;
  if (kind == GroupKind::kEmbedding && index % block % group.stride >= job.stage_ranks())
    return -1;  // of the stages between the two ends
  return first + index / block * group.stride + index % group.stride;
}

void leave(const spec::Node& node, int gpu, double bytes, PcieLoad& load) {
  const std::vector<int> nics = nics_of(node, gpu);
  for (const int nic : nics) load.leave(gpu, nic, bytes / static_cast<double>(nics.size()));
}
void arrive(const spec::Node& node, int gpu, double bytes, PcieLoad& load) {
  const std::vector<int> nics = nics_of(node, gpu);
  for (const int nic : nics) load.arrive(nic, gpu, bytes / static_cast<double>(nics.size()));
}

}  // namespace

std::shared_ptr<const PcieGroups> PcieGroups::make(const spec::Job& job) {
  std::optional<spec::PcieTree> tree = spec::pcie_tree(job.cluster.node);
  if (!tree) return nullptr;
  return std::shared_ptr<const PcieGroups>(new PcieGroups(job, *std::move(tree)));
}

PcieGroups::PcieGroups(const spec::Job& job, spec::PcieTree tree) : tree_(std::move(tree)) {
  const spec::Node& node = job.cluster.node;
  host_link_ = node.gpu.parameters.value_or("host_link", spec::kAssumedHostLink);
  meet_over_pcie_ = node.intra == spec::IntraKind::kPcie;
  gpu_bytes_per_s_ = meet_over_pcie_ ? node.intra_bytes_per_s : host_link_;
  if (!job.parallelism.rank_map.empty()) {
    rank_of_.assign(static_cast<size_t>(job.nodes() * node.gpus), -1);
    for (int64_t rank = 0; rank < job.gpus; ++rank)
      rank_of_[static_cast<size_t>(job.parallelism.gpu_of(rank))] = rank;
  }
  copies_ = copies(job);
  for (int kind = 0; kind < workload::kGroupKindCount; ++kind)
    for (const auto pattern :
         {plan::Pattern::kRing, plan::Pattern::kAllToAll, plan::Pattern::kSend})
      fullest_[static_cast<size_t>(kind)][static_cast<size_t>(pattern)] =
          fullest(job, static_cast<GroupKind>(kind), pattern);
}

const PcieGroups::Fullest& PcieGroups::of(const workload::Operator& op) const {
  return fullest_[static_cast<size_t>(op.group)][static_cast<size_t>(pattern_of(op))];
}

int64_t PcieGroups::rank_on(int64_t gpu, const spec::Job& job) const {
  if (rank_of_.empty()) return gpu < job.gpus ? gpu : -1;
  return gpu < std::ssize(rank_of_) ? rank_of_[static_cast<size_t>(gpu)] : -1;
}

int64_t PcieGroups::ranks_on_node(int64_t node, const spec::Job& job) const {
  const int64_t gpus = job.cluster.node.gpus;
  int64_t ranks = 0;
  for (int64_t gpu = node * gpus; gpu < (node + 1) * gpus; ++gpu)
    ranks += rank_on(gpu, job) >= 0 ? 1 : 0;
  return ranks;
}

void PcieGroups::Fullest::take(const PcieLoad& load, double share, int64_t ranks_there) {
  const double seconds = load.seconds(share);
  if (seconds > s_per_byte) *this = {seconds, load.links(), ranks_there};
}

PcieGroups::Fullest PcieGroups::copies(const spec::Job& job) const {
  const auto gpus = static_cast<int>(job.cluster.node.gpus);
  Fullest most;
  for (const int64_t node : nodes_seen(job)) {
    PcieLoad load(tree_, host_link_);
    for (int gpu = 0; gpu < gpus; ++gpu) {
      if (rank_on(node * gpus + gpu, job) < 0) continue;
      load.to_host(gpu, 1);
      load.from_host(gpu, 1);
    }
    most.take(load, spec::kCopyShare, ranks_on_node(node, job));
  }
  return most;
}

std::vector<PcieGroups::Members> PcieGroups::members_on(const spec::Job& job, GroupKind kind,
                                                        int64_t node) const {
  const int64_t gpus = job.cluster.node.gpus;
  std::vector<int> order;
  for (int gpu = 0; gpu < gpus; ++gpu) order.push_back(gpu);
  std::ranges::stable_sort(order, {},
                           [&](int gpu) { return tree_.gpus[static_cast<size_t>(gpu)]; });
  std::map<int64_t, Members> found;
  for (const int gpu : order) {
    const int64_t global = node * gpus + gpu;
    const int64_t rank = rank_on(global, job);
    if (rank < 0) continue;
    const int64_t group = group_of(job, kind, rank);
    if (group < 0) continue;
    Members& members = found[group];
    members.gpus.push_back(gpu);
  }
  const int64_t domain = domain_of(job, meet_over_pcie_);
  const int64_t begin = node * gpus / domain * domain;
  for (int64_t gpu = begin; gpu < begin + domain; ++gpu) {
    const int64_t rank = rank_on(gpu, job);
    if (rank < 0) continue;
    if (const auto it = found.find(group_of(job, kind, rank)); it != found.end())
      ++it->second.in_domain;
  }
  std::vector<Members> all;
  for (auto& [unused, members] : found) {
    members.in_domain = std::max(members.in_domain, std::ssize(members.gpus));
    all.push_back(std::move(members));
  }
  return all;
}

void PcieGroups::ring(const spec::Node& node, const Members& members, bool leaves,
                      PcieLoad& load) const {
  const std::vector<int>& gpus = members.gpus;
  const auto chain = [&](size_t start, size_t hops, double bytes) {
    for (size_t i = 0; i < hops && meet_over_pcie_; ++i)
      load.send(gpus[(start + i) % gpus.size()], gpus[(start + i + 1) % gpus.size()], bytes);
  };
  if (!leaves) return chain(0, gpus.size() > 1 ? gpus.size() : 0, 1);
  std::vector<std::pair<int, size_t>> entries;  // a NIC, and the member that it leads to
  for (size_t nic = 0; nic < node.nics.size(); ++nic)
    for (size_t i = 0; i < gpus.size(); ++i)
      if (base::contains(node.nics[nic].gpus, gpus[i])) {
        entries.emplace_back(static_cast<int>(nic), i);
        break;
      }
  // Of the rings of a domain of several nodes a node has its members' part.
  const double of_domain =
      static_cast<double>(gpus.size()) / static_cast<double>(members.in_domain);
  for (const auto& [nic, start] : entries) {
    const double part = of_domain / static_cast<double>(entries.size());
    const size_t last = meet_over_pcie_ ? (start + gpus.size() - 1) % gpus.size() : start;
    load.arrive(nic, gpus[start], part);
    chain(start, gpus.size() - 1, part);
    load.leave(gpus[last], nic, part);
  }
}

void PcieGroups::exchange(const spec::Node& node, const Members& members, int64_t size,
                          PcieLoad& load) const {
  const double part = 1 / static_cast<double>(size - 1);
  const auto away = static_cast<double>(size - members.in_domain);
  for (const int gpu : members.gpus) {
    for (const int other : members.gpus)
      if (other != gpu && meet_over_pcie_) load.send(gpu, other, part);
    if (away <= 0) continue;
    leave(node, gpu, away * part, load);
    arrive(node, gpu, away * part, load);
  }
}

void PcieGroups::pass_on(const spec::Node& node, const Members& members, bool leaves,
                         PcieLoad& load) const {
  const size_t count = members.gpus.size();
  if (!leaves && count < 2) return;
  for (size_t i = 0; i + (leaves ? 1 : 0) < count && meet_over_pcie_; ++i)
    load.send(members.gpus[i], members.gpus[(i + 1) % count], 1);
  if (!leaves) return;
  leave(node, members.gpus.back(), 1, load);
  arrive(node, members.gpus.front(), 1, load);
}

void PcieGroups::to_next_stage(const spec::Job& job, int64_t node, PcieLoad& load) const {
  const spec::Node& here = job.cluster.node;
  const int64_t stage = job.stage_ranks(), gpus = here.gpus;
  const int64_t domain = domain_of(job, meet_over_pcie_);
  for (int gpu = 0; gpu < gpus; ++gpu) {
    const int64_t global = node * gpus + gpu;
    const int64_t rank = rank_on(global, job);
    if (rank < 0) continue;
    const auto is_near = [&](int64_t other) { return other / domain == global / domain; };
    if (rank + stage < job.gpus) {
      const int64_t next = job.parallelism.gpu_of(rank + stage);
      if (!is_near(next))
        leave(here, gpu, 1, load);
      else if (meet_over_pcie_)
        load.send(gpu, static_cast<int>(next % gpus), 1);
    }
    if (rank >= stage && !is_near(job.parallelism.gpu_of(rank - stage))) arrive(here, gpu, 1, load);
  }
}

PcieGroups::Fullest PcieGroups::fullest(const spec::Job& job, GroupKind kind,
                                        plan::Pattern pattern) const {
  Fullest most;
  const int64_t size = plan::rank_group(job, kind).size;
  if (size <= 1 || (kind == GroupKind::kEmbedding && job.parallelism.pp <= 1)) return most;
  const spec::Node& here = job.cluster.node;
  for (const int64_t node : nodes_seen(job)) {
    PcieLoad load(tree_, gpu_bytes_per_s_);
    if (kind == GroupKind::kPipeline) {
      to_next_stage(job, node, load);
    } else {
      for (const Members& members : members_on(job, kind, node)) {
        const bool leaves = members.in_domain < size;
        if (pattern == plan::Pattern::kAllToAll)
          exchange(here, members, size, load);
        else if (pattern == plan::Pattern::kSend)
          pass_on(here, members, leaves, load);
        else
          ring(here, members, leaves, load);
      }
    }
    most.take(load, kPcieShare, ranks_on_node(node, job));
  }
  return most;
}

}  // namespace ergometer::cost

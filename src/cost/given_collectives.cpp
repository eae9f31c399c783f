// What it predicts: the time of a collective whose algorithm a file gives (`collectives_from`),
// alone on its links, from the moment its last member arrives.
//
//   t = start + hops + b (first + (P - 1) period) + ramp
//
// S bytes (the whole buffer, as in collective.cpp) in C chunks a loop; a loop moves at most a slot
// of each chunk, so that P = max(1, ceil(S / C / slot)) loops move chunks of b = S / (C P). A loop
// is played on the job's links (algorithm_play.cpp), for each byte of a chunk and without hops:
// `first` is when it ends, `period` how much later each of many loops ends than the one before it.
// `hops` is when a loop without bytes ends: the longest way. That they come on top of transfers,
// and once, is how the tuner's latencies are meant; what further loops wait is within what was
// measured of long messages.
//
//   start, hops   those of rings: base and hop of the node, across nodes of the fabric.
//                 LL128: 14 of 6.6 us of LL's base, hops of 1.9 of 0.6 us inside and of 4.0 of 2.7
//                 between nodes, as in NCCL's tuner
//   ramp          of the Simple protocol, as of the collective's own kind in collective.cpp
//   waits         of a fabric out of order, as there
//   ports         every GPU out and in, to NICs too: the ring's bus bandwidth for that many ranks;
//                 for an all-to-all an exchange's, of LL the low-latency rate, of LL128 0.92 of the
//                 ring's; on a full mesh each pair's link. Every NIC out and in: line rate x line
//                 efficiency, over how much fuller the fabric's own links are; of LL together no
//                 more than the fabric's low-latency rate. A channel's messages leave by NIC number
//                 channel modulo those of its GPU. Without switches between rails a message for
//                 another rail first takes the ports to the GPU of that rail on its node, and a hop
//                 more
//   thread block  moves no more than one channel does (channel.bandwidth, of LL128
//                 channel.ll128_bandwidth of catalog/kernels); of LL 8 bytes of 16, of LL128 120
//                 of 128
//   PCIe          no less than the fullest link of the node's tree takes, where it says one
//
// Slots are those of MSCCL's runtime as recalled, not measured: 1 MiB of Simple, 600 KiB of LL128,
// 32 KiB of LL.
//
// Worked: NCCL's ring on 8 H100 by 24 channels, all-gather of 1 GiB: ring_base 8.4 us, 7 hops of
// 3.4 us, ramp 39.3 us, 7/8 x 1.0737 GB / 365 GB/s = 2574 us: what collective.cpp says.
//
// Range: groups of one domain, and of whole nodes in order. Not those of the switch's own sums, nor
// exchanges of tokens by expert. Nothing was fitted to or checked against a run of MSCCL: a step
// that runs one has a wider interval (engine/outcome/given_algorithms.cpp). Its bytes:
// given_choice.cpp.
#include "cost/given_collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/collection.h"
#include "plan/network/pcie_load.h"
#include "spec/collective/given_algorithms.h"
#include "spec/job/host_link.h"
#include "spec/job/pcie_tree.h"

namespace ergometer::cost {
namespace {

using plan::GroupPlacement;
using spec::Algorithm;
using spec::CollectiveProtocol;
using spec::CollectiveTask;
using workload::Operator;

double slot_bytes(CollectiveProtocol protocol) {
  constexpr double kKib = 1024;
  if (protocol == CollectiveProtocol::kSimple) return 1024 * kKib;
  return protocol == CollectiveProtocol::kLl128 ? 600 * kKib : 32 * kKib;
}

/// Of a GPU whose catalog does not say it, what NCCL's tuner counts on for Ampere.
double block_rate(const spec::Gpu& gpu, CollectiveProtocol protocol) {
  if (protocol == CollectiveProtocol::kSimple)
    return gpu.parameters.value_or("channel.bandwidth", 24e9);
  constexpr double kLlShare = (8.0 / 16) / (120.0 / 128);
  const double ll128 = gpu.parameters.value_or("channel.ll128_bandwidth", 20e9);
  return protocol == CollectiveProtocol::kLl128 ? ll128 : kLlShare * ll128;
}

/// What LL128 adds to LL, in NCCL's tuner.
constexpr double kLl128Base = 14 / 6.6, kLl128Hop = 1.9 / 0.6, kLl128NetworkHop = 4.0 / 2.7;
constexpr double kLl128Share = 0.92;

/// Whether some domain sends to more than two others.
bool sends_to_many(const Algorithm& algorithm, int64_t per_domain) {
  std::vector<std::set<int64_t>> to(static_cast<size_t>(algorithm.size() / per_domain + 1));
  for (int64_t gpu = 0; gpu < algorithm.size(); ++gpu)
    for (const spec::ThreadBlock& block : algorithm.gpus[static_cast<size_t>(gpu)].blocks)
      if (block.send_to >= 0 && block.send_to / per_domain != gpu / per_domain)
        to[static_cast<size_t>(gpu / per_domain)].insert(block.send_to / per_domain);
  return std::ranges::any_of(to, [](const auto& others) { return others.size() > 2; });
}

/// By which of its NICs the node's GPU sends a channel's messages, and receives them.
size_t nic_of_channel(const spec::Node& node, int64_t gpu, int channel) {
  std::vector<size_t> own;
  for (size_t nic = 0; nic < node.nics.size(); ++nic)
    if (base::contains(node.nics[nic].gpus, gpu)) own.push_back(nic);
  ERGOMETER_CHECK(!own.empty(), "every GPU has a NIC");
  return own[static_cast<size_t>(channel) % own.size()];
}

/// Ports and the ways over them.
class RouteMaker {
 public:
  RouteMaker(const Algorithm& algorithm, const spec::Node& node, spec::FabricKind fabric_kind,
             const DomainParameters& domain, const FabricParameters& fabric,
             const GroupPlacement& where)
      : algorithm_(algorithm),
        node_(node),
        rail_only_(fabric_kind == spec::FabricKind::kRailOnly),
        domain_(domain),
        fabric_(fabric),
        where_(where),
        per_domain_(where.nodes > 1 ? where.ranks_per_node : where.size),
        exchanges_(algorithm.task == CollectiveTask::kAllToAll) {
    routes_.block_bytes_per_s = block_rate(node.gpu, algorithm.protocol);
    gpu_ports();
    if (where.nodes > 1) nic_ports();
  }

  AlgorithmRoutes make() {
    for (int gpu = 0; gpu < algorithm_.size(); ++gpu) {
      routes_.out.emplace_back();
      for (const spec::ThreadBlock& block : algorithm_.gpus[static_cast<size_t>(gpu)].blocks)
        routes_.out.back().push_back(block.send_to < 0 ? AlgorithmRoute{} : route(gpu, block));
    }
    return std::move(routes_);
  }

 private:
  bool is_low_latency() const { return algorithm_.protocol == CollectiveProtocol::kLl; }

  size_t port(double bytes_per_s) {
    routes_.port_bytes_per_s.push_back(bytes_per_s);
    return routes_.port_bytes_per_s.size() - 1;
  }

  double gpu_rate() const {
    const auto ranks = static_cast<double>(per_domain_);
    if (is_low_latency()) return domain_.low_latency_bytes_per_s;
    double rate = ring_bandwidth(domain_, ranks);
    if (exchanges_ && domain_.mesh_links <= 0) rate = domain_.all_to_all_bytes_per_s;
    return algorithm_.protocol == CollectiveProtocol::kLl128 ? kLl128Share * rate : rate;
  }

  void gpu_ports() {
    const double rate = gpu_rate();
    for (int gpu = 0; gpu < algorithm_.size(); ++gpu) {
      out_.push_back(port(rate));
      in_.push_back(port(rate));
    }
  }

  /// Of LL a node's NICs together pass on no more than the fabric's low-latency rate.
  void nic_ports() {
    const int64_t domains = algorithm_.size() / per_domain_,
                  nodes = std::max<int64_t>(1, per_domain_ / node_.gpus);
    const double nics = base::sum(node_.nics, [](const spec::Nic& nic) { return nic.bytes_per_s; });
    const double efficiency =
        exchanges_ ? fabric_.all_to_all_line_efficiency : fabric_.line_efficiency;
    const bool many = exchanges_ || sends_to_many(algorithm_, per_domain_);
    double group =
        where_.nic_bytes_per_s * efficiency / (many ? where_.exchange_uplink : where_.ring_uplink);
    if (is_low_latency()) group = std::min(group, fabric_.low_latency_bytes_per_s);
    const double share = group / (nics * static_cast<double>(nodes));
    for (int64_t node = 0; node < domains * nodes; ++node)
      for (const spec::Nic& nic : node_.nics) {
        nic_out_.push_back(port(nic.bytes_per_s * share));
        nic_in_.push_back(port(nic.bytes_per_s * share));
      }
  }

  size_t nic_of(int gpu, int channel) const {
    return static_cast<size_t>(gpu / node_.gpus) * node_.nics.size() +
           nic_of_channel(node_, gpu % node_.gpus, channel);
  }

  /// A port of two GPUs or two domains alone, made when first asked for.
  size_t pair_port(int from, int to, double bytes_per_s) {
    const auto [found, fresh] = pairs_.try_emplace({from, to}, 0);
    if (fresh) found->second = port(bytes_per_s);
    return found->second;
  }

  AlgorithmRoute route(int gpu, const spec::ThreadBlock& block) {
    const auto domain_of = [&](int of) { return static_cast<int>(of / per_domain_); };
    if (domain_of(gpu) == domain_of(block.send_to)) return inside(gpu, block.send_to);
    AlgorithmRoute route = {{out_[static_cast<size_t>(gpu)]}, network_hop_s()};
    int leaves = gpu;
    if (rail_only_) {
      leaves = static_cast<int>(gpu - gpu % per_domain_ + block.send_to % per_domain_);
      if (leaves != gpu) {
        route = inside(gpu, leaves);
        route.hop_s += network_hop_s();
      }
    }
    route.ports.push_back(in_[static_cast<size_t>(block.send_to)]);
    route.ports.push_back(nic_out_[nic_of(leaves, block.channel)]);
    route.ports.push_back(nic_in_[nic_of(block.send_to, block.channel)]);
    if (std::isfinite(fabric_.connections_bytes_per_s))
      route.ports.push_back(pair_port(-1 - domain_of(gpu), -1 - domain_of(block.send_to),
                                      fabric_.connections_bytes_per_s));
    return route;
  }

  AlgorithmRoute inside(int from, int to) {
    AlgorithmRoute route = {{out_[static_cast<size_t>(from)], in_[static_cast<size_t>(to)]},
                            domain_hop_s()};
    const auto others = static_cast<double>(per_domain_ - 1);
    if (domain_.mesh_links > 0)
      route.ports.push_back(
          pair_port(from, to, ring_bandwidth(domain_, static_cast<double>(per_domain_)) / others));
    return route;
  }

  double domain_hop_s() const {
    if (algorithm_.protocol == CollectiveProtocol::kSimple) return domain_.hop_s;
    const double low =
        where_.nodes > 1 ? fabric_.low_latency_domain_hop_s : domain_.low_latency_hop_s;
    return is_low_latency() ? low : low * kLl128Hop;
  }

  double network_hop_s() const {
    const double further = exchanges_ ? where_.exchange_hop_s : where_.ring_hop_s;
    if (algorithm_.protocol == CollectiveProtocol::kSimple) return fabric_.ring_hop_s + further;
    return fabric_.low_latency_hop_s * (is_low_latency() ? 1 : kLl128NetworkHop) + further;
  }

  const Algorithm& algorithm_;
  const spec::Node& node_;
  bool rail_only_ = false;
  const DomainParameters& domain_;
  const FabricParameters& fabric_;
  const GroupPlacement& where_;
  int64_t per_domain_ = 1;
  bool exchanges_ = false;
  AlgorithmRoutes routes_;
  std::vector<size_t> out_, in_;          ///< by GPU
  std::vector<size_t> nic_out_, nic_in_;  ///< by node, then NIC
  std::map<std::pair<int, int>, size_t> pairs_;
};

/// Loops until all go at one pace, and those that are looked at.
constexpr int kUnsettled = 4, kLoops = 8;

}  // namespace

std::shared_ptr<const GivenCollectives> GivenCollectives::make(const spec::Job& job,
                                                               const DomainParameters& domain,
                                                               const FabricParameters& fabric) {
  if (spec::given_algorithms(job.cluster.node.parameters).empty()) return nullptr;
  return std::shared_ptr<const GivenCollectives>(new GivenCollectives(job, domain, fabric));
}

GivenCollectives::GivenCollectives(const spec::Job& job, const DomainParameters& domain,
                                   const FabricParameters& fabric)
    : GivenChoice(job), domain_(domain), fabric_(fabric) {}

double GivenCollectives::pcie_s_per_byte(const Algorithm& algorithm, const Operator& op,
                                         const GroupPlacement& where) const {
  const std::optional<spec::PcieTree> tree = spec::pcie_tree(node_);
  const bool meet = node_.intra == spec::IntraKind::kPcie;
  if (!tree || (!meet && where.nodes == 1)) return 0;
  plan::PcieLoad load(*tree,
                      meet ? node_.intra_bytes_per_s
                           : node_.gpu.parameters.value_or("host_link", spec::kAssumedHostLink));
  const plan::RankGroup& group = groups_[static_cast<size_t>(op.group)];
  const int64_t gpus = node_.gpus, block = group.size * group.stride;
  const std::vector<Sending> all = sendings(algorithm);
  // All groups of the kind that lie on a node, or its part of the one that goes beyond.
  const bool inside = where.nodes == 1;
  const auto nic_of = [&](int gpu, int channel) {
    return static_cast<int>(nic_of_channel(node_, gpu, channel));
  };
  for (int64_t first = 0; first < (inside ? gpus : 1); first += inside ? block : 1)
    for (int64_t offset = 0; offset < (inside ? group.stride : 1); ++offset)
      for (const Sending& sending : all) {
        const auto at = [&](int64_t member) {
          return static_cast<int>(inside ? first + offset + member * group.stride : member);
        };
        const int gpu = at(sending.from), to = at(sending.to);
        if (inside && std::max(gpu, to) >= gpus) continue;
        if (gpu / gpus == 0 && to / gpus == 0 && meet)
          load.send(gpu, to, sending.chunks);
        else if (gpu / gpus == 0 && to / gpus != 0)
          load.leave(gpu, nic_of(gpu, sending.channel), sending.chunks);
        else if (gpu / gpus != 0 && to / gpus == 0)
          load.arrive(nic_of(to, sending.channel), to, sending.chunks);
      }
  return load.seconds(kPcieShare);
}

const GivenCollectives::Placed& GivenCollectives::placed(size_t index, const Operator& op,
                                                         const GroupPlacement& where) const {
  const Place place{index,
                    static_cast<int>(op.group),
                    where.nodes,
                    where.nic_bytes_per_s,
                    where.ring_uplink,
                    where.exchange_uplink,
                    where.ring_hop_s,
                    where.exchange_hop_s};
  const auto [found, fresh] = placed_.try_emplace(place);
  Placed& it = found->second;
  if (!fresh) return it;
  const Algorithm& algorithm = *algorithms_[index];
  const AlgorithmRoutes routes =
      RouteMaker(algorithm, node_, fabric_kind_, domain_, fabric_, where).make();
  const std::vector<double> done_s = play_algorithm(algorithm, routes, 1, kLoops, false);
  it.hops_s = play_algorithm(algorithm, routes, 0, 1, true).front();
  it.first = done_s.front();
  it.period = (done_s.back() - done_s[kUnsettled - 1]) / (kLoops - kUnsettled);
  it.pcie = pcie_s_per_byte(algorithm, op, where);
  return it;
}

/// Start, ramp and waits.
double GivenCollectives::fixed_s(const Algorithm& algorithm, const Operator& op,
                                 const GroupPlacement& where) const {
  const bool network = where.nodes > 1, simple = algorithm.protocol == CollectiveProtocol::kSimple;
  const bool reduces_all = algorithm.task == CollectiveTask::kAllReduce;
  const double low = network ? fabric_.low_latency_base_s : domain_.low_latency_base_s;
  double fixed_s = simple ? (network ? fabric_.ring_base_s : domain_.ring_base_s)
                   : algorithm.protocol == CollectiveProtocol::kLl ? low
                                                                   : low * kLl128Base;
  const auto ramp = [&](double ramp_s, double half_bytes) {
    return ramp_s * op.comm_bytes / (op.comm_bytes + half_bytes);
  };
  const bool exchanges = algorithm.task == CollectiveTask::kAllToAll;
  if (simple && op.comm_bytes > 0 && network && reduces_all)
    fixed_s += ramp(fabric_.ramp_s, fabric_.ramp_half_bytes);
  else if (simple && op.comm_bytes > 0 && (!network || exchanges))
    fixed_s += ramp(domain_.ramp_s * (reduces_all ? 1 : 0.5), domain_.ramp_half_bytes);
  if (!network || exchanges) return fixed_s;
  const auto ranks = static_cast<double>(where.size), nodes = static_cast<double>(where.nodes);
  double waits_s = std::max(reduces_all ? 0 : fabric_.ring_step_s * (ranks - 1),
                            fabric_.node_step_s * std::sqrt((nodes - 1) * (ranks - 1)));
  if (reduces_all && simple && nodes > 2) waits_s = std::max(waits_s, fabric_.all_reduce_wait_s);
  return fixed_s + waits_s;
}

GivenTime GivenCollectives::time(const Operator& op, const GroupPlacement& where) const {
  const std::optional<size_t> index = index_of(op, where);
  ERGOMETER_CHECK(index.has_value(), "a collective that runs a given algorithm");
  const Algorithm& algorithm = *algorithms_[*index];
  const double chunk = op.comm_bytes / algorithm.chunks;
  GivenTime given;
  given.name = algorithm.name;
  given.file = algorithm.file;
  given.protocol = spec::kProtocolWords[static_cast<size_t>(algorithm.protocol)];
  given.loops = std::max(1.0, std::ceil(chunk / slot_bytes(algorithm.protocol)));
  given.chunk_bytes = chunk / given.loops;
  const std::lock_guard lock(mutex_);
  const Placed& it = placed(*index, op, where);
  given.hops_s = it.hops_s;
  given.first_s = it.first * given.chunk_bytes;
  given.further_s = it.period * given.chunk_bytes;
  given.time.latency_s = fixed_s(algorithm, op, where) + given.hops_s;
  given.time.transfer_s =
      std::max(given.first_s + (given.loops - 1) * given.further_s, it.pcie * chunk);
  given.time.low_latency = algorithm.protocol != CollectiveProtocol::kSimple;
  return given;
}

Result<std::optional<GivenTime>> given_time(const spec::Job& job, const Operator& op,
                                            const GroupPlacement& where) {
  if (spec::given_algorithms(job.cluster.node.parameters).empty() || where.size <= 1)
    return std::optional<GivenTime>();
  ERGOMETER_ASSIGN(const CostModel::Parameters parameters, read_parameters(job));
  if (parameters.given == nullptr || !parameters.given->fits(op, where))
    return std::optional<GivenTime>();
  return std::optional<GivenTime>(parameters.given->time(op, where));
}

}  // namespace ergometer::cost

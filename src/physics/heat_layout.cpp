#include "physics/heat_layout.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/collection.h"
#include "physics/propagator.h"

namespace ergometer::physics {
namespace {

/// Steps kept before all are thrown away: with two GPUs a lane about 50 MB.
constexpr size_t kMostSteps = 50'000;

/// Numbers shapes of lanes: equal number, equal shape.
std::vector<size_t> first_of_shape(const std::vector<Lane>& lanes) {
  std::vector<size_t> first;
  for (const Lane& lane : lanes) {
    const auto same =
        std::ranges::find_if(lanes, [&](const Lane& other) { return other.same_shape(lane); });
    first.push_back(static_cast<size_t>(same - lanes.begin()));
  }
  return first;
}

/// Calls `each` for every place of the block's first lanes, with its index in an array of four
/// places a GPU and the block's own value.
template <class Each>
void for_each_place(const Block& block, std::ptrdiff_t lanes, const Each& each) {
  double* value = block.values;
  for (int i = 0; i < block.gpus_in_lane; ++i) {
    const int32_t* gpu = block.gpus + i * kSideBySide;
    for (size_t place = 0; place < HeatNetwork::kPlaces; ++place, value += kSideBySide)
      for (std::ptrdiff_t l = 0; l < lanes; ++l)
        each(static_cast<size_t>(gpu[l]) * HeatNetwork::kPlaces + place, value[l]);
  }
}

}  // namespace

int bin_of(double value, double bins) {
  return std::max(1, static_cast<int>(std::floor(value * bins + 0.5)));
}

HeatLayout::HeatLayout(const CoolingParameters& cooling, const spec::Node& node, int64_t nodes,
                       std::span<const double> die_resistance)
    : cooling_(cooling), nodes_(nodes), gpus_per_node_(node.gpus), lanes_(lanes_of(node)) {
  ERGOMETER_CHECK(
      die_resistance.empty() || static_cast<int64_t>(die_resistance.size()) == nodes * node.gpus,
      "one resistance factor a GPU, or none");
  find_families(die_resistance);
  for (const Lane& lane : lanes_) settled_.emplace_back(cooling_, lane);
}

void HeatLayout::find_families(std::span<const double> die_resistance) {
  const std::vector<size_t> shape = first_of_shape(lanes_);
  std::map<std::pair<size_t, std::vector<int>>, size_t> kinds;
  std::map<size_t, size_t> close;  // families of the nodes at hand, by shape
  for (int64_t l = 0; l < nodes_ * static_cast<int64_t>(lanes_.size()); ++l) {
    if (local(l) == 0 && node_of(l) % kNodesTogether == 0) close.clear();
    std::vector<int> bins;
    for (const int gpu : lanes_[local(l)].gpus) {
      const auto number = static_cast<size_t>(node_of(l) * gpus_per_node_ + gpu);
      bins.push_back(bin_of(die_resistance.empty() ? 1 : die_resistance[number], kResistanceBins));
    }
    const auto [kind, fresh] = kinds.try_emplace({shape[local(l)], bins}, kinds_.size());
    if (fresh) {
      std::vector<double> factors =
          base::mapped(bins, [](int bin) { return bin / kResistanceBins; });
      kinds_.push_back({shape[local(l)], std::move(bins), std::move(factors), {}});
    }
    const auto [family, first] = close.try_emplace(shape[local(l)], families_.size());
    if (first) families_.push_back({static_cast<size_t>(node_of(l) / kNodesTogether), {}});
    families_[family->second].lanes.push_back(l);
    kind_of_.push_back(kind->second);
  }
}

Coupled& HeatLayout::coupled(Kind& kind, int flow_bin) {
  const auto [entry, fresh] = kind.at_flow.try_emplace(flow_bin);
  if (fresh) {
    entry->second.network =
        heat_network(cooling_, lanes_[kind.lane], kind.factors, flow_bin / kFlowBins);
  }
  return entry->second;
}

void HeatLayout::settle(std::span<const double> flow, std::span<const double> die_w,
                        std::span<const double> memory_w, std::span<double> places) {
  std::vector<double> die, memory, last_die, last_memory;
  double last_flow = 0;
  for (size_t l = 0; l < kind_of_.size(); ++l) {
    const size_t node = l / lanes_.size(), first = node * static_cast<size_t>(gpus_per_node_);
    const std::vector<int>& gpus = lanes_[l % lanes_.size()].gpus;
    die.clear();
    memory.clear();
    for (const int gpu : gpus) {
      die.push_back(die_w[first + static_cast<size_t>(gpu)]);
      memory.push_back(memory_w[first + static_cast<size_t>(gpu)]);
    }
    const Kind& kind = kinds_[kind_of_[l]];
    SettledLane& lane = settled_[kind.lane];
    // Lanes of a node often do the same work: then all of them end as the first did.
    const bool repeats = l > 0 && kind_of_[l] == kind_of_[l - 1] && flow[node] == last_flow &&
                         die == last_die && memory == last_memory;
    if (!repeats) lane.solve(flow[node], kind.factors, die, memory);
    last_flow = flow[node];
    last_die.swap(die);
    last_memory.swap(memory);
    for (size_t i = 0; i < gpus.size(); ++i)
      std::ranges::copy(
          lane.places().subspan(i * HeatNetwork::kPlaces, HeatNetwork::kPlaces),
          places.begin() + static_cast<std::ptrdiff_t>((first + static_cast<size_t>(gpus[i])) *
                                                       HeatNetwork::kPlaces));
  }
}

double HeatLayout::die_k_per_w(int64_t gpu, double flow) const {
  const auto index = static_cast<int>(gpu % gpus_per_node_);
  const auto holds = [&](const Lane& lane) { return base::contains(lane.gpus, index); };
  const auto lane = std::ranges::find_if(lanes_, holds);
  ERGOMETER_CHECK(lane != lanes_.end(), "every GPU is in a lane");
  const auto place = static_cast<size_t>(std::ranges::find(lane->gpus, index) - lane->gpus.begin());
  const auto number = static_cast<size_t>(gpu / gpus_per_node_) * lanes_.size() +
                      static_cast<size_t>(lane - lanes_.begin());
  std::vector<double> die(lane->gpus.size()), memory(lane->gpus.size());
  die[place] = 1;
  SettledLane settled(cooling_, *lane);
  settled.solve(flow, kinds_[kind_of_[number]].factors, die, memory);
  return settled.places()[place * HeatNetwork::kPlaces + HeatNetwork::kDie];
}

void HeatLayout::arrange(std::span<const int> flow_bins) {
  groups_.clear();
  blocks_.clear();
  gpus_.clear();
  block_nodes_.clear();
  part_ends_.assign(parts(), 0);
  for (Family& family : families_) {
    arrange(family, flow_bins);
    part_ends_[family.part] = groups_.size();
  }
  point_blocks();
}

/// Sorts the family's lanes by kind and flow. Of each run eight make a block, the last of it half
/// of that; lanes that are left over make blocks of unlike ones.
void HeatLayout::arrange(Family& family, std::span<const int> flow_bins) {
  const auto run = [&](int64_t lane) {
    return std::pair(kind_of_[static_cast<size_t>(lane)],
                     flow_bins[static_cast<size_t>(node_of(lane))]);
  };
  const auto key = [&](int64_t lane) { return std::pair(run(lane), lane); };
  if (!std::ranges::is_sorted(family.lanes, {}, key)) std::ranges::sort(family.lanes, {}, key);
  const std::span<const int64_t> all = family.lanes;
  const size_t first_group = groups_.size();
  std::vector<int64_t> unlike;
  for (size_t first = 0, last = 0; first < all.size(); first = last) {
    while (last < all.size() && run(all[last]) == run(all[first])) ++last;
    for (; last - first >= kSideBySide / 2; first += std::min<size_t>(kSideBySide, last - first))
      add_block(all.subspan(first, std::min<size_t>(kSideBySide, last - first)), flow_bins,
                first_group);
    unlike.insert(unlike.end(), all.begin() + static_cast<std::ptrdiff_t>(first),
                  all.begin() + static_cast<std::ptrdiff_t>(last));
  }
  const std::span<const int64_t> rest = unlike;
  for (size_t first = 0; first < rest.size(); first += kSideBySide)
    add_block(rest.subspan(first, std::min<size_t>(kSideBySide, rest.size() - first)), flow_bins,
              first_group);
}

/// `first_group`: of the family.
void HeatLayout::add_block(std::span<const int64_t> lanes, std::span<const int> flow_bins,
                           size_t first_group) {
  const auto at = [&](size_t l) { return lanes[std::min(l, lanes.size() - 1)]; };
  const auto kind = [&](int64_t lane) -> Kind& {
    return kinds_[kind_of_[static_cast<size_t>(lane)]];
  };
  const size_t gpus = kind(lanes.front()).bins.size();
  Group group;
  for (size_t l = 0; l < kSideBySide; ++l) {
    const auto node = static_cast<size_t>(node_of(at(l)));
    const bool as_before = l > 0 && &kind(at(l)) == &kind(at(l - 1)) &&
                           flow_bins[node] == flow_bins[static_cast<size_t>(node_of(at(l - 1)))];
    group.lanes[l] = as_before ? group.lanes[l - 1] : &coupled(kind(at(l)), flow_bins[node]);
    block_nodes_.push_back(static_cast<int32_t>(node));
  }
  for (size_t i = 0; i < gpus; ++i)
    for (size_t l = 0; l < kSideBySide; ++l)
      gpus_.push_back(
          static_cast<int32_t>(node_of(at(l)) * gpus_per_node_ + lanes_[local(at(l))].gpus[i]));
  group.first = blocks_.size();
  group.count = 1;
  blocks_.push_back(
      {nullptr, nullptr, nullptr, static_cast<int>(gpus), static_cast<int>(lanes.size())});
  if (groups_.size() > first_group && groups_.back().lanes == group.lanes)
    ++groups_.back().count;
  else
    groups_.push_back(std::move(group));
}

/// Only when all blocks are there does nothing move any more.
void HeatLayout::point_blocks() {
  values_.resize(gpus_.size() / kSideBySide * HeatNetwork::kPlaces);
  size_t gpu = 0, node = 0;
  for (Block& block : blocks_) {
    block.values = values_[gpu / kSideBySide * HeatNetwork::kPlaces].at;
    block.gpus = gpus_.data() + gpu;
    block.nodes = block_nodes_.data() + node;
    gpu += static_cast<size_t>(block.gpus_in_lane) * kSideBySide;
    node += kSideBySide;
  }
}

void HeatLayout::read(std::span<double> places) const {
  for (const Block& block : blocks_)
    for_each_place(block, block.lanes, [&](size_t place, double& value) { places[place] = value; });
}

void HeatLayout::write(std::span<const double> places) {
  for (const Block& block : blocks_)
    for_each_place(block, kSideBySide, [&](size_t place, double& value) { value = places[place]; });
}

std::span<Group> HeatLayout::groups_of(size_t part) {
  const size_t first = part == 0 ? 0 : part_ends_[part - 1];
  return std::span(groups_).subspan(first, part_ends_[part] - first);
}

void HeatLayout::prepare(Group& group, double dt_s) {
  if (group.step_s == dt_s) return;
  if (steps_ + kSideBySide > kMostSteps) forget_steps();
  std::array<const StepTable*, kSideBySide> tables{};
  for (size_t l = 0; l < kSideBySide; ++l) tables[l] = &step(*group.lanes[l], dt_s);
  group.step_s = dt_s;
  const bool alike = std::ranges::count(tables, tables[0]) == kSideBySide;
  group.shared = alike ? tables[0] : nullptr;
  if (!alike) group.own = BlockTable(tables);
}

const StepTable& HeatLayout::step(Coupled& coupled, double dt_s) {
  auto known = coupled.steps.find(dt_s);
  if (known == coupled.steps.end()) {
    ++steps_;
    const HeatNetwork& network = coupled.network;
    known = coupled.steps.emplace(dt_s, StepTable(network, propagate(network, dt_s))).first;
  }
  return known->second;
}

void HeatLayout::forget_steps() {
  for (Kind& kind : kinds_)
    for (auto& [flow, coupled] : kind.at_flow) coupled.steps.clear();
  for (Group& group : groups_)
    if (group.shared != nullptr) group.step_s = -1;
  steps_ = 0;
}

}  // namespace ergometer::physics

// The heat of a lane of GPUs as resistances and capacities, x in K above the node's inlet:
//
//   P_die --> die --R_die-- spreader --R_spreader-- sink --R_sink + R_film--> coolant
//                              |
//   P_hbm --> memory --R_memory+
//
//   C x' = (flows in) - (flows out), a flow being (difference of x) / R               W
//   q_i = (x_sink,i - x_coolant,i) / (R_sink + R_film),  x_coolant,i = preheat (sum of q upstream)
//   between the sinks of a module's two dies:  G (x_sink,a - x_sink,b)
//   R_film = film (1 / flow)^exponent,  preheat / flow,  flow as a share of the nominal one
//
// R, film and preheat in K/W, C in J/K, G in W/K, from catalog/cooling. A worked number, the range
// and how far off it was: docs/models/heat.md; by hand: Heat.SettlesWhereOhmsLawPutsOneGpu.
#include "physics/heat_network.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"
#include "base/collection.h"
#include "base/exponential.h"

namespace ergometer::physics {
namespace {

/// Lane numbers with those of twins made equal: every GPU gets the smallest lane it hangs with.
std::vector<int> joined_lanes(const spec::Node& node) {
  std::vector<int> lane;
  for (const spec::Slot& slot : node.slots) lane.push_back(slot.lane);
  if (node.gpu.dies_per_module != 2) return lane;
  for (size_t k = 0; k + 1 < lane.size(); k += 2) {
    const auto [low, high] = std::minmax(lane[k], lane[k + 1]);
    std::ranges::replace(lane, int{high}, int{low});
  }
  return lane;
}

int twin_of(const spec::Node& node, int gpu) {
  const int twin = gpu ^ 1;
  return node.gpu.dies_per_module == 2 && twin < node.gpus ? twin : -1;
}

Lane make_lane(const spec::Node& node, std::vector<int> gpus) {
  const auto slot = [&](int gpu) { return node.slots[static_cast<size_t>(gpu)]; };
  std::ranges::stable_sort(gpus, [&](int a, int b) {
    return std::tuple(slot(a).lane, slot(a).row) < std::tuple(slot(b).lane, slot(b).row);
  });
  Lane lane;
  for (const int gpu : gpus) {
    std::vector<bool> upstream;
    for (const int other : gpus)
      upstream.push_back(slot(other).lane == slot(gpu).lane && slot(other).row < slot(gpu).row);
    lane.upstream.push_back(std::move(upstream));
    const auto twin = std::ranges::find(gpus, twin_of(node, gpu));
    lane.twin.push_back(twin == gpus.end() ? -1 : static_cast<int>(twin - gpus.begin()));
  }
  lane.gpus = std::move(gpus);
  return lane;
}

/// Lets heat flow from state `a` to state `b` and back: C_a x_a' = ... + w_per_k (x_b - x_a).
void conduct(HeatNetwork& network, int a, int b, double w_per_k) {
  for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
    const double per_s = w_per_k / network.j_per_k[static_cast<size_t>(from)];
    network.rate.at(from, from) -= per_s;
    network.rate.at(from, to) += per_s;
  }
}

/// Sinks to coolant, front to rear: GPU i gives off (sink - coolant) / resistance, and its coolant
/// is warmer than the inlet by `preheat` times what those upstream give off.
void connect_coolant(HeatNetwork& network, const Lane& lane, double k_per_w, double preheat) {
  const int states = network.rate.rows;
  Matrix out(network.gpus(), states);
  for (int i = 0; i < network.gpus(); ++i) {
    const int sink = HeatNetwork::kPlaces * i + HeatNetwork::kSink;
    for (int s = 0; s < states; ++s) {
      double coolant = 0;
      for (int j = 0; j < network.gpus(); ++j)
        if (lane.upstream[static_cast<size_t>(i)][static_cast<size_t>(j)])
          coolant += preheat * out.at(j, s);
      network.coolant.at(i, s) = coolant;
      out.at(i, s) = ((s == sink ? 1 : 0) - coolant) / k_per_w;
      network.out_w_per_k[static_cast<size_t>(s)] += out.at(i, s);
      network.rate.at(sink, s) -= out.at(i, s) / network.j_per_k[static_cast<size_t>(sink)];
    }
  }
}

}  // namespace

std::vector<Lane> lanes_of(const spec::Node& node) {
  ERGOMETER_CHECK(static_cast<int>(node.slots.size()) == node.gpus, "a slot for every GPU");
  const std::vector<int> joined = joined_lanes(node);
  std::vector<int> numbers = joined;
  base::sort_unique(numbers);
  std::vector<Lane> lanes;
  for (const int number : numbers) {
    std::vector<int> gpus;
    for (int gpu = 0; gpu < node.gpus; ++gpu)
      if (joined[static_cast<size_t>(gpu)] == number) gpus.push_back(gpu);
    lanes.push_back(make_lane(node, std::move(gpus)));
  }
  return lanes;
}

HeatNetwork heat_network(const CoolingParameters& cooling, const Lane& lane,
                         std::span<const double> die_resistance, double flow) {
  const int gpus = static_cast<int>(lane.gpus.size()), states = HeatNetwork::kPlaces * gpus;
  ERGOMETER_CHECK(die_resistance.size() == lane.gpus.size() && flow > 0, "a lane that is cooled");
  HeatNetwork network;
  network.rate = Matrix(states, states);
  network.coolant = Matrix(gpus, states);
  network.out_w_per_k.assign(static_cast<size_t>(states), 0);
  for (int i = 0; i < gpus; ++i)
    network.j_per_k.insert(network.j_per_k.end(), {cooling.die_j_per_k, cooling.spreader_j_per_k,
                                                   cooling.sink_j_per_k, cooling.memory_j_per_k});
  for (int i = 0; i < gpus; ++i) {
    const int die = HeatNetwork::kPlaces * i, spreader = die + HeatNetwork::kSpreader,
              sink = die + HeatNetwork::kSink, memory = die + HeatNetwork::kMemory;
    conduct(network, die, spreader,
            1 / (cooling.die_k_per_w * die_resistance[static_cast<size_t>(i)]));
    conduct(network, memory, spreader, 1 / cooling.memory_k_per_w);
    conduct(network, spreader, sink, 1 / cooling.spreader_k_per_w);
    const int twin = lane.twin[static_cast<size_t>(i)];
    if (twin > i)
      conduct(network, sink, HeatNetwork::kPlaces * twin + HeatNetwork::kSink,
              cooling.twin_w_per_k);
  }
  const double film = cooling.film_k_per_w * base::power(1 / flow, cooling.flow_exponent);
  connect_coolant(network, lane, cooling.sink_k_per_w + film, cooling.preheat_k_per_w / flow);
  return network;
}

}  // namespace ergometer::physics

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "physics/heat.h"
#include "physics/heat_network.h"

namespace ergometer::physics {
namespace {

struct Wanted {
  std::string_view name;
  double CoolingParameters::* field;
  bool required = true;
};

constexpr std::array<Wanted, 19> kWanted{{
    {"die_capacity", &CoolingParameters::die_j_per_k},
    {"spreader_capacity", &CoolingParameters::spreader_j_per_k},
    {"sink_capacity", &CoolingParameters::sink_j_per_k},
    {"memory_capacity", &CoolingParameters::memory_j_per_k},
    {"die_resistance", &CoolingParameters::die_k_per_w},
    {"spreader_resistance", &CoolingParameters::spreader_k_per_w},
    {"memory_resistance", &CoolingParameters::memory_k_per_w},
    {"sink_resistance", &CoolingParameters::sink_k_per_w},
    {"film_resistance", &CoolingParameters::film_k_per_w},
    {"flow_exponent", &CoolingParameters::flow_exponent, false},
    {"preheat", &CoolingParameters::preheat_k_per_w, false},
    {"twin_conductance", &CoolingParameters::twin_w_per_k, false},
    {"inlet", &CoolingParameters::inlet_c},
    {"fan_power", &CoolingParameters::fan_w, false},
    {"fan_min", &CoolingParameters::fan_lowest, false},
    {"fan_start", &CoolingParameters::fan_start_c, false},
    {"fan_full", &CoolingParameters::fan_full_c, false},
    {"fan_period", &CoolingParameters::fan_period_s, false},
    {"recirculation", &CoolingParameters::recirculation_k_per_w, false},
}};

std::string_view word(spec::Cooling kind) {
  switch (kind) {
    case spec::Cooling::kAir: return "air";
    case spec::Cooling::kLiquid: return "liquid";
    case spec::Cooling::kImmersion: return "immersion";
  }
  return "";
}

/// What no network can be built from, in words; empty: none.
std::string_view flaw(const CoolingParameters& cooling) {
  for (const double capacity : {cooling.die_j_per_k, cooling.spreader_j_per_k, cooling.sink_j_per_k,
                                cooling.memory_j_per_k})
    if (!(capacity > 0)) return "every heat capacity must be above 0 J/K";
  for (const double resistance :
       {cooling.die_k_per_w, cooling.spreader_k_per_w, cooling.memory_k_per_w})
    if (!(resistance > 0)) return "die, spreader and memory resistance must be above 0 K/W";
  if (!(cooling.sink_k_per_w + cooling.film_k_per_w > 0))
    return "sink and film resistance together must be above 0 K/W";
  if (!(cooling.fan_lowest > 0 && cooling.fan_lowest <= 1)) return "fan_min must be in (0, 1]";
  if (cooling.fan_full_c < cooling.fan_start_c) return "fan_full must not be below fan_start";
  return "";
}

}  // namespace

Result<CoolingParameters> cooling_parameters(const spec::Node& node, spec::Cooling kind) {
  CoolingParameters cooling;
  for (const Wanted& wanted : kWanted) {
    const std::string name = fmt::format("cooling.{}.{}", word(kind), wanted.name);
    if (node.parameters.has(name))
      cooling.*wanted.field = node.parameters.at(name);
    else if (wanted.required)
      return input_error(
          "node {}: {} is missing: nothing is known about its {} cooling; name a file "
          "of catalog/cooling under `coolings: {{{}: NAME}}`",
          node.name, name, word(kind), word(kind));
  }
  if (const std::string_view problem = flaw(cooling); !problem.empty())
    return input_error("node {}: cooling.{}: {}", node.name, word(kind), problem);
  for (const Lane& lane : lanes_of(node))
    if (lane.gpus.size() > static_cast<size_t>(kMostGpusInLane))
      return input_error("node {}: slots: {} GPUs in one lane; allowed: up to {}", node.name,
                         lane.gpus.size(), kMostGpusInLane);
  return cooling;
}

double fan_speed(const CoolingParameters& cooling, double hottest_c) {
  if (hottest_c >= cooling.fan_full_c) return 1;
  if (hottest_c <= cooling.fan_start_c) return cooling.fan_lowest;
  const double share =
      (hottest_c - cooling.fan_start_c) / (cooling.fan_full_c - cooling.fan_start_c);
  return cooling.fan_lowest + share * (1 - cooling.fan_lowest);
}

}  // namespace ergometer::physics

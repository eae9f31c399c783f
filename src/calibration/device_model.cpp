#include "calibration/device_model.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/exponential.h"
#include "base/random.h"

namespace ergometer::calibration {
namespace {

#define ERGOMETER_KNOB(part) [](DeviceModel& model) -> double& { return model.part; }

// Priors of half a unit of the logarithm say "within a factor of 1.6"; the voltage curve and the
// share of data are narrower: they are ratios below 1.
constexpr std::array kPower = std::to_array<DeviceKnob>({
    {"power.constant", "W", 1, ERGOMETER_KNOB(power.constant_w)},
    {"power.leakage", "W", 1, ERGOMETER_KNOB(power.leakage_w)},
    {"power.leakage_per_k", "/K", 1, ERGOMETER_KNOB(power.leakage_per_k)},
    {"power.active", "W", 1, ERGOMETER_KNOB(power.active_w)},
    {"power.voltage_min", "", 1, ERGOMETER_KNOB(power.voltage.lowest), 0.15, 2, 0.98},
    {"power.voltage_knee", "MHz", 1e6, ERGOMETER_KNOB(power.voltage.knee_hz), 0.2, 2},
    {"power.tensor_fp16", "pJ/FLOP", kPico, ERGOMETER_KNOB(energy.tensor_fp16)},
    {"power.memory", "pJ/B", kPico, ERGOMETER_KNOB(energy.memory)},
    {"power.data_share", "", 1, ERGOMETER_KNOB(energy.data_share), 0.5, 4, 0.95},
});

constexpr std::array kHeat = std::to_array<DeviceKnob>({
    {"die_resistance", "K/W", 1, ERGOMETER_KNOB(cooling.die_k_per_w)},
    {"spreader_resistance", "K/W", 1, ERGOMETER_KNOB(cooling.spreader_k_per_w)},
    {"film_resistance", "K/W", 1, ERGOMETER_KNOB(cooling.film_k_per_w)},
    {"memory_resistance", "K/W", 1, ERGOMETER_KNOB(cooling.memory_k_per_w)},
    {"die_capacity", "J/K", 1, ERGOMETER_KNOB(cooling.die_j_per_k)},
    {"spreader_capacity", "J/K", 1, ERGOMETER_KNOB(cooling.spreader_j_per_k)},
    {"sink_capacity", "J/K", 1, ERGOMETER_KNOB(cooling.sink_j_per_k)},
    {"memory_capacity", "J/K", 1, ERGOMETER_KNOB(cooling.memory_j_per_k)},
    {"inlet", "C", 1, ERGOMETER_KNOB(cooling.inlet_c), 0.3},
});

#undef ERGOMETER_KNOB

}  // namespace

std::span<const DeviceKnob> power_knobs() { return kPower; }
std::span<const DeviceKnob> heat_knobs() { return kHeat; }

std::vector<Bounds> bounds_of(std::span<const DeviceKnob> knobs, DeviceModel prior) {
  std::vector<Bounds> bounds;
  for (const DeviceKnob& knob : knobs) {
    const double value = knob.of(prior), reach = std::log(knob.factor);
    Bounds own{knob.sigma, -reach, reach};
    if (!(value > 0)) own.lower = own.upper = 0;
    if (knob.most > 0 && value > 0) own.upper = std::min(reach, std::log(knob.most / value));
    if (own.upper < 0) own.lower = own.upper = 0;
    bounds.push_back(own);
  }
  return bounds;
}

DeviceModel moved(DeviceModel prior, std::span<const DeviceKnob> knobs, std::span<const double> x) {
  for (size_t i = 0; i < knobs.size(); ++i) knobs[i].of(prior) *= std::exp(x[i]);
  return prior;
}

DeviceModel board_of_its_own(DeviceModel kind, uint64_t seed) {
  uint64_t draw = 0;
  const base::Random random(seed, 0, "board");
  for (const auto knobs : {power_knobs(), heat_knobs()})
    for (const DeviceKnob& knob : knobs) {
      double& value = knob.of(kind);
      value *= base::exponential(knob.sigma / 3 * random.normal(draw++));
      if (knob.most > 0) value = std::min(value, knob.most);
    }
  return kind;
}

SamplePower power_of(const DeviceModel& model, const RecordedSample& sample) {
  const DeviceSample& seen = sample.seen;
  const physics::EnergyPerWork& energy = model.energy;
  const double toggled = sample.load.zeros ? 1 - energy.data_share : 1;
  const physics::Load load{
      toggled * (energy.tensor_fp16 * seen.flops_per_s + energy.cache * seen.cache_bytes_per_s),
      toggled * energy.memory * seen.memory_bytes_per_s, 0,
      sample.load.work != DeviceWork::kNothing};
  // The sensor rounds down to whole degrees: half a degree more is the better guess.
  constexpr double kRounding = 0.5;
  return {model.power.power_w(seen.clock_hz, seen.die_c + kRounding, load, {}),
          model.power.memory_heat_w(load)};
}

spec::Node node_of_one_gpu() {
  spec::Node node;
  node.name = "device";
  node.gpus = 1;
  node.slots = {{0, 0}};
  return node;
}

}  // namespace ergometer::calibration

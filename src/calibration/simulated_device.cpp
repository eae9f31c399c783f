#include "calibration/simulated_device.h"

#include <algorithm>
#include <cmath>
#include <deque>

#include "base/collection.h"
#include "calibration/device_model.h"
#include "calibration/device_work.h"
#include "physics/governor.h"
#include "spec/catalog/read.h"
#include "spec/cluster/cluster_names.h"

namespace ergometer::calibration {
namespace {

constexpr double kStepS = 0.005;
constexpr int kStepsPerDecision = 4;  // the governor's period, 20 ms (assumed)

/// A sensor that is fed step by step: every period the mean over its window, times its gain.
class Meter {
 public:
  explicit Meter(const physics::PowerSensor& sensor) : sensor_(sensor) {}
  void add(double end_s, double watts) {
    steps_.push_back(watts);
    const auto window = static_cast<size_t>(std::max(1.0, std::round(sensor_.window_s / kStepS)));
    while (steps_.size() > window) steps_.pop_front();
    const double ticks = std::floor((end_s - sensor_.phase_s) / sensor_.period_s + kRounding);
    if (ticks <= ticks_ && reading_w_ > 0) return;
    ticks_ = ticks;
    const double mean = base::mean(steps_);
    reading_w_ = std::round((sensor_.gain * mean + sensor_.offset_w) / sensor_.quantum_w) *
                 sensor_.quantum_w;
  }
  double reading_w() const { return reading_w_; }

 private:
  static constexpr double kRounding = 1e-6;
  physics::PowerSensor sensor_;
  std::deque<double> steps_;
  double ticks_ = -1, reading_w_ = 0;
};

class SimulatedDevice : public Device {
 public:
  explicit SimulatedDevice(const SimulatedGpu& gpu)
      : gpu_(gpu),
        heat_(gpu.cooling, node_of_one_gpu(), 1, std::span(&gpu.silicon.thermal_resistance, 1)),
        instant_(gpu.instant),
        average_(gpu.average) {
    const physics::GpuPower& power = gpu.power;
    limits_ = {gpu.name,    power.clocks.lowest_hz, power.clocks.highest_hz,
               power.cap_w, power.lowest_cap_w,     power.highest_cap_w};
    decide();
    settle();
  }
  const DeviceLimits& limits() const override { return limits_; }

  Result<void> set_cap(double watts) override {
    if (watts != 0 && (watts < limits_.lowest_cap_w || watts > limits_.highest_cap_w))
      return missing_error("no cap of {:g} W", watts);
    told_.cap_w = watts;
    return {};
  }
  Result<void> lock_clock(double hertz) override {
    told_.lock_hz = hertz;
    return {};
  }
  Result<void> start(const DeviceLoad& load) override {
    work_ = load;
    decide();
    return {};
  }
  Result<DeviceSample> sample_at(double time_s) override {
    const int64_t until = std::llround(time_s / kStepS);
    const double from_s = now_s();
    done_ = {};
    while (steps_ < until) advance();
    return sample(now_s() - from_s);
  }

 private:
  struct Done {
    double flops = 0, cache_bytes = 0, memory_bytes = 0;
  };

  double now_s() const { return static_cast<double>(steps_) * kStepS; }
  double pace() const { return clock_.clock_hz / gpu_.power.clocks.highest_hz; }

  /// Of one second at the clock in force.
  Done rates() const {
    if (work_.work == DeviceWork::kCopy)
      return {0, gpu_.rates.copy_bytes_per_s, gpu_.rates.copy_bytes_per_s};
    if (work_.work == DeviceWork::kNothing) return {};
    const double flops = gpu_.rates.flops_per_s * pace();
    return {flops, flops * gpu_.rates.cache_bytes_per_flop,
            flops * gpu_.rates.memory_bytes_per_flop};
  }
  physics::Load load() const {
    const Done rate = rates();
    const physics::EnergyPerWork& energy = gpu_.energy;
    const double toggled = work_.zeros ? 1 - energy.data_share : 1;
    return {toggled * (energy.tensor_fp16 * rate.flops + energy.cache * rate.cache_bytes),
            toggled * energy.memory * rate.memory_bytes, 0, work_.work != DeviceWork::kNothing};
  }
  double watts() const {
    return gpu_.power.power_w(clock_.clock_hz, heat_.die_c()[0], load(), gpu_.silicon);
  }

  /// At rest for long: leakage and temperature agree.
  void settle() {
    constexpr int kRounds = 20;
    for (int round = 0; round < kRounds; ++round) {
      const double memory_w = gpu_.power.memory_heat_w(load());
      const double die_w = watts() - memory_w;
      heat_.settle(std::span(&die_w, 1), std::span(&memory_w, 1));
    }
  }
  void decide() {
    if (work_.work == DeviceWork::kNothing) {
      clock_ = {gpu_.power.clocks.lowest_hz, physics::kGpuIdle};
      return;
    }
    // Copies take as long at any clock.
    const double follows = work_.work == DeviceWork::kMatrix ? 1 : 0;
    if (clock_.reasons == physics::kGpuIdle) clock_ = {gpu_.power.clocks.highest_hz, 0};
    clock_ = physics::decide_clock(gpu_.power, gpu_.silicon, told_, heat_.die_c()[0], load(),
                                   {follows, clock_.clock_hz}, thermal_.ceiling_hz);
    clock_.reasons |= thermal_.reasons();
  }
  void advance() {
    const double total_w = watts();
    const physics::Load now = load();
    const Done rate = rates();
    done_.flops += rate.flops * kStepS;
    done_.cache_bytes += rate.cache_bytes * kStepS;
    done_.memory_bytes += rate.memory_bytes * kStepS;
    const double memory_w = gpu_.power.memory_heat_w(now);
    const double die_w = total_w - memory_w;
    heat_.advance(kStepS, std::span(&die_w, 1), std::span(&memory_w, 1));
    ++steps_;
    instant_.add(now_s(), total_w * gpu_.silicon.sensor_gain);
    average_.add(now_s(), total_w * gpu_.silicon.sensor_gain);
    thermal_.advance(gpu_.power, thermal_periods_.pass(kStepS), heat_.die_c()[0],
                     heat_.memory_c()[0], clock_.clock_hz);
    if (steps_ % kStepsPerDecision == 0) decide();
  }
  DeviceSample sample(double over_s) const {
    DeviceSample seen;
    seen.time_s = now_s();
    seen.instant_w = instant_.reading_w();
    seen.average_w = average_.reading_w();
    seen.die_c = std::floor(heat_.die_c()[0]);
    seen.memory_c = std::floor(heat_.memory_c()[0]);
    seen.clock_hz = clock_.clock_hz;
    seen.reasons = clock_.reasons;
    if (over_s <= 0) return seen;
    seen.flops_per_s = done_.flops / over_s;
    seen.cache_bytes_per_s = done_.cache_bytes / over_s;
    seen.memory_bytes_per_s = done_.memory_bytes / over_s;
    return seen;
  }

  SimulatedGpu gpu_;
  DeviceLimits limits_;
  physics::Heat heat_;
  Meter instant_, average_;
  physics::ClockLimits told_;
  physics::ClockDecision clock_;
  physics::ThermalGovernor thermal_;
  physics::GovernorPeriods thermal_periods_;
  DeviceLoad work_;
  Done done_;
  int64_t steps_ = 0;
};

}  // namespace

std::unique_ptr<Device> simulate_device(const SimulatedGpu& gpu) {
  return std::make_unique<SimulatedDevice>(gpu);
}

Result<SimulatedGpu> simulated_gpu(const std::string& name, std::optional<spec::Cooling> cooling) {
  const auto named = spec::node_of_gpu(name);
  const auto read = spec::read_cluster(named ? std::string(named->node) : name);
  if (!read)
    return input_error(
        "the catalog has neither a GPU nor a node of this name; see `ergometer catalog list "
        "nodes`");
  const spec::Node& node = read->node;
  SimulatedGpu gpu;
  gpu.name = node.gpu.name;
  ERGOMETER_ASSIGN(gpu.power, physics::gpu_power(node.gpu));
  ERGOMETER_ASSIGN(gpu.energy, physics::energy_per_work(node.gpu));
  ERGOMETER_ASSIGN(gpu.cooling, physics::cooling_parameters(node, cooling.value_or(node.cooling)));
  const base::ParameterSet& parameters = node.gpu.parameters;
  const double peak = parameters.value_or("peak_bf16", parameters.at("peak_fp16"));
  gpu.rates = {peak * parameters.value_or("gemm.efficiency", 1), kGemmCacheBytesPerFlop,
               kGemmMemoryBytesPerFlop,
               node.gpu.memory_bytes_per_s * parameters.value_or("memory.efficiency", 1)};
  gpu.instant = physics::instant_sensor(gpu.power);
  gpu.average = physics::average_sensor(gpu.power);
  return gpu;
}

}  // namespace ergometer::calibration

#include <gtest/gtest.h>

#include <algorithm>

#include "base/test_support.h"
#include "base/text.h"
#include "calibration/device_fit.h"
#include "calibration/device_output.h"
#include "calibration/device_plan.h"
#include "calibration/device_record.h"
#include "calibration/device_work.h"
#include "calibration/simulated_device.h"
#include "spec/cluster/parameter_table.h"

namespace ergometer::calibration {
namespace {

/// Round numbers near those of an air-cooled 700 W part.
SimulatedGpu near_h100() {
  SimulatedGpu gpu;
  gpu.name = "Simulated 700 W";
  gpu.power.clocks = {345e6, 1980e6, 15e6};
  gpu.power.voltage = {0.72, 1100e6, 1980e6};
  gpu.power.constant_w = 55;
  gpu.power.constant_memory_w = 20;
  gpu.power.leakage_w = 60;
  gpu.power.leakage_c = 60;
  gpu.power.leakage_per_k = 0.01;
  gpu.power.active_w = 90;
  gpu.power.cap_w = 700;
  gpu.power.lowest_cap_w = 200;
  gpu.power.highest_cap_w = 700;
  gpu.power.target_c = 87;
  gpu.power.slowdown_c = 89;
  gpu.power.shutdown_c = 95;
  gpu.energy.tensor_fp16 = 0.5e-12;
  gpu.energy.cache = 30e-12;
  gpu.energy.memory = 90e-12;
  gpu.energy.data_share = 0.35;
  gpu.cooling.die_j_per_k = 2;
  gpu.cooling.spreader_j_per_k = 60;
  gpu.cooling.sink_j_per_k = 700;
  gpu.cooling.memory_j_per_k = 20;
  gpu.cooling.die_k_per_w = 0.016;
  gpu.cooling.spreader_k_per_w = 0.01;
  gpu.cooling.memory_k_per_w = 0.05;
  gpu.cooling.sink_k_per_w = 0.01;
  gpu.cooling.film_k_per_w = 0.014;
  gpu.cooling.inlet_c = 25;
  gpu.rates = {800e12, kGemmCacheBytesPerFlop, kGemmMemoryBytesPerFlop, 2.8e12};
  gpu.instant.window_s = 0.025;
  gpu.average.window_s = 1;
  return gpu;
}

DeviceModel model_of(const SimulatedGpu& gpu) { return {gpu.power, gpu.energy, gpu.cooling}; }

DeviceRecord record_of(const SimulatedGpu& gpu) {
  const auto device = simulate_device(gpu);
  return base::value_of(record(*device, measuring_plan(device->limits()), 0.02, {}));
}

TEST(DevicePlan, TakesEightMinutesAndHoldsHalfBack) {
  const auto plan = measuring_plan({"x", 345e6, 1980e6, 700, 200, 700});
  EXPECT_NEAR(duration_s(plan), 8 * 60, 20);
  double fitted = 0;
  for (const PlanPhase& phase : plan) fitted += phase.fitted_s;
  EXPECT_NEAR(fitted / duration_s(plan), 0.5, 0.06);
  const std::string text = to_text(plan);
  EXPECT_NE(text.find("cap 200 W"), std::string::npos);
  EXPECT_NE(text.find("cap 700 W"), std::string::npos);
  EXPECT_NE(text.find("clock 1980 MHz"), std::string::npos);
}

TEST(SimulatedDevice, RestsAtItsLowestClockAndSettledTemperature) {
  const SimulatedGpu gpu = near_h100();
  const auto device = simulate_device(gpu);
  const auto seen = device->sample_at(1);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->clock_hz, 345e6);
  EXPECT_EQ(seen->reasons, 0x1u);
  // At 29 C leakage is 60 x 0.72 x exp(0.01 (29 - 60)) = 31.7 W. 86.7 W through 0.034 K/W and the
  // die's 66.7 W through 0.016 K/W make 2.95 + 1.07 = 4.0 K above 25 C.
  EXPECT_NEAR(seen->instant_w, 86.7, 0.1);
  EXPECT_EQ(seen->die_c, 29);
}

TEST(SimulatedDevice, CapLowersTheClock) {
  const auto device = simulate_device(near_h100());
  ASSERT_TRUE(device->start({DeviceWork::kMatrix, false}));
  const auto free = device->sample_at(5);
  ASSERT_TRUE(device->set_cap(400));
  const auto capped = device->sample_at(10);
  ASSERT_TRUE(free && capped);
  EXPECT_LE(free->instant_w, 701);
  EXPECT_LE(capped->instant_w, 401);
  EXPECT_GT(capped->instant_w, 380);
  EXPECT_LT(capped->clock_hz, free->clock_hz);
  EXPECT_EQ(capped->reasons, 0x4u);
  // But for the governor's first 20 ms.
  EXPECT_NEAR(capped->flops_per_s, 800e12 * capped->clock_hz / 1980e6, 2e12);
  EXPECT_FALSE(device->set_cap(900));
}

TEST(DeviceRecord, HasASampleEveryPeriodAndGivesSettingsBack) {
  const SimulatedGpu gpu = near_h100();
  const auto device = simulate_device(gpu);
  const std::vector<PlanPhase> plan = {
      {"wave", 1, {DeviceWork::kMatrix, false}, 0.5, 300, 1200e6, 0.5},
      {"too much", 1, {}, 0, 5000, 0, 0}};
  const auto found = record(*device, plan, 0.05, {});
  ASSERT_TRUE(found);
  ASSERT_EQ(found->samples.size(), 20u);
  EXPECT_EQ(found->notes.size(), 1u);
  EXPECT_NE(found->notes[0].find("too much"), std::string::npos);
  // On for 0.25 s, off for 0.25 s: samples 0 to 4 saw the load, 5 to 9 did not.
  for (size_t i = 0; i < 20; ++i)
    EXPECT_EQ(found->samples[i].load.work == DeviceWork::kMatrix, i % 10 < 5) << i;
  EXPECT_FALSE(found->held(found->samples[9]));
  EXPECT_TRUE(found->held(found->samples[10]));
  // Without load, cap and lock again.
  EXPECT_EQ(device->sample_at(3)->reasons, 0x1u);
  const std::string csv = to_csv(*found);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 21);
}

TEST(DeviceRecord, EndsWhereItIsStopped) {
  const auto device = simulate_device(near_h100());
  const std::vector<PlanPhase> plan = {{"load", 1, {DeviceWork::kMatrix, false}, 0, 0, 0, 1},
                                       {"more", 1, {DeviceWork::kMatrix, false}, 0, 0, 0, 1}};
  int asked = 0;
  const auto found = record(*device, plan, 0.1, {{}, [&] { return ++asked > 5; }});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->samples.size(), 4u);  // the first question is before the phase
  EXPECT_EQ(device->sample_at(2)->reasons, 0x1u);
}

const DeviceNumber& number(const std::vector<DeviceNumber>& numbers, std::string_view name) {
  for (const DeviceNumber& found : numbers)
    if (found.knob.name == name) return found;
  ADD_FAILURE() << name;
  return numbers.front();
}

TEST(DeviceFit, FindsTheSimulatedGpusParameters) {
  const SimulatedGpu truth = near_h100();
  const DeviceRecord measured = record_of(truth);
  // Priors that are wrong by a fifth to a half.
  DeviceModel prior = model_of(truth);
  prior.power.constant_w *= 1.4;
  prior.power.leakage_w *= 0.7;
  prior.power.active_w *= 1.5;
  prior.power.voltage.lowest *= 1.1;
  prior.power.voltage.knee_hz *= 0.85;
  prior.energy.tensor_fp16 *= 1.3;
  prior.energy.memory *= 0.75;
  prior.energy.data_share *= 0.6;
  prior.cooling.die_k_per_w *= 1.5;
  prior.cooling.film_k_per_w *= 0.7;
  prior.cooling.sink_j_per_k *= 0.6;
  prior.cooling.inlet_c = 20;
  const auto found = fit_device(measured, prior);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(found->within_limits());
  EXPECT_LT(found->power_error.held, 0.01);
  EXPECT_LT(found->die_error_c.held, 0.6);
  EXPECT_GT(found->power_error.held_count, 80u);
  DeviceModel expected = model_of(truth);
  const auto near = [&](const std::vector<DeviceNumber>& numbers, std::string_view name,
                        double tolerance) {
    const DeviceNumber& it = number(numbers, name);
    EXPECT_NEAR(it.value / it.knob.of(expected), 1, tolerance) << name;
  };
  near(found->power, "power.tensor_fp16", 0.05);
  near(found->power, "power.memory", 0.03);
  near(found->power, "power.voltage_min", 0.03);
  near(found->power, "power.voltage_knee", 0.05);
  near(found->power, "power.data_share", 0.05);
  near(found->power, "power.active", 0.1);
  near(found->heat, "inlet", 0.04);
  near(found->heat, "sink_capacity", 0.1);
  near(found->heat, "die_resistance", 0.05);
  near(found->heat, "film_resistance", 0.1);
  near(found->heat, "spreader_resistance", 0.1);
  near(found->heat, "memory_resistance", 0.05);
  // What no record at the whole degree can tell apart well: constant and leakage power; their sum
  // at 60 C and the lowest voltage it can.
  const auto rest_w = [](const DeviceModel& it) {
    return it.power.constant_w + it.power.leakage_w * it.power.voltage.lowest;
  };
  EXPECT_NEAR(rest_w(found->model) / rest_w(expected), 1, 0.03);
}

TEST(DeviceFit, GainOfTheSensorGoesIntoEveryPower) {
  SimulatedGpu board = near_h100();
  board.silicon.sensor_gain = 1.04;
  const auto found = fit_device(record_of(board), model_of(board));
  ASSERT_TRUE(found);
  // The cache's energy, 0.0121 B/FLOP x 30 pJ/B, is not fitted: matrix products show its sum with
  // the FLOPs' own. (0.5 + 0.363) x 1.04 - 0.363 pJ/FLOP.
  EXPECT_NEAR(number(found->power, "power.tensor_fp16").value, 0.5345e-12, 0.008e-12);
  EXPECT_NEAR(number(found->power, "power.memory").value, 1.04 * 90e-12, 2e-12);
  // More watts for the same warmth: less resistance.
  EXPECT_NEAR(number(found->heat, "die_resistance").value, 0.016 / 1.04, 0.0003);
}

// A cold plate where the catalog has a heat sink: its warmth is gone sooner than the fit goes.
TEST(DeviceFit, SaysWhatEndsAtItsBound) {
  const SimulatedGpu board = near_h100();
  DeviceModel prior = model_of(board);
  prior.cooling.sink_j_per_k *= 20;
  const DeviceRecord measured = record_of(board);
  const auto found = fit_device(measured, prior);
  ASSERT_TRUE(found);
  EXPECT_TRUE(number(found->heat, "sink_capacity").at_bound);
  EXPECT_FALSE(number(found->heat, "memory_resistance").at_bound);
  EXPECT_NE(to_text(measured, *found, {}).find("at the end of its range"), std::string::npos);
  EXPECT_NE(to_json(measured, *found).find("\"at_bound\": true"), std::string::npos);
}

/// A driver that lets nobody set anything.
class Unprivileged : public Device {
 public:
  explicit Unprivileged(std::unique_ptr<Device> device) : device_(std::move(device)) {}
  const DeviceLimits& limits() const override { return device_->limits(); }
  Result<void> set_cap(double watts) override { return refuse(watts); }
  Result<void> lock_clock(double hertz) override { return refuse(hertz); }
  Result<void> start(const DeviceLoad& load) override { return device_->start(load); }
  Result<DeviceSample> sample_at(double time_s) override { return device_->sample_at(time_s); }

 private:
  static Result<void> refuse(double value) {
    if (value == 0) return {};
    return tl::unexpected(base::Error{base::ErrorKind::kMissing, "not allowed"});
  }
  std::unique_ptr<Device> device_;
};

TEST(DeviceFit, WithoutPermissionKeepsThePriorOfWhatItCannotSee) {
  const SimulatedGpu gpu = near_h100();
  Unprivileged device(simulate_device(gpu));
  const auto measured = record(device, measuring_plan(device.limits()), 0.02, {});
  ASSERT_TRUE(measured);
  EXPECT_EQ(measured->notes.size(), 17u);  // 7 caps, 7 clocks, copies, random and zero operands
  const auto found = fit_device(*measured, model_of(gpu));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(number(found->power, "power.voltage_knee").kept);
  EXPECT_TRUE(number(found->power, "power.data_share").kept);
  EXPECT_FALSE(number(found->heat, "die_resistance").kept);
  EXPECT_TRUE(found->within_limits());
}

/// Every line of a written file holds a parameter that its owner knows, in its unit and range.
void expect_catalog_file(const std::string& text, spec::ParameterOwner owner) {
  size_t lines = 0;
  for (size_t at = text.find("\n  "); at != text.npos; at = text.find("\n  ", at + 1)) {
    const size_t colon = text.find(": {value: ", at);
    const std::string name = text.substr(at + 3, colon - at - 3);
    const size_t value = colon + 10;
    const spec::ParameterInfo* info = spec::find_parameter(owner, name);
    ASSERT_NE(info, nullptr) << name;
    const auto number =
        base::parse_measure(text.substr(value, text.find(',', value) - value), info->unit);
    ASSERT_TRUE(number) << name << ": " << number.error().message;
    EXPECT_GE(*number, info->min) << name;
    EXPECT_LE(*number, info->max) << name;
    ++lines;
  }
  size_t required = 0;
  for (const spec::ParameterInfo& info : spec::parameter_table())
    required += info.owner == owner && info.required ? 1 : 0;
  EXPECT_GE(lines, required);
}

TEST(DeviceOutput, WritesCatalogFiles) {
  const SimulatedGpu truth = near_h100();
  const DeviceRecord measured = record_of(truth);
  const auto found = fit_device(measured, model_of(truth));
  ASSERT_TRUE(found);
  const std::string power = power_file("mine", measured, *found);
  expect_catalog_file(power, spec::ParameterOwner::kPower);
  expect_catalog_file(cooling_file("mine", measured, *found), spec::ParameterOwner::kCooling);
  EXPECT_NE(power.find("name: mine\n"), power.npos);
  EXPECT_NE(power.find("power.vector: {value: 0 pJ/FLOP, source: \"not measured: the prior's\", "
                       "grade: assumed}"),
            power.npos);
  EXPECT_NE(to_text(measured, *found, model_of(truth)).find("limit 5 %"), std::string::npos);
  EXPECT_NE(to_json(measured, *found).find("\"within_limits\": true"), std::string::npos);
}

}  // namespace
}  // namespace ergometer::calibration

// The fit on the records of real GPUs, an H200 and an H100 whose limits and clocks could not be
// set.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "base/csv.h"
#include "base/test_support.h"
#include "calibration/device_fit.h"
#include "calibration/device_output.h"
#include "calibration/device_record.h"
#include "calibration/simulated_device.h"

namespace ergometer::calibration {
namespace {

std::string text_of(const char* path) {
  const std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// What to_csv() wrote, with the phases as they came.
DeviceRecord read_record(const std::string& text, const DeviceLimits& limits) {
  const auto table = base::parse_csv(text, "calibrate.csv");
  EXPECT_TRUE(table);
  DeviceRecord record{limits, {}, {}, {}};
  for (size_t i = 0; table && i < table->rows.size(); ++i) {
    const auto number = [&](std::string_view column) {
      return std::strtod(std::string(table->cell(i, column)).c_str(), nullptr);
    };
    const std::string name(table->cell(i, "phase"));
    if (record.plan.empty() || record.plan.back().name != name) {
      record.plan.push_back({});
      record.plan.back().name = name;
    }
    PlanPhase& phase = record.plan.back();
    RecordedSample sample;
    sample.phase = record.plan.size() - 1;
    sample.phase_s = phase.duration_s = number("phase_s");
    if (number("held_back") == 0) phase.fitted_s = sample.phase_s;
    const auto work = table->cell(i, "work");
    sample.load.work = work == "nothing" ? DeviceWork::kNothing
                       : work == "copy"  ? DeviceWork::kCopy
                                         : DeviceWork::kMatrix;
    if (sample.load.work != DeviceWork::kNothing) phase.load = sample.load;
    DeviceSample& seen = sample.seen;
    seen.time_s = number("time_s");
    seen.instant_w = number("instant_w");
    seen.average_w = number("average_w");
    seen.die_c = number("die_c");
    seen.memory_c = number("memory_c");
    seen.clock_hz = number("clock_mhz") * kMega;
    seen.reasons = static_cast<uint32_t>(number("reasons"));
    seen.flops_per_s = number("flops_per_s");
    seen.cache_bytes_per_s = number("cache_bytes_per_s");
    seen.memory_bytes_per_s = number("memory_bytes_per_s");
    record.samples.push_back(sample);
  }
  return record;
}

/// Both boards have the same limits.
DeviceRecord record_of(const std::string& board) {
  const std::string path = ERGOMETER_SOURCE_DIR "/tests/data/" + board + "/calibrate.csv";
  DeviceRecord record =
      read_record(text_of(path.c_str()), {board, 345 * kMega, 1980 * kMega, 700, 200, 700});
  EXPECT_EQ(record.samples.size(), 14950u);
  return record;
}

DeviceFit fit_of(const DeviceRecord& record, const SimulatedGpu& prior) {
  DeviceFit fit = base::value_of(fit_device(record, {prior.power, prior.energy, prior.cooling}));
  fmt::print("{}", to_text(record, fit, {}));
  return fit;
}

TEST(DeviceFit, HoldsWhatARealH200Did) {
  const DeviceRecord record = record_of("h200");
  const DeviceFit found = fit_of(record, base::value_of(simulated_gpu("H200")));
  EXPECT_TRUE(found.within_limits());
  EXPECT_LT(found.power_error.held, 0.025);
  EXPECT_LT(found.die_error_c.held, 0.8);
  const auto at_bound = [](const DeviceFit& fit) {
    return std::ranges::count_if(fit.heat, [](const DeviceNumber& it) { return it.at_bound; });
  };
  EXPECT_EQ(at_bound(found), 4);

  // Its die settles like one on a cold plate: with that as prior the fit is nearer, and all but the
  // plate's own capacity is within reach.
  const DeviceFit cooled =
      fit_of(record, base::value_of(simulated_gpu("H200", spec::Cooling::kLiquid)));
  EXPECT_LT(cooled.die_error_c.held, 0.5);
  EXPECT_EQ(at_bound(cooled), 1);
}

TEST(DeviceFit, HoldsWhatARealH100Did) {
  const DeviceFit found = fit_of(record_of("h100"), base::value_of(simulated_gpu("H100")));
  EXPECT_TRUE(found.within_limits());
  EXPECT_LT(found.power_error.held, 0.008);
  EXPECT_LT(found.die_error_c.held, 1.0);
}

}  // namespace
}  // namespace ergometer::calibration

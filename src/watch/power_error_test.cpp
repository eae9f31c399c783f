#include "watch/power_error.h"

#include <gtest/gtest.h>

#include <array>

namespace ergometer::watch {
namespace {

constexpr auto kMetricsOfOne = static_cast<size_t>(run::Metric::kCount);

/// The latest readings of a GPU.
struct LatestOf {
  std::array<double, kMetricsOfOne> values{};
  std::array<int64_t, kMetricsOfOne> times_ns{};

  LatestOf(run::Metric metric, double value) {
    values[static_cast<size_t>(metric)] = value;
    times_ns[static_cast<size_t>(metric)] = 1;
  }
  DeviceNow of(std::string_view name, std::string_view uuid = "") const {
    return {run::DeviceKind::kGpu, "node", name, uuid, 0, values, times_ns};
  }
};

// NVIDIA's gain is off by 2.5 % of a board and 1 % of all, standard deviations: 1.645 sqrt(2.5^2 +
// 1^2) = 4.43 %, of four equal boards 1.645 sqrt(2.5^2 / 4 + 1^2) = 2.63 %.
TEST(PowerError, OfOneAndOfFour) {
  const LatestOf watts(run::Metric::kInstantPower, 500), celsius(run::Metric::kGpuTemperature, 60);
  PowerError one, four;
  one.add(watts.of("NVIDIA H100 80GB HBM3"));
  for (int i = 0; i < 4; ++i) four.add(watts.of("NVIDIA H100 80GB HBM3"));
  EXPECT_NEAR(one.relative(), 0.0443, 5e-5);
  EXPECT_NEAR(four.relative(), 0.0263, 5e-5);
  EXPECT_NEAR(four.widest(), one.relative(), 1e-12);
  EXPECT_EQ(one.window_s(), 0.025);

  PowerError none;
  none.add(celsius.of("NVIDIA H100 80GB HBM3"));
  EXPECT_EQ(none.relative(), 0);
}

TEST(PowerError, TheWidestIsOfTheSensorThatIsNotKnown) {
  const LatestOf watts(run::Metric::kPower, 300);
  PowerError both;
  both.add(watts.of("NVIDIA H100 80GB HBM3"));
  both.add(watts.of("Accelerator"));
  EXPECT_NEAR(both.widest(), 1.6449 * 0.05 * 1.41421, 1e-4);  // 5 % of a board, 5 % of all
  EXPECT_GT(both.widest(), both.relative());
}

// As in a Run that is analysed: without a name it is of NVIDIA if its UUID is NVIDIA's, 1.645
// sqrt(2.5^2 + 1^2) = 4.43 %; one without either is 1.645 sqrt(5^2 + 5^2) = 11.63 %.
TEST(PowerError, OfABoardThatOnlyItsUuidTells) {
  const LatestOf watts(run::Metric::kPower, 300);
  PowerError first, behind;
  first.add(watts.of("", "GPU-5f0c11d2"));
  EXPECT_NEAR(first.widest(), 0.0443, 5e-5);
  first.add(watts.of(""));
  EXPECT_NEAR(first.widest(), 0.1163, 5e-5);
  behind.add(watts.of(""));
  behind.add(watts.of("", "GPU-5f0c11d2"));
  EXPECT_NEAR(behind.relative(), first.relative(), 1e-12);
}

}  // namespace
}  // namespace ergometer::watch

#include "calibration/twin/form.h"

#include <gtest/gtest.h>

#include <cmath>

#include "spec/resolve/test_jobs.h"

namespace ergometer::calibration::twin {
namespace {

TEST(TwinForm, AFactorForAllIsNoScatter) {
  EXPECT_NEAR(scatter_of({1, 2, 3, 4}, {2, 4, 6, 8}), 0, 1e-12);
  EXPECT_EQ(scatter_of({}, {1}), 0);
}

TEST(TwinForm, ScatterByHand) {
  // Of 4 s a quarter is below 1 s: 5 of 19 shares are its. Of 7 s a seventh: 2 of 19.
  // ln(recorded / predicted): 2 of 1 / 1, 3 of 1 / 6, 14 of 3 / 6.
  const double a = std::log(1.0 / 6), b = std::log(0.5);
  const double mean = (3 * a + 14 * b) / 19;
  EXPECT_NEAR(scatter_of({1, 3}, {1, 6}), std::sqrt((3 * a * a + 14 * b * b) / 19 - mean * mean),
              1e-12);
  EXPECT_NEAR(form_deviation({{"gemm", {1, 3}}, {"attention", {1}}}, {{"gemm", {1, 6}}},
                             {{"gemm", 0.5}, {"attention", 0.3}}),
              0.5 * scatter_of({1, 3}, {1, 6}), 1e-12);
}

TEST(TwinForm, ScatterSaysHowFarItsNumbersAreOff) {
  EXPECT_NEAR(form_share(0.07, 0.03), 0.08 / 0.04, 1e-12);
  EXPECT_EQ(form_share(0, 0), 1) << "kernels of one shape tell nothing";
  EXPECT_NEAR(form_share(0, 0.04), 0.2, 1e-12);
  EXPECT_EQ(form_share(0.5, 0.03), 3) << "other kernels than the model's";
}

TEST(TwinForm, ItsNumbersStayInTheirRange) {
  spec::Cluster cluster =
      spec::test::job_of({{"model", "llama3-8b"}, {"cluster", "hgx-h100"}}).cluster;
  for (const FormNumber& number : form_numbers()) {
    const double before = cluster.node.gpu.parameters.at(std::string(number.parameter));
    move_form(cluster, number, -0.1);
    EXPECT_NEAR(cluster.node.gpu.parameters.at(std::string(number.parameter)),
                before * std::exp(-0.1), 1e-9 * before)
        << number.parameter;
  }
  move_form(cluster, {"gemm", "gemm.tile_step", 1}, 5);
  EXPECT_EQ(cluster.node.gpu.parameters.at("gemm.tile_step"), 1);
}

}  // namespace
}  // namespace ergometer::calibration::twin

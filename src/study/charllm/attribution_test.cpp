#include "study/charllm/attribution.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

namespace ergometer::study::charllm {
namespace {

/// Points of a pair of which nothing is known but one value.
run::Study study_of(double (*value)(unsigned bits, bool free_network)) {
  run::Study study;
  const auto add = [&](const std::string& id, double number) {
    run::StudyPoint point;
    point.family = "h200-gpt3";
    point.id = id;
    point.status = run::PointStatus::kOk;
    point.values["power.tokens_per_j"] = number;
    study.points.push_back(point);
  };
  for (unsigned bits = 0; bits < 16; ++bits) add(fmt::format("{:04b}", bits), value(bits, true));
  for (const auto& [name, bits] : {std::pair{"h100", 0u}, {"h200", 15u}}) {
    add(std::string(name) + "-real", value(bits, false));
    add(std::string(name) + "-half-nvlink", value(bits, false));
  }
  return study;
}

TEST(Attribution, FactorsThatMultiplyAreFoundAgain) {
  // 2 by the layout, 1.5 by recomputation, 1.1 by HBM, 1 by clocks; the network halves an H100 and
  // takes a quarter of an H200: 0.75 / 0.5 = 1.5.
  const run::Study study = study_of([](unsigned bits, bool free_network) {
    const double value =
        (bits & 1u ? 2.0 : 1.0) * (bits & 2u ? 1.5 : 1.0) * (bits & 4u ? 1.1 : 1.0);
    return free_network ? value : value * (bits == 0 ? 0.5 : 0.75);
  });
  Basis basis(study);
  const Attribution a = attribute(basis, pairs().front(), "power.tokens_per_j");
  ASSERT_TRUE(basis.complete());
  const std::vector<double> factors = {2, 1.5, 1.1, 1, 1.5};
  ASSERT_EQ(a.parts.size(), factors.size());
  for (size_t i = 0; i < factors.size(); ++i)
    EXPECT_NEAR(std::exp(a.parts[i].log_factor), factors[i], 1e-12) << a.parts[i].name;
  EXPECT_NEAR(std::exp(a.log_whole), 2 * 1.5 * 1.1 * 1.5, 1e-12);
}

TEST(Attribution, WhatTwoBringOnlyTogetherIsHalfEachs) {
  const run::Study study =
      study_of([](unsigned bits, bool) { return (bits & 3u) == 3u ? 4.0 : 1.0; });
  Basis basis(study);
  const Attribution a = attribute(basis, pairs().front(), "power.tokens_per_j");
  EXPECT_NEAR(std::exp(a.parts[0].log_factor), 2, 1e-12);
  EXPECT_NEAR(std::exp(a.parts[1].log_factor), 2, 1e-12);
  double sum = 0;
  for (const Attribution::Part& part : a.parts) sum += part.log_factor;
  EXPECT_NEAR(sum, a.log_whole, 1e-12);
}

TEST(Attribution, MissingPointsAreNoticed) {
  run::Study study = study_of([](unsigned, bool) { return 1.0; });
  study.points.pop_back();
  Basis basis(study);
  attribute(basis, pairs().front(), "power.tokens_per_j");
  EXPECT_FALSE(basis.complete());
}

}  // namespace
}  // namespace ergometer::study::charllm

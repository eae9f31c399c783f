// Jobs of models with a vision tower.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/test_support.h"
#include "engine/simulate.h"
#include "engine/time/test_agreement.h"
#include "engine/time/test_job.h"

namespace ergometer::engine {
namespace {

using test::Random;
using test::Values;

Values random_images(Random& random) {
  const auto pick = [&](std::vector<std::string> words) { return random.of(words); };
  Values values = {{"model", pick({"internvl2-8b", "llava-1.5-7b", "qwen2.5-vl-7b"})},
                   {"cluster", pick({"hgx-h100", "mi300x"})},
                   {"gpus", "16"},
                   {"tp", pick({"1", "1", "2"})},
                   {"pp", pick({"1", "2", "4"})},
                   {"mbs", pick({"1", "2"})},
                   {"ga", pick({"4", "5", "8"})},
                   {"seq", "2048"},
                   {"num_layers", "4"},
                   {"clocks", "constant"},
                   {"shuffle", std::to_string(random.below(100))}};
  if (values[0].second == "internvl2-8b") values.emplace_back("tiles_per_image", pick({"1", "5"}));
  if (random.below(2) == 0) {
    values.emplace_back("samples",
                        pick({"lognormal:1,1,300,200", "counts:0/500x3,2/100,1/1500x2"}));
    values.emplace_back("sample_packing", pick({"none", "length", "both"}));
  } else {
    values.pop_back();  // nothing is drawn
  }
  if (random.below(2) == 0)
    values.emplace_back(
        "freeze", pick({"vision", "projector", "language", "vision,language", "vision,projector"}));
  if (random.below(3) == 0) values.emplace_back("recompute", pick({"full", "selective"}));
  if (random.below(3) == 0) values.emplace_back("schedule", pick({"gpipe", "zb-h1"}));
  if (random.below(4) == 0) values.emplace_back("overlap_grad_reduce", "true");
  return values;
}

TEST(VisionTowers, SweepAndEventsAgree) {
  int64_t tried = 0;
  const auto wanted = static_cast<uint64_t>(base::random_cases(60));
  for (uint64_t seed = 0; seed < wanted; ++seed) {
    Random random(seed);
    const auto job = test::try_job_of(random_images(random));
    if (!job) continue;
    test::expect_engines_agree(*job, random, seed);
    if (testing::Test::HasFailure()) return;
    ++tried;
  }
  EXPECT_GT(tried, static_cast<int64_t>(wanted / 4));
}

double step_of(const Values& more) {
  Values values = {{"model", "internvl2-8b"}, {"cluster", "hgx-h100"}, {"gpus", "8"}, {"gbs", "32"},
                   {"seq", "4096"},           {"clocks", "constant"}};
  values.insert(values.end(), more.begin(), more.end());
  const auto run = simulate(test::job_of(values), {});
  EXPECT_TRUE(run) << base::error_of(run);
  return run ? run->performance.step_time_s : 0;
}

TEST(VisionTowers, WhatIsFrozenTakesLess) {
  const double all = step_of({}), decoder = step_of({{"freeze", "vision"}}),
               projector = step_of({{"freeze", "vision,language"}});
  EXPECT_LT(decoder, all);
  EXPECT_LT(projector, decoder);
}

TEST(VisionTowers, MoreTilesTakeLonger) {
  EXPECT_LT(step_of({{"tiles_per_image", "1"}}), step_of({{"tiles_per_image", "13"}}));
}

// Samples that are alike are as many sequences of that length, as far as two lengths' line bends.
TEST(VisionTowers, SamplesThatAreAlikeAreSequences) {
  const double samples = step_of({{"tiles_per_image", "4"}, {"samples", "counts:1/3072"}});
  const double sequences = step_of({{"tiles_per_image", "4"}});
  EXPECT_NEAR(samples / sequences, 1, 0.01);
}

}  // namespace
}  // namespace ergometer::engine

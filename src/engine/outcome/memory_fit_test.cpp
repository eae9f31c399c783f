#include "engine/outcome/memory_fit.h"

#include <gtest/gtest.h>

#include "plan/memory.h"
#include "plan/test_job.h"

namespace ergometer::engine {
namespace {

using plan::kGib;

constexpr Uncertainty kMemoryTerms{
    .memory_base = 0.05, .memory_activations = 0.15, .memory_software_unseen = 0.08};

spec::Job seen_job() {
  spec::Job job = plan::test::make_job({});
  job.software.name = "megatron-core-25";
  return job;
}

std::vector<Evidence> evidence() {
  Evidence e;
  e.key.software = "megatron-core-25";
  e.most_gpus = 8;
  return {e};
}

/// 72 GiB of 79.1, half of it activations and reserve.
run::Memory example() {
  run::Memory memory;
  memory.peak_bytes = 70 * kGib;
  memory.reserved_bytes = 2 * kGib;
  memory.activations_bytes = 34 * kGib;
  memory.capacity_bytes = 79.1 * kGib;
  return memory;
}

// sigma = hypot(0.05, 0.15 / 2) = 0.09014; ln(79.1 / 72) / sigma = 1.0436, below which 85.2 % lie.
TEST(MemoryFit, IsTheShareOfANormalDistribution) {
  const MemoryFit fit = memory_fit(seen_job(), example(), evidence(), kMemoryTerms);
  EXPECT_NEAR(fit.sigma, 0.090139, 1e-6);
  EXPECT_NEAR(fit.probability, 0.8517, 1e-4);
  EXPECT_EQ(fit.software, SoftwareSeen::kYes);
}

// sigma = hypot(0.05, 0.075, 0.08) = 0.12052; 0.0940 / 0.12052 = 0.780: 78.2 %.
TEST(MemoryFit, IsLessSureOfSoftwareNeverSeen) {
  const MemoryFit fit = memory_fit(seen_job(), example(), {}, kMemoryTerms);
  EXPECT_EQ(fit.software, SoftwareSeen::kNo);
  EXPECT_NEAR(fit.sigma, 0.120520, 1e-6);
  EXPECT_NEAR(fit.probability, 0.7824, 1e-3);
}

TEST(MemoryFit, IsOneHalfWhereTheNeedIsTheCapacity) {
  run::Memory memory = example();
  memory.capacity_bytes = 72 * kGib;
  EXPECT_EQ(memory_fit(seen_job(), memory, evidence(), kMemoryTerms).probability, 0.5);
  memory.capacity_bytes = 0;
  EXPECT_EQ(memory_fit(seen_job(), memory, evidence(), kMemoryTerms).probability, 0);
  EXPECT_EQ(memory_fit(seen_job(), {}, evidence(), kMemoryTerms).probability, 1);
}

TEST(MemoryFit, StatesByProbability) {
  EXPECT_EQ(run::fit_state(0.9), run::FitState::kFits);
  EXPECT_EQ(run::fit_state(0.89), run::FitState::kAtRisk);
  EXPECT_EQ(run::fit_state(0.11), run::FitState::kAtRisk);
  EXPECT_EQ(run::fit_state(0.09), run::FitState::kDoesNotFit);
}

}  // namespace
}  // namespace ergometer::engine

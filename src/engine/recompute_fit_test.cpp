#include "engine/recompute_fit.h"

#include <gtest/gtest.h>

#include "engine/time/test_job.h"
#include "plan/memory.h"
#include "workload/workload.h"

namespace ergometer::engine {
namespace {

double needed_share(const spec::Job& job, size_t stage) {
  const workload::Workload workload = workload::lower(job);
  const plan::StageMemory memory =
      plan::memory(job, workload, plan::divide(job, workload)).stages[stage];
  return memory.needed() / memory.capacity;
}

// A stage recomputes no layer more than it must: with one less it would not fit.
TEST(RecomputedByMemory, AsFewLayersAsFit) {
  const spec::Job job = recomputed_by_memory(test::job_of({{"model", "llama3-8b"},
                                                           {"cluster", "hgx-h100"},
                                                           {"gpus", "4"},
                                                           {"pp", "4"},
                                                           {"mbs", "4"},
                                                           {"gbs", "64"},
                                                           {"seq", "8192"},
                                                           {"recompute", "full"}}));
  const std::vector<int64_t>& layers = job.training.recompute_stage_layers;
  ASSERT_EQ(layers.size(), 4u);
  EXPECT_GT(layers.front(), 0);
  EXPECT_LE(layers.back(), layers.front());  // later stages hold fewer micro batches
  for (size_t stage = 0; stage < 4; ++stage) {
    EXPECT_LE(needed_share(job, stage), 1);
    if (layers[stage] == 0) continue;
    spec::Job less = job;
    --less.training.recompute_stage_layers[stage];
    EXPECT_GT(needed_share(less, stage), 1);
  }
}

}  // namespace
}  // namespace ergometer::engine

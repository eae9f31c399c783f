#include "engine/views/telling_ranks.h"

#include <gtest/gtest.h>

#include "engine/time/test_job.h"

namespace ergometer::engine {
namespace {

/// Two stages on two nodes of eight GPUs each.
spec::Job two_stages() {
  return test::job_of({{"model", "llama3-8b"},
                       {"cluster", "hgx-h100"},
                       {"gpus", "16"},
                       {"tensor_model_parallel_size", "4"},
                       {"pipeline_model_parallel_size", "2"},
                       {"micro_batch_size", "1"},
                       {"global_batch_size", "16"},
                       {"seq_length", "4096"}});
}

// Rows of this chassis by index: 0 1 0 1 1 0 1 0. Temperatures rise with the rank, so that of the
// ranks 0, 2, 5, 7 in row 0 the lower median is 2, and of 1, 3, 4, 6 in row 1 it is 3; on the
// second node 10 and 11. Of all sixteen it is 7. Rank 12 is the hottest, 9 the slowest.
TEST(TellingRanks, MediansOfStagesAndRowsAndTheExtremes) {
  const spec::Job job = two_stages();
  const auto fleet = make_fleet(job);
  ASSERT_TRUE(fleet.has_value());
  ASSERT_EQ(fleet->gpus(), 16);
  std::vector<GpuRecord> gpus(16);
  for (size_t gpu = 0; gpu < gpus.size(); ++gpu) {
    gpus[gpu].mean_c = 50 + static_cast<double>(gpu);
    gpus[gpu].max_c = gpu == 12 ? 80 : 70;
    gpus[gpu].clock_hz = gpu == 9 ? 1.5e9 : 1.7e9;
  }
  EXPECT_EQ(telling_ranks(job, *fleet, gpus), (std::vector<int64_t>{2, 3, 7, 9, 10, 11, 12}));
}

// Ranks that are alike: the first of them.
TEST(TellingRanks, OfEqualsTheFirst) {
  const spec::Job job = two_stages();
  const auto fleet = make_fleet(job);
  ASSERT_TRUE(fleet.has_value());
  const std::vector<GpuRecord> gpus(static_cast<size_t>(fleet->gpus()));
  EXPECT_EQ(telling_ranks(job, *fleet, gpus), (std::vector<int64_t>{0, 2, 3, 7, 10, 11}));
}

}  // namespace
}  // namespace ergometer::engine

#include "search/unlike/stage_layers.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/test_support.h"
#include "search/space/test_space.h"
#include "spec/resolve/resolve.h"

namespace ergometer::search {
namespace {

using Layers = std::vector<int64_t>;

// Layers of 2 s and of 1 s, 3 s for the head of the second stage: of 12 the first takes 5 (10 s),
// the second 7 (10 s). Where memory holds no more than 3 on the first, the second takes 9.
TEST(StageLayers, TheLongestStageIsAsShortAsCanBe) {
  const std::vector<StageTime> times = {{2, 0}, {1, 3}};
  EXPECT_EQ(divide_layers(12, times, Layers{12, 12}), (Layers{5, 7}));
  EXPECT_EQ(divide_layers(12, times, Layers{3, 12}), (Layers{3, 9}));
  EXPECT_TRUE(divide_layers(12, times, Layers{3, 8}).empty());
  EXPECT_TRUE(divide_layers(12, times, Layers{0, 12}).empty());
  EXPECT_TRUE(divide_layers(1, times, Layers{12, 12}).empty());
}

Layers layers_on(const char* small_gpu) {
  const std::string cluster =
      std::string("{groups: [{node: ") + small_gpu + ", nodes: 1}, {node: hgx-h100, nodes: 1}]}";
  const auto job = spec::resolve(test::settings_of({{"model", "llama3-8b"},
                                                    {"cluster", cluster},
                                                    {"gpus", "16"},
                                                    {"tp", "1"},
                                                    {"pp", "2"},
                                                    {"gbs", "64"},
                                                    {"zero", "0"},
                                                    {"recompute", "full"}}));
  EXPECT_TRUE(job) << job.error().message;
  return base::value_of(layers_by_speed_and_memory(*job));
}

// 8 B parameters of 18 bytes are 144 GB of states: more than GPUs of 40 and 80 GB have together,
// less than two of 80, of which the older takes fewer layers.
TEST(StageLayers, FollowSpeedWhereMemoryHoldsThem) {
  const Layers large = layers_on("hgx-a100-80gb");
  ASSERT_EQ(large.size(), 2u);
  EXPECT_EQ(large[0] + large[1], 32);
  EXPECT_LT(large[0], large[1]);
  EXPECT_TRUE(layers_on("hgx-a100-40gb").empty());
}

}  // namespace
}  // namespace ergometer::search

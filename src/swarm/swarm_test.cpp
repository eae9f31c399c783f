#include "swarm/swarm.h"

#include <gtest/gtest.h>

#include "base/test_support.h"

namespace ergometer::swarm {
namespace {

spec::Settings settings_of(std::initializer_list<std::pair<const char*, const char*>> said) {
  spec::Settings settings;
  for (const auto& [name, value] : said) settings.set(name, value, {"test", ""});
  return settings;
}

/// The swarm's step over that of 1F1B as `simulate` plays it with transfers beside compute; lines
/// as fast as the node's PCIe.
double step_ratio(const char* model, const char* batch, int64_t peers) {
  const spec::Settings job = settings_of({{"model", model},
                                          {"pipeline_model_parallel_size", "4"},
                                          {"micro_batch_size", "1"},
                                          {"global_batch_size", batch},
                                          {"seq_length", "2048"},
                                          {"overlap_p2p", "true"},
                                          {"precision", "bf16"}});
  const PeerKind kind{.name = "even",
                      .node = "rtx-4090",
                      .count = peers,
                      .uplink_bytes_per_s = 6e9,
                      .downlink_bytes_per_s = 6e9};
  const auto swarm = play_swarm(job, {kind}, {.steps = 2});
  EXPECT_TRUE(swarm) << base::error_of(swarm);
  return swarm ? swarm->outcome.step_s.back() / swarm->kinds[0].one_f_one_b_s : 0;
}

TEST(Swarm, EvenPeersTakeAStepOfSimulate) {
  EXPECT_NEAR(step_ratio("llama-7b", "16", 4), 1, 0.02);
  EXPECT_NEAR(step_ratio("gpt3-1.3b", "16", 4), 1, 0.02);
  EXPECT_NEAR(step_ratio("gpt3-1.3b", "64", 4), 1, 0.02);
}

TEST(Swarm, MemoryByWhatAPeerHolds) {
  const StageNeed need{.capacity = 20, .bytes = 14, .held = 2, .more_bytes = 3};
  EXPECT_TRUE(need.fits(1));
  EXPECT_TRUE(need.fits(4));
  EXPECT_FALSE(need.fits(5));
}

TEST(Swarm, WidthsByHand) {
  // 2 layers, 1,000 tokens, 72 x 1024^2 FLOPs a layer and token at 1 TFLOP/s; 2 B at 1 MB/s.
  const auto rows = widths(2, 1000, 1e12, 2, 1e6);
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_DOUBLE_EQ(rows[0].compute_s, 72.0 * 1024 * 1024 * 2 * 1000 / 1e12);
  EXPECT_DOUBLE_EQ(rows[0].transfer_s, 2.0 * 1024 * 1000 * 2 / 1e6);
  EXPECT_DOUBLE_EQ(rows[1].compute_s / rows[1].transfer_s,
                   2 * rows[0].compute_s / rows[0].transfer_s);
}

}  // namespace
}  // namespace ergometer::swarm

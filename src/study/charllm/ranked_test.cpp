#include "study/charllm/ranked.h"

#include <gtest/gtest.h>

namespace ergometer::study::charllm {
namespace {

/// GPT3-175B TP2-PP16 on four nodes: four stages a node, stages 0 and 15 share the embedding.
TEST(Ranked, OnlyStagesAtANodesBorderSendToTheNetwork) {
  run::StudyPoint point;
  point.settings = {{"model", "gpt3-175b"},
                    {"cluster", "charllm-h200"},
                    {"gpus", "32"},
                    {"tensor_model_parallel_size", "2"},
                    {"pipeline_model_parallel_size", "16"},
                    {"global_batch_size", "128"}};
  const auto run = ranked(&point);
  ASSERT_TRUE(run);
  ASSERT_EQ(run->nic_bytes.size(), 16u);
  for (size_t stage = 0; stage < 16; ++stage) {
    const bool inside = stage % 4 == 1 || stage % 4 == 2;
    EXPECT_EQ(run->nic_bytes[stage] == 0, inside) << "stage " << stage;
    EXPECT_GT(run->intra_bytes[stage], 0) << "stage " << stage;
  }
}

}  // namespace
}  // namespace ergometer::study::charllm

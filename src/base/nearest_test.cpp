#include "base/nearest.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace ergometer::base {
namespace {

TEST(EditDistance, CountsEditsAndSwaps) {
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);  // k>s, e>i, +g
  EXPECT_EQ(edit_distance("layesr", "layers"), 1u);   // one swap
  EXPECT_EQ(edit_distance("Micro-Batch", "micro_batch"), 0u);
}

TEST(Nearest, FindsATypoAndKeepsSilentOtherwise) {
  const std::array<std::string_view, 3> schedules = {"1f1b", "interleaved", "gpipe"};
  EXPECT_EQ(nearest("interleavd", schedules), "interleaved");
  EXPECT_EQ(nearest("gpip", schedules), "gpipe");
  EXPECT_EQ(nearest("1fb1", schedules), "1f1b");
  EXPECT_EQ(nearest("zero-bubble", schedules), std::nullopt);
  EXPECT_EQ(nearest("", schedules), std::nullopt);
}

TEST(Nearest, PrefersTheClosestAndThenTheFirst) {
  const std::vector<std::string> gpus = {"h100", "h200", "b200"};
  EXPECT_EQ(nearest("h20", gpus), "h200");
  EXPECT_EQ(nearest("h300", gpus), "h100");  // h200 is as close; the first wins
}

TEST(Nearest, AWordLeftUnfinishedIsCloseEnough) {
  const std::vector<std::string> models = {"gpt3-175b", "llama3.1-405b", "llama3-70b"};
  EXPECT_EQ(nearest("llama3.1", models), "llama3.1-405b");
  EXPECT_EQ(nearest("ll", models), std::nullopt);  // too short to tell
}

TEST(Nearest, NamesOfSeveralWordsAreComparedByTheirWords) {
  const std::vector<std::string> names = {"--seq-length",
                                          "--virtual-pipeline-model-parallel-size",
                                          "--pipeline-model-parallel-size",
                                          "--tensor-model-parallel-size",
                                          "--gradient-accumulation-steps",
                                          "--gpus",
                                          "nodes"};
  EXPECT_EQ(nearest("--tensor-parallel", names), "--tensor-model-parallel-size");
  EXPECT_EQ(nearest("pipeline_parallel_size", names), "--pipeline-model-parallel-size");
  EXPECT_EQ(nearest("sequence_length", names), "--seq-length");
  EXPECT_EQ(nearest("--grad-accum-steps", names), "--gradient-accumulation-steps");
  EXPECT_EQ(nearest("num_gpus", names), "--gpus");
  EXPECT_EQ(nearest("gpu-count", names), "--gpus");
  EXPECT_EQ(nearest("node_count", names), "nodes");
  EXPECT_EQ(nearest("learning_rate", names), std::nullopt);
}

TEST(Nearest, DistanceInWordsByHand) {
  EXPECT_EQ(distance_in_words("tensor_parallel", "tensor_model_parallel_size"), 2u);  // model
  EXPECT_EQ(distance_in_words("sequence_length", "seq_length"), 1u);  // seq begins sequence
  EXPECT_EQ(distance_in_words("length_seq", "seq_length"), 0u);
  EXPECT_EQ(distance_in_words("tensor_parallel", "seq_length"), std::nullopt);
}

TEST(Nearest, EndsAMessage) {
  const std::vector<std::string> names = {"gpus", "nodes"};
  EXPECT_EQ(did_you_mean("node", names), "; did you mean nodes?");
  EXPECT_EQ(did_you_mean("learning_rate", names), "");
  EXPECT_EQ(did_you_mean(std::nullopt), "");
}

TEST(Nearest, AVeryLongWordIsNotCompared) {
  const std::vector<std::string> words = {std::string(300, 'a')};
  EXPECT_EQ(nearest(std::string(20000, 'b'), words), std::nullopt);
}

}  // namespace
}  // namespace ergometer::base

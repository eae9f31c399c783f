#include "spec/resolve/stage_division.h"

#include <gtest/gtest.h>

#include "spec/catalog/read.h"
#include "spec/job/adjustments.h"
#include "spec/resolve/test_jobs.h"

namespace ergometer::spec {
namespace {

using Layers = std::vector<int64_t>;

Result<Job> made(const test::Values& values) { return resolve(test::settings_of(values)); }

Job large(const char* vpp, const char* software) {
  return test::job_of({{"model", "llama3.1-405b"},
                       {"cluster", "hgx-h100"},
                       {"gpus", "1024"},
                       {"tp", "8"},
                       {"pp", "8"},
                       {"vpp", vpp},
                       {"software", software},
                       {"gbs", "128"}});
}

Job small(const char* layers, const char* pp, const char* software) {
  return test::job_of({{"model", "llama3-8b"},
                       {"cluster", "hgx-h100"},
                       {"gpus", "32"},
                       {"num_layers", layers},
                       {"pp", pp},
                       {"software", software},
                       {"gbs", "512"}});
}

TEST(StageDivision, EmbeddingAndLossCountWhereThatDivides) {
  const Job job = large("8", "megatron-core-25");
  EXPECT_TRUE(job.parallelism.embedding_counts_as_layer);
  EXPECT_TRUE(job.parallelism.loss_counts_as_layer);
  EXPECT_TRUE(job.parallelism.stage_layers.empty());
  const std::string reason =
      "126 layers do not divide over 8 x 8 chunks: embedding and loss count as layers";
  EXPECT_EQ(job.origins.at("account_for_loss_in_pipeline_split").text, "adjusted: " + reason);
  EXPECT_EQ(adjustments(job), std::vector<std::string>{reason});
  const Job loss = small("31", "4", "megatron-core-25");
  EXPECT_FALSE(loss.parallelism.embedding_counts_as_layer);
  EXPECT_TRUE(loss.parallelism.loss_counts_as_layer);
}

TEST(StageDivision, TheLastStageTakesWhatIsLeft) {
  EXPECT_EQ(small("29", "4", "megatron-core-25").parallelism.stage_layers, (Layers{8, 8, 8, 5}));
  // Nine layers in threes leave the fourth stage without one.
  EXPECT_EQ(small("9", "4", "megatron-core-25").parallelism.stage_layers, (Layers{2, 2, 3, 2}));
}

TEST(StageDivision, EveryFrameworkDividesItsOwnWay) {
  EXPECT_EQ(small("29", "4", "deepspeed").parallelism.stage_layers, (Layers{8, 7, 7, 7}));
  EXPECT_EQ(small("29", "4", "megatron-deepspeed-2022").parallelism.stage_layers,
            (Layers{8, 7, 7, 7}));
  // Embedding and output weigh a layer each: 31 are 8, 8, 8 and 7.
  EXPECT_EQ(small("29", "4", "torchtitan").parallelism.stage_layers, (Layers{7, 8, 8, 6}));
  // The head costs 2.4 layers, so the last stage has fewer even where layers would divide.
  const Job nanotron = small("32", "4", "nanotron");
  EXPECT_EQ(nanotron.parallelism.stage_layers, (Layers{9, 9, 8, 6}));
  EXPECT_EQ(nanotron.origins.at("stage_layers").text, "default: nanotron's division by cost");
  EXPECT_TRUE(adjustments(nanotron).empty());
}

TEST(StageDivision, WhatTheUserSaysStays) {
  const test::Values list = {
      {"model", "llama3-8b"},   {"cluster", "hgx-h100"},  {"pp", "2"}, {"gpus", "8"}, {"gbs", "32"},
      {"software", "nanotron"}, {"stage_layers", "16,16"}};
  EXPECT_EQ(test::job_of(list).parallelism.stage_layers, (Layers{16, 16}));
  const auto contradiction = made({{"model", "llama3-8b"},
                                   {"cluster", "hgx-h100"},
                                   {"pp", "4"},
                                   {"num_layers", "29"},
                                   {"account_for_embedding_in_pipeline_split", "true"}});
  ASSERT_FALSE(contradiction);
  EXPECT_EQ(contradiction.error().message.find("--pp 4 does not divide 30 layers"), 0u);
  // A list said together with "false" is said once.
  EXPECT_TRUE(made({{"model", "llama3-8b"},
                    {"cluster", "hgx-h100"},
                    {"pp", "2"},
                    {"stage_layers", "20,12"},
                    {"account_for_loss_in_pipeline_split", "false"}}));
}

TEST(StageDivision, ChunksOfCountedLayers) {
  const Job job = test::job_of({{"model", "llama3.1-405b"},
                                {"cluster", "hgx-h100"},
                                {"tp", "8"},
                                {"pp", "8"},
                                {"num_layers_per_virtual_pipeline_stage", "2"}});
  EXPECT_EQ(job.parallelism.vpp, 8);
  EXPECT_TRUE(job.parallelism.embedding_counts_as_layer);
}

TEST(StageDivision, NoMoreChunksThanLayers) {
  const auto stages = made({{"model", "llama3-8b"}, {"cluster", "hgx-h100"}, {"pp", "64"}});
  ASSERT_FALSE(stages);
  EXPECT_EQ(stages.error().message,
            "--pp 64 makes more stages than llama3-8b has layers (32); try up to 32");
  const auto chunks =
      made({{"model", "llama3-8b"}, {"cluster", "hgx-h100"}, {"pp", "4"}, {"vpp", "9"}});
  ASSERT_FALSE(chunks);
  EXPECT_EQ(chunks.error().message,
            "--vpp 9 on 4 stages makes more chunks than llama3-8b has layers (32); try up to 8");
}

TEST(StageDivision, ASearchTriesWhatDivides) {
  Settings settings;
  for (const auto& [name, text] :
       {std::pair("model", "llama3-8b"), std::pair("cluster", "hgx-h100"), std::pair("gpus", "24"),
        std::pair("global_batch_size", "48")})
    settings.set(name, text, {});
  Job job = *read_job(settings);
  job.parallelism.dp = 8;
  job.parallelism.pp = job.parallelism.microbatch_group = 3;
  EXPECT_FALSE(check_job(settings, job));
  job.parallelism.dp = 6;
  job.parallelism.pp = job.parallelism.microbatch_group = 4;
  EXPECT_TRUE(check_job(settings, job)) << check_job(settings, job).error().message;
}

}  // namespace
}  // namespace ergometer::spec

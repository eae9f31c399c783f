#include "compare/pair.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "compare/test_jobs.h"
#include "spec/catalog/read.h"
#include "spec/settings/setting_values.h"

namespace ergometer::compare {
namespace {

using test::pair_of;
using test::small;

std::vector<std::string> ids(const JobPair& pair) {
  std::vector<std::string> list;
  for (size_t i = 0; i < pair.size(); ++i) list.emplace_back(pair.factor(i).id);
  return list;
}

TEST(Factors, EverySettingBelongsToOne) {
  std::multiset<std::string_view> owned;
  for (const Factor& factor : factors())
    owned.insert(factor.settings.begin(), factor.settings.end());
  // dp is what gpus leave; flops is how one counts; the cluster is taken apart.
  const std::set<std::string_view> none = {"data_parallel_size", "flops", "cluster"};
  for (const spec::SettingInfo& info : spec::setting_table())
    EXPECT_EQ(owned.count(info.name), none.contains(info.name) ? 0u : 1u) << info.name;
}

TEST(Factors, EveryParameterOfTheCatalogBelongsToOne) {
  for (const spec::CatalogEntry& entry : spec::catalog()) {
    if (entry.kind != spec::CatalogKind::kCluster && entry.kind != spec::CatalogKind::kNode)
      continue;
    const auto cluster = spec::read_cluster(entry.name);
    ASSERT_TRUE(cluster.has_value()) << entry.name;
    const auto check = [&](char owner, const base::ParameterSet& set) {
      for (const auto& [name, parameter] : set.all()) {
        int count = 0;
        for (const Factor& factor : factors())
          count += factor.parameters != nullptr && factor.parameters(owner, name) ? 1 : 0;
        EXPECT_EQ(count, 1) << owner << ' ' << name;
      }
    };
    check('g', cluster->node.gpu.parameters);
    check('n', cluster->node.parameters);
    check('f', cluster->fabric.parameters);
  }
}

TEST(Pair, WhatIsWrittenDifferentlyIsNoDifference) {
  EXPECT_EQ(ids(pair_of(small(), small({{"pp", "1"},
                                        {"recompute", "none"},
                                        {"bf16", "true"},
                                        {"dp", "8"},
                                        {"clocks", "governed"},
                                        {"moe_token_dispatcher_type", "alltoall"},
                                        {"power_cap", "0.7kW"}}))),
            (std::vector<std::string>{"limits"}))
      << "a cap that equals the default is a cap all the same";
  EXPECT_EQ(ids(pair_of(small({{"power_cap", "700W"}}), small({{"power_cap", "0.7kW"}}))).size(),
            0u);
}

TEST(Pair, NamesWhatDiffers) {
  const JobPair pair = pair_of(small(), small({{"cluster", "hgx-h200"}, {"recompute", "full"}}));
  const std::vector<std::string> found = ids(pair);
  EXPECT_EQ(found.back(), "recomputation");
  EXPECT_EQ(pair.differences(pair.size() - 1).front().name, "recompute_granularity");
  EXPECT_EQ(pair.differences(pair.size() - 1).front().a, "none");
  EXPECT_EQ(pair.differences(pair.size() - 1).front().b, "full");
  const std::set<std::string> set(found.begin(), found.end());
  EXPECT_TRUE(set.contains("memory_bandwidth"));
  EXPECT_TRUE(set.contains("memory_capacity"));
  EXPECT_FALSE(set.contains("intra_links"));
  EXPECT_FALSE(set.contains("scale"));
}

TEST(Pair, AJobBetweenHasOneGpusBandwidthAndTheOthersMemory) {
  const JobPair pair = pair_of(small(), small({{"cluster", "hgx-h200"}}));
  for (size_t i = 0; i < pair.size(); ++i) {
    if (pair.factor(i).id != "memory_bandwidth") continue;
    const auto job = pair.job(Coalition{1} << i);
    ASSERT_TRUE(job.has_value()) << job.error().message;
    EXPECT_EQ(job->cluster.node.gpu.memory_bytes_per_s,
              pair.b().cluster.node.gpu.memory_bytes_per_s);
    EXPECT_EQ(job->cluster.node.gpu.memory_bytes, pair.a().cluster.node.gpu.memory_bytes);
  }
}

TEST(Pair, WhatFollowsFromASettingChangesWithIt) {
  // Sequence parallelism goes with tensor parallelism, dp with both.
  const JobPair pair = pair_of(small({{"tp", "1"}}), small({{"tp", "4"}}));
  ASSERT_EQ(ids(pair), (std::vector<std::string>{"tensor_parallelism"}));
  const auto job = pair.job(1);
  ASSERT_TRUE(job.has_value());
  EXPECT_TRUE(job->parallelism.sequence_parallel);
  EXPECT_EQ(job->parallelism.dp, 4);
}

// Weights in 4 bits suggest Hugging Face's Trainer: who runs the job is one cause, the bits
// another.
TEST(Pair, AssumedSoftwareIsAFactorOfItsOwn) {
  const spec::Settings adapters = small({{"tp", "1"}, {"lora", "16"}});
  spec::Settings quantized = adapters;
  quantized.merge(test::settings_of({{"quantize", "nf4"}}));
  const JobPair pair = pair_of(adapters, quantized);
  ASSERT_EQ(ids(pair), (std::vector<std::string>{"task", "software"}));
  EXPECT_EQ(pair.differences(1).front().a, "megatron-lm (assumed)");
  EXPECT_EQ(pair.differences(1).front().b, "transformers 2026 (assumed)");
  const auto bits = pair.job(0b01), software = pair.job(0b10);
  ASSERT_TRUE(bits && software);
  EXPECT_EQ(bits->recipe.name, "megatron-lm");
  EXPECT_EQ(bits->training.quantize, spec::FrozenWeights::kNf4);
  EXPECT_EQ(software->recipe.name, "transformers 2026");
  EXPECT_EQ(software->recipe.source, "inferred");
  EXPECT_EQ(pair_of(adapters, small({{"tp", "1"}, {"lora", "16"}, {"quantize", "16-bit"}})).size(),
            0u);
}

// NVIDIA's recipe interleaves stages on H100s and not on GB200s: that is no compute rate.
TEST(Pair, WhatARecipeAsksForOnOneGpuIsAFactorOfItsOwn) {
  const auto on = [](const char* cluster) {
    return test::settings_of({{"model", "llama3-70b"},
                              {"cluster", cluster},
                              {"gpus", "64"},
                              {"tp", "4"},
                              {"pp", "4"},
                              {"seq", "8192"},
                              {"gbs", "128"},
                              {"software", "nemo 25.09"}});
  };
  const JobPair pair = pair_of(on("hgx-h100"), on("gb200-superpod"));
  const std::string name = "virtual_pipeline_model_parallel_size";
  EXPECT_TRUE(
      std::ranges::none_of(pair.derived(), [&](const auto& it) { return it.name == name; }));
  bool told = false;
  for (size_t i = 0; i < pair.size(); ++i)
    for (const Difference& it : pair.differences(i)) told = told || it.name == name;
  EXPECT_TRUE(told);
  const auto last = pair.job((Coalition{1} << pair.size()) - 1);
  ASSERT_TRUE(last);
  for (const spec::SettingInfo& info : spec::setting_table())
    if (info.name != "software") {
      EXPECT_EQ(spec::setting_value(info.name, *last), spec::setting_value(info.name, pair.b()))
          << info.name;
    }
}

TEST(Pair, JobsThatCannotBeAreRefusedWithTheReason) {
  const JobPair pair =
      pair_of(small({{"tp", "8"}, {"pp", "2"}}), small({{"tp", "2"}, {"pp", "8"}}));
  ASSERT_EQ(pair.size(), 2u);
  const auto job = pair.job(0b10);  // tp 8, pp 8
  ASSERT_FALSE(job.has_value());
  EXPECT_NE(job.error().message.find("not a multiple of tp x cp x pp"), std::string::npos);
}

}  // namespace
}  // namespace ergometer::compare

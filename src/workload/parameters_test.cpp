#include "workload/parameters.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "spec/catalog/read.h"
#include "workload/test_models.h"

namespace ergometer::workload {
namespace {

spec::Model gpt(int64_t layers, int64_t hidden, int64_t heads, int64_t vocab, int64_t positions) {
  spec::Model model = test::gpt_model(layers, hidden, heads, vocab);
  model.position_rows = positions;
  return model;
}

TEST(Parameters, Llama2Has4MatricesOf4096And3Of11008) {
  // Layer: 4 * 4096^2 + 3 * 4096 * 11008 + 2 * 4096 = 202,383,360; 32 of them, two tables of 32000
  // x 4096, a norm.
  const ParameterCount count = count_parameters(test::dense_model(32, 4096, 11008, 32, 32, 32000));
  EXPECT_EQ(count.total, 32LL * 202'383'360 + 2 * 32000 * 4096 + 4096);
  EXPECT_EQ(count.total, 6'738'415'616);
  EXPECT_EQ(count.active, count.total);
  EXPECT_EQ(count.embedding, 131'072'000);
  EXPECT_EQ(count.head, 131'072'000);
}

TEST(Parameters, GroupedQueriesShrinkKeysAndValues) {
  EXPECT_EQ(count_parameters(test::dense_model(80, 8192, 28672, 64, 8, 128256)).total,
            70'553'706'496);  // Llama 3 70B
}

TEST(Parameters, Gpt2HasBiasesPositionsAndATiedHead) {
  // Layer: 12 * 768^2 weights, 3*768 + 768 + 4*768 + 768 biases, 4 * 768 for two norms = 7,087,872.
  const ParameterCount count = count_parameters(gpt(12, 768, 12, 50257, 1024));
  EXPECT_EQ(count.total, 12 * 7'087'872 + 50257 * 768 + 1024 * 768 + 2 * 768);
  EXPECT_EQ(count.total, 124'439'808);
  EXPECT_EQ(count.head, 0);
}

TEST(Parameters, BloomHasANormBehindTheEmbedding) {
  spec::Model bloom = gpt(70, 14336, 112, 250880, 0);
  bloom.positions = spec::PositionKind::kAlibi;
  bloom.embedding_norm = true;
  EXPECT_EQ(count_parameters(bloom).total, 176'247'271'424);
}

TEST(Parameters, ExpertsAllCountInTotalAndTopKInActive) {
  spec::Model mixtral = test::dense_model(32, 4096, 14336, 32, 8, 32000);
  mixtral.experts.count = 8;
  mixtral.experts.top_k = 2;
  mixtral.experts.ffn = 14336;
  for (spec::Layer& layer : mixtral.layers) layer.moe = true;
  const ParameterCount count = count_parameters(mixtral);
  EXPECT_EQ(count.total, 46'702'792'704);
  EXPECT_EQ(count.total - count.active, 32LL * 6 * 3 * 4096 * 14336);  // six of eight experts rest
}

TEST(Parameters, LatentAttentionSharedExpertsAndMtp) {
  spec::Model v3 = test::dense_model(61, 7168, 18432, 128, 128, 129280);
  v3.attention = spec::AttentionKind::kLatent;
  v3.latent = {1536, 512, 128, 64, 128};
  v3.experts.count = 256;
  v3.experts.top_k = 8;
  v3.experts.ffn = v3.experts.shared_ffn = 2048;
  v3.mtp_layers = 1;
  for (size_t i = 3; i < v3.layers.size(); ++i) v3.layers[i].moe = true;
  // Attention: 7168*1536 + 1536 + 1536*24576 + 7168*576 + 512 + 512*32768 + 16384*7168 =
  // 187,107,328. Dense layer: that + 3*7168*18432 + 2*7168 = 583,483,392; MoE layer: that +
  // 257*3*7168*2048 + 7168*256 + 2*7168.
  const int64_t moe = 187'107'328 + 257LL * 3 * 7168 * 2048 + 7168 * 256 + 2 * 7168;
  EXPECT_EQ(count_parameters(v3).total, 3 * 583'483'392LL + 58 * moe + 2LL * 129280 * 7168 + 7168);
  EXPECT_EQ(count_parameters(v3).total, 671'026'404'352);
  EXPECT_EQ(count_parameters(v3).mtp, moe + 2LL * 7168 * 7168 + 3 * 7168);
  // One routing bias an expert is part of the published checkpoint.
  v3.experts.router_bias = true;
  EXPECT_EQ(count_parameters(v3).total, 671'026'419'200);
}

TEST(Parameters, EveryCatalogModelMeetsItsPublishedCount) {
  int counted = 0;
  for (const spec::CatalogEntry& entry : spec::catalog()) {
    if (entry.kind != spec::CatalogKind::kModel) continue;
    const auto model = spec::read_model(entry.name);
    ASSERT_TRUE(model) << model.error().message;
    const auto about = nlohmann::json::parse(entry.text).at("_ergometer");
    const ParameterCount count = count_parameters(*model);
    if (about.contains("parameters") && about["parameters"].is_number()) {
      const double published = about["parameters"].get<double>();
      // Publishers round; what is called exact or counted is so to the last weight.
      const std::string source = about.value("parameters_source", "");
      const bool exact = source.starts_with("exact") || source.starts_with("counted");
      EXPECT_NEAR(static_cast<double>(count.total) / published, 1, exact ? 0 : 1e-3)
          << entry.name << " " << count.total << ", " << source;
      ++counted;
    }
    if (about.contains("active_parameters") && about["active_parameters"].is_number()) {
      const double published = about["active_parameters"].get<double>();
      EXPECT_NEAR(static_cast<double>(count.active) / published, 1, 1e-3)
          << entry.name << " " << count.active;
    }
  }
  EXPECT_GE(counted, 60);
}

int64_t total_of(const std::string& name) {
  return count_parameters(*spec::read_model(name)).total;
}

// Norms without parameters, of every head, over all heads with fewer of keys.
TEST(Parameters, NormsAreCountedAsTheyAre) {
  for (const auto& [name, published] : {std::pair("olmo-7b", 6'888'095'744),
                                        {"command-r-plus", 103'810'674'688},
                                        {"olmo2-7b", 7'298'617'344},
                                        {"olmo2-32b", 32'234'279'936}})
    EXPECT_EQ(total_of(name), published) << name;
}

// Four matrices of 2048^2, a norm of 2048 of queries and one of keys, 64 experts of three matrices
// 2048 x 1024 behind a router, two norms: 419,569,664 a layer. Eight experts of the 64 are active.
TEST(Parameters, OlmoeNormsQueriesAndKeysOverAllHeads) {
  const int64_t expert = 3LL * 2048 * 1024;
  const int64_t layer = 4LL * 2048 * 2048 + 2 * 2048 + 64 * expert + 64LL * 2048 + 2 * 2048;
  EXPECT_EQ(layer, 419'569'664);
  const ParameterCount count = count_parameters(*spec::read_model("olmoe-1b-7b"));
  EXPECT_EQ(count.total, 16 * layer + 2LL * 50304 * 2048 + 2048);
  EXPECT_EQ(count.total, 6'919'161'856);
  EXPECT_EQ(count.total - count.active, 16 * 56 * expert);
}

TEST(Parameters, ModelsWorkedByHandFromTheirDimensions) {
  // Queries and output, keys and values, gate, up and down, two norms; two tables and a norm.
  EXPECT_EQ(total_of("deepseek-llm-67b"),
            95 * (2LL * 8192 * 8192 + 2LL * 8192 * 1024 + 3LL * 8192 * 22016 + 2 * 8192) +
                2LL * 102400 * 8192 + 8192);
  // 128 query and 8 key-value heads of 64, an MLP of 32768 without a gate, norms with bias in
  // front of both.
  EXPECT_EQ(total_of("falcon-40b"),
            60 * (8192LL * (8192 + 2 * 512) + 8192LL * 8192 + 2LL * 8192 * 32768 + 4 * 8192) +
                2LL * 65024 * 8192 + 2 * 8192);
  // 80 heads of 128 are twice the hidden size; queries, keys and values have a bias.
  EXPECT_EQ(total_of("seed-oss-36b"), 64 * (2LL * 5120 * 10240 + 2LL * 5120 * 1024 + 10240 +
                                            2 * 1024 + 3LL * 5120 * 27648 + 2 * 5120) +
                                          2LL * 155136 * 5120 + 5120);
  // 64 experts and a shared one eight times as wide, whose gate has a weight a channel.
  EXPECT_EQ(total_of("qwen2-57b-a14b"),
            28 * (2LL * 3584 * 3584 + 2LL * 3584 * 512 + 3584 + 2 * 512 + 64 * 3LL * 3584 * 2560 +
                  64LL * 3584 + 3LL * 3584 * 20480 + 3584 + 2 * 3584) +
                2LL * 151936 * 3584 + 3584);
  // No gate; norms with bias.
  EXPECT_EQ(total_of("nemotron-3-4b"),
            32 * (2LL * 3072 * 3072 + 2LL * 3072 * 1024 + 2LL * 3072 * 9216 + 4 * 3072) +
                2LL * 256000 * 3072 + 2 * 3072);
  // Norms of queries and keys over all heads, 256 experts in every layer, a routing bias each.
  EXPECT_EQ(total_of("minimax-m2"), 62 * (2LL * 3072 * 6144 + 2LL * 3072 * 1024 + 6144 + 1024 +
                                          256 * 3LL * 3072 * 1536 + 256LL * 3072 + 256 + 2 * 3072) +
                                        2LL * 200064 * 3072 + 3072);
  // Latent attention without narrow queries; the first layer is dense, the others have 64 experts,
  // two shared, and a router with a bias an expert.
  const int64_t attention = 2048LL * 16 * 192 + 2048LL * (512 + 64) + 512 + 512LL * 16 * 256 +
                            16LL * 128 * 2048 + 2 * 2048;
  EXPECT_EQ(total_of("moonlight-16b-a3b"),
            27 * attention + 3LL * 2048 * 11264 +
                26 * ((64 + 2) * 3LL * 2048 * 1408 + 64LL * 2048 + 64) + 2LL * 163840 * 2048 +
                2048);
}

}  // namespace
}  // namespace ergometer::workload

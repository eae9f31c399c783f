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
      EXPECT_NEAR(static_cast<double>(count.total) / published, 1, 1e-3)
          << entry.name << " " << count.total;
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

// Norms without parameters, of every head, over all heads with fewer of keys.
TEST(Parameters, NormsAreCountedAsTheyAre) {
  for (const auto& [name, published] : {std::pair("olmo-7b", 6'888'095'744),
                                        {"command-r-plus", 103'810'674'688},
                                        {"olmo2-7b", 7'298'617'344},
                                        {"olmo2-32b", 32'234'279'936}})
    EXPECT_EQ(count_parameters(*spec::read_model(name)).total, published) << name;
}

}  // namespace
}  // namespace ergometer::workload

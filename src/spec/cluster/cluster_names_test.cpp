#include "spec/cluster/cluster_names.h"

#include <gtest/gtest.h>

#include "base/csv.h"

namespace ergometer::spec {
namespace {

std::string node_of(std::string_view gpu) {
  const auto named = node_of_gpu(gpu);
  return named ? std::string(named->node) + (named->certain ? "" : "?") : "";
}

TEST(ClusterNames, NodesOfGpusAsDriversNameThem) {
  EXPECT_EQ(node_of("NVIDIA H100 80GB HBM3"), "hgx-h100");
  EXPECT_EQ(node_of("NVIDIA H100 PCIe"), "h100-pcie");
  EXPECT_EQ(node_of("NVIDIA H100 NVL"), "");
  EXPECT_EQ(node_of("NVIDIA A100-SXM4-40GB"), "hgx-a100-40gb");
  EXPECT_EQ(node_of("NVIDIA A100-PCIE-40GB"), "a100-pcie?");
  EXPECT_EQ(node_of("NVIDIA A100 80GB PCIe"), "a100-pcie");
  EXPECT_EQ(node_of("NVIDIA GB200"), "gb200-nvl72");
  EXPECT_EQ(node_of("NVIDIA GH200 480GB"), "gh200");
  EXPECT_EQ(node_of("Tesla V100-SXM2-32GB"), "dgx2-v100");
  EXPECT_EQ(node_of("NVIDIA GeForce RTX 3090"), "rtx-3090");
  EXPECT_EQ(node_of("NVIDIA GeForce RTX 3090 Ti"), "");
  EXPECT_EQ(node_of("NVIDIA RTX A4000"), "");
  EXPECT_EQ(node_of("AMD Instinct MI250X / MI250"), "mi250x");
}

TEST(ClusterNames, NodesOfGpusAsTablesNameThem) {
  EXPECT_EQ(node_of("H100-96GB-HBM2e-500W"), "hgx-h100-500w");
  EXPECT_EQ(node_of("A100 40GB"), "hgx-a100-40gb?");
  EXPECT_EQ(node_of("A100 40 GB"), "hgx-a100-40gb?");
  EXPECT_EQ(node_of("A100"), "dgx-a100?");
  EXPECT_EQ(node_of("NVIDIA Blackwell Ultra GPU (GB300)"), "gb300-nvl72");
  EXPECT_EQ(node_of("AMD Instinct MI300X 192GB HBM3"), "mi300x");
  EXPECT_EQ(node_of("8xH100"), "hgx-h100");
  EXPECT_EQ(node_of("H100SXM5"), "hgx-h100");
  EXPECT_EQ(node_of("H100NVL"), "");
  EXPECT_EQ(node_of("GB200NVL72"), "gb200-nvl72");
  EXPECT_EQ(node_of("MI250X"), "mi250x");
  EXPECT_EQ(node_of("A1000"), "");
  EXPECT_EQ(node_of("L40"), "");
  EXPECT_EQ(node_of("TPU v5p"), "");
}

TEST(ClusterNames, TheTableNamesNodesOfTheCatalog) {
  const base::CsvTable table = catalog_table("gpu_names", base::parse_csv);
  for (size_t row = 0; row < table.rows.size(); ++row) {
    if (const std::string_view node = table.cell(row, "node"); !node.empty()) {
      EXPECT_NE(find_in_catalog(CatalogKind::kNode, node), nullptr) << node;
    }
  }
}

TEST(ClusterNames, ANodeIsSuggestedForItsGpu) {
  EXPECT_EQ(nearest_cluster("NVIDIA H100 80GB HBM3"), "hgx-h100");
  EXPECT_EQ(nearest_cluster("selen"), "selene");
  EXPECT_EQ(nearest_cluster("nothing at all like it"), std::nullopt);
}

}  // namespace
}  // namespace ergometer::spec

#include <gtest/gtest.h>

#include "spec/read.h"

namespace ergometer::spec {
namespace {

std::string error_of(std::string_view yaml) {
  const auto cluster = parse_cluster(yaml, "c.yaml");
  return cluster ? "no error" : cluster.error().message;
}

constexpr std::string_view kNode = R"(name: mine
gpu: h100-sxm5-80gb
gpus: 2
intra: {kind: nvlink-switch, links_per_gpu: 18, bandwidth: 450 GB/s}
collectives: hopper-nvlink
nics:
  - {bandwidth: 400 Gb/s, gpus: [0, 1]}
)";

TEST(ReadCluster, EveryCatalogNodeAndClusterReads) {
  int read = 0;
  for (const CatalogEntry& entry : catalog()) {
    if (entry.kind != CatalogKind::kNode && entry.kind != CatalogKind::kCluster) continue;
    const auto cluster = read_cluster(entry.name);
    ASSERT_TRUE(cluster) << cluster.error().message;
    EXPECT_EQ(cluster->node.slots.size(), static_cast<size_t>(cluster->node.gpus)) << entry.name;
    EXPECT_GE(cluster->domain_gpus, cluster->node.gpus) << entry.name;
    EXPECT_FALSE(cluster->node.nics.empty()) << entry.name;
    EXPECT_TRUE(cluster->fabric.parameters.has("collective.latency")) << entry.name;
    EXPECT_TRUE(cluster->node.parameters.has("collective.latency")) << entry.name;
    ++read;
  }
  EXPECT_GT(read, 30);
}

TEST(ReadCluster, EveryNumberOfTheCatalogHasASource) {
  for (const CatalogEntry& entry : catalog()) {
    if (entry.kind != CatalogKind::kNode && entry.kind != CatalogKind::kCluster) continue;
    const auto cluster = read_cluster(entry.name);
    ASSERT_TRUE(cluster);
    for (const auto* set :
         {&cluster->node.gpu.parameters, &cluster->node.parameters, &cluster->fabric.parameters})
      for (const auto& [name, parameter] : set->all())
        // A missing source shows as the place in the file.
        EXPECT_FALSE(parameter.source.starts_with("catalog/"))
            << entry.name << " " << name << ": " << parameter.source;
  }
}

TEST(ReadCluster, TheStudysTestbed) {
  const auto cluster = read_cluster("charllm-h200");
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->nodes, 4);
  EXPECT_EQ(cluster->node.gpus, 8);
  EXPECT_EQ(cluster->domain_gpus, 8);
  EXPECT_EQ(cluster->node.gpu.name, "H200-SXM5-141GB");
  EXPECT_EQ(cluster->node.gpu.sms, 132);
  EXPECT_DOUBLE_EQ(cluster->node.gpu.memory_bytes_per_s, 4.8e12);
  EXPECT_DOUBLE_EQ(cluster->node.gpu.peak_bf16_flops_per_s, 989e12);
  ASSERT_EQ(cluster->node.nics.size(), 1u);
  EXPECT_DOUBLE_EQ(cluster->node.nics[0].bytes_per_s, 12.5e9);
  EXPECT_EQ(cluster->node.nics[0].gpus.size(), 8u);
  EXPECT_EQ(cluster->node.gpu.parameters.find("memory_bandwidth")->grade, base::Grade::kDatasheet);
}

TEST(ReadCluster, ANodeKindIsAClusterOfAnySize) {
  const auto cluster = read_cluster("GB200-NVL72");
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->nodes, 0);
  EXPECT_EQ(cluster->domain_gpus, 72);
  EXPECT_EQ(cluster->node.gpus, 4);
}

TEST(ReadCluster, AUsersNodeWithItsOwnNumbers) {
  const auto cluster = parse_cluster(kNode, "c.yaml");
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->name, "mine");
  EXPECT_DOUBLE_EQ(cluster->node.intra_bytes_per_s, 450e9);
  EXPECT_DOUBLE_EQ(cluster->node.nics[0].bytes_per_s, 50e9);
  EXPECT_EQ(cluster->node.parameters.find("intra.bandwidth")->source, "c.yaml:4");
  EXPECT_EQ(cluster->node.slots.size(), 2u);
}

TEST(ReadCluster, MessagesNameLineKeyFoundAndAllowed) {
  const std::string node(kNode);
  EXPECT_EQ(error_of(node + "gpus: 4\n"),
            "c.yaml:8: gpus: stands here a second time; the first is on line 3");
  EXPECT_NE(error_of(node + "cppu: x\n")
                .find("c.yaml:8: cppu: is not a known key; did you mean cpu?; allowed: name, "),
            std::string::npos);
  EXPECT_EQ(error_of("node: {gpu: h100}\nnodes: 0\n"), "c.yaml:1: node.gpus: is missing");
  EXPECT_EQ(error_of("node: hgx-h100\nnodes: 0\n"),
            "c.yaml:2: nodes: found \"0\"; allowed: a whole number from 1 to 10000000");
  EXPECT_EQ(error_of("node: hgx-h100\nnodes: .nan\n"),
            "c.yaml:2: nodes: found \".nan\"; allowed: a whole number from 1 to 10000000");
  EXPECT_EQ(error_of("node: hgx-h10\n"),
            "c.yaml:1: node: found \"hgx-h10\"; allowed: a node of the catalog (did you mean "
            "hgx-h100?), or a mapping in its form");
  EXPECT_EQ(error_of("nodes: 4\n"), "c.yaml:1: node: is missing");
  EXPECT_EQ(error_of(""), "c.yaml:1: found nothing; expected a YAML mapping (key: value)");
  EXPECT_EQ(error_of("- a\n"), "c.yaml:1: found a list; expected a YAML mapping (key: value)");
  EXPECT_TRUE(error_of("a: [1\n").starts_with("c.yaml:2:1: not valid YAML: "))
      << error_of("a: [1\n");
}

TEST(ReadCluster, NoGpuIsAnError) {
  EXPECT_EQ(error_of("node:\n  gpus: 8\n  intra: {kind: pcie, bandwidth: 10 GB/s}\n  collectives: "
                     "pcie-gen4\n"),
            "c.yaml:2: node.gpu: is missing");
  EXPECT_EQ(error_of("node:\n  gpu: h100-sxm5-80gb\n  gpus: 0\n"),
            "c.yaml:3: node.gpus: found \"0\"; allowed: a whole number from 1 to 1024");
}

TEST(ReadCluster, UnitsAreChecked) {
  std::string node(kNode);
  node.replace(node.find("450 GB/s"), 8, "450 GHz ");
  EXPECT_TRUE(error_of(node).starts_with("c.yaml:4: intra.bandwidth: ")) << error_of(node);
  node = kNode;
  node.replace(node.find("[0, 1]"), 6, "[0, 2]");
  EXPECT_EQ(error_of(node),
            "c.yaml:7: nics[0].gpus: found \"2\" in the list; allowed: whole numbers from 0 to 1");
  node = kNode;
  node.replace(node.find("[0, 1]"), 6, "[0]   ");
  EXPECT_EQ(error_of(node), "c.yaml:6: nics: GPU 1 is served by none of them");
}

TEST(ReadCluster, AnInlineGpuMustBeComplete) {
  std::string node(kNode);
  node.replace(
      node.find("h100-sxm5-80gb"), 14,
      "{name: x, vendor: y, architecture: hopper, kernels: hopper, parameters: {sm_count: 100}}");
  EXPECT_EQ(error_of(node), "c.yaml:2: gpu.parameters: the GPU lacks memory (HBM capacity, in B)");
}

}  // namespace
}  // namespace ergometer::spec

#include <gtest/gtest.h>

#include "base/test_support.h"
#include "spec/catalog/read.h"

namespace ergometer::spec {
namespace {

std::string cluster_error(std::string_view yaml) {
  return base::error_of(parse_cluster(yaml, "c.yaml"));
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
    // Every machine of the catalog can tell what it draws and how hot it gets.
    EXPECT_TRUE(cluster->node.gpu.parameters.has("power.constant")) << entry.name;
    EXPECT_TRUE(cluster->node.parameters.has("power.supply_efficiency")) << entry.name;
    const char* built =
        cluster->node.cooling == Cooling::kLiquid ? "cooling.liquid.inlet" : "cooling.air.inlet";
    EXPECT_TRUE(cluster->node.parameters.has(built)) << entry.name;
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
  EXPECT_EQ(cluster_error(node + "gpus: 4\n"),
            "c.yaml:8: gpus: stands here a second time; the first is on line 3");
  EXPECT_NE(cluster_error(node + "cppu: x\n")
                .find("c.yaml:8: cppu: is not a known key; did you mean cpu?; allowed: name, "),
            std::string::npos);
  EXPECT_EQ(cluster_error("node: {gpu: h100}\nnodes: 0\n"), "c.yaml:1: node.gpus: is missing");
  EXPECT_EQ(cluster_error("node: hgx-h100\nnodes: 0\n"),
            "c.yaml:2: nodes: found \"0\"; allowed: a whole number from 1 to 10000000");
  EXPECT_EQ(cluster_error("node: hgx-h100\nnodes: .nan\n"),
            "c.yaml:2: nodes: found \".nan\"; allowed: a whole number from 1 to 10000000");
  EXPECT_EQ(cluster_error("node: hgx-h10\n"),
            "c.yaml:1: node: found \"hgx-h10\"; allowed: a node of the catalog (did you mean "
            "hgx-h100?), a file, or a mapping");
  EXPECT_EQ(cluster_error("nodes: 4\n"), "c.yaml:1: node: is missing");
  EXPECT_EQ(cluster_error(""), "c.yaml:1: found nothing; expected a YAML mapping (key: value)");
  EXPECT_EQ(cluster_error("- a\n"), "c.yaml:1: found a list; expected a YAML mapping (key: value)");
  EXPECT_TRUE(cluster_error("a: [1\n").starts_with("c.yaml:2:1: not valid YAML: "))
      << cluster_error("a: [1\n");
}

TEST(ReadCluster, NoGpuIsAnError) {
  EXPECT_EQ(
      cluster_error("node:\n  gpus: 8\n  intra: {kind: pcie, bandwidth: 10 GB/s}\n  collectives: "
                    "pcie-gen4\n"),
      "c.yaml:2: node.gpu: is missing");
  EXPECT_EQ(cluster_error("node:\n  gpu: h100-sxm5-80gb\n  gpus: 0\n"),
            "c.yaml:3: node.gpus: found \"0\"; allowed: a whole number from 1 to 1024");
}

TEST(ReadCluster, UnitsAreChecked) {
  std::string node(kNode);
  node.replace(node.find("450 GB/s"), 8, "450 GHz ");
  EXPECT_TRUE(cluster_error(node).starts_with("c.yaml:4: intra.bandwidth: "))
      << cluster_error(node);
  node = kNode;
  node.replace(node.find("[0, 1]"), 6, "[0, 2]");
  EXPECT_EQ(cluster_error(node),
            "c.yaml:7: nics[0].gpus: found \"2\" in the list; allowed: whole numbers from 0 to 1");
  node = kNode;
  node.replace(node.find("[0, 1]"), 6, "[0]   ");
  EXPECT_EQ(cluster_error(node), "c.yaml:6: nics: GPU 1 is served by none of them");
}

constexpr std::string_view kPlate = R"({parameters: {
  die_capacity: 1.1 J/K, spreader_capacity: 60 J/K, sink_capacity: 400 J/K, memory_capacity: 30 J/K,
  die_resistance: 0.02 K/W, spreader_resistance: 10 mK/W, memory_resistance: 0.03 K/W,
  sink_resistance: 5 mK/W, film_resistance: 0.02 K/W, preheat: 0.005 K/W, inlet: 32 C}})";

TEST(ReadCluster, ANodesCoolingsStandUnderTheirNames) {
  const auto cluster = parse_cluster(
      std::string(kNode) + "cooling: liquid\ncoolings:\n  liquid: " + std::string(kPlate),
      "c.yaml");
  ASSERT_TRUE(cluster) << cluster.error().message;
  const Node& node = cluster->node;
  EXPECT_EQ(node.cooling, Cooling::kLiquid);
  EXPECT_DOUBLE_EQ(node.parameters.at("cooling.liquid.die_capacity"), 1.1);
  EXPECT_DOUBLE_EQ(node.parameters.at("cooling.liquid.spreader_resistance"), 0.01);
  EXPECT_DOUBLE_EQ(node.parameters.at("cooling.liquid.inlet"), 32);
  EXPECT_FALSE(node.parameters.has("cooling.air.die_capacity"));
}

TEST(ReadCluster, CoolingIsCheckedLikeKernels) {
  const std::string node(kNode);
  EXPECT_EQ(parse_cluster(node, "c.yaml")->node.cooling, Cooling::kAir);
  EXPECT_EQ(
      cluster_error(node + "cooling: liqid\n"),
      "c.yaml:8: cooling: found \"liqid\"; did you mean liquid?; allowed: air, liquid, immersion");
  EXPECT_EQ(
      cluster_error(node + "coolings: air\n"),
      "c.yaml:8: coolings: found a word; allowed: a mapping of air, liquid, immersion to names");
  EXPECT_EQ(cluster_error(node + "coolings: {water: x}\n"),
            "c.yaml:8: coolings.water: is not a known key; allowed: air, liquid, immersion");
  EXPECT_EQ(cluster_error(node + "coolings: {liquid: {parameters: {}}}\n"),
            "c.yaml:8: coolings: lack air, which cools the node as built; name it here, or say "
            "cooling: liquid");
  EXPECT_EQ(
      cluster_error(node + "coolings: {air: no-such-fan}\n"),
      "c.yaml:8: coolings.air: found \"no-such-fan\"; allowed: a set of cooling parameters of "
      "the catalog, a file, or a mapping");
  EXPECT_EQ(cluster_error(node + "coolings: {air: {parameters: {die_capacty: 1 J/K}}}\n"),
            "c.yaml:8: coolings.air.parameters.die_capacty: is not a known parameter; did you mean "
            "die_capacity?");
  EXPECT_EQ(
      cluster_error(node + "coolings: {air: {parameters: {die_capacity: 1 K/W}}}\n"),
      "c.yaml:8: coolings.air.parameters.die_capacity: \"1 K/W\" is in K/W; expected one in J/K, "
      "such as \"1.1 J/K\"");
  EXPECT_EQ(
      cluster_error(node + "coolings: {air: {parameters: {die_capacity: 1 J/K}}}\n"),
      "c.yaml:8: coolings.air.parameters: the set of cooling parameters lacks spreader_capacity "
      "(of lid, interposer and interface, in J/K)");
}

constexpr std::string_view kOwnGpu = R"({name: x, vendor: y, architecture: hopper, kernels: hopper,
  power: {parameters: {power.constant: 60 W, power.constant_memory: 40 W, power.excursion: 1.5, power.data_share: 0.3, power.leakage: 70 W, power.leakage_temperature: 60 C,
    power.leakage_per_k: 0.01 /K, power.active: 80 W, power.voltage_min: 0.7, power.voltage_knee: 0.6,
    power.tensor_fp16: 0.52 pJ/FLOP, power.vector: 3 pJ/FLOP, power.cache: 39 pJ/B,
    power.memory: 93 pJ/B, power.link: 40 pJ/B}},
  parameters: {sm_count: 100, memory: 80 GB, memory_bandwidth: 3 TB/s, boost_clock: 1.8 GHz,
    sustained_clock: 1.5 GHz, peak_fp16: 900 TFLOP/s, tdp: 700 W, power.link: 50 pJ/B,
    clock_min: 345 MHz, clock_max: 1980 MHz, clock_step: 15 MHz, temperature_target: 87 C}})";

TEST(ReadCluster, AGpusPowerIsAFileOrAMappingAndTheGpuMayOverrideIt) {
  std::string node(kNode);
  node.replace(node.find("h100-sxm5-80gb"), 14, kOwnGpu);
  const auto cluster = parse_cluster(node, "c.yaml");
  ASSERT_TRUE(cluster) << cluster.error().message;
  const Gpu& gpu = cluster->node.gpu;
  EXPECT_EQ(gpu.power, "");
  EXPECT_DOUBLE_EQ(gpu.parameters.at("power.tensor_fp16"), 0.52e-12);
  EXPECT_DOUBLE_EQ(gpu.parameters.at("power.memory"), 93e-12);
  EXPECT_DOUBLE_EQ(gpu.parameters.at("power.leakage_per_k"), 0.01);
  EXPECT_DOUBLE_EQ(gpu.parameters.at("power.link"), 50e-12);
  EXPECT_DOUBLE_EQ(gpu.parameters.at("clock_step"), 15e6);
  node.replace(node.find("power.active"), 12, "power.activ ");
  EXPECT_EQ(cluster_error(node),
            "c.yaml:4: gpu.power.parameters.power.activ: is not a known parameter; did you mean "
            "power.active?");
}

TEST(ReadCluster, AnInlineGpuMustBeComplete) {
  std::string node(kNode);
  node.replace(
      node.find("h100-sxm5-80gb"), 14,
      "{name: x, vendor: y, architecture: hopper, kernels: hopper, parameters: {sm_count: 100}}");
  EXPECT_EQ(cluster_error(node),
            "c.yaml:2: gpu.parameters: the GPU lacks memory (HBM capacity, in B)");
}

}  // namespace
}  // namespace ergometer::spec

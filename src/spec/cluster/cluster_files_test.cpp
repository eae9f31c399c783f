#include "spec/cluster/cluster_files.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "base/test_support.h"
#include "spec/files/fingerprint.h"
#include "spec/files/settings_record.h"
#include "spec/settings/settings.h"

namespace ergometer::spec {
namespace {

/// A folder of hardware files: parts in a folder of their own, named by those that use them.
class ClusterFiles : public testing::Test {
 protected:
  ClusterFiles() {
    write("parts/b100.yaml", std::string(find_in_catalog(CatalogKind::kGpu, "b200")->text));
    replace("parts/b100.yaml", "name: B200-SXM6-180GB", "name: B100");
    replace("parts/b100.yaml", "kernels: blackwell", "kernels: ./fast.yaml");
    write("parts/fast.yaml",
          std::string(find_in_catalog(CatalogKind::kKernels, "blackwell")->text));
    write("parts/rails.yaml",
          std::string(find_in_catalog(CatalogKind::kCollectives, "ib-400g")->text));
    write("parts/air.yaml",
          std::string(find_in_catalog(CatalogKind::kCooling, "hgx-air-blackwell")->text));
    write("node.yaml", R"(name: mine
gpu: parts/b100.yaml
gpus: 8
intra: {kind: nvlink-switch, links_per_gpu: 18, bandwidth: 900 GB/s}
collectives: blackwell-nvlink
coolings: {air: parts/air.yaml}
nics:
  - {bandwidth: 400 Gb/s, gpus: [0, 1, 2, 3, 4, 5, 6, 7]}
fabric:
  kind: fat-tree
  collectives: parts/rails.yaml
)");
    write("pod.yaml", "name: pod\nnode: node.yaml\nnodes: 16\n");
    write("larger.yaml", "extends: pod.yaml\nnodes: 32\n");
  }

  std::string path(const std::string& name) const { return temporary_.path(name); }
  void write(const std::string& name, const std::string& text) const { temporary_.put(name, text); }
  void replace(const std::string& name, const std::string& from, const std::string& to) const {
    std::string text = *base::read_file(path(name), kLargestWritten);
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    write(name, text.replace(at, from.size(), to));
  }
  std::string error(const std::string& name) const {
    return base::error_of(read_cluster(path(name)));
  }

 private:
  base::TestFolder temporary_;
};

TEST_F(ClusterFiles, PartsStartFromTheFolderOfTheFileThatNamesThem) {
  const auto cluster = read_cluster(path("larger.yaml"));
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->nodes, 32);
  EXPECT_EQ(cluster->node.gpu.name, "B100");
  EXPECT_EQ(cluster->node.gpu.entry, "");
  EXPECT_EQ(cluster->node.gpu.power, "b200");
  EXPECT_TRUE(cluster->node.gpu.parameters.has("gemm.efficiency"));
  EXPECT_TRUE(cluster->node.parameters.has("cooling.air.inlet"));
  EXPECT_TRUE(cluster->fabric.parameters.has("collective.latency"));
}

TEST_F(ClusterFiles, WhatIsWrongIsSaidWhereItStands) {
  replace("parts/b100.yaml", "sm_count:", "sm_cout:");
  EXPECT_NE(error("pod.yaml").find("parts/b100.yaml:"), std::string::npos) << error("pod.yaml");
  EXPECT_NE(error("pod.yaml").find("did you mean sm_count?"), std::string::npos);
  replace("node.yaml", "parts/b100.yaml", "parts/b300.yaml");
  EXPECT_NE(
      error("pod.yaml").find("node.yaml:2: gpu: found \"parts/b300.yaml\"; there is no file "),
      std::string::npos)
      << error("pod.yaml");
  replace("node.yaml", "parts/b300.yaml", "b30");
  EXPECT_NE(error("pod.yaml").find("did you mean b300-sxm6-270gb?"), std::string::npos)
      << error("pod.yaml");
  EXPECT_NE(error("parts/b100.yaml").find("names the GPU's file, as in gpu: ./b100.yaml"),
            std::string::npos)
      << error("parts/b100.yaml");
}

TEST_F(ClusterFiles, WhatWasMeasuredTakesThePlaceOfOnePart) {
  replace("parts/air.yaml", "inlet: {value: 25 C", "inlet: {value: 31 C");
  const auto cluster = parse_cluster(R"(extends: hgx-b200
kernels: parts/fast.yaml
power: h200
coolings: {air: parts/air.yaml}
intra_collectives: hopper-nvlink
collectives: parts/rails.yaml
)",
                                     path("cluster.yaml"));
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->node.parameters.at("cooling.air.inlet"), 31);
  EXPECT_TRUE(cluster->node.parameters.has("cooling.liquid.inlet"));
  EXPECT_EQ(cluster->node.gpu.power, "h200");
  EXPECT_EQ(cluster->node.collectives, "hopper-nvlink");
  EXPECT_EQ(cluster->fabric.collectives, "");
  // The kernels' numbers are the catalog's.
  EXPECT_EQ(cluster->node.gpu.measured_as, "B200-SXM6-180GB");
}

TEST_F(ClusterFiles, AFileThatExtendsItselfIsAnError) {
  write("larger.yaml", "extends: larger.yaml\n");
  EXPECT_NE(error("larger.yaml").find("more than"), std::string::npos) << error("larger.yaml");
  EXPECT_FALSE(with_parts_inline("extends: larger.yaml\n", path("larger.yaml")));
}

TEST_F(ClusterFiles, AJobFileMayDescribeTheClusterInPlace) {
  const auto settings = parse_job_file(
      "model: llama3-8b\ncluster: {extends: hgx-b200, gpu: ./parts/b100.yaml}\ngpus: 8\n",
      path("job.yaml"));
  ASSERT_TRUE(settings) << settings.error().message;
  const auto job = resolve(*settings);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->cluster.node.gpu.name, "B100");
  replace("parts/b100.yaml", "sm_count:", "sm_cout:");
  EXPECT_TRUE(resolve(*settings).error().message.starts_with(path("parts/b100.yaml") + ":10:"))
      << resolve(*settings).error().message;
}

TEST_F(ClusterFiles, ARecordNeedsNoFile) {
  Settings settings;
  settings.set("model", "llama3-8b", {});
  settings.set("cluster", path("larger.yaml"), {});
  settings.set("gpus", "8", {});
  const auto before = resolve(settings);
  const auto record = without_files(settings);
  ASSERT_TRUE(record) << record.error().message;
  Fingerprint first, second;
  first.add_setting("cluster", path("larger.yaml"));
  replace("parts/rails.yaml", "value: ", "value:  ");
  replace("parts/rails.yaml", "name: ", "name: my");
  second.add_setting("cluster", path("larger.yaml"));
  EXPECT_NE(first.hex(), second.hex()) << "a part of a part has changed";
  std::filesystem::remove_all(path("parts"));
  const auto after = resolve(*record);
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ(before->cluster.node.gpu.parameters.at("sm_count"),
            after->cluster.node.gpu.parameters.at("sm_count"));
  EXPECT_EQ(after->cluster.nodes, 32);
}

TEST(Coolings, FansAreForTheGpusOfTheNode) {
  const auto fans = [](const char* node) {
    const auto cluster = read_cluster(node);
    EXPECT_TRUE(cluster) << node;
    return cluster->node.parameters.at("cooling.air.fan_power");
  };
  EXPECT_EQ(fans("gh200") * 8, fans("hgx-h200"));
  EXPECT_EQ(fans("a40") * 2, fans("a10g"));
  EXPECT_EQ(fans("dgx2-v100"), fans("dgx1-v100") * 2);
  const auto cluster = read_cluster("gh200");
  const base::Parameter* one = cluster->node.parameters.find("cooling.air.fan_power");
  EXPECT_EQ(one->grade, base::Grade::kAssumed);
  EXPECT_EQ(one->source.find("assumed: by GPUs, 1/8 of the 650 W that a chassis of 8 GPUs takes"),
            0u)
      << one->source;
}

TEST_F(ClusterFiles, AGpuIsAsWellKnownHoweverItIsWritten) {
  const auto measured = [&](const std::string& text) {
    const auto cluster = parse_cluster(text, path("cluster.yaml"));
    return cluster ? cluster->node.gpu.measured_as : cluster.error().message;
  };
  EXPECT_EQ(measured("extends: hgx-h100\n"), "H100-SXM5-80GB");
  // The same numbers under another name, in another file; less memory changes no price.
  EXPECT_EQ(measured("extends: hgx-b200\ngpu: parts/b100.yaml\n"), "B200-SXM6-180GB");
  EXPECT_EQ(measured("extends: hgx-h100\nparameters: {memory: 60 GiB}\n"), "H100-SXM5-80GB");
  EXPECT_EQ(measured("extends: hgx-h100\nparameters: {host_link: 50 GB/s}\n"), "H100-SXM5-80GB");
  // The clock of a long load belongs to the limits it was found at.
  EXPECT_NE(measured("extends: hgx-h100\nparameters: {tdp: 350 W}\n")
                .find("parameters.tdp: needs sustained_clock beside it, the clock that a long load "
                      "has at this limit; or leave both and give the job --power-cap"),
            std::string::npos);
  EXPECT_NE(measured("extends: hgx-h100\nparameters: {clock_max: 1.4 GHz}\n").find("--lock-clock"),
            std::string::npos);
  // Another clock is another GPU, which nobody has measured, wherever it is written.
  EXPECT_EQ(measured("extends: hgx-h100\nparameters: {sustained_clock: 1.5 GHz}\n"), "");
  replace("parts/b100.yaml", "sm_count: {value: 148", "sm_count: {value: 132");
  EXPECT_EQ(measured("extends: hgx-b200\ngpu: parts/b100.yaml\n"), "");
}

}  // namespace
}  // namespace ergometer::spec

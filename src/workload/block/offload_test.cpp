#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "spec/job/host_link.h"
#include "workload/block/layer.h"
#include "workload/test_models.h"

namespace ergometer::workload {
namespace {

spec::Job four_layers(int64_t offloaded) {
  spec::Job job = test::job_of(test::dense_model(4, 64, 256, 4, 4, 1024), 128);
  job.training.offloaded_layers = offloaded;
  base::ParameterSet& gpu = job.cluster.node.gpu.parameters;
  gpu.set("host_link", {50e9, "B/s", "", base::Grade::kDatasheet});
  return job;
}

// 40 % of 50 GB/s; without a link in the catalog, of PCIe 4's 31.5.
TEST(Offload, ALinkIsSharedByTheGpusOfANode) {
  spec::Job job = four_layers(2);
  EXPECT_DOUBLE_EQ(spec::host_bytes_per_s(job.cluster.node), 20e9);
  job.cluster.node.parameters.set("host.link_share", {0.8, "", "", base::Grade::kAssumed});
  EXPECT_DOUBLE_EQ(spec::host_bytes_per_s(job.cluster.node), 40e9);
  EXPECT_DOUBLE_EQ(spec::host_bytes_per_s(spec::Node{}), 12.6e9);
  // Of unlike nodes the slower link.
  job.cluster.groups = {{job.cluster.node, 1}, {spec::Node{}, 1}};
  EXPECT_DOUBLE_EQ(spec::host_bytes_per_s(job.cluster), 12.6e9);
}

// Two of four layers: half of what a layer keeps crosses beside each, there and back.
TEST(Offload, EveryLayerCarriesItsShareBesideIt) {
  const Workload workload = lower(four_layers(2));
  const Block& layer = test::layer_block(workload, 3);
  const double seconds = layer.activations.kept / 2 / 20e9;
  ASSERT_GT(seconds, 0);
  for (const auto& [list, name] :
       {std::pair{&layer.forward, kActivationsOut}, std::pair{&layer.backward, kActivationsIn}}) {
    const Operator& copy = test::find_op(workload, *list, std::string(name));
    EXPECT_DOUBLE_EQ(copy.host_wait_s, seconds);
    EXPECT_DOUBLE_EQ(copy.to_host_bytes + copy.from_host_bytes, layer.activations.kept / 2);
    EXPECT_EQ(copy.to_host_bytes > 0, name == kActivationsOut);
    EXPECT_EQ(copy.kernels, 0);
    // It begins with the layer, which is not over before it.
    EXPECT_EQ(list->at(0).kind, Item::Kind::kJoin);
    EXPECT_EQ(list->at(0).stream, Stream::kHostCopies);
    EXPECT_EQ(list->at(1).stream, Stream::kHostCopies);
    EXPECT_EQ(list->back().kind, Item::Kind::kJoin);
    EXPECT_EQ(list->back().on, Stream::kHostCopies);
  }
}

// 1e9 parameters on each of 8 ranks at 5e9 a second; or 2 GB each way at 1 GB/s (optimizer.cpp).
TEST(Offload, AdamOnTheHostWaitsForTheSlowerOfUpdatesAndCopies) {
  spec::Job job = four_layers(0);
  job.training.optimizer_offload = true;
  job.gpus = job.cluster.node.gpus = 8;
  const ParameterShare share{.trainable_dense = 1e9};
  EXPECT_DOUBLE_EQ(optimizer_step(job, share).host_wait_s, 1.6);
  job.cluster.node.parameters.set("host.link_share", {0.02, "", "", base::Grade::kAssumed});
  const Operator step = optimizer_step(job, share);
  EXPECT_DOUBLE_EQ(step.host_wait_s, 2);
  EXPECT_DOUBLE_EQ(step.to_host_bytes, 2e9);
  EXPECT_DOUBLE_EQ(step.from_host_bytes, 2e9);
}

TEST(Offload, NothingCrossesWhereAllStay) {
  const Workload workload = lower(four_layers(0));
  for (const Item& item : test::layer_block(workload, 0).forward)
    EXPECT_NE(item.stream, Stream::kHostCopies);
}

}  // namespace
}  // namespace ergometer::workload

#include <gtest/gtest.h>

#include <vector>

#include "base/test_support.h"
#include "cost/pcie_groups.h"
#include "engine/time/test_plan.h"
#include "spec/catalog/read.h"
#include "spec/settings/settings.h"

namespace ergometer::engine {
namespace {

using test::TestPlan;
using workload::CollectiveKind;
using workload::GroupKind;
using workload::Stream;

/// Two nodes of eight H100, data parallel over both.
spec::Job job_of_sixteen(const char* cluster = "hgx-h100") {
  spec::Settings settings;
  const char* const values[][2] = {{"model", "llama3-8b"},
                                   {"cluster", cluster},
                                   {"gpus", "16"},
                                   {"tensor_model_parallel_size", "8"},
                                   {"global_batch_size", "16"},
                                   {"seq_length", "4096"}};
  for (const auto& [name, value] : values) settings.set(name, value, {});
  return base::value_of(spec::resolve(settings));
}

struct Contended : testing::Test {
  spec::Job job = job_of_sixteen();
  Result<cost::CostModel> model = cost::CostModel::make(job);
  TestPlan test{8, 1, 2, 1};
  int64_t tiers = 1;            ///< that collectives climb
  std::vector<plan::Way> ways;  ///< of the collectives, in order; none: both

  /// A collective over the network that asks for `rate` bytes/s of each rank's card for `seconds`.
  int32_t network(GroupKind group, double rate, double seconds) {
    const int32_t number = test.communication(CollectiveKind::kSendRecv, group, seconds);
    test.plan.operators.back().comm_bytes = rate * seconds;
    return number;
  }
  Stretch settle() {
    test.plan.placements.assign(1, {});
    for (const workload::Operator& op : test.plan.operators) {
      plan::GroupPlacement where;
      if (op.kind == workload::OperatorKind::kCollective)
        where = {
            .size = 2, .nodes = 2, .ranks_per_node = 1, .nic_bytes_per_s = 50e9, .tiers = tiers};
      if (const size_t number = test.plan.placements[0].size(); number < ways.size())
        where.way = ways[number];
      test.plan.placements[0].push_back(where);
    }
    return settle_contention(job, test.plan, *model, test.costs);
  }
};

TEST_F(Contended, NothingToDoOnOneStream) {
  ASSERT_TRUE(model.has_value()) << model.error().message;
  test.compute(0, test.op(1));
  test.collective(0, network(GroupKind::kData, 50e9, 1));
  EXPECT_TRUE(settle().empty());
}

// Both ask for the whole card. Together from 0 on, each at half speed: the 1 s exchange ends at 2 s
// (stretch 2); the 3 s one has done 1 s of its work by then and ends at 4 s (stretch 4/3).
TEST_F(Contended, TwoCollectivesShareTheCard) {
  ASSERT_TRUE(model.has_value()) << model.error().message;
  const double card = job.cluster.node.nics.front().bytes_per_s;
  test.collective(0, network(GroupKind::kData, card, 1), Stream::kData);
  test.collective(0, network(GroupKind::kShard, card, 3), Stream::kExpert);
  const Stretch stretch = settle();
  ASSERT_EQ(stretch.size(), 1u);
  EXPECT_NEAR(stretch[0][0], 2.0f, 0.01);
  EXPECT_NEAR(stretch[0][1], 4.0f / 3, 0.01);
}

// Uplinks four times oversubscribed leave each a quarter of the card alone. Together they have half
// of that each, as where they share the card; at a tenth of the card's rate each both are served.
TEST_F(Contended, TwoCollectivesShareTheUplinks) {
  ASSERT_TRUE(model.has_value()) << model.error().message;
  job.cluster.fabric.tiers = {{"leaf", 1, 4}, {"spine", 0, 1}};
  tiers = 2;
  const double card = job.cluster.node.nics.front().bytes_per_s;
  test.collective(0, network(GroupKind::kData, card / 4, 1), Stream::kData);
  test.collective(0, network(GroupKind::kShard, card / 4, 3), Stream::kExpert);
  const Stretch stretch = settle();
  EXPECT_NEAR(stretch[0][0], 2.0f, 0.01);
  EXPECT_NEAR(stretch[0][1], 4.0f / 3, 0.01);
}

TEST_F(Contended, UplinksCarryWhatBothAskOfThem) {
  ASSERT_TRUE(model.has_value()) << model.error().message;
  job.cluster.fabric.tiers = {{"leaf", 1, 4}, {"spine", 0, 1}};
  tiers = 2;
  const double card = job.cluster.node.nics.front().bytes_per_s;
  test.collective(0, network(GroupKind::kData, card / 10, 1), Stream::kData);
  test.collective(0, network(GroupKind::kShard, card / 10, 3), Stream::kExpert);
  const Stretch stretch = settle();
  EXPECT_EQ(stretch[0][0], 1.0f);
  EXPECT_EQ(stretch[0][1], 1.0f);
}

// Along one line of a torus what goes to the next stage and what comes back have a direction each;
// a ring's bytes go both ways and share either.
TEST_F(Contended, StagesSendForthAndBackOverTwoDirections) {
  ASSERT_TRUE(model.has_value()) << model.error().message;
  const double card = job.cluster.node.nics.front().bytes_per_s;
  job.cluster.fabric.kind = spec::FabricKind::kTorus;
  job.cluster.fabric.topology.dimensions = {{"x", 2, 1, 1, 8 * card / 4}};
  job.cluster.fabric.tiers = {{"node", 1, 1}, {"x", 2, 1}};
  tiers = 2;
  test.collective(0, network(GroupKind::kData, card / 4, 1), Stream::kPipelineForward);
  test.collective(0, network(GroupKind::kShard, card / 4, 3), Stream::kPipelineBackward);
  ways = {plan::Way::kForth, plan::Way::kBack};
  EXPECT_EQ(settle()[0][0], 1.0f);
  ways = {plan::Way::kForth, plan::Way::kBoth};
  EXPECT_NEAR(settle()[0][0], 2.0f, 0.01);
}

// A kernel of 1 s runs wholly beside a long exchange: it takes the model's slowdown. One of the
// same kind behind a join, when the exchange is over, takes its own time.
TEST_F(Contended, KernelsSlowDownOnlyBesideCollectives) {
  ASSERT_TRUE(model.has_value()) << model.error().message;
  const int32_t exchange = network(GroupKind::kData, 1e9, 10);
  const int32_t gemm = test.op(0, 1);
  workload::Operator& op = test.plan.operators.back();
  op.m = 4096;
  op.n = 6144;
  op.k = 4096;
  op.bytes = 2.0 * (4096.0 * 6144 + 4096.0 * 4096 + 6144.0 * 4096);
  test.collective(0, exchange, Stream::kData);
  test.compute(0, gemm);
  test.add(0, {.kind = plan::InstructionKind::kJoin,
               .stream = Stream::kCompute,
               .on = Stream::kData,
               .op = exchange});
  test.compute(0, gemm);
  const Stretch stretch = settle();
  const double slowdown =
      model->compute_slowdown(test.plan.operators[static_cast<size_t>(gemm)],
                              test.plan.operators[static_cast<size_t>(exchange)]);
  EXPECT_GT(slowdown, 1.0);
  EXPECT_NEAR(stretch[0][1], slowdown, 1e-3);
  EXPECT_EQ(stretch[0][3], 1.0f);
}

// Two kernels on two streams have the GPU half each while both run: 1 s and 3 s of work, ends at 2
// and 4 s.
TEST_F(Contended, KernelsSideBySideDivideTheGpu) {
  ASSERT_TRUE(model.has_value()) << model.error().message;
  test.compute(0, test.op(1), Stream::kCompute);
  test.compute(0, test.op(3), Stream::kExpert);
  const Stretch stretch = settle();
  EXPECT_NEAR(stretch[0][0], 2.0f, 0.01);
  EXPECT_NEAR(stretch[0][1], 4.0f / 3, 0.01);
}

// A copy to the host and a message that each fill the switch's link upward for 1 s: both have half
// of it. What comes back from the host takes the other direction, which the message fills as well.
TEST_F(Contended, CopiesToTheHostShareTheUplink) {
  ASSERT_TRUE(model.has_value()) << model.error().message;
  job = job_of_sixteen(
      "{extends: hgx-h100, pcie: {sockets: [{nics: [0, 1, 2, 3, 4, 5, 6, 7], switches: [{uplink: "
      "gen5 x16, gpus: [0, 1, 2, 3, 4, 5, 6, 7]}]}]}}");
  const auto groups = cost::PcieGroups::make(job);
  test.costs.pcie = {groups};
  const int32_t message = network(GroupKind::kData, 1, 1);
  workload::Operator& sent = test.plan.operators.back();
  sent.comm_bytes = 1 / groups->s_per_byte(sent);
  const int32_t copy = test.op(1);
  workload::Operator& copied = test.plan.operators.back();
  copied.kernels = 0;
  copied.to_host_bytes = 1 / groups->host_s_per_byte();
  test.collective(0, message, Stream::kData);
  test.compute(0, copy, Stream::kHostCopies);
  const Stretch shared = settle();
  EXPECT_NEAR(shared[0][0], 2, 0.01);
  EXPECT_NEAR(shared[0][1], 2, 0.01);
  test.costs.pcie = {nullptr};  // nodes that say no tree
  const Stretch apart = settle();
  EXPECT_EQ(apart[0][0], 1);
  EXPECT_EQ(apart[0][1], 1);
}

}  // namespace
}  // namespace ergometer::engine

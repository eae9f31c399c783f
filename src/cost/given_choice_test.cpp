#include "cost/given_choice.h"

#include "cost/energy.h"
#include "cost/test_support.h"
#include "spec/collective/test_algorithms.h"

namespace ergometer::cost {
namespace {

using workload::CollectiveKind;

plan::GroupPlacement place_of_all(const spec::Job& job) {
  return plan::placement(job, workload::GroupKind::kData, 0);
}

void expect_traffic(const Traffic& sent, double intra_bytes, double nic_bytes) {
  EXPECT_NEAR(sent.intra_bytes, intra_bytes, 1);
  EXPECT_NEAR(sent.nic_bytes, nic_bytes, 1);
}

// Each of 4 sends 1 GB to 3 others; a ring would send 2 x 3/4 of it.
TEST(GivenChoiceTraffic, InANodeIsWhatTheFileSends) {
  const spec::Job job = job_given("charllm-h200", 4, spec::one_shot_file(4));
  const GivenChoice given(job);
  const workload::Operator op = of_data_ranks(CollectiveKind::kAllReduce, 1e9);
  expect_traffic(given.traffic(op, place_of_all(job)), 3e9, 0);
  expect_traffic(traffic(op, place_of_all(job)), 1.5e9, 0);
  expect_traffic(given.traffic(of_data_ranks(CollectiveKind::kAllGather, 1e9), place_of_all(job)),
                 0.75e9, 0);
}

// Each of 2 x 8 sends to 7 on its node and 8 on the other, of those 7 on other rails.
TEST(GivenChoiceTraffic, AcrossNodesIsDividedByWhereMessagesGo) {
  spec::Job job = job_given("charllm-h200", 16, spec::one_shot_file(16));
  const workload::Operator op = of_data_ranks(CollectiveKind::kAllReduce, 1e9);
  expect_traffic(GivenChoice(job).traffic(op, place_of_all(job)), 7e9, 8e9);
  job.cluster.fabric.kind = spec::FabricKind::kRailOnly;
  expect_traffic(GivenChoice(job).traffic(op, place_of_all(job)), 14e9, 8e9);
}

TEST(GivenChoiceTraffic, OfRingsAndExchangesIsTheLibrarys) {
  const auto expect_as_library = [](int64_t gpus, const std::string& xml, CollectiveKind kind) {
    const spec::Job job = job_given("charllm-h200", gpus, xml);
    const workload::Operator op = of_data_ranks(kind, 1e9);
    ASSERT_TRUE(GivenChoice(job).fits(op, place_of_all(job)));
    const Traffic library = traffic(op, place_of_all(job));
    expect_traffic(GivenChoice(job).traffic(op, place_of_all(job)), library.intra_bytes,
                   library.nic_bytes);
  };
  for (const int gpus : {8, 16}) {
    const std::vector<std::vector<int>> order = {spec::in_order(gpus)};
    expect_as_library(gpus, spec::ring_file("allreduce", order), CollectiveKind::kAllReduce);
    expect_as_library(gpus, spec::ring_file("allgather", order), CollectiveKind::kAllGather);
    expect_as_library(gpus, spec::exchange_file(gpus), CollectiveKind::kAllToAll);
  }
}

// 3 GB sent at 3 bytes each, 1 GB copied at 2 and 3 GB added at 3: 20 GB; of a ring 1.5 GB at 3.
TEST(GivenChoiceEnergy, CountsWhatTheFileMoves) {
  const workload::Operator op = of_data_ranks(CollectiveKind::kAllReduce, 1e9);
  const spec::Job job = job_given("charllm-h200", 4, spec::one_shot_file(4)),
                  plain = job_on("charllm-h200", 4);
  EXPECT_NEAR(GivenChoice(job).local_memory_bytes(op, place_of_all(job)), 11e9, 1);
  const physics::Energy given = EnergyModel::make(job)->energy(op, place_of_all(job));
  const physics::Energy ring = EnergyModel::make(plain)->energy(op, place_of_all(plain));
  EXPECT_NEAR(given.link_j / ring.link_j, 2, 1e-9);
  EXPECT_NEAR(given.memory_j / ring.memory_j, 20 / 4.5, 1e-9);
}

TEST(GivenChoiceTraffic, WithoutFilesIsTheLibrarys) {
  const spec::Job job = job_on("charllm-h200", 8);
  const workload::Operator op = of_data_ranks(CollectiveKind::kAllReduce, 1e9);
  expect_traffic(GivenChoice(job).traffic(op, place_of_all(job)), 1.75e9, 0);
  EXPECT_EQ(GivenChoice(job).local_memory_bytes(op, place_of_all(job)), 0);
}

}  // namespace
}  // namespace ergometer::cost

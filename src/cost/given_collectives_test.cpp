#include "cost/given_collectives.h"

#include <algorithm>
#include <random>

#include "cost/test_support.h"
#include "spec/collective/given_algorithms.h"
#include "spec/collective/test_algorithms.h"

namespace ergometer::cost {
namespace {

using workload::CollectiveKind;

constexpr double kMiB = 1 << 20;

/// Rings of so many channels; those of one node start at a GPU each, those of nodes also leave
/// through one NIC each.
std::vector<std::vector<int>> node_rings(int nodes, int per_node, int channels) {
  std::vector<std::vector<int>> orders;
  for (int channel = 0; channel < channels; ++channel) {
    std::vector<int> order;
    for (int node = 0; node < nodes; ++node)
      for (int i = 0; i < per_node; ++i)
        order.push_back(node * per_node + (i + channel) % per_node);
    orders.push_back(std::move(order));
  }
  return orders;
}

/// A given algorithm's time over the library's.
double over_library(const spec::Job& job, CollectiveKind kind, double bytes) {
  const auto parameters = base::value_of(read_parameters(job));
  const workload::Operator op = of_data_ranks(kind, bytes);
  const auto where = plan::placement(job, workload::GroupKind::kData, 0);
  EXPECT_TRUE(parameters.given->fits(op, where));
  DomainParameters without_switch = parameters.domain;
  without_switch.in_switch_bytes_per_s = 0;
  return parameters.given->time(op, where).time.seconds() /
         collective_time(without_switch, parameters.fabric, op, where).seconds();
}

TEST(GivenCollectives, RingsInANodeTakeWhatTheLibrarysDo) {
  for (const auto& [task, kind] : {std::pair{"allgather", CollectiveKind::kAllGather},
                                   std::pair{"reducescatter", CollectiveKind::kReduceScatter}}) {
    const spec::Job job = job_given("charllm-h200", 8, spec::ring_file(task, node_rings(1, 8, 24)));
    for (const double bytes : {64 * kMiB, 256 * kMiB, 1024 * kMiB, 16384 * kMiB})
      EXPECT_NEAR(over_library(job, kind, bytes), 1, 0.01) << task << bytes;
  }
  // The library's all-reduce has a start that was fitted, 31 us less than 14 hops.
  const spec::Job job =
      job_given("charllm-h200", 8, spec::ring_file("allreduce", node_rings(1, 8, 24)));
  for (const double bytes : {256 * kMiB, 1024 * kMiB, 16384 * kMiB})
    EXPECT_NEAR(over_library(job, CollectiveKind::kAllReduce, bytes), 1, 0.03) << bytes;
}

TEST(GivenCollectives, LowLatencyRingsTakeWhatTheLibrarysDo) {
  const spec::Job job =
      job_given("charllm-h200", 8, spec::ring_file("allreduce", node_rings(1, 8, 24), "LL"));
  for (const double bytes : {8.0 * 1024, 64.0 * 1024, 1 * kMiB})
    EXPECT_NEAR(over_library(job, CollectiveKind::kAllReduce, bytes), 1, 0.03) << bytes;
}

// By slow cards, and by cards as fast as what is inside.
TEST(GivenCollectives, RingsOfNodesTakeWhatTheLibrarysDo) {
  for (const char* cluster : {"charllm-h200", "hgx-h100"}) {
    const spec::Job job =
        job_given(cluster, 32, spec::ring_file("allgather", node_rings(4, 8, 24)));
    for (const double bytes : {256 * kMiB, 1024 * kMiB, 16384 * kMiB})
      EXPECT_NEAR(over_library(job, CollectiveKind::kAllGather, bytes), 1, 0.03)
          << cluster << bytes;
  }
}

TEST(GivenCollectives, OrdersOfARingInASwitchedNodeArePricedAlike) {
  std::mt19937 random(7);
  const double straight =
      over_library(job_given("charllm-h200", 8, spec::ring_file("allgather", node_rings(1, 8, 12))),
                   CollectiveKind::kAllGather, 256 * kMiB);
  for (int i = 0; i < 8; ++i) {
    std::vector<std::vector<int>> orders = node_rings(1, 8, 12);
    for (auto& order : orders) std::ranges::shuffle(order, random);
    EXPECT_NEAR(over_library(job_given("charllm-h200", 8, spec::ring_file("allgather", orders)),
                             CollectiveKind::kAllGather, 256 * kMiB),
                straight, 0.01 * straight);
  }
}

// Two hops instead of fourteen: 12 x 0.6 us less, as many bytes.
TEST(GivenCollectives, AllPairsSavesHops) {
  const auto seconds = [](const std::string& xml) {
    const spec::Job job = job_given("charllm-h200", 8, xml);
    const auto parameters = base::value_of(read_parameters(job));
    return parameters.given
        ->time(of_data_ranks(CollectiveKind::kAllReduce, 8192),
               plan::placement(job, workload::GroupKind::kData, 0))
        .time.seconds();
  };
  EXPECT_NEAR(seconds(spec::ring_file("allreduce", node_rings(1, 8, 1), "LL")) -
                  seconds(spec::all_pairs_file(8)),
              12 * 0.6e-6, 1e-6);
}

TEST(GivenCollectives, OneChannelMovesNoMoreThanOneBlock) {
  const spec::Job job =
      job_given("charllm-h200", 8, spec::ring_file("allgather", node_rings(1, 8, 1)));
  EXPECT_NEAR(over_library(job, CollectiveKind::kAllGather, 16384 * kMiB), 365 / 38.7, 0.05);
}

TEST(GivenCollectives, OnlyWhatFitsRunsThem) {
  const spec::Job job = job_given("charllm-h200", 16, spec::all_pairs_file(8));
  const auto parameters = base::value_of(read_parameters(job));
  const GivenCollectives& given = *parameters.given;
  workload::Operator op = collective_operator(CollectiveKind::kAllReduce, 1e6);
  using Asked = GivenCollectives::Asked;
  EXPECT_TRUE(given.fits(op, inside(8)));
  EXPECT_EQ(given.fits_until(0, op, inside(4)), Asked::kSize);
  EXPECT_EQ(given.fits_until(0, op, across(8, 2, 400e9)), Asked::kPlace);
  op.leaving = 0.5;
  EXPECT_EQ(given.fits_until(0, op, inside(8)), Asked::kEvenParts);
  op.collective = CollectiveKind::kAllGather;
  EXPECT_EQ(given.fits_until(0, op, inside(8)), Asked::kTask);
  EXPECT_EQ(given.why_not(0, Asked::kSize), "no allreduce of the step is of 8 GPUs");
}

GivenTime time_of(const spec::Job& job, CollectiveKind kind, double bytes) {
  const auto parameters = base::value_of(read_parameters(job));
  return parameters.given->time(of_data_ranks(kind, bytes),
                                plan::placement(job, workload::GroupKind::kData, 0));
}

// 8 GPUs of a node each send a chunk to each of the other node's 8.
TEST(GivenCollectives, AnExchangeOfTwoNodesWaitsForTheirCards) {
  const spec::Job job = job_given("charllm-h200", 16, spec::exchange_file(16));
  const GivenTime given = time_of(job, CollectiveKind::kAllToAll, 16 * kMiB);
  const auto where = plan::placement(job, workload::GroupKind::kData, 0);
  const FabricParameters fabric = base::value_of(read_parameters(job)).fabric;
  const double cards = where.nic_bytes_per_s * fabric.all_to_all_line_efficiency;
  EXPECT_NEAR(given.first_s, 64 * kMiB / cards * where.exchange_uplink, 1e-3 * given.first_s);
}

// To a GPU of another rail inside the node first, then by its rail.
TEST(GivenCollectives, WhereNoSwitchJoinsRailsAMessageHopsTwice) {
  spec::Job job = job_given("charllm-h200", 16, spec::exchange_file(16));
  const auto hops_beyond_fabric_s = [&] {
    return time_of(job, CollectiveKind::kAllToAll, 1e6).hops_s -
           plan::placement(job, workload::GroupKind::kData, 0).exchange_hop_s;
  };
  const CostModel::Parameters parameters = base::value_of(read_parameters(job));
  EXPECT_NEAR(hops_beyond_fabric_s(), parameters.fabric.ring_hop_s, 1e-12);
  job.cluster.fabric.kind = spec::FabricKind::kRailOnly;
  EXPECT_NEAR(hops_beyond_fabric_s(), parameters.fabric.ring_hop_s + parameters.domain.hop_s,
              1e-12);
}

// Two GPUs on each of two switches of 24 GB/s each way: both send two of their three chunks up.
TEST(GivenCollectives, AnExchangeTakesNoLessThanTheFullestPcieLink) {
  const std::string uplink = "uplink: 31.5 GB/s, gpus: ";
  const spec::Job job = job_given("{extends: a40, pcie: {sockets: [{switches: [{" + uplink +
                                      "[0, 1], nics: [0]}, {" + uplink + "[2, 3]}]}]}}",
                                  4, spec::exchange_file(4));
  const GivenTime given = time_of(job, CollectiveKind::kAllToAll, 4e6);
  EXPECT_GE(given.time.transfer_s, 4 * 1e6 / 24e9 * (1 - 1e-9));
  EXPECT_NEAR(given.time.transfer_s,
              std::max(4 * 1e6 / 24e9, given.first_s + (given.loops - 1) * given.further_s), 1e-12);
}

TEST(GivenCollectives, OneGpuRunsNone) {
  const spec::Job job = job_given("charllm-h200", 1, spec::all_pairs_file(8));
  const auto parameters = base::value_of(read_parameters(job));
  EXPECT_EQ(parameters.given->fits_until(0, collective_operator(CollectiveKind::kAllReduce, 1e6),
                                         plan::GroupPlacement{}),
            GivenCollectives::Asked::kTask);
}

TEST(GivenCollectives, WithoutFilesThereAreNone) {
  EXPECT_EQ(parameters_of("charllm-h200", 8).given, nullptr);
}

}  // namespace
}  // namespace ergometer::cost

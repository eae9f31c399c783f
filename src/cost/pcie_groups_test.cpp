#include "cost/pcie_groups.h"

#include "cost/test_support.h"
#include "plan/placement.h"
#include "spec/job/host_link.h"

namespace ergometer::cost {
namespace {

using workload::CollectiveKind;
using workload::GroupKind;

/// Of four A40 with links of 31.5 GB/s, of which 24 are left; the NIC is with GPUs 0 and 1.
spec::Job a40_job(const std::string& rest, int64_t gpus = 4) {
  return job_on("{extends: a40, pcie: {" + rest + "}}", gpus);
}
const std::string kOneSocket =
    "sockets: [{switches: [{uplink: 31.5 GB/s, gpus: [0, 1], nics: [0]}, {uplink: 31.5 GB/s, gpus: "
    "[2, 3]}]}]";
const std::string kTwoSockets =
    "sockets: [{gpus: [0, 1], nics: [0]}, {gpus: [2, 3]}], socket_link: 10 GB/s";

workload::Operator on(GroupKind group, CollectiveKind kind, double bytes = 1e9) {
  workload::Operator op = collective_operator(kind, bytes);
  op.group = group;
  return op;
}

/// Bytes on a link of 24 GB/s for each byte that a rank sends.
double bytes_on_fullest(const spec::Job& job, GroupKind group, CollectiveKind kind) {
  return PcieGroups::make(job)->s_per_byte(on(group, kind)) * 24e9;
}

TEST(PcieGroups, NoTreeNoGroups) { EXPECT_EQ(PcieGroups::make(job_on("a40", 4)), nullptr); }

TEST(PcieGroups, ARingEntersEverySwitchOnce) {
  EXPECT_NEAR(bytes_on_fullest(a40_job(kOneSocket), GroupKind::kData, CollectiveKind::kAllReduce),
              1, 1e-12);
  // Staged, both GPUs of a switch send through its uplink.
  EXPECT_NEAR(bytes_on_fullest(a40_job(kOneSocket + ", peer_to_peer: false"), GroupKind::kData,
                               CollectiveKind::kAllReduce),
              2, 1e-12);
}

TEST(PcieGroups, RingsAcrossSwitchesShareTheirUplinks) {
  // Data-parallel pairs 0, 2 and 1, 3: both send up.
  spec::Job job = a40_job(kOneSocket);
  job.parallelism.tp = 2;
  job.parallelism.dp = 2;
  EXPECT_NEAR(bytes_on_fullest(job, GroupKind::kData, CollectiveKind::kAllReduce), 2, 1e-12);
  EXPECT_NEAR(bytes_on_fullest(job, GroupKind::kTensor, CollectiveKind::kAllReduce), 1, 1e-12);
}

TEST(PcieGroups, AnExchangeSendsTwoThirdsUp) {
  // Two GPUs, each a third to each of the two behind the other switch.
  EXPECT_NEAR(bytes_on_fullest(a40_job(kOneSocket), GroupKind::kData, CollectiveKind::kAllToAll),
              4.0 / 3, 1e-12);
}

TEST(PcieGroups, StagesSendAllAtOnce) {
  spec::Job job = a40_job(kOneSocket);
  job.parallelism.dp = 1;
  job.parallelism.pp = 4;
  EXPECT_NEAR(bytes_on_fullest(job, GroupKind::kPipeline, CollectiveKind::kSendRecv), 1, 1e-12);
  job.parallelism.dp = 2;
  job.parallelism.pp = 2;  // 0 to 2, 1 to 3
  EXPECT_NEAR(bytes_on_fullest(job, GroupKind::kPipeline, CollectiveKind::kSendRecv), 2, 1e-12);
}

TEST(PcieGroups, TheLinkBetweenSocketsIsWhatItSays) {
  EXPECT_DOUBLE_EQ(PcieGroups::make(a40_job(kTwoSockets))
                       ->s_per_byte(on(GroupKind::kData, CollectiveKind::kAllReduce)),
                   1 / 10e9);
}

TEST(PcieGroups, RingsOfManyNodesLeaveThroughTheNic) {
  // In to GPU 0, out from GPU 3 over the other switch's uplink: 1 up, as 1 to 2 on the first.
  EXPECT_NEAR(
      bytes_on_fullest(a40_job(kOneSocket, 8), GroupKind::kData, CollectiveKind::kAllReduce), 1,
      1e-12);
  // Through the host what arrives climbs the NIC's switch too: 2.
  EXPECT_NEAR(bytes_on_fullest(a40_job(kOneSocket + ", gpudirect: false", 8), GroupKind::kData,
                               CollectiveKind::kAllReduce),
              2, 1e-12);
}

TEST(PcieGroups, OfNodesWithOtherLinksOnlyTheNicsCount) {
  std::string sockets;
  for (int i = 0; i < 8; ++i)
    sockets += (i > 0 ? ", " : "") + ("{uplink: 63 GB/s, gpus: [" + std::to_string(i) +
                                      "], nics: [" + std::to_string(i) + "]}");
  const std::string tree = "sockets: [{switches: [" + sockets + "]}]";
  const spec::Job job = job_on("{extends: hgx-h100, pcie: {" + tree + ", gpudirect: false}}", 16);
  const auto groups = PcieGroups::make(job);
  EXPECT_FALSE(groups->carries(inside(8)));
  EXPECT_TRUE(groups->carries(across(16, 2, 400e9)));
  // Eight rings: an eighth goes up from the GPU and an eighth from the NIC.
  EXPECT_NEAR(groups->s_per_byte(on(GroupKind::kData, CollectiveKind::kAllReduce)) * 48e9, 0.25,
              1e-12);
}

TEST(PcieGroups, ADomainOfManyNodesLeavesThroughAllItsNics) {
  const spec::Job job = job_on(
      "{extends: gb200-nvl72, pcie: {sockets: [{nics: [0, 1, 2, 3], switches: [{uplink: 63 GB/s, "
      "gpus: [0, 1, 2, 3]}]}]}}",
      144);
  const auto groups = PcieGroups::make(job);
  const auto bytes = [&](GroupKind group, CollectiveKind kind) {
    return groups->s_per_byte(on(group, kind)) * 63e9 * 12 / 15.75;
  };
  // 72 rings, of which four pass a node's uplink.
  EXPECT_NEAR(bytes(GroupKind::kData, CollectiveKind::kAllReduce), 4.0 / 72, 1e-12);
  // Each of four sends 72 of 143 parts to the other domain.
  EXPECT_NEAR(bytes(GroupKind::kData, CollectiveKind::kAllToAll), 4 * 72.0 / 143, 1e-12);
  spec::Job staged = job;
  staged.parallelism.dp = 72;
  staged.parallelism.pp = 2;
  const auto of_stages = PcieGroups::make(staged);
  EXPECT_GT(of_stages->s_per_byte(on(GroupKind::kPipeline, CollectiveKind::kSendRecv)), 0);
  staged.parallelism.dp = 36;
  staged.parallelism.pp = 4;  // the first eight nodes lie in one domain with the next stage
  const auto inside = PcieGroups::make(staged);
  EXPECT_EQ(inside->s_per_byte(on(GroupKind::kData, CollectiveKind::kAllReduce)), 0);
}

TEST(PcieGroups, CopiesOfAllGpusBelowShareTheUplink) {
  // Two behind each: 2 bytes of 0.8 x 31.5 GB/s, as host_bytes_per_s has it.
  const spec::Job job = a40_job(kOneSocket);
  const auto groups = PcieGroups::make(job);
  EXPECT_NEAR(groups->host_s_per_byte() * 0.8 * 31.5e9, 2, 1e-12);
  EXPECT_NEAR(groups->host_s_per_byte() * spec::host_bytes_per_s(job.cluster.node), 1, 1e-12);
  EXPECT_EQ(groups->host_ranks(), 4);
  // One alone has it to itself, but for its own link.
  EXPECT_EQ(PcieGroups::make(a40_job(kOneSocket, 1))->host_ranks(), 1);
}

TEST(PcieGroups, TheLastNodeMayBeHalfFilled) {
  // 37 GPUs on ten nodes of four: one on the last, alone there. Rings of the others leave over the
  // NIC of GPUs 0 and 1, as its does; how many ranks a node has is the fullest one's.
  const auto groups = PcieGroups::make(a40_job(kOneSocket, 37));
  EXPECT_EQ(groups->ranks(on(GroupKind::kData, CollectiveKind::kAllReduce)), 4);
  // Of two stages of one GPU each on a node of four, both are there.
  spec::Job job = a40_job(kOneSocket, 2);
  job.parallelism.dp = 1;
  job.parallelism.pp = 2;
  EXPECT_EQ(PcieGroups::make(job)->ranks(on(GroupKind::kPipeline, CollectiveKind::kSendRecv)), 2);
}

TEST(PcieGroups, TransfersTakeAsLongAsTheFullestLink) {
  const workload::Operator op = on(GroupKind::kData, CollectiveKind::kAllReduce);
  const auto transfer_s = [&](const spec::Job& job) {
    const auto model = CostModel::make(job);
    EXPECT_TRUE(model) << base::error_of(model);
    return model ? model->terms(op, plan::placement(job, GroupKind::kData, 0)).transfer_s : 0;
  };
  // 2 x 3/4 GB: over links that nobody shares at 20.9 GB/s, between sockets at 10.
  EXPECT_NEAR(transfer_s(a40_job(kOneSocket)), 1.5e9 / 20.9e9, 1e-9);
  EXPECT_NEAR(transfer_s(a40_job(kTwoSockets)), 1.5e9 / 10e9, 1e-9);
  // Without a tree what was measured of so many.
  EXPECT_NEAR(transfer_s(job_on("a40", 4)), 1.5e9 / 12.5e9, 1e-9);
}

TEST(PcieGroups, OfEightA100OnTwoSockets) {
  // SimuMax's a100_pcie: rings of 8, 4, 2 reach 12.5, 20.8, 20.9 GB/s, exchanges 8.3, 19.1, 20.9.
  // Its tree is not told. With four on each socket and the 16 GB/s that NCCL counts on between
  // AMD's a ring has 16 and an exchange, of which 16/7 B pass for each that a rank sends, 7.
  const std::string tree =
      "{extends: a100-pcie, pcie: {socket_link: 16 GB/s, sockets: [{gpus: [0, 1, 2, 3], nics: "
      "[0]}, {gpus: [4, 5, 6, 7], nics: [1]}]}}";
  // Inside a socket what was measured of a pair, 20.9, is less than the 24 that links have.
  const auto gb_per_s = [&](int64_t gpus, CollectiveKind kind) {
    return 1e-9 / PcieGroups::make(job_on(tree, gpus))->s_per_byte(on(GroupKind::kData, kind));
  };
  EXPECT_NEAR(gb_per_s(8, CollectiveKind::kAllReduce), 16, 1e-9);  // 28 % fast
  EXPECT_NEAR(gb_per_s(8, CollectiveKind::kAllToAll), 7, 1e-9);    // 16 % slow
  EXPECT_NEAR(gb_per_s(4, CollectiveKind::kAllReduce), 24, 1e-9);
  EXPECT_NEAR(gb_per_s(4, CollectiveKind::kAllToAll), 24, 1e-9);
}

}  // namespace
}  // namespace ergometer::cost

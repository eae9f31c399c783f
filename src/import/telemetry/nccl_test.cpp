#include <gtest/gtest.h>

#include "base/test_support.h"
#include "import/telemetry/nccl_samples.h"
#include "import/telemetry/telemetry.h"

namespace ergometer::importer {
namespace {

run::DeviceLog nccl_of(std::string_view text, const std::string& file) {
  return base::value_of(parse_telemetry(text, file, {}));
}
std::string nccl_error(std::string_view text) {
  return base::error_of(parse_telemetry(text, "n.txt", {}));
}

constexpr std::string_view kHead =
    "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
    "# (B) (elements) (us) (GB/s) (GB/s) (us) (GB/s) (GB/s)\n";

TEST(NcclTests, TheTableWithItsRanks) {
  const run::DeviceLog log = nccl_of(
      "# Collective test starting: all_reduce_perf\n# Using devices\n"
      "#  Rank  0 Group  0 Pid   1 on     node-1 device  0 [0x07] NVIDIA H100\n"
      "#  Rank  1 Group  0 Pid   2 on     node-2 device  0 [0x07] NVIDIA H100\n#\n" +
          std::string(kHead) +
          "  1048576  262144  float  sum  -1  40.00  26.21  26.21  0  39.80  26.35  26.35  0\n"
          "# Avg bus bandwidth    : 26.28\n",
      "n.txt");
  ASSERT_EQ(log.collectives.size(), 1U);
  const run::CollectiveLog& c = log.collectives[0];
  EXPECT_EQ(c.source, "nccl-tests");
  EXPECT_EQ(c.communicator, "all_reduce_perf");
  EXPECT_EQ(c.ranks, 2);
  EXPECT_EQ(c.nodes, 2);
  ASSERT_EQ(c.timings.size(), 2U);
  EXPECT_EQ(c.timings[0].kind, "out-of-place");
  EXPECT_EQ(c.timings[0].bytes, 1048576);
  EXPECT_DOUBLE_EQ(c.timings[0].seconds, 40e-6);
  EXPECT_EQ(c.timings[1].kind, "in-place");
  EXPECT_EQ(c.timings[1].bus_gb_per_s, 26.35);
}

TEST(NcclTests, ColumnsLeftBlankAndAPrefix) {
  std::string text = "./build/all_gather_perf -b 8\n[1,0]<stdout>:" + std::string(kHead);
  text += "[1,0]<stdout>:  1024  256  float  5.00  0.20  0.19  0  N/A  N/A  N/A  N/A\n";
  const run::DeviceLog log = nccl_of(text, "n.txt");
  ASSERT_EQ(log.collectives.at(0).timings.size(), 1U);
  EXPECT_EQ(log.collectives[0].communicator, "all_gather_perf");
  EXPECT_EQ(log.collectives[0].timings[0].bus_gb_per_s, 0.19);
}

TEST(NcclTests, WhatIsWrong) {
  const std::string head(kHead);
  EXPECT_EQ(nccl_error(head), "n.txt:1: found a head, allowed: a head and rows below it");
  EXPECT_EQ(nccl_error(head + "8 2 float sum -1 1 2 3\n"),
            "n.txt:3: found 8 columns, allowed: 13, as in the head");
  EXPECT_EQ(nccl_error(head + "8 2 float sum -1 fast 2 3 0 1 2 3 0\n"),
            "n.txt:3: column 'time', out-of-place: found 'fast', allowed: a number from 0, or N/A");
  EXPECT_EQ(nccl_error(head + "8x 2 float sum -1 1 2 3 0 1 2 3 0\n"),
            "n.txt:3: column 'size': found '8x', allowed: whole bytes");
  EXPECT_NE(nccl_of(head + "8 2 float sum -1 1 2 3 5 1 2 3 0\n", "n.txt")
                .notes.at(0)
                .find("in 1 of 2 timings nccl-tests found wrong values"),
            std::string::npos);
}

std::string inspected(int rank, int sequence, const char* time) {
  return "{\"header\": {\"id\": \"0x7f\", \"rank\": " + std::to_string(rank) +
         ", \"n_ranks\": 2, \"nnodes\": 1},\n \"metadata\": {\"hostname\": \"node-1\"}, "
         "\"coll_perf\": {\"coll\": \"AllReduce\", \"coll_sn\": " +
         std::to_string(sequence) +
         ", \"coll_msg_size_bytes\": 1024, \"coll_exec_time_us\": " + time +
         ", \"coll_algobw_gbs\": 1.5, \"coll_busbw_gbs\": 2}}\n";
}

TEST(NcclInspector, ADocumentACollectiveAndRank) {
  const run::DeviceLog log =
      nccl_of(inspected(0, 1, "10") + inspected(1, 1, "12.5") + inspected(0, 2, "11"), "i.log");
  ASSERT_EQ(log.collectives.size(), 2U);
  EXPECT_EQ(log.collectives[0].communicator, "0x7f");
  EXPECT_EQ(log.collectives[0].host, "node-1");
  ASSERT_EQ(log.collectives[0].timings.size(), 2U);
  EXPECT_DOUBLE_EQ(log.collectives[0].timings[1].seconds, 11e-6);
  EXPECT_EQ(log.collectives[1].rank, 1);
  EXPECT_DOUBLE_EQ(log.collectives[1].timings.at(0).seconds, 12.5e-6);
}

TEST(NcclInspector, WhatIsWrong) {
  EXPECT_EQ(nccl_error(inspected(0, 1, "10") + inspected(0, 2, "\"slow\"")),
            "n.txt:3: key 'coll_perf.coll_exec_time_us': found \"slow\", allowed: a number from 0");
  EXPECT_EQ(nccl_error("{\"header\": {\"rank\": 1}, \"coll_perf\": {}}\n"),
            "n.txt:1: key 'header.id': found nothing, allowed: text");
  const std::string whole = inspected(0, 1, "10");
  EXPECT_EQ(nccl_of(whole + whole.substr(0, 100), "i.log").dropped.at(0).reason,
            "a document that is cut off at the end of the file");
}

TEST(NcclSamples, TheInspectorsPrometheusText) {
  const std::string labels =
      "{comm_name=\"0x7f\",node=\"node-1\",gpu=\"GPU0\",n_nodes=\"2\",nranks=\"16\","
      "collective=\"AllReduce\",message_size=\"32-96MB\"} ";
  const run::DeviceLog log =
      nccl_of("# TYPE nccl_bus_bandwidth_gbs gauge\nnccl_bus_bandwidth_gbs" + labels + "120\n" +
                  "nccl_algorithm_bandwidth_gbs" + labels + "64\n" +
                  "nccl_collective_exec_time_microseconds" + labels + "1048.576\n",
              "node-1.prom");
  ASSERT_EQ(log.collectives.size(), 1U);
  const run::CollectiveLog& c = log.collectives[0];
  EXPECT_EQ(c.communicator, "0x7f");
  EXPECT_EQ(c.host, "node-1");
  EXPECT_EQ(c.ranks, 16);
  EXPECT_EQ(c.nodes, 2);
  ASSERT_EQ(c.timings.size(), 1U);
  EXPECT_EQ(c.timings[0].kind, "AllReduce");
  EXPECT_EQ(c.timings[0].bytes, 64 << 20);
  EXPECT_EQ(c.timings[0].bus_gb_per_s, 120);
  EXPECT_DOUBLE_EQ(c.timings[0].seconds, 1048.576e-6);
}

/// 64e9 B/s for 2^26 bytes: 2^26 / 64e9 s.
TEST(NcclSamples, TimeFromSizeAndBandwidth) {
  const run::DeviceLog log = nccl_of(
      "nccl_algorithm_bandwidth_gbs{comm_id=\"7\",rank=\"3\",collective=\"AllGather\","
      "message_size=\"67108864\"} 64\n",
      "n.prom");
  ASSERT_EQ(log.collectives.size(), 1U);
  EXPECT_EQ(log.collectives[0].rank, 3);
  EXPECT_DOUBLE_EQ(log.collectives[0].timings.at(0).seconds, 67108864 / 64e9);
}

/// On 16 ranks 150e9 B/s of an all-reduce's bus are 150e9 / (2 * 15 / 16) = 80e9 of its algorithm.
TEST(NcclSamples, TimeFromSizeAndBusBandwidth) {
  const run::DeviceLog log = nccl_of(
      "nccl_bus_bandwidth_gbs{comm_id=\"7\",rank=\"3\",nranks=\"16\",collective=\"AllReduce\","
      "message_size=\"8000000\"} 150\n",
      "n.prom");
  ASSERT_EQ(log.collectives.size(), 1U);
  EXPECT_DOUBLE_EQ(log.collectives[0].timings.at(0).algorithm_gb_per_s, 80);
  EXPECT_DOUBLE_EQ(log.collectives[0].timings.at(0).seconds, 1e-4);
}

TEST(NcclSamples, SizesOfMessages) {
  EXPECT_EQ(message_bytes("512"), 512);
  EXPECT_EQ(message_bytes("512B"), 512);
  EXPECT_EQ(message_bytes("64KB"), 65536);
  EXPECT_EQ(message_bytes("1-3GB"), 2.0 * (1 << 30));
  for (const char* const none : {"", "big", "1-", "5 apples", "-3"})
    EXPECT_EQ(message_bytes(none), 0);
}

}  // namespace
}  // namespace ergometer::importer

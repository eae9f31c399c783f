#include "analysis/telemetry/gpu_names.h"

#include <gtest/gtest.h>

#include "analysis/telemetry/moment.h"

namespace ergometer::analysis {
namespace {

run::Device named_gpu(const std::string& host, int64_t index, int64_t rank) {
  run::Device gpu;
  gpu.host = host;
  gpu.index = index;
  gpu.rank = rank;
  return gpu;
}

TEST(GpuNames, HostAndIndexWhereThereAreSeveralHosts) {
  run::DeviceLog log;
  log.devices = {named_gpu("node-1", 5, 5), named_gpu("node-3", 5, 13)};
  EXPECT_EQ(GpuNames(log).of(log.devices[1]), "node-3 gpu 5");
  EXPECT_EQ(GpuNames(log).in_table(log.devices[1]), "node-3 gpu 5");
  EXPECT_EQ(GpuNames(log, true).of(log.devices[1]), "node-3 gpu 5 (rank 13)");
  log.devices[1].index = -1;
  EXPECT_EQ(GpuNames(log).of(log.devices[1]), "node-3 rank 13");
  log.devices[1].uuid = "GPU-f4a2";
  EXPECT_EQ(GpuNames(log).of(log.devices[1]), "node-3 GPU-f4a2");
}

TEST(GpuNames, OneHostNeedsNoName) {
  run::DeviceLog log;
  log.devices = {named_gpu("node-1", 5, 5)};
  EXPECT_EQ(GpuNames(log).of(log.devices[0]), "GPU 5");
  EXPECT_EQ(GpuNames(log).in_table(log.devices[0]), "5");
  log.devices = {named_gpu("", 5, 5)};  // a simulated Run's
  EXPECT_EQ(GpuNames(log).of(log.devices[0]), "rank 5's GPU");
  EXPECT_EQ(begin_sentence(GpuNames(log).of(log.devices[0])), "Rank 5's GPU");
  EXPECT_EQ(begin_sentence("node-3 gpu 5"), "node-3 gpu 5");
}

TEST(GpuNames, FilesThatStandForHosts) {
  run::DeviceLog log;
  log.devices = {named_gpu("a/n1.csv", 0, 0), named_gpu("a/n2.csv", 0, 1)};
  EXPECT_EQ(GpuNames(log).of(log.devices[1]), "n2.csv gpu 0");
  log.devices = {named_gpu("n1/gpu.csv", 0, 0), named_gpu("n2/gpu.csv", 0, 1)};
  EXPECT_EQ(GpuNames(log).of(log.devices[1]), "n2/gpu.csv gpu 0");
}

// 1,689,329,566 s are 19,552 days of 86,400 s and 36,766 s; day 19,552 is 2023-07-14.
TEST(Moment, CalendarOrSeconds) {
  EXPECT_EQ(format_moment(1'689'329'566'483'000'000), "2023-07-14 10:12:46.483 UTC");
  EXPECT_EQ(format_moment(1'709'164'800'000'000'000), "2024-02-29 00:00:00.000 UTC");
  EXPECT_EQ(format_moment(2'500'000'000), "2.50 s");
}

}  // namespace
}  // namespace ergometer::analysis

#include <gtest/gtest.h>

#include "record/proc/proc_text.h"
#include "record/test_support.h"

namespace ergometer::record {
namespace {

using run::Metric;

TEST(CpuTime, IdleAndWaitingForADiskAreNotBusy) {
  // user nice system idle iowait irq softirq steal guest guest_nice
  const auto time = cpu_time("cpu  100 20 30 700 50 1 2 3 40 5\ncpu0 1 2 3\n");
  ASSERT_TRUE(time);
  EXPECT_EQ(time->all, 906);  // guests are within user and nice
  EXPECT_EQ(time->busy, 156);
  EXPECT_FALSE(cpu_time("cpu0 1 2 3 4 5 6 7 8\n"));
  EXPECT_FALSE(cpu_time("cpu  1 2 3\n"));
}

TEST(BusyPercent, BetweenTwoLooks) {
  EXPECT_EQ(busy_percent({.busy = 10, .all = 100}, {.busy = 30, .all = 180}), 25);
  EXPECT_FALSE(busy_percent({.busy = 10, .all = 100}, {.busy = 10, .all = 100}));
  EXPECT_EQ(busy_percent({.busy = 10, .all = 100}, {.busy = 9, .all = 110}), 0);
}

TEST(MemoryUsed, WhatIsNotAvailable) {
  EXPECT_EQ(memory_used("MemTotal:  1000 kB\nMemFree:  10 kB\nMemAvailable:  400 kB\n"),
            600 * 1024.0);
  EXPECT_FALSE(memory_used("MemTotal:  1000 kB\nMemFree:  10 kB\n"));
}

TEST(Proc, OfTheNode) {
  const FakeTree tree;
  tree.write("proc/stat", "cpu  100 0 0 900 0 0 0 0 0 0\n");
  tree.write("proc/loadavg", "12.50 3.00 1.00 5/900 1234\n");
  tree.write("proc/meminfo", "MemTotal:  1000 kB\nMemFree:  10 kB\nMemAvailable:  400 kB\n");
  const auto source = open_proc(tree.options());
  ASSERT_TRUE(source);
  EXPECT_EQ((*source)->devices()[0].kind, run::DeviceKind::kNode);
  EXPECT_EQ(look(**source), (Look{{{0, Metric::kLoad}, 12.5}, {{0, Metric::kMemoryUsed}, 614400}}));
  tree.write("proc/stat", "cpu  175 0 0 925 0 0 0 0 0 0\n");
  EXPECT_EQ((look(**source)[{0, Metric::kCpuUtilization}]), 75);
}

TEST(Proc, OnlyWhatIsThere) {
  const FakeTree tree;
  EXPECT_FALSE(open_proc(tree.options()));
  tree.write("proc/loadavg", "1.00 3.00 1.00 5/900 1234\n");
  const auto source = open_proc(tree.options());
  ASSERT_TRUE(source);
  EXPECT_EQ((*source)->metrics().size(), 1U);
}

}  // namespace
}  // namespace ergometer::record

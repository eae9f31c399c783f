#include <gtest/gtest.h>

#include "base/test_support.h"
#include "cli/record/record_live.h"
#include "cli/record/record_options.h"
#include "cli/record/record_overhead.h"

namespace ergometer::cli {
namespace {

Result<RecordOptions> read(const std::vector<std::string>& words) {
  ERGOMETER_ASSIGN(const Arguments arguments, parse_arguments(*find_command("record"), words));
  return read_record_options(arguments);
}

std::string error(const std::vector<std::string>& words) { return base::error_of(read(words)); }

TEST(RecordOptions, TheCommandKeepsItsOwnOptions) {
  const auto options =
      read({"--hz", "20", "--", "python", "--hz", "3", "--lr_decay=1", "--", "-x"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->hz, 20);
  EXPECT_EQ(options->command,
            (std::vector<std::string>{"python", "--hz", "3", "--lr_decay=1", "--", "-x"}));
  EXPECT_NE(error({"python", "train.py"}).find("unexpected argument 'python'"), std::string::npos);
  EXPECT_NE(error({"--out", "--", "true"}).find("--out needs a value"), std::string::npos);
}

TEST(RecordOptions, TimesAreReadAsTheyAreWritten) {
  EXPECT_EQ(read({"--duration", "90"})->duration_s, 90);
  EXPECT_EQ(read({"--duration", "0.5s"})->duration_s, 0.5);
  EXPECT_EQ(read({"--duration", "10m"})->duration_s, 600);
  EXPECT_EQ(read({"--duration", "10 min"})->duration_s, 600);
  EXPECT_EQ(read({"--duration", "2h"})->duration_s, 7200);
  for (const char* wrong : {"", "0", "-1s", "10 W", "soon", "m"})
    EXPECT_NE(error({"--duration", wrong}).find("is not a length of time"), std::string::npos)
        << wrong;
}

TEST(RecordOptions, ListsAreChecked) {
  const auto options = read({"--metrics", "power,sm_clock", "--gpus", "0,3", "--source",
                             "nvml,rapl", "--tag", "run=a", "--tag", "note=b c"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->sources.metrics,
            (std::vector<run::Metric>{run::Metric::kPower, run::Metric::kSmClock}));
  EXPECT_EQ(options->gpus, (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(options->wanted, (std::vector<std::string>{"nvml", "rapl"}));
  ASSERT_EQ(options->tags.size(), 2u);
  EXPECT_EQ(options->tags[1].key, "tag.note");
  EXPECT_EQ(options->tags[1].value, "b c");
  EXPECT_NE(error({"--metrics", "powr"}).find("did you mean power?"), std::string::npos);
  EXPECT_NE(error({"--source", "nvlm"}).find("did you mean nvml?"), std::string::npos);
  EXPECT_NE(error({"--gpus", "0,GPU1"}).find("'GPU1' is not the index"), std::string::npos);
  EXPECT_NE(error({"--tag", "baseline"}).find("not of the form KEY=VALUE"), std::string::npos);
  EXPECT_NE(error({"--hz", "2000"}).find("from 0.1 to 1000"), std::string::npos);
}

TEST(RecordOptions, WhatDoesNotGoTogetherIsRefused) {
  EXPECT_NE(error({"--attach", "1", "--", "true"}).find("exclude each other"), std::string::npos);
  EXPECT_NE(error({"--json", "--", "true"}).find("share standard output"), std::string::npos);
  EXPECT_EQ(error({"--json", "--self-test", "--", "true"}), "");
  EXPECT_NE(error({"--repeats", "3"}).find("goes with --self-test"), std::string::npos);
  EXPECT_NE(error({"--replay-speed", "3"}).find("goes with --replay"), std::string::npos);
}

TEST(SelfTest, TheChangeHasAnIntervalOfStudentsT) {
  // Differences 0.1, 0.3, 0.2: mean 0.2, standard deviation 0.1, t(2) = 4.303:
  // half width 4.303 * 0.1 / sqrt(3) = 0.2484; in percent of 10.
  const Change change = change_of({10, 9, 11}, {10.1, 9.3, 11.2});
  EXPECT_NEAR(change.mean_without_s, 10, 1e-12);
  EXPECT_NEAR(change.percent, 2, 1e-9);
  EXPECT_NEAR(change.low_percent, 2 - 2.484, 1e-3);
  EXPECT_NEAR(change.high_percent, 2 + 2.484, 1e-3);
}

TEST(LiveTable, ShowsGpusAndWithoutThemNodes) {
  record::Snapshot snapshot;
  run::Device node, gpu;
  node.kind = run::DeviceKind::kNode;
  gpu.index = 3;
  snapshot.add_device(node);
  snapshot.set(0, run::Metric::kPower, {1, 3456});
  EXPECT_NE(live_table(snapshot.look()).find("node       3456 W"), std::string::npos);
  snapshot.add_device(gpu);
  snapshot.set(1, run::Metric::kInstantPower, {1, 612.4});
  snapshot.set(1, run::Metric::kGpuTemperature, {1, 71});
  snapshot.set(1, run::Metric::kSmClock, {1, 1695});
  snapshot.set(1, run::Metric::kEventReasons, {1, 0x24});
  const std::string table = live_table(snapshot.look());
  EXPECT_EQ(table,
            "            power    temp     clock    busy  clock event reasons\n"
            "gpu 3       612 W    71 C  1695 MHz       -  sw_power_cap sw_thermal_slowdown\n");
}

}  // namespace
}  // namespace ergometer::cli

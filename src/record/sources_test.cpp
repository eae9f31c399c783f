#include "record/sources.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "record/test_support.h"
#include "run/run.h"

namespace ergometer::record {
namespace {

using run::Metric;

const Source* find(const Sources& sources, std::string_view name) {
  for (const auto& source : sources.open)
    if (source->name() == name) return source.get();
  return nullptr;
}

std::string why_missing(const Sources& sources, std::string_view name) {
  for (const Sources::Missing& missing : sources.missing)
    if (missing.name == name) return missing.why;
  return "";
}

/// No GPU driver, whatever machine this runs on.
SourceOptions without_gpus(const FakeTree& tree) {
  SourceOptions options = tree.options();
  options.nvml_libraries = options.amd_smi_libraries =
      options.rocm_smi_libraries = {"/nonexistent.so"};
  return options;
}

void add_node(const FakeTree& tree) {
  tree.write("proc/loadavg", "1.0 1.0 1.0 1/1 1\n");
  tree.write("sys/class/hwmon/hwmon0/name", "power_meter\n");
  tree.write("sys/class/hwmon/hwmon0/power1_average", "500000000\n");
  tree.write("sys/class/hwmon/hwmon1/name", "coretemp\n");
  tree.write("sys/class/hwmon/hwmon1/temp1_label", "Package id 0\n");
  tree.write("sys/class/hwmon/hwmon1/temp1_input", "50000\n");
}

bool gives(const Source& source, Metric metric) {
  const auto metrics = source.metrics();
  return std::find(metrics.begin(), metrics.end(), metric) != metrics.end();
}

TEST(OpenSources, EveryOneOpensOrSaysWhyNot) {
  const FakeTree tree;
  add_node(tree);
  const auto sources = open_sources(without_gpus(tree));
  ASSERT_TRUE(sources);
  EXPECT_NE(find(*sources, "proc"), nullptr);
  ASSERT_NE(find(*sources, "hwmon"), nullptr);
  EXPECT_TRUE(gives(*find(*sources, "hwmon"), Metric::kPower));
  for (const char* name : {"nvml", "amd", "rapl", "redfish", "ipmi", "infiniband", "ethernet"})
    EXPECT_FALSE(why_missing(*sources, name).empty()) << name;
}

TEST(OpenSources, TheNodesPowerComesFromOneOfThem) {
  const FakeTree tree;
  add_node(tree);
  tree.write("ipmitool", "#!/bin/sh\necho 'Instantaneous power reading: 510 Watts'\n");
  std::filesystem::permissions(tree.path("ipmitool"), std::filesystem::perms::owner_all);
  SourceOptions options = without_gpus(tree);
  options.ipmitool = tree.path("ipmitool");
  const auto sources = open_sources(options);
  ASSERT_TRUE(sources);
  ASSERT_NE(find(*sources, "ipmi"), nullptr);
  ASSERT_NE(find(*sources, "hwmon"), nullptr);
  EXPECT_FALSE(gives(*find(*sources, "hwmon"), Metric::kPower));
  EXPECT_TRUE(gives(*find(*sources, "hwmon"), Metric::kCpuTemperature));
}

TEST(OpenSources, ARunThatIsPlayedBackIsAlone) {
  const FakeTree tree;
  add_node(tree);
  run::Run run;
  run.telemetry.push_back({.time_ns = 1, .rank = 0, .power_w = 300});
  ASSERT_TRUE(run::write_run(run, tree.path("run.db")));
  SourceOptions options = without_gpus(tree);
  options.replay = tree.path("run.db");
  const auto sources = open_sources(options);
  ASSERT_TRUE(sources);
  ASSERT_EQ(sources->open.size(), 1U);
  EXPECT_EQ(sources->open[0]->name(), "replay");
}

TEST(OpenSources, AnOptionThatCannotBeUsedIsAnInputError) {
  const FakeTree tree;
  SourceOptions options = without_gpus(tree);
  options.redfish = "bmc";
  const auto sources = open_sources(options);
  ASSERT_FALSE(sources);
  EXPECT_EQ(sources.error().kind, base::ErrorKind::kInput);
}

TEST(OpenSources, OnlyWhatIsAskedFor) {
  const FakeTree tree;
  add_node(tree);
  SourceOptions options = without_gpus(tree);
  options.metrics = {Metric::kLoad};
  const auto sources = open_sources(options);
  ASSERT_TRUE(sources);
  ASSERT_EQ(sources->open.size(), 1U);
  EXPECT_EQ(sources->open[0]->name(), "proc");
  EXPECT_EQ(why_missing(*sources, "hwmon"), "gives none of the metrics asked for");
}

}  // namespace
}  // namespace ergometer::record

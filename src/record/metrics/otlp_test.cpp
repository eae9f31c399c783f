#include "record/metrics/otlp.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "import/telemetry/telemetry.h"
#include "record/clock.h"
#include "record/files/make_device.h"
#include "record/metrics/metric_names.h"

namespace ergometer::record {
namespace {

using run::DeviceKind;
using run::Metric;

std::vector<Snapshot::Latest> gpu_and_port() {
  Snapshot snapshot;
  run::Device gpu = make_device(DeviceKind::kGpu, "NVIDIA H200", 2, "GPU-2");
  gpu.host = "node1";
  run::Device port = make_device(DeviceKind::kPort, "mlx5_0", 0, "");
  port.host = "node1";
  const size_t at = snapshot.add_device(gpu);
  snapshot.set(at, Metric::kPower, {1, 612.5});
  snapshot.set(at, Metric::kSmClock, {1, 1980});
  snapshot.set(at, Metric::kEnergy, {1, 1234.5});
  snapshot.set(at, Metric::kEventReasons, {1, 0x44});
  snapshot.set(snapshot.add_device(port), Metric::kNetSent, {1, 5e9});
  return snapshot.look();
}

std::string document(const std::vector<run::TrainingStep>& steps = {}) {
  return otlp_metrics(gpu_and_port(), steps, {"node1", "job7"}, 0);
}

TEST(OtlpMetrics, AsTheProtocolWritesThem) {
  const auto json = nlohmann::json::parse(document());
  const auto& resource = json["resourceMetrics"][0];
  EXPECT_EQ(resource["resource"]["attributes"][1]["value"]["stringValue"], "node1");
  EXPECT_EQ(resource["resource"]["attributes"][2]["value"]["stringValue"], "job7");
  const auto& metrics = resource["scopeMetrics"][0]["metrics"];
  EXPECT_EQ(metrics[0]["name"], "ergometer.gpu.power");
  EXPECT_EQ(metrics[0]["unit"], "W");
  const auto& point = metrics[0]["gauge"]["dataPoints"][0];
  EXPECT_EQ(point["asDouble"], 612.5);
  EXPECT_TRUE(point["timeUnixNano"].is_string());
  EXPECT_EQ(point["attributes"][0],
            nlohmann::json::parse(R"({"key":"gpu","value":{"stringValue":"2"}})"));
  EXPECT_EQ(metrics[1]["name"], "ergometer.gpu.energy");
  EXPECT_EQ(metrics[1]["sum"]["aggregationTemporality"], 2);
  EXPECT_EQ(metrics[1]["sum"]["isMonotonic"], true);
  EXPECT_EQ(metrics[2]["gauge"]["dataPoints"][0]["asDouble"], 1980e6);
}

/// And the names of /metrics, with Prometheus' "_total" for a counter, tell the metric again.
TEST(OtlpMetrics, EveryMetricHasANameOfItsOwn) {
  std::set<std::string> names;
  for (size_t m = 0; m < static_cast<size_t>(Metric::kCount); ++m) {
    const auto metric = static_cast<Metric>(m);
    const run::OtlpName name = run::otlp_name(DeviceKind::kGpu, metric);
    EXPECT_TRUE(names.insert(name.name).second) << name.name;
    const auto found = run::own_family_of(run::own_family(DeviceKind::kGpu, metric) + "_total");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->metric, metric);
  }
}

TEST(OtlpMetrics, ReadBackTheyAreTheReadings) {
  const auto log =
      importer::parse_telemetry(document({{7, 0.25, 3'000'000'000, 812.5}}), "o.json", {});
  ASSERT_TRUE(log) << log.error().message;
  ASSERT_EQ(log->devices.size(), 2U);
  const run::Device& gpu = log->devices[0];
  EXPECT_EQ(gpu.index, 2);
  EXPECT_EQ(gpu.name, "NVIDIA H200");
  EXPECT_EQ(gpu.find(Metric::kPower)->samples.at(0).value, 612.5);
  EXPECT_EQ(gpu.find(Metric::kSmClock)->samples.at(0).value, 1980);
  EXPECT_EQ(gpu.find(Metric::kEventReasons)->samples.at(0).value, 0x44);
  EXPECT_EQ(log->devices[1].name, "mlx5_0");
  EXPECT_EQ(log->devices[1].find(Metric::kNetSent)->samples.at(0).value, 5e9);
  ASSERT_EQ(log->training.size(), 1U);
  const run::TrainingStep& step = log->training[0].steps.at(0);
  EXPECT_EQ(step.number, 7);
  EXPECT_EQ(step.seconds, 0.25);
  EXPECT_EQ(step.end_ns, 3'000'000'000);
  EXPECT_EQ(step.tokens_per_s_per_gpu, 812.5);
}

TEST(OtlpMetrics, WhatIsOldIsLeftOut) {
  const std::string text =
      otlp_metrics(gpu_and_port(), {}, {"node1", ""}, now_ns() + 1'000'000'000);
  EXPECT_EQ(text.find("ergometer.gpu"), std::string::npos);
}

}  // namespace
}  // namespace ergometer::record

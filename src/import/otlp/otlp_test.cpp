#include <gtest/gtest.h>

#include "base/test_support.h"
#include "import/otlp/otlp_steps.h"
#include "import/telemetry/telemetry.h"

namespace ergometer::importer {
namespace {

run::DeviceLog told(std::string_view text) {
  return base::value_of(parse_telemetry(text, "told.jsonl", {}));
}

/// A request with one metric of one point.
std::string metric(const std::string& name, const std::string& unit, const std::string& attributes,
                   int64_t time_s, const std::string& value, const std::string& kind = "gauge") {
  return R"({"resourceMetrics":[{"resource":{"attributes":[{"key":"host.name","value":{"stringValue":"node1"}}]},)"
         R"("scopeMetrics":[{"metrics":[{"name":")" +
         name + R"(","unit":")" + unit + R"(",")" + kind + R"(":{"dataPoints":[{"timeUnixNano":")" +
         std::to_string(time_s) + R"(000000000",)" + value + R"(,"attributes":[)" + attributes +
         "]}]}}]}]}]}\n";
}

std::string key_value(const std::string& key, const std::string& value) {
  return R"({"key":")" + key + R"(","value":{"stringValue":")" + value + R"("}})";
}

std::string span(const std::string& name, int64_t start_ms, int64_t end_ms,
                 const std::string& attributes = "") {
  return R"({"resourceSpans":[{"scopeSpans":[{"spans":[{"name":")" + name +
         R"(","startTimeUnixNano":")" + std::to_string(start_ms) +
         R"(000000","endTimeUnixNano":")" + std::to_string(end_ms) + R"(000000","attributes":[)" +
         attributes + "]}]}]}]}\n";
}

TEST(Otlp, OurOwnNamesAreReadings) {
  const std::string gpu = key_value("gpu", "3") + "," + key_value("uuid", "GPU-3");
  const run::DeviceLog log =
      told(metric("ergometer.gpu.power", "W", gpu, 10, R"("asDouble":612.5)") +
           metric("ergometer.gpu.utilization", "1", gpu, 10, R"("asDouble":0.98)") +
           metric("ergometer.gpu.energy", "J", gpu, 10, R"("asInt":"1234")", "sum") +
           metric("ergometer.gpu.clock_event_reason", "",
                  gpu + "," + key_value("reason", "sw_power_cap"), 10, R"("asDouble":1)") +
           metric("ergometer.gpu.clock_event_reason", "",
                  gpu + "," + key_value("reason", "gpu_idle"), 10, R"("asDouble":0)"));
  ASSERT_EQ(log.devices.size(), 1U);
  const run::Device& device = log.devices[0];
  EXPECT_EQ(device.host, "node1");
  EXPECT_EQ(device.index, 3);
  EXPECT_EQ(device.uuid, "GPU-3");
  const auto value = [&](run::Metric of) { return device.find(of)->samples.at(0).value; };
  EXPECT_EQ(value(run::Metric::kPower), 612.5);
  EXPECT_EQ(device.find(run::Metric::kPower)->samples[0].time_ns, 10'000'000'000);
  EXPECT_EQ(value(run::Metric::kGpuUtilization), 98);
  EXPECT_EQ(value(run::Metric::kEnergy), 1234);
  EXPECT_EQ(value(run::Metric::kEventReasons), 4);
}

/// A collector that asks two nodes puts its own name into the resource.
TEST(Otlp, APointsOwnHostHolds) {
  const auto of = [](const char* host, const char* value) {
    return metric("ergometer.gpu.power", "W", key_value("gpu", "0") + "," + key_value("host", host),
                  10, std::string("\"asDouble\":") + value);
  };
  const run::DeviceLog log = told(of("node7", "500") + of("node8", "600"));
  ASSERT_EQ(log.devices.size(), 2U);
  EXPECT_EQ(log.devices[0].host, "node7");
  EXPECT_EQ(log.devices[1].host, "node8");
}

/// A sum in "1" is a count: 40 replays.
TEST(Otlp, OfSumsOneIsNoRatio) {
  const run::DeviceLog log = told(metric("ergometer.gpu.pcie_replays", "1", key_value("gpu", "0"),
                                         10, R"("asInt":"40")", "sum"));
  ASSERT_EQ(log.devices.size(), 1U);
  const run::Series* const replays = log.devices[0].find(run::Metric::kPcieReplays);
  ASSERT_NE(replays, nullptr);
  EXPECT_EQ(replays->samples.at(0).value, 40);
}

TEST(Otlp, SpansOfIterationsAreSteps) {
  const auto number = [](const char* n) { return key_value("iteration", n); };
  const run::DeviceLog log =
      told(span("training_single_iteration", 1000, 1250, number("7")) +
           span("training_single_iteration", 1001, 1251, number("7")) +  // of another rank
           span("checkpoint_save_sync", 1250, 1400) +
           span("training_single_iteration", 1400, 1700, number("8")));
  ASSERT_EQ(log.training.size(), 1U);
  const auto& steps = log.training[0].steps;
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].number, 7);
  EXPECT_DOUBLE_EQ(steps[0].seconds, 0.25);
  EXPECT_EQ(steps[0].end_ns, 1'250'000'000);
  EXPECT_EQ(steps[1].number, 8);
  EXPECT_DOUBLE_EQ(steps[1].seconds, 0.3);
}

TEST(Otlp, SpansWithoutNumbersAreCounted) {
  const run::DeviceLog log = told(span("training_single_iteration", 1000, 1250) +
                                  span("training_single_iteration", 1005, 1255) +
                                  span("training_single_iteration", 1255, 1500));
  ASSERT_EQ(log.training.size(), 1U);
  ASSERT_EQ(log.training[0].steps.size(), 2U);
  EXPECT_EQ(log.training[0].steps[1].number, 2);
}

/// Nor are numbers that nobody counts to believed: behind the largest there is no next one.
TEST(Otlp, NumbersOfNoStepAreCountedInstead) {
  const run::DeviceLog log = told(
      span("training_single_iteration", 1000, 1250, key_value("iteration", "9223372036854775807")) +
      span("training_single_iteration", 1255, 1500));
  ASSERT_EQ(log.training.size(), 1U);
  ASSERT_EQ(log.training[0].steps.size(), 2U);
  EXPECT_EQ(log.training[0].steps[0].number, 1);
  EXPECT_EQ(log.training[0].steps[1].number, 2);
}

TEST(Otlp, MetricsOfStepsByTheirNames) {
  // Megatron-LM's and NeMo's, in seconds and in milliseconds.
  const run::DeviceLog own = told(
      metric("iteration-time", "ms", key_value("iteration", "4"), 20, R"("asDouble":250)") +
      metric("train_step_timing in s", "", key_value("global_step", "5"), 21, R"("asDouble":0.5)"));
  ASSERT_EQ(own.training.size(), 1U);
  ASSERT_EQ(own.training[0].steps.size(), 2U);
  EXPECT_EQ(own.training[0].steps[0].number, 4);
  EXPECT_DOUBLE_EQ(own.training[0].steps[0].seconds, 0.25);
  EXPECT_EQ(own.training[0].steps[1].number, 5);
  EXPECT_DOUBLE_EQ(own.training[0].steps[1].seconds, 0.5);
}

/// Counts go up: ten iterations in 5,000 ms are 0.5 s each.
TEST(Otlp, CountsOfIterationsAndTheirTime) {
  const auto at = [](int64_t time_s, const char* count, const char* ms) {
    const std::string both =
        metric("train_iterations_end", "", "", time_s, std::string("\"asInt\":\"") + count + "\"");
    std::string other = metric("train_iterations_time_msecs_total", "", "", time_s,
                               std::string("\"asDouble\":") + ms);
    // Of one document, as both are written at once.
    const size_t first = both.find("{\"name\""), end = both.find("]}]}]}\n", first);
    const size_t from = other.find("{\"name\""), to = other.find("]}]}]}\n", from);
    return both.substr(0, end) + "," + other.substr(from, to - from) + both.substr(end);
  };
  const run::DeviceLog log = told(at(30, "100", "60000") + at(35, "110", "65000"));
  ASSERT_EQ(log.training.size(), 1U);
  ASSERT_EQ(log.training[0].steps.size(), 1U);
  EXPECT_EQ(log.training[0].steps[0].number, 110);
  EXPECT_DOUBLE_EQ(log.training[0].steps[0].seconds, 0.5);
}

TEST(Otlp, WhatIsWrongIsNamed) {
  const auto error = [](const std::string& text) {
    return base::error_of(parse_telemetry(text, "told.jsonl", {}));
  };
  const std::string good = span("training_single_iteration", 1, 2);
  EXPECT_EQ(
      error(good + span("x", 3, 2)),
      "told.jsonl:2: found span 'x' without a start, or that ends before it, allowed: \"name\", "
      "\"startTimeUnixNano\" and a later \"endTimeUnixNano\"");
  EXPECT_EQ(error(metric("a", "", "", 1, R"("asDouble":{})")),
            "told.jsonl:1: found a point of 'a' without a value, allowed: \"asDouble\" or "
            "\"asInt\": a number");
}

}  // namespace
}  // namespace ergometer::importer

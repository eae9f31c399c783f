#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "base/test_support.h"
#include "report/measured/telemetry_csv.h"
#include "report/summary/example_run.h"
#include "report/summary/power_text.h"
#include "report/summary/summary_json.h"
#include "report/timeline/trace.h"

namespace ergometer::report {
namespace {

using Json = nlohmann::json;

run::Run powered_run() {
  run::Run run = example_run();
  add_example_power(run);
  return run;
}

std::string written(const char* name,
                    const std::function<Result<void>(const std::string&)>& write) {
  const base::TestFolder temporary;
  EXPECT_TRUE(write(temporary.path(name)));
  return temporary.bytes(name);
}

TEST(Power, TheHeaderSaysWhatWasAskedFor) {
  run::Run run = powered_run();
  run.job_json = R"({"model": {"name": "tiny"}, "conditions": {"clocks": "governed",
    "power_cap_w": 500, "lock_clock_mhz": null, "cooling": "liquid", "inlet_c": 35, "fan": 0.5,
    "seed": 0, "operand_activity": 1, "duration_s": 600, "cluster_cap_w": null, "pue": 1,
    "power_smoothing": null, "overrides": [{"text": "node0.fan=40%"}, {"text": "gpu1.speed=80%"}]}})";
  EXPECT_NE(summary_text(run, {.colour = false, .unicode = false})
                .find("\nliquid cooling, inlet 35 C, fans 50 %, power cap 500 W, 600 s from a cold "
                      "start,\nnode0.fan=40%, gpu1.speed=80%\n"),
            std::string::npos);
}

TEST(Power, TheBlockSaysWhatSmoothingBurns) {
  run::Run run = powered_run();
  run.cluster_power.smoothing_burnt_w = 1250;
  const TextStyle style{.colour = false, .unicode = false};
  EXPECT_EQ(power_text(run, style).find("smoothing"), std::string::npos);
  run.job_json = R"({"conditions": {"power_smoothing": {"floor": 0.9}}})";
  EXPECT_NE(power_text(run, style).find("  smoothing    burns 1.25 kW, all GPUs together\n"),
            std::string::npos);
}

// 3200 W over two nodes.
TEST(Power, TheBlockSaysWhatItDrawsAndHowHotItGets) {
  EXPECT_EQ(power_text(powered_run(), {.colour = false, .unicode = false}),
            R"(Power and heat
  GPU          612 W mean, 680 W at the 95th percentile, 698 W peak; mean 580 W
               to 645 W (90 %)
  at the plug  1.60 kW a node, 3.20 kW the cluster, 3.60 kW at its peak; 1.40 kW
               to 1.80 kW a node (90 %), 3.84 kW with the building
  whole run    1.35 kW a node, 2.70 kW the cluster, over 6.67 min: training 75.0
               % at 3.20 kW, pauses 25.0 % at 1.20 kW
  energy       3.20 kJ a step, 20.5 tokens/J; 2.70 kJ to 3.90 kJ a step (90 %)
  temperature  65.2 C mean, 79.5 C hottest (75 to 84 C, 90 %); front row 57.2 C,
               rear 73.0 C; HBM 84.0 C; inlet 25.0 C, fans 75 %
  clock        1,740 MHz mean, 1,650 MHz the slowest GPU
  limit        power: the cap holds clocks below 1980 MHz 25.0 % of the time
)");
}

TEST(Power, GpusThatNobodyMeasuredAreNamedBesideOthers) {
  run::Run run = powered_run();
  const auto says = [&](const char* cluster, const char* words) {
    run.job_json = cluster;
    const std::string text = power_text(run, {.colour = false, .unicode = false});
    std::string joined;
    for (size_t i = 0; i < text.size(); ++i)
      if (text[i] != '\n' && (text[i] != ' ' || text[i - 1] != ' ')) joined += text[i];
    return joined.find(words) != std::string::npos;
  };
  EXPECT_TRUE(says(R"({"cluster": {"gpu": "L4", "gpu_power_assumed": true}})",
                   "; what it draws for its work is assumed"));
  EXPECT_TRUE(says(R"({"cluster": {"gpu": "H100", "groups": [{"gpu": "H100"},
                       {"gpu": "L4", "gpu_power_assumed": true}]}})",
                   "; what L4 draws for its work is assumed"));
  EXPECT_FALSE(says(R"({"cluster": {"gpu": "H100"}})", "is assumed"));
}

TEST(Power, ALineForEveryRank) {
  EXPECT_EQ(rank_power_text(powered_run(), {.colour = false, .unicode = false}),
            R"(   Rank  node  slot     power     peak      GPU  hottest      clock  throttled
      0     0     0     600 W    690 W   60.5 C   63.0 C   1755 MHz      0.0 %
      3     1     1     625 W    698 W   76.2 C   79.5 C   1650 MHz     75.0 %
)");
}

TEST(Power, WhereNothingIsKnownNothingIsSaid) {
  EXPECT_EQ(power_text(example_run(), {}), "");
  EXPECT_EQ(rank_power_text(example_run(), {}), "");
  const Json document = Json::parse(summary_json(example_run(), true));
  for (const char* group : {"power", "thermal", "cluster_power"})
    EXPECT_FALSE(document.contains(group)) << group;
  EXPECT_FALSE(document.at("ranks").at(0).contains("mean_power_w"));
}

TEST(Power, JsonHasTheContractsNames) {
  const Json document = Json::parse(summary_json(powered_run(), true));
  const Json& power = document.at("power");
  EXPECT_EQ(power.at("mean_w_per_gpu"), 612.5);
  EXPECT_EQ(power.at("p95_w_per_gpu"), 680);
  EXPECT_EQ(power.at("peak_w_per_gpu"), 698);
  EXPECT_EQ(power.at("cluster_mean_w"), 3200);
  EXPECT_EQ(power.at("cluster_peak_w"), 3600);
  EXPECT_EQ(power.at("energy_j_per_step"), 3200);
  EXPECT_EQ(power.at("tokens_per_j"), 20.48);
  EXPECT_EQ(power.at("mean_w_per_gpu_low"), 580);
  EXPECT_EQ(power.at("gpu_parts_w").at("tensor"), 300);
  EXPECT_EQ(power.at("node_parts_w").at("fans"), 175);
  const Json& thermal = document.at("thermal");
  EXPECT_EQ(thermal.at("mean_gpu_c"), 65.25);
  EXPECT_EQ(thermal.at("max_gpu_c"), 79.5);
  EXPECT_EQ(thermal.at("spread_c"), 15.75);
  EXPECT_EQ(thermal.at("throttled_time_fraction"), 0.375);
  EXPECT_EQ(thermal.at("mean_clock_mhz"), 1740);
  EXPECT_EQ(thermal.at("event_shares").at("sw_thermal_slowdown"), 0.125);
  const Json& rank = document.at("ranks").at(1);
  for (const char* name : {"rank", "node", "slot", "stage", "mean_power_w", "peak_power_w",
                           "mean_gpu_c", "max_gpu_c", "mean_clock_mhz", "throttled_time_fraction"})
    EXPECT_TRUE(rank.contains(name)) << name;
  EXPECT_EQ(rank.at("throttled_time_fraction"), 0.75);
}

TEST(Power, JsonHasTheClustersPowerOverTime) {
  run::Run run = powered_run();
  const Json cluster = Json::parse(summary_json(run, false)).at("cluster_power");
  EXPECT_EQ(cluster.at("peak_w"), 3600);
  EXPECT_EQ(cluster.at("interval_s"), 0.25);
  EXPECT_EQ(cluster.at("ramps").at(0).at("up_w_per_s"), 4000);
  EXPECT_EQ(cluster.at("bands").at(1).at("rms_w"), 120);
  EXPECT_EQ(cluster.at("watts"), Json::parse("[3600, 3600, 3000, 2600]"));
  run.cluster_power.watts.assign(4097, 1.0);
  const Json longer = Json::parse(summary_json(run, false)).at("cluster_power");
  EXPECT_EQ(longer.at("samples"), 4097);
  EXPECT_FALSE(longer.contains("watts"));
}

TEST(Telemetry, IsALineForEveryReading) {
  EXPECT_EQ(written("ergometer-telemetry-",
                    [](const auto& path) { return write_telemetry(powered_run(), path); }),
            "time_ns,rank,power_w,average_power_w,gpu_c,memory_c,sm_clock_mhz,event_reasons\n"
            "0,0,600,590,60,68,1755,0\n"
            "100000000,0,640,595,61,68,1740,4\n"
            "200000000,0,640,600,61,69,1755,0\n");
}

/// Values of one counter in order of time.
std::vector<double> counter(const Json& trace, int pid, const std::string& name) {
  std::vector<double> values;
  for (const Json& event : trace.at("traceEvents"))
    if (event.at("ph") == "C" && event.at("pid") == pid && event.at("name") == name)
      values.push_back(event.at("args").begin()->get<double>());
  return values;
}

// Readings that repeat are left out: 640 W stands once.
TEST(Trace, TelemetryBecomesCounters) {
  const Json trace = Json::parse(written(
      "ergometer-counters-", [](const auto& path) { return write_trace(powered_run(), path); }));
  using Values = std::vector<double>;
  EXPECT_EQ(counter(trace, 0, "power"), (Values{600, 640}));
  EXPECT_EQ(counter(trace, 0, "temperature GPU"), (Values{60, 61}));
  EXPECT_EQ(counter(trace, 0, "temperature HBM"), (Values{68, 69}));
  EXPECT_EQ(counter(trace, 0, "SM clock"), (Values{1755, 1740, 1755}));
  EXPECT_EQ(counter(trace, 0, "sw_power_cap"), (Values{0, 1, 0}));
  EXPECT_TRUE(counter(trace, 0, "sw_thermal_slowdown").empty());
  // Four GPUs: the cluster is process 4.
  EXPECT_EQ(counter(trace, 4, "power at the plug"), (Values{3600, 3000, 2600}));
}

}  // namespace
}  // namespace ergometer::report

#include "analysis/findings/run_findings.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ergometer::analysis {
namespace {

/// A step of 10 s: 5 s of compute, 1 s of all-gathers, 0.5 s of optimizer, 3.5 s idle, of which 3 s
/// are the pipeline's bubble.
run::Run predicted_run() {
  run::Run run;
  run.has_power = true;
  run.performance.step_time_s = 10;
  run.performance.pipeline_bubble_fraction = 0.3;
  run.performance.breakdown_s = {
      .compute = 5, .exposed_all_gather = 1, .optimizer = 0.5, .idle = 3.5};
  run.power.step_energy = {
      {"phase", "recompute", 900, 700, 1.25},         {"collective", "compute", 5000, 4000, 5},
      {"collective", "tp all_gather", 100, 30, 0.75}, {"collective", "dp all_gather", 50, 20, 0.25},
      {"collective", "optimizer", 60, 40, 0.5},       {"collective", "idle", 350, 0, 3.5}};
  run.thermal.throttling_cost_s = 0.2;
  run.thermal.throttled_time_fraction = 0.4;
  // A clock that was asked for holds none down.
  run.thermal.event_shares = {
      {"applications_clocks_setting", 0.6}, {"sw_power_cap", 0.3}, {"hw_thermal_slowdown", 0.1}};
  return run;
}

const Finding* named(const std::vector<Finding>& findings, const char* name) {
  const auto found = std::find_if(findings.begin(), findings.end(),
                                  [&](const Finding& f) { return f.name == name; });
  return found == findings.end() ? nullptr : &*found;
}

// All-gathers keep GPUs waiting for 100 - 30 + 50 - 20 = 100 J; of the 350 J of idle time the
// bubble has 3 s of 3.5.
TEST(RunFindings, CostWhatTheRunSays) {
  const std::vector<Finding> findings = run_findings(predicted_run());
  const auto expect = [&](const char* name, double seconds, std::optional<double> joules) {
    const Finding* const f = named(findings, name);
    ASSERT_NE(f, nullptr) << name;
    EXPECT_DOUBLE_EQ(f->cost_s, seconds) << name;
    EXPECT_DOUBLE_EQ(*f->step_s, seconds) << name;
    EXPECT_DOUBLE_EQ(f->fraction, seconds / 10) << name;
    ASSERT_EQ(f->step_j.has_value(), joules.has_value()) << name;
    if (joules) {
      EXPECT_DOUBLE_EQ(*f->step_j, *joules) << name;
    }
    EXPECT_EQ(f->confidence, "predicted");
  };
  expect("pipeline_bubble", 3, 300);
  expect("recomputation", 1.25, 900);
  expect("exposed_all_gather", 1, 100);
  expect("optimizer", 0.5, 60);
  expect("late_launch", 0.5, 50);
  expect("throttling", 0.2, std::nullopt);
  EXPECT_EQ(findings.size(), 6u);
  EXPECT_EQ(findings.front().name, "pipeline_bubble");
  EXPECT_NE(named(findings, "throttling")->what.find("sw_power_cap"), std::string::npos);
}

// A check is a command that its reader can paste.
TEST(RunFindings, CheckWithTheCommandThatTheRunCameFrom) {
  run::Run run = predicted_run();
  EXPECT_EQ(named(run_findings(run), "pipeline_bubble")->check,
            "ergometer simulate MODEL --cluster CLUSTER --explain pipeline_bubble_fraction");
  run.facts["command"] = "ergometer simulate job.yaml --pp 8";
  EXPECT_EQ(named(run_findings(run), "pipeline_bubble")->check,
            "ergometer simulate job.yaml --pp 8 --explain pipeline_bubble_fraction");
}

// What is on already, or is over groups of one rank, is no advice.
TEST(RunFindings, AdviseWhatTheJobDoesNotDo) {
  run::Run run = predicted_run();
  const auto advice = [&](const char* name) {
    const std::vector<Finding> findings = run_findings(run);
    return named(findings, name)->try_next;
  };
  EXPECT_EQ(
      advice("exposed_all_gather"),
      "a smaller tensor-parallel group, --tp-comm-overlap, weights gathered beside the forward "
      "(--overlap-param-gather).");
  EXPECT_NE(advice("optimizer").find("--zero 1"), std::string::npos);
  EXPECT_EQ(advice("throttling").find("a higher power limit"), 0u);
  run.job_json = R"({"parallelism": {"tp": 1, "dp": 8, "zero": 1},
      "training": {"overlap_param_gather": true}, "conditions": {"power_cap_w": null}})";
  EXPECT_EQ(advice("exposed_all_gather").find("equal work"), 0u);
  EXPECT_EQ(advice("optimizer"), "a larger global batch.");
  EXPECT_EQ(advice("throttling").find("accept it"), 0u);
  run.job_json = R"({"parallelism": {"tp": 4, "dp": 8, "zero": 0},
      "training": {"overlap_param_gather": false, "tp_comm_overlap": true},
      "conditions": {"power_cap_w": 500}})";
  EXPECT_EQ(advice("exposed_all_gather"),
            "a smaller tensor-parallel group, weights gathered beside the forward "
            "(--overlap-param-gather).");
  EXPECT_NE(advice("optimizer").find("--zero 1"), std::string::npos);
  EXPECT_EQ(advice("throttling").find("raise the cap"), 0u);
}

// The cap holds for three seconds of four and takes 100 MHz, heat for one and takes 1000: 300 MHz s
// beside 1000. A cap that stands beside heat holds below it.
TEST(RunFindings, ThrottlingIsByWhatCostsMostClock) {
  run::Run run = predicted_run();
  run.thermal.event_shares = {{"sw_power_cap", 0.75}, {"sw_thermal_slowdown", 0.25}};
  const auto at = [&](double mhz, int64_t reasons) {
    run.telemetry.push_back({.sm_clock_mhz = mhz, .event_reasons = reasons});
  };
  at(1980, 0);
  for (int i = 0; i < 3; ++i) at(1880, 0x4);
  at(980, 0x20);
  EXPECT_NE(named(run_findings(run), "throttling")->what.find("sw_thermal_slowdown"),
            std::string::npos);
  run.telemetry.back().event_reasons = 0x24;
  EXPECT_NE(named(run_findings(run), "throttling")->what.find("sw_power_cap"), std::string::npos);
  // Telemetry of ranks that heat does not hold says nothing of what heat costs.
  run.thermal.event_shares = {{"sw_power_cap", 0.25}, {"sw_thermal_slowdown", 0.75}};
  EXPECT_NE(named(run_findings(run), "throttling")->what.find("sw_thermal_slowdown"),
            std::string::npos);
}

TEST(RunFindings, ACapOfTheJobIsCalledItsCap) {
  run::Run run = predicted_run();
  run.thermal.mean_clock_mhz = 1065;
  run.job_json = R"({"conditions": {"power_cap_w": 300}})";
  run.facts["command"] = "ergometer simulate job.yaml --power-cap 300 --pp 8";
  const std::vector<Finding> findings = run_findings(run);
  const Finding* const f = named(findings, "throttling");
  EXPECT_EQ(f->what,
            "The power cap of 300 W that this job sets holds GPUs below the clock asked for 40.0 % "
            "of the time, at 1065 MHz in the mean. At the clock asked for a step would take 200 ms "
            "less.");
  EXPECT_EQ(f->try_next,
            "raise the cap: up to 200 ms (2.00 %) of a step, at more power; keep it where work per "
            "joule counts more than time.");
  EXPECT_EQ(f->check, "ergometer simulate job.yaml --power-cap 300 --pp 8 --power-cap W");
  run.job_json = R"({"conditions": {"power_cap_w": null, "cluster_cap_w": 40000}})";
  EXPECT_EQ(named(run_findings(run), "throttling")->try_next.find("a higher power limit"), 0u);
  // What the board takes anyway is nobody's cap.
  run.job_json = R"({"conditions": {"power_cap_w": 700, "power_cap_is_board_limit": true}})";
  EXPECT_EQ(named(run_findings(run), "throttling")->try_next.find("accept it: this is the board's"),
            0u);
}

TEST(RunFindings, WithoutPowerHaveNoJoules) {
  run::Run run = predicted_run();
  run.has_power = false;
  run.power = {};
  const std::vector<Finding> findings = run_findings(run);
  EXPECT_EQ(named(findings, "throttling"), nullptr);
  for (const Finding& f : findings) EXPECT_FALSE(f.step_j.has_value()) << f.name;
}

TEST(RunFindings, NameTheSlowestRank) {
  run::Run run = predicted_run();
  run.thermal.straggler_cost_s = 1;
  run.thermal.mean_clock_mhz = 1500;
  run.ranks.resize(2);
  run.ranks[0].mean_clock_mhz = 1900;
  run.ranks[1].rank = 9;
  run.ranks[1].mean_clock_mhz = 1100;
  const std::vector<Finding> findings = run_findings(run);
  const Finding* const f = named(findings, "straggler");
  ASSERT_NE(f, nullptr);
  EXPECT_NE(f->what.find("rank 9 "), std::string::npos) << f->what;
  EXPECT_NE(f->what.find("1100 MHz"), std::string::npos) << f->what;
}

// 10 s as played, 7.5 s with even routing.
TEST(RunFindings, UnevenExpertsCostTheDifferenceToEvenOnes) {
  run::Run run = predicted_run();
  run.experts = {{"--moe-routing zipf:1", 10, 1.8, 2.5}, {"--moe-routing even", 7.5}};
  const std::vector<Finding> findings = run_findings(run);
  const Finding* const f = named(findings, "uneven_experts");
  ASSERT_NE(f, nullptr);
  EXPECT_DOUBLE_EQ(f->cost_s, 2.5);
  EXPECT_NE(f->what.find("1.80 times an even share"), std::string::npos);
  EXPECT_EQ(named(run_findings(predicted_run()), "uneven_experts"), nullptr);
}

// 10 s as played, 9 s with its work in equal parts.
TEST(RunFindings, UnevenDocumentsCostTheDifferenceToEqualWork) {
  run::Run run = predicted_run();
  run.sequences.resize(2);
  run.sequences[0] = {.setting = "--sequence-lengths uniform:1-9",
                      .step_time_s = 10,
                      .waiting_fraction = 0.08,
                      .slowest_load = 1.25};
  run.sequences[1] = {.setting = "micro batches of equal work", .step_time_s = 9};
  const std::vector<Finding> findings = run_findings(run);
  const Finding* const f = named(findings, "sequence_length_imbalance");
  ASSERT_NE(f, nullptr);
  EXPECT_DOUBLE_EQ(f->cost_s, 1);
  EXPECT_NE(f->what.find("1.25 times the mean"), std::string::npos);
  // Balancing is no advice where no row is without it.
  EXPECT_EQ(f->try_next.find("--sequence-order"), std::string::npos);
  run.sequences.push_back({.setting = "--sequence-order length-balanced", .step_time_s = 9.5});
  const std::vector<Finding> unbalanced = run_findings(run);
  EXPECT_NE(named(unbalanced, "sequence_length_imbalance")->try_next.find("--sequence-order"),
            std::string::npos);
  EXPECT_EQ(named(run_findings(predicted_run()), "sequence_length_imbalance"), nullptr);
}

}  // namespace
}  // namespace ergometer::analysis

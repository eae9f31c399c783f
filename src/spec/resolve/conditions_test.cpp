#include <gtest/gtest.h>

#include <string>

#include "base/test_support.h"
#include "spec/job/overrides.h"
#include "spec/resolve/test_jobs.h"

namespace ergometer::spec {
namespace {

/// Two nodes of four GPUs: clocks 345 to 1980 MHz in steps of 15, caps 200 to 700 W, air or liquid.
constexpr std::string_view kTwoNodes =
    R"({name: two, nodes: 2, fabric: {kind: single-switch, collectives: ib-400g}, node: {name: mine, gpus: 4,
  intra: {kind: nvlink-switch, bandwidth: 450 GB/s}, collectives: hopper-nvlink,
  nics: [{bandwidth: 400 Gb/s, gpus: [0, 1, 2, 3]}],
  gpu: {name: X1, vendor: y, architecture: hopper, kernels: hopper, parameters: {sm_count: 100,
    memory: 80 GB, memory_bandwidth: 3 TB/s, boost_clock: 1.8 GHz, sustained_clock: 1.5 GHz,
    peak_fp16: 900 TFLOP/s, peak_bf16: 900 TFLOP/s, tdp: 700 W, clock_min: 345 MHz, clock_max: 1980 MHz,
    clock_step: 15 MHz, power_cap_min: 200 W, power_cap_max: 700 W, power.constant: 60 W}},
  coolings: {air: COOLING, liquid: COOLING}}})";
constexpr std::string_view kCooling =
    R"({parameters: {die_capacity: 1 J/K, spreader_capacity: 9 J/K,
  sink_capacity: 400 J/K, memory_capacity: 30 J/K, die_resistance: 0.02 K/W,
  spreader_resistance: 0.01 K/W, memory_resistance: 0.03 K/W, sink_resistance: 0.01 K/W,
  film_resistance: 0.02 K/W, preheat: 0.01 K/W, inlet: 25 C}})";

std::string cluster_text() {
  std::string text(kTwoNodes);
  for (size_t at = text.find("COOLING"); at != text.npos; at = text.find("COOLING"))
    text.replace(at, 7, kCooling);
  return text;
}

Settings job_with(const test::Values& flags) {
  return test::settings_of({{"model", "llama3-8b"}, {"cluster", cluster_text()}, {"gpus", "8"}},
                           flags);
}

Conditions conditions(const test::Values& flags) {
  return test::job_of(job_with(flags)).conditions;
}

std::string conditions_error(const test::Values& flags) {
  return base::error_of(resolve(job_with(flags)));
}

TEST(Conditions, TheDefaultIsTheSteadyStateOfNominalChipsAsBuilt) {
  const Conditions c = conditions({});
  EXPECT_FALSE(c.constant_clocks);
  EXPECT_EQ(c.power_cap_w, 0);
  EXPECT_EQ(c.cooling, Cooling::kAir);
  EXPECT_FALSE(c.has_inlet);
  EXPECT_EQ(c.duration_s, 0);
  EXPECT_EQ(c.operand_activity, 1);
  EXPECT_EQ(c.pue, 1);
  EXPECT_TRUE(c.overrides.empty());
}

TEST(Conditions, PlainNumbersAreInTheUnitOfTheFlag) {
  const Conditions c = conditions({{"power-cap", "400"},
                                   {"lock-clock", "1200"},
                                   {"inlet-c", "35"},
                                   {"fan", "50"},
                                   {"duration", "600"},
                                   {"start-c", "30"},
                                   {"cluster-cap", "40000"}});
  EXPECT_EQ(c.power_cap_w, 400);
  EXPECT_EQ(c.lock_clock_hz, 1200e6);
  EXPECT_EQ(c.inlet_c, 35);
  EXPECT_TRUE(c.has_inlet);
  EXPECT_EQ(c.fan, 0.5);
  EXPECT_EQ(c.duration_s, 600);
  EXPECT_EQ(c.start_c, 30);
  EXPECT_EQ(c.cluster_cap_w, 40000);
}

TEST(Conditions, UnitsMayBeWritten) {
  const Conditions c = conditions({{"power-cap", "0.4 kW"},
                                   {"lock-clock", "1.2GHz"},
                                   {"fan", "50%"},
                                   {"duration", "10min"},
                                   {"cluster-cap", "2.5MW"},
                                   {"cooling", "liquid"},
                                   {"seed", "7"},
                                   {"operand-activity", "0"},
                                   {"pue", "1.25"}});
  EXPECT_EQ(c.power_cap_w, 400);
  EXPECT_EQ(c.lock_clock_hz, 1200e6);
  EXPECT_EQ(c.fan, 0.5);
  EXPECT_EQ(c.duration_s, 600);
  EXPECT_EQ(c.cluster_cap_w, 2.5e6);
  EXPECT_EQ(c.cooling, Cooling::kLiquid);
  EXPECT_EQ(c.seed, 7u);
  EXPECT_EQ(c.operand_activity, 0);
  EXPECT_EQ(c.pue, 1.25);
}

// 345 + 57 x 15 = 1200, 345 + 56 x 15 = 1185.
TEST(Conditions, ALockedClockIsRoundedDownToTheLatticeAndSaysSo) {
  EXPECT_EQ(conditions({{"lock-clock", "1199"}}).lock_clock_hz, 1185e6);
  EXPECT_EQ(conditions({{"lock-clock", "1980"}}).lock_clock_hz, 1980e6);
  const auto job = resolve(job_with({{"lock-clock", "1199"}}));
  EXPECT_EQ(job->origins.at("lock_clock").text,
            "--lock-clock, 1199 MHz rounded down to the GPU's clocks");
}

TEST(Conditions, LimitsAreTheGpus) {
  EXPECT_EQ(conditions_error({{"power-cap", "150"}}),
            "--power-cap 150: X1 allows from 200 to 700 W");
  EXPECT_EQ(conditions_error({{"power-cap", "9 kW"}}),
            "--power-cap: found \"9 kW\"; allowed: from 0 to 5000 W");
  EXPECT_EQ(conditions_error({{"power-cap", "400 MHz"}}),
            "--power-cap: found \"400 MHz\"; allowed: from 0 to 5000 W");
  for (const char* cap : {"0", "1", "199"})
    EXPECT_EQ(conditions_error({{"power-cap", cap}}),
              "--power-cap " + std::string(cap) + ": X1 allows from 200 to 700 W");
  EXPECT_EQ(conditions_error({{"lock-clock", "2 GHz"}}),
            "--lock-clock 2 GHz: X1 allows from 345 to 1980 MHz");
  EXPECT_EQ(conditions_error({{"inlet-c", "warm"}}),
            "--inlet-c: found \"warm\"; allowed: from -20 to 80 C");
  EXPECT_EQ(conditions_error({{"fan", "0.1"}}),
            "--fan: found \"0.1\"; allowed: from 1 to 100 %, or auto");
  EXPECT_EQ(conditions_error({{"duration", "forever"}}),
            "--duration: found \"forever\"; allowed: from 0.001 to 2.592e+06 s, written like 90s, "
            "30min, 12h, 60d or 6 weeks");
  EXPECT_EQ(conditions_error({{"cooling", "immersion"}}),
            "--cooling immersion: mine is cooled by air or liquid");
}

TEST(Conditions, Contradictions) {
  EXPECT_EQ(conditions_error({{"steady", "true"}, {"duration", "10min"}}),
            "--steady contradicts --duration 10min; leave one out");
  EXPECT_EQ(conditions_error({{"measured-step", "11"}, {"duration", "10min"}}),
            "--measured-step 11 contradicts --duration 10min; leave one out");
  EXPECT_EQ(conditions_error({{"steady", "false"}}),
            "--steady false needs --duration or --measured-step");
  EXPECT_EQ(conditions_error({{"start-c", "30"}}),
            "--start-c 30 needs --duration or --measured-step: the steady state has no start");
  EXPECT_EQ(conditions_error({{"clocks", "constant"}, {"power-cap", "400"}}),
            "--power-cap 400 contradicts --clocks constant; leave one out");
  EXPECT_EQ(conditions_error({{"clocks", "constant"}, {"override", "node0.fan=50%"}}),
            "--override node0.fan=50% contradicts --clocks constant; leave one out");
  EXPECT_EQ(conditions_error({{"clocks", "constant"}, {"override", "gpu0.speed=80%"}}), "");
}

TEST(Conditions, ASettingWithoutEffectIsRefused) {
  EXPECT_EQ(
      conditions_error({{"cluster",
                         "{gpus: 8, intra: {kind: pcie, bandwidth: 10 GB/s}, collectives: "
                         "pcie-gen4, nics: [{bandwidth: 400 Gb/s, gpus: [0,1,2,3,4,5,6,7]}], "
                         "gpu: {name: Old, vendor: y, architecture: volta, kernels: volta, "
                         "parameters: {sm_count: 80, memory: 16 GB, memory_bandwidth: 900 GB/s, "
                         "boost_clock: 1.5 GHz, sustained_clock: 1.3 GHz, peak_fp16: 125 TFLOP/s, "
                         "tdp: 300 W}}}"},
                        {"power-cap", "250"}}),
      "--power-cap 250 has no effect: nothing is known of the power of Old");
}

TEST(Override, NodeAndGpuAreOptional) {
  const Override both = *parse_override("node3.gpu5.power_cap=400W");
  EXPECT_EQ(both.node, 3);
  EXPECT_EQ(both.gpu, 5);
  EXPECT_EQ(both.kind, OverrideKind::kPowerCap);
  EXPECT_EQ(both.value, 400);
  EXPECT_EQ(both.text, "node3.gpu5.power_cap=400W");
  const Override node = *parse_override("node2.inlet=35C");
  EXPECT_EQ(node.node, 2);
  EXPECT_EQ(node.gpu, -1);
  EXPECT_EQ(node.value, 35);
  const Override gpu = *parse_override("gpu1.lock_clock=1200MHz");
  EXPECT_EQ(gpu.node, -1);
  EXPECT_EQ(gpu.gpu, 1);
  EXPECT_EQ(gpu.value, 1200e6);
}

TEST(Override, WhatIsLeftOutIsEveryNodeOrGpu) {
  const auto said = [](const char* text) { return *parse_override(text); };
  const Override every = said("speed=50%"), node = said("node2.speed=50%"),
                 index = said("gpu5.speed=50%"), both = said("node2.gpu5.speed=50%");
  EXPECT_TRUE(every.is_of(0, 0) && every.is_of_node(7));
  EXPECT_TRUE(node.is_of(2, 0) && node.is_of_node(2));
  EXPECT_FALSE(node.is_of(1, 0) || node.is_of_node(1));
  EXPECT_TRUE(index.is_of(0, 5) && index.is_of_node(0));
  EXPECT_FALSE(index.is_of(0, 4));
  EXPECT_TRUE(both.is_of(2, 5) && both.is_of_node(2));
  EXPECT_FALSE(both.is_of(2, 4) || both.is_of(1, 5) || both.is_of_node(1));
}

TEST(Override, ARankIsFoundOnTheGpuThatTheMapGivesIt) {
  Job job;
  job.cluster.node.gpus = 4;
  const Override one = *parse_override("node1.gpu2.speed=50%");
  EXPECT_TRUE(is_of_rank(one, job, 6));  // 6 = 1 x 4 + 2
  job.parallelism.rank_map = {6, 1, 2, 3, 4, 5, 0, 7};
  EXPECT_TRUE(is_of_rank(one, job, 0));
  EXPECT_FALSE(is_of_rank(one, job, 6));
}

TEST(Override, TheSameTargetMayHaveAnotherValueAndText) {
  const Override one = *parse_override("node1.gpu2.speed=50%");
  EXPECT_TRUE(one.same_target(*parse_override("node1.gpu2.speed=0.6")));
  for (const char* other : {"gpu2.speed=50%", "node1.speed=50%", "node1.gpu2.nic=50%"})
    EXPECT_FALSE(one.same_target(*parse_override(other))) << other;
}

TEST(Override, EveryWordHasItsUnitAndMayGoWithout) {
  const auto value = [](std::string_view text) { return parse_override(text)->value; };
  EXPECT_EQ(value("node3.gpu5.power_cap=400"), 400);
  EXPECT_EQ(value("gpu1.lock_clock=1200"), 1200e6);
  EXPECT_EQ(value("node3.power_brake=on"), 1);
  EXPECT_EQ(value("node3.power_brake=off"), 0);
  EXPECT_EQ(value("node0.fan=50%"), 0.5);
  EXPECT_EQ(value("node0.fan=50"), 0.5);
  EXPECT_EQ(value("node0.blocked_inlet=40%"), 0.4);
  EXPECT_EQ(value("node0.gpu2.speed=80%"), 0.8);
  EXPECT_EQ(value("node0.gpu2.speed=0.8"), 0.8);
  EXPECT_EQ(value("node0.gpu2.resistance=1.5"), 1.5);
  EXPECT_EQ(value("node0.gpu2.leakage=1.2"), 1.2);
  EXPECT_EQ(value("node0.gpu2.link=50%"), 0.5);
  EXPECT_EQ(value("node0.gpu2.nic=25%"), 0.25);
}

TEST(Override, MessagesSayWhatIsWrong) {
  const auto message = [](std::string_view text) { return parse_override(text).error().message; };
  const std::string known =
      "it is one of power_cap, lock_clock, speed, power_brake, inlet, fan, blocked_inlet, "
      "resistance, leakage, link, nic";
  EXPECT_EQ(message("node0.fam=50%"),
            "\"node0.fam=50%\": fam is not known; did you mean fan?; " + known);
  EXPECT_EQ(message("node0.gpu1.colour=red"),
            "\"node0.gpu1.colour=red\": colour is not known; " + known);
  EXPECT_EQ(
      message("nod0.fan=50%"),
      "\"nod0.fan=50%\": nod0 is neither a node nor a GPU; the form is node3.gpu5.power_cap or "
      "node3.inlet");
  EXPECT_EQ(message("gpu1.node0.speed=1"),
            "\"gpu1.node0.speed=1\": node0 is neither a node nor a GPU; the form is "
            "node3.gpu5.power_cap or node3.inlet");
  EXPECT_EQ(message("node0.fan"),
            "\"node0.fan\": lacks a value; the form is node3.gpu5.power_cap=400W");
  EXPECT_EQ(message("node0.gpu1.inlet=30"),
            "\"node0.gpu1.inlet=30\": inlet belongs to a whole node, not to one GPU");
  EXPECT_EQ(message("gpu1.speed=120%"),
            "\"gpu1.speed=120%\": found \"120%\"; allowed: from 0.01 to 1");
  EXPECT_EQ(message("gpu1.power_brake=maybe"),
            "\"gpu1.power_brake=maybe\": found \"maybe\"; allowed: on, off");
  EXPECT_EQ(message("gpu1.power_cap=400C"),
            "\"gpu1.power_cap=400C\": found \"400C\"; allowed: from 10 to 5000 W");
}

TEST(Override, TheJobMustHaveTheNodeAndTheGpu) {
  EXPECT_EQ(conditions_error({{"override", "node2.fan=50%"}}),
            "--override: \"node2.fan=50%\": the job has node0 to node1");
  EXPECT_EQ(conditions_error({{"gpus", "2"}, {"override", "node0.gpu2.speed=50%"}}),
            "--override: \"node0.gpu2.speed=50%\": node0 has gpu0 to gpu1 in this job");
  EXPECT_EQ(conditions_error({{"override", "gpu4.speed=50%"}}),
            "--override: \"gpu4.speed=50%\": a node has gpu0 to gpu3 in this job");
  EXPECT_EQ(conditions_error({{"override", "gpu1.power_cap=900"}}),
            "--override: \"gpu1.power_cap=900\": X1 allows from 200 to 700 W");
  EXPECT_EQ(conditions_error({{"override", "gpu1.speed=50%,gpu1.speed=60%"}}),
            "--override: \"gpu1.speed=60%\" contradicts \"gpu1.speed=50%\"; leave one out");
  EXPECT_EQ(conditions({{"override", "gpu1.speed=50%,node0.gpu1.lock_clock=1199"}})
                .overrides.back()
                .value,
            1185e6);
}

TEST(RunPhases, PartsInAnyOrder) {
  const RunPhases run =
      conditions({{"run-phases", "pause=1min,eval-every=100,eval-batches=10,steps=1000"}}).run;
  EXPECT_EQ(run.steps, 1000);
  EXPECT_EQ(run.eval_every, 100);
  EXPECT_EQ(run.eval_from, 100);  // as every, unless said
  EXPECT_EQ(run.eval_batches, 10);
  EXPECT_EQ(run.pause_s, 60);
  EXPECT_EQ(conditions({{"run-phases", "length=2h"}}).run.length_s, 7200);
  EXPECT_FALSE(conditions({}).run.given());
}

TEST(RunPhases, SayWhatIsWrong) {
  const auto error = [](const char* text) { return conditions_error({{"run-phases", text}}); };
  EXPECT_EQ(error("pause=1min"),
            "--run-phases: lacks how long the run is: steps=1000 or length=2h");
  EXPECT_EQ(error("steps=10,length=2h"),
            "--run-phases: steps and length both say how long the run is; leave one out");
  EXPECT_EQ(error("steps=10,eval-every=5"),
            "--run-phases: eval-every and eval-batches go together");
  EXPECT_EQ(error("steps=10,eval-from=5"), "--run-phases: eval-from needs eval-every");
  EXPECT_EQ(error("length=60,pause=1min"), "--run-phases: pause is as long as the run");
  EXPECT_EQ(error("step=10"),
            "--run-phases: step is not known; did you mean steps?; it is one of steps, length, "
            "eval-every, eval-from, eval-batches, eval-pause, pause");
  EXPECT_EQ(error("1000"),
            "--run-phases: found \"1000\"; the form is "
            "steps=1000,eval-every=100,eval-batches=10,pause=1min");
  EXPECT_EQ(conditions_error({{"run-phases", "steps=10"}, {"duration", "10min"}}),
            "--run-phases steps=10 contradicts --duration 10min; leave one out");
}

TEST(PowerSmoothing, PartsInAnyOrder) {
  const Conditions c =
      conditions({{"power-smoothing", "up=50W/s,floor=0.8,hysteresis=2s,down=0.1kW/s"}});
  EXPECT_EQ(c.smoothing_floor, 0.8);
  EXPECT_EQ(c.smoothing_up_w_per_s, 50);
  EXPECT_EQ(c.smoothing_down_w_per_s, 100);
  EXPECT_EQ(c.smoothing_hysteresis_s, 2);
  EXPECT_EQ(conditions({{"power-smoothing", "floor=80%,hysteresis=2s"}}).smoothing_floor, 0.8);
  EXPECT_EQ(conditions_error({{"power-smoothing", "floor=0.8"}}),
            "--power-smoothing: a floor alone changes nothing, for it is let go of at once; add "
            "hysteresis=2s or down=50W/s, such as floor=0.8,hysteresis=2s");
  EXPECT_EQ(conditions_error({{"power-smoothing", "floor=0.8,up=50kW/s"}}),
            "--power-smoothing: a floor with nothing but up changes nothing, for it is let go of "
            "at once; add hysteresis=2s or down=50W/s, such as floor=0.8,hysteresis=2s");
  EXPECT_EQ(conditions_error({{"power-smoothing", "up=50"}}),
            "--power-smoothing: lacks a floor, such as floor=0.8");
  EXPECT_EQ(conditions_error({{"power-smoothing", "flor=0.8"}}),
            "--power-smoothing: flor is not known; did you mean floor?; it is one of floor, up, "
            "down, hysteresis");
  EXPECT_EQ(conditions_error({{"power-smoothing", "floor=0.8,up=fast"}}),
            "--power-smoothing: up: found \"fast\"; allowed: from 0.1 to 1e+06 W/s");
  EXPECT_EQ(conditions_error({{"power-smoothing", "on"}}),
            "--power-smoothing: found \"on\"; the form is "
            "floor=0.8,up=50kW/s,down=50W/s,hysteresis=2s");
}

TEST(Conditions, AJobFileSaysTheSame) {
  auto settings = parse_job_file(
      "model: llama3-8b\ncluster: charllm-h200\ngpus: 8\nconditions:\n  seed: 3\n  pue: 1.2\n"
      "  override:\n    - gpu1.speed=50%\n    - node0.gpu2.nic=25%\n",
      "job.yaml");
  ASSERT_TRUE(settings) << settings.error().message;
  const auto job = resolve(*settings);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->conditions.seed, 3u);
  EXPECT_EQ(job->conditions.pue, 1.2);
  ASSERT_EQ(job->conditions.overrides.size(), 2u);
  EXPECT_EQ(job->conditions.overrides[1].kind, OverrideKind::kNic);
  settings->set("override", "node9.gpu1.speed=50%", Origin{"job.yaml:8", "conditions.override"});
  EXPECT_EQ(resolve(*settings).error().message,
            "job.yaml:8: conditions.override: \"node9.gpu1.speed=50%\": the job has node0 alone");
}

}  // namespace
}  // namespace ergometer::spec

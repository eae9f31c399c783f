// What holds for every job, tried on random ones of the catalog: parts add up, energy is power
// times time, more of something good is never worse.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/test_support.h"
#include "engine/simulate.h"
#include "engine/time/test_agreement.h"
#include "engine/time/test_job.h"

namespace ergometer::engine {
namespace {

using test::Random;
using test::Values;

/// Of each property.
int64_t jobs_wanted() { return base::random_cases(60); }

void choose_machine(Random& random, Values& values) {
  values.emplace_back(
      "model",
      random.of<std::string>({"gpt3-13b", "gpt3-175b", "llama3.1-8b", "llama3-70b", "llama3.1-405b",
                              "mixtral-8x7b", "mixtral-8x22b", "deepseek-v2", "deepseek-v3",
                              "nemotron-4-15b", "gemma2-27b", "falcon-40b", "gpt-oss-120b",
                              "nemotron-h-8b", "llama2-70b", "qwen3-30b-a3b"}));
  values.emplace_back(
      "cluster",
      random.of<std::string>({"selene", "h100-superpod", "charllm-h200", "gb200-nvl72", "hgx-b200",
                              "mi300x", "hgx-h100", "charllm-mi250", "hgx-h200", "dgx-a100"}));
  values.emplace_back(
      "gpus", random.of<std::string>({"1", "2", "4", "8", "8", "16", "16", "32", "64", "128"}));
}

void choose_layout(Random& random, Values& values) {
  values.emplace_back("tp", random.of<std::string>({"1", "2", "4", "8"}));
  values.emplace_back("pp", random.of<std::string>({"1", "1", "2", "4", "8"}));
  if (random.below(3) == 0) values.emplace_back("vpp", random.of<std::string>({"2", "4"}));
  if (random.below(4) == 0) values.emplace_back("cp", "2");
  if (random.below(3) == 0) values.emplace_back("ep", random.of<std::string>({"2", "4", "8"}));
  if (random.below(3) == 0)
    values.emplace_back("zero", random.of<std::string>({"0", "1", "2", "3"}));
  if (random.below(6) == 0)
    values.emplace_back("schedule",
                        random.of<std::string>({"gpipe", "zb-h1", "zb-h2", "looped-bfs", "zb-v",
                                                "v-half", "v-min", "dualpipe-v"}));
  values.emplace_back("mbs", random.of<std::string>({"1", "2", "4"}));
  values.emplace_back("ga", random.of<std::string>({"1", "2", "4", "8", "16"}));
  values.emplace_back("seq", random.of<std::string>({"1024", "2048", "4096", "8192"}));
}

void choose_training(Random& random, Values& values) {
  if (random.below(3) == 0)
    values.emplace_back("recompute", random.of<std::string>({"none", "selective", "full"}));
  for (const char* one :
       {"overlap_grad_reduce", "overlap_param_gather", "tp_comm_overlap", "overlap_p2p",
        "cuda_graphs", "sequence_parallel", "grad_reduce_in_bf16", "linear_cross_entropy_fusion"})
    if (random.below(5) == 0) values.emplace_back(one, random.of<std::string>({"true", "false"}));
  if (random.below(4) == 0)
    values.emplace_back("precision", random.of<std::string>({"fp16", "fp8", "fp8", "fp32"}));
  if (random.below(4) == 0)
    values.emplace_back("software", random.of<std::string>({"megatron-core-25", "torchtitan",
                                                            "mlperf-5.1", "nanotron"}));
  const int64_t task = random.below(10);
  if (task == 0) values.emplace_back("lora", "16");
  if (task == 1) values.emplace_back("mode", "prefill");
  if (task == 2) values.insert(values.end(), {{"mode", "decode"}, {"generate_tokens", "32"}});
}

void choose_conditions(Random& random, const spec::Gpu& gpu, Values& values) {
  if (random.below(4) == 0)
    values.emplace_back("power_cap",
                        fmt::format("{:.0f} W", random.of<double>({0.3, 0.45, 0.6, 0.75, 0.9}) *
                                                    gpu.parameters.at("tdp")));
  if (random.below(6) == 0)
    values.emplace_back("inlet_c", random.of<std::string>({"15", "30", "38"}));
  if (random.below(8) == 0)
    values.emplace_back("cooling", random.of<std::string>({"air", "liquid", "immersion"}));
  if (random.below(6) == 0) values.emplace_back("seed", "7");
}

/// Settings of a job that can be; most draws contradict themselves somewhere.
Values random_values(Random& random) {
  for (;;) {
    Values values;
    choose_machine(random, values);
    choose_layout(random, values);
    choose_training(random, values);
    const auto job = test::try_job_of(values);
    if (!job) continue;
    choose_conditions(random, job->cluster.node.gpu, values);
    if (test::try_job_of(values)) return values;
  }
}

/// As one would type it.
std::string typed(const Values& values) {
  std::string words = "ergometer simulate";
  for (const auto& [name, value] : values) {
    const bool is_switch = spec::find_setting(name)->kind == spec::SettingKind::kSwitch;
    words += is_switch ? fmt::format(" --{}{}", value == "true" ? "" : "no-", name)
                       : fmt::format(" --{} '{}'", name, value);
  }
  return words;
}

Values with(Values values, const std::string& name, const std::string& value) {
  std::erase_if(values, [&](const auto& one) { return one.first == name; });
  values.emplace_back(name, value);
  return values;
}

/// Nothing where clocks find no rest, which simulate says in words (docs/models/loop.md).
std::optional<run::Run> predicted(const spec::Job& job) {
  auto result = simulate(job, {.all_ranks = true});
  if (result) return *std::move(result);
  EXPECT_NE(result.error().message.find("find no rest"), std::string::npos)
      << result.error().message;
  return {};
}

double watts(const std::vector<run::PowerPart>& parts) {
  double sum = 0;
  for (const run::PowerPart& part : parts) sum += part.watts;
  return sum;
}

bool holds(const run::Interval& interval, double value) {
  return interval.low <= value * (1 + 1e-9) && value <= interval.high * (1 + 1e-9);
}

void expect_time_adds_up(const spec::Job& job, const run::Run& run) {
  const run::Performance& p = run.performance;
  ASSERT_GT(p.step_time_s, 0);
  EXPECT_NEAR(test::total(p.breakdown_s), p.step_time_s, 1e-6 * p.step_time_s);
  for (const run::Rank& rank : run.ranks)
    EXPECT_NEAR(test::total(rank.breakdown_s), p.step_time_s, 1e-6 * p.step_time_s)
        << "rank " << rank.rank;
  EXPECT_TRUE(holds({p.step_time_s_low, p.step_time_s_high}, p.step_time_s));
  // Both sides of attention's diagonal are counted by convention only.
  if (!job.training.attention_flops_full) {
    EXPECT_GE(p.hfu, p.mfu * (1 - 1e-9));
  }
  EXPECT_LE(p.hfu, 1);
}

void expect_power_adds_up(const spec::Job& job, const run::Run& run) {
  const run::Power& p = run.power;
  ASSERT_GT(p.mean_w_per_gpu, 0);
  // Less than a twentieth of the time may be all that is above the mean, as the loss of a prefill.
  EXPECT_LE(p.mean_w_per_gpu, (0.95 * p.p95_w_per_gpu + 0.05 * p.peak_w_per_gpu) * (1 + 1e-9));
  EXPECT_LE(p.p95_w_per_gpu, p.peak_w_per_gpu * (1 + 1e-9));
  EXPECT_LE(p.cluster_mean_w, p.cluster_peak_w * (1 + 1e-9));
  const double gpus = static_cast<double>(job.gpus), nodes = static_cast<double>(job.nodes());
  EXPECT_NEAR(p.gpu_energy_j_per_step * p.steps, p.mean_w_per_gpu * gpus * p.duration_s,
              1e-6 * p.gpu_energy_j_per_step * p.steps);
  EXPECT_NEAR(p.energy_j_per_step * p.steps, p.cluster_mean_w * p.duration_s,
              1e-6 * p.energy_j_per_step * p.steps);
  EXPECT_NEAR(watts(p.gpu_parts), p.mean_w_per_gpu, 1e-6 * p.mean_w_per_gpu);
  EXPECT_NEAR(watts(p.node_parts) * nodes, p.cluster_mean_w, 1e-6 * p.cluster_mean_w);
  EXPECT_GT(p.cluster_mean_w, p.mean_w_per_gpu * gpus);
  EXPECT_TRUE(holds(p.mean_interval_w, p.mean_w_per_gpu));
  EXPECT_TRUE(holds(p.peak_interval_w, p.peak_w_per_gpu));
  EXPECT_TRUE(holds(p.cluster_mean_interval_w, p.cluster_mean_w));
  EXPECT_TRUE(holds(p.energy_interval_j, p.energy_j_per_step));
  EXPECT_TRUE(holds(p.gpu_energy_interval_j, p.gpu_energy_j_per_step));
  double mean = 0, peak = 0;
  for (const run::Rank& rank : run.ranks) {
    mean += rank.mean_power_w / gpus;
    peak = std::max(peak, rank.peak_power_w);
    EXPECT_LE(rank.mean_gpu_c, rank.max_gpu_c + 1e-6);
  }
  EXPECT_NEAR(mean, p.mean_w_per_gpu, 1e-6 * mean);
  const run::Thermal& t = run.thermal;
  EXPECT_TRUE(holds(t.mean_interval_c, t.mean_gpu_c));
  EXPECT_TRUE(holds(t.clock_interval_mhz, t.mean_clock_mhz));
  EXPECT_LE(t.inlet_c, t.mean_gpu_c);
  EXPECT_LE(t.mean_gpu_c, t.max_gpu_c);
  EXPECT_LE(t.lowest_clock_mhz, t.mean_clock_mhz * (1 + 1e-9));
}

void expect_memory_adds_up(const run::Run& run) {
  const run::Memory& m = run.memory;
  const double sum =
      m.weights_bytes + m.gradients_bytes + m.optimizer_bytes + m.activations_bytes + m.other_bytes;
  EXPECT_NEAR(sum, m.peak_bytes, 1e-6 * m.peak_bytes);
  EXPECT_EQ(m.fits, m.fit_probability >= 0.5);
}

Values at_constant_clocks(Values values) {
  for (const char* condition : {"power_cap", "inlet_c", "cooling", "seed"})
    std::erase_if(values, [&](const auto& one) { return one.first == condition; });
  return with(std::move(values), "clocks", "constant");
}

void expect_links_carry(const run::Run& run) {
  for (const run::Link& link : run.links) {
    EXPECT_LE(link.utilization, 1 + 1e-9) << link.kind;
    EXPECT_LE(link.mean_gb_per_s, link.peak_gb_per_s * (1 + 1e-9)) << link.kind;
  }
}

/// Of nodes that have one card for all GPUs, stages that end within a node, rings across nodes.
Values on_shared_cards(Random& random, Values values) {
  for (const char* name : {"cluster", "gpus", "tp", "pp", "cp", "ga", "precision", "software"})
    std::erase_if(values, [&](const auto& one) { return one.first == name; });
  values.emplace_back("cluster", random.of<std::string>({"charllm-h100", "charllm-h200", "rtx-4090",
                                                         "a40", "charllm-mi250"}));
  values.emplace_back("gpus", random.of<std::string>({"4", "8", "16", "24", "32", "48"}));
  values.emplace_back("tp", random.of<std::string>({"1", "1", "2", "4"}));
  values.emplace_back("pp", random.of<std::string>({"1", "2", "2", "4"}));
  values.emplace_back("cp", random.of<std::string>({"1", "1", "2", "4", "8"}));
  values.emplace_back("ga", random.of<std::string>({"1", "2", "4"}));
  return at_constant_clocks(std::move(values));
}

/// Nothing sends more in a step than its line carries, nor more in the mean than at most.
TEST(AnyRandomJob, SendsNoMoreThanLinksCarry) {
  Random random(5);
  int64_t left = jobs_wanted();
  while (left > 0 && !HasFailure()) {
    const Values values = on_shared_cards(random, random_values(random));
    const auto job = test::try_job_of(values);
    if (!job) continue;
    --left;
    SCOPED_TRACE(typed(values));
    if (const auto run = predicted(*job)) expect_links_carry(*run);
  }
}

TEST(AnyRandomJob, AddsUp) {
  Random random(1);
  int64_t restless = 0;
  for (int64_t i = 0; i < jobs_wanted() && !HasFailure(); ++i) {
    const Values values = random_values(random);
    SCOPED_TRACE(typed(values));
    const spec::Job job = test::job_of(values);
    const auto run = predicted(job);
    if (!run) {
      ++restless;
      continue;
    }
    expect_time_adds_up(job, *run);
    expect_power_adds_up(job, *run);
    expect_memory_adds_up(*run);
  }
  EXPECT_LE(restless, jobs_wanted() / 500);
}

/// The same job with links of twice the rate: of the domain, or of the cards.
std::optional<Values> with_twice(const Values& values, const spec::Job& job, bool inside) {
  const spec::Node& node = job.cluster.node;
  double bytes_per_s = inside ? node.intra_bytes_per_s : 0;
  if (!inside)
    for (const spec::Nic& nic : node.nics) bytes_per_s += nic.bytes_per_s;
  if (bytes_per_s <= 0) return {};
  return with(values, "cluster",
              fmt::format("{{extends: {}, {}: {} GB/s}}", job.cluster.name,
                          inside ? "intra_bandwidth" : "node_bandwidth", 2 * bytes_per_s / 1e9));
}

/// How much slower a step may come out although something got better, as a share of it. A faster
/// collective takes more of the memory's rate, and of the domain's links, from what runs beside it,
/// for a shorter time: gathers that a layer waits for may lose what gradients behind it gain.
/// Clocks that follow power in bursts settle in ticks.
constexpr double kRounding = 6e-3, kClockRounding = 0.03;

void expect_no_slower(const Values& values, const Values& better, double rounding) {
  const auto before = predicted(test::job_of(values)), after = predicted(test::job_of(better));
  if (!before || !after) return;
  EXPECT_LE(after->performance.step_time_s, before->performance.step_time_s * (1 + rounding))
      << typed(better);
}

TEST(AnyRandomJob, IsNoSlowerWithMore) {
  Random random(2);
  for (int64_t i = 0; i < jobs_wanted() && !HasFailure(); ++i) {
    const Values values = random_values(random);
    SCOPED_TRACE(typed(values));
    const spec::Job job = test::job_of(values);
    for (const bool inside : {true, false})
      if (const auto twice = with_twice(values, job, inside)) {
        expect_no_slower(values, *twice, kClockRounding);
        expect_no_slower(at_constant_clocks(values), at_constant_clocks(*twice), kRounding);
      }
    if (const double cap_w = job.conditions.power_cap_w; cap_w > 0)
      expect_no_slower(values, with(values, "power_cap", fmt::format("{} W", 1.1 * cap_w)),
                       kClockRounding);
    if (job.conditions.has_inlet)
      expect_no_slower(values, with(values, "inlet_c", "12"), kClockRounding);
  }
}

/// Every micro batch played.
Result<Simulation> whole_step(const spec::Job& job) {
  return simulate_in_full(job, {.whole_step = true});
}

/// A step whose periods were left out is the step in which all were played, whatever it waits for:
/// times to rounding; what governors do of it, who decide in steps, nearly.
void expect_same_step(const Simulation& folded, const Simulation& whole) {
  const run::Performance &a = folded.run.performance, &b = whole.run.performance;
  const double step_s = b.step_time_s;
  EXPECT_NEAR(a.step_time_s, step_s, 1e-9 * step_s);
  EXPECT_NEAR(a.breakdown_s.compute, b.breakdown_s.compute, 1e-9 * step_s);
  EXPECT_NEAR(a.breakdown_s.exposed_all_reduce, b.breakdown_s.exposed_all_reduce, 1e-9 * step_s);
  EXPECT_NEAR(a.breakdown_s.exposed_all_to_all, b.breakdown_s.exposed_all_to_all, 1e-9 * step_s);
  EXPECT_NEAR(a.breakdown_s.exposed_send_recv, b.breakdown_s.exposed_send_recv, 1e-9 * step_s);
  EXPECT_NEAR(a.breakdown_s.idle, b.breakdown_s.idle, 1e-9 * step_s);
  EXPECT_NEAR(a.pipeline_bubble_fraction, b.pipeline_bubble_fraction, 1e-9);
  EXPECT_EQ(folded.run.limiter, whole.run.limiter);
  ASSERT_EQ(folded.run.links.size(), whole.run.links.size());
  for (size_t i = 0; i < whole.run.links.size(); ++i)
    EXPECT_NEAR(folded.run.links[i].bytes_per_step, whole.run.links[i].bytes_per_step,
                1e-9 * whole.run.links[i].bytes_per_step);
}

/// Governors decide in steps: what rounding changes may move a decision, and all that follows.
void expect_same_power(const Values& values) {
  const auto job = test::try_job_of(values);
  if (!job) return;
  const auto whole = whole_step(*job), folded = simulate_in_full(*job, {});
  if (!whole || !folded) return;
  EXPECT_NEAR(folded->run.performance.step_time_s, whole->run.performance.step_time_s,
              2e-3 * whole->run.performance.step_time_s);
  EXPECT_NEAR(folded->run.power.mean_w_per_gpu, whole->run.power.mean_w_per_gpu,
              2e-3 * whole->run.power.mean_w_per_gpu);
  EXPECT_NEAR(folded->run.thermal.mean_gpu_c, whole->run.thermal.mean_gpu_c, 0.3);
}

TEST(AnyRandomJob, IsTheSameWithPeriodsLeftOut) {
  Random random(4);
  const int64_t jobs = jobs_wanted();
  int64_t folded_jobs = 0;
  for (int64_t i = 0; i < jobs && !HasFailure(); ++i) {
    const Values drawn = random_values(random);
    const Values values = at_constant_clocks(
        with(drawn, "ga", random.of<std::string>({"40", "64", "96", "144", "240"})));
    SCOPED_TRACE(typed(values));
    const auto job = test::try_job_of(values);
    if (!job) continue;
    const auto folded = simulate_in_full(*job, {}), whole = whole_step(*job);
    ASSERT_TRUE(folded && whole);
    folded_jobs += folded->plan.periods_left_out > 0 ? 1 : 0;
    expect_same_step(*folded, *whole);
    if (i % 4 == 0) expect_same_power(with(drawn, "ga", "96"));
  }
  EXPECT_GT(folded_jobs, jobs / 2);
}

/// What needs less memory: shorter sequences, smaller micro batches, more computed again.
std::vector<Values> with_less(const Values& values, const spec::Job& job) {
  std::vector<Values> less = {with(values, "seq", std::to_string(job.training.seq_length / 2))};
  if (job.training.micro_batch > 1)
    less.push_back(with(values, "mbs", std::to_string(job.training.micro_batch / 2)));
  if (job.trains()) less.push_back(with(values, "recompute", "full"));
  return less;
}

/// Of the stage that needs most; its tensors alone may be fewer than another's.
double needed_bytes(const run::Run& run) {
  return run.memory.peak_bytes + run.memory.reserved_bytes;
}

/// It is that of the stage that needs most, which may become another one, known better or worse.
constexpr double kSameProbability = 1e-3;

TEST(AnyRandomJob, FitsWithLess) {
  Random random(3);
  for (int64_t i = 0; i < jobs_wanted() && !HasFailure(); ++i) {
    const Values values = random_values(random);
    SCOPED_TRACE(typed(values));
    const spec::Job job = test::job_of(values);
    const auto run = predicted(job);
    if (!run) continue;
    for (const Values& less : with_less(values, job)) {
      const auto smaller = test::try_job_of(less);
      if (!smaller) continue;
      const auto after = predicted(*smaller);
      if (!after) continue;
      EXPECT_LE(needed_bytes(*after), needed_bytes(*run) * (1 + 1e-9)) << typed(less);
      EXPECT_GE(after->memory.fit_probability, run->memory.fit_probability - kSameProbability)
          << typed(less);
    }
  }
}

}  // namespace
}  // namespace ergometer::engine

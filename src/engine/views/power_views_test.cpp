// Summary, ranks, telemetry, bands and the cluster's series are views of one time line: for random
// jobs under random conditions they say the same.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "base/random.h"
#include "base/test_support.h"
#include "engine/simulate.h"
#include "engine/time/test_job.h"
#include "engine/views/power_record.h"

namespace ergometer::engine {
namespace {

using test::Values;

class Choice {
 public:
  explicit Choice(uint64_t number) : random_(20, number, "power views") {}
  template <class T>
  T of(std::initializer_list<T> list) {
    const auto at =
        static_cast<size_t>(random_.uniform(next_++) * static_cast<double>(list.size()));
    return list.begin()[std::min(at, list.size() - 1)];
  }
  bool chance(double share) { return random_.uniform(next_++) < share; }
  std::string between(double low, double high) {
    return fmt::format("{:.0f}", random_.uniform(next_++, low, high));
  }

 private:
  base::Random random_;
  uint64_t next_ = 0;
};

/// Small jobs of many kinds; about half of them over a time.
Values random_job(uint64_t number) {
  Choice pick(number);
  const std::string cluster = pick.of<std::string>(
      {"hgx-h100", "charllm-h200", "dgx-a100", "mi300x", "charllm-mi250", "hgx-b200", "dgx1-v100"});
  Values values = {
      {"model", pick.of<std::string>({"llama3-8b", "phi-3-mini", "gpt3-1.3b", "llama2-7b"})},
      {"cluster", cluster},
      {"gpus", pick.of<std::string>({"8", "16", "32"})},
      {"tensor_model_parallel_size", pick.of<std::string>({"1", "2"})},
      {"pipeline_model_parallel_size", pick.of<std::string>({"1", "2", "4"})},
      {"micro_batch_size", pick.of<std::string>({"1", "2", "4"})},
      {"global_batch_size", pick.of<std::string>({"32", "128"})},
      {"seq_length", pick.of<std::string>({"512", "2048"})},
      {"sensor", "none"}};
  if (pick.chance(0.4))
    values.emplace_back("power_cap", cluster == "dgx1-v100"  ? pick.between(100, 300)
                                     : cluster == "mi300x"   ? pick.between(200, 750)
                                     : cluster == "hgx-b200" ? pick.between(300, 1000)
                                     : cluster == "dgx-a100" ? pick.between(100, 400)
                                                             : pick.between(200, 500));
  if (pick.chance(0.5)) values.emplace_back("inlet_c", pick.between(10, 48));
  if (pick.chance(0.2)) values.emplace_back("fan", pick.between(25, 100));
  if (pick.chance(0.3)) values.emplace_back("seed", pick.between(1, 99));
  if (pick.chance(0.1)) values.emplace_back("override", "node0.gpu1.speed=70%");
  if (pick.chance(0.1))
    values.emplace_back("power_smoothing", "floor=0.7,down=200W/s,hysteresis=2s");
  if (pick.chance(0.4)) values.emplace_back("duration", pick.of<std::string>({"1", "7", "30"}));
  return values;
}

/// The kinds of work that a step's energy is divided over: experts, adapters, shards, schedules,
/// inference; under every way to hold clocks.
Values job_of_any_work(uint64_t number) {
  Choice pick(number);
  Values values = {
      {"cluster", pick.of<std::string>({"hgx-h100", "charllm-h200", "dgx-a100", "mi300x"})},
      {"gpus", pick.of<std::string>({"4", "8", "12", "16", "32"})},
      {"tensor_model_parallel_size", pick.of<std::string>({"1", "2", "4"})},
      {"micro_batch_size", pick.of<std::string>({"1", "2"})},
      {"gradient_accumulation_steps", pick.of<std::string>({"4", "8"})},
      {"seq_length", pick.of<std::string>({"512", "2048"})}};
  const bool experts = pick.chance(0.4);
  values.emplace_back("model", experts ? pick.of<std::string>({"mixtral-8x7b", "deepseek-v2-lite"})
                                       : pick.of<std::string>({"llama3-8b", "gpt3-1.3b"}));
  if (experts)
    values.emplace_back("expert_model_parallel_size", pick.of<std::string>({"1", "2", "4", "8"}));
  if (pick.chance(0.2)) {
    values.emplace_back("mode", pick.of<std::string>({"prefill", "decode"}));
  } else {
    values.emplace_back("recompute", pick.of<std::string>({"none", "selective", "full"}));
    if (pick.chance(0.25)) values.emplace_back("lora", "16");
    if (pick.chance(0.25)) {
      values.emplace_back("fsdp", "true");
    } else {
      values.emplace_back("pipeline_model_parallel_size", pick.of<std::string>({"1", "2", "4"}));
      values.emplace_back("schedule", pick.of<std::string>({"gpipe", "1f1b", "zb-h1"}));
    }
  }
  if (pick.chance(0.5)) values.emplace_back("overlap_grad_reduce", "true");
  if (pick.chance(0.3)) values.emplace_back("power_cap", pick.between(200, 400));
  if (pick.chance(0.2)) values.emplace_back("lock_clock", pick.between(600, 1400));
  if (pick.chance(0.3)) values.emplace_back("seed", pick.between(1, 99));
  if (pick.chance(0.2)) values.emplace_back("override", "node0.gpu1.speed=70%");
  if (pick.chance(0.2))
    values.emplace_back("power_smoothing", "floor=0.7,down=200W/s,hysteresis=2s");
  if (pick.chance(0.3)) values.emplace_back("duration", "2");
  return values;
}

std::string words_of(const Values& values) {
  std::string words;
  for (const auto& [name, value] : values) words += fmt::format(" --{} {}", name, value);
  return words;
}

double relative(double a, double b) {
  return std::abs(a - b) / std::max({std::abs(a), std::abs(b), 1e-9});
}

/// What telemetry says of all ranks.
struct Seen {
  double rows = 0, mean_w = 0, mean_c = 0, mean_mhz = 0, throttled = 0;
  double max_w = 0, max_c = 0, max_memory_c = 0;
  std::array<double, kCountedReasons.size()> reasons{};
};

Seen seen_of(const run::Run& run) {
  Seen seen;
  seen.rows = static_cast<double>(run.telemetry.size());
  for (const run::Telemetry& row : run.telemetry) {
    seen.mean_w += row.power_w / seen.rows;
    seen.mean_c += row.gpu_c / seen.rows;
    seen.mean_mhz += row.sm_clock_mhz / seen.rows;
    seen.max_w = std::max(seen.max_w, row.power_w);
    seen.max_c = std::max(seen.max_c, row.gpu_c);
    seen.max_memory_c = std::max(seen.max_memory_c, row.memory_c);
    if ((row.event_reasons & physics::kThrottleReasons) != 0) seen.throttled += 1 / seen.rows;
    for (size_t i = 0; i < kCountedReasons.size(); ++i)
      if ((row.event_reasons & kCountedReasons[i]) != 0) seen.reasons[i] += 1 / seen.rows;
  }
  return seen;
}

void expect_summary_is_telemetry(const run::Run& run) {
  const Seen seen = seen_of(run);
  EXPECT_LT(relative(seen.mean_w, run.power.mean_w_per_gpu), 1e-9);
  EXPECT_LT(relative(seen.mean_c, run.thermal.mean_gpu_c), 1e-9);
  EXPECT_LT(relative(seen.mean_mhz, run.thermal.mean_clock_mhz), 1e-9);
  EXPECT_LT(std::abs(seen.throttled - run.thermal.throttled_time_fraction), 1e-9);
  EXPECT_EQ(seen.max_c, run.thermal.max_gpu_c);
  EXPECT_EQ(seen.max_memory_c, run.thermal.max_memory_c);
  for (size_t i = 0; i < kCountedReasons.size(); ++i)
    EXPECT_LT(std::abs(seen.reasons[i] - run.thermal.event_shares[i].fraction), 1e-9);
  // A tick shorter than a sensor's window is averaged over it: then it may lie above the peak.
  EXPECT_GE(seen.max_w * (1 + 1e-12), run.power.peak_w_per_gpu);
  if (run.telemetry.size() > 1 &&
      run.telemetry[1].time_ns - run.telemetry[0].time_ns >= 24'999'999) {
    EXPECT_LT(relative(seen.max_w, run.power.peak_w_per_gpu), 1e-12);
  }
}

void expect_summary_is_ranks(const run::Run& run) {
  double mean_w = 0, peak_w = 0, max_c = 0, mean_mhz = 0, lowest_mhz = 1e9;
  for (const run::Rank& rank : run.ranks) {
    mean_w += rank.mean_power_w / static_cast<double>(run.ranks.size());
    mean_mhz += rank.mean_clock_mhz / static_cast<double>(run.ranks.size());
    peak_w = std::max(peak_w, rank.peak_power_w);
    max_c = std::max(max_c, rank.max_gpu_c);
    lowest_mhz = std::min(lowest_mhz, rank.mean_clock_mhz);
  }
  EXPECT_LT(relative(mean_w, run.power.mean_w_per_gpu), 1e-9);
  EXPECT_EQ(peak_w, run.power.peak_w_per_gpu);
  EXPECT_EQ(max_c, run.thermal.max_gpu_c);
  EXPECT_LT(relative(mean_mhz, run.thermal.mean_clock_mhz), 1e-9);
  EXPECT_EQ(lowest_mhz, run.thermal.lowest_clock_mhz);
}

void expect_energy_adds_up(const run::Run& run) {
  const run::Power& power = run.power;
  EXPECT_LT(
      relative(power.energy_j_per_step * power.steps, power.cluster_mean_w * power.duration_s),
      1e-9);
  double gpu_w = 0, node_w = 0, series_w = 0, highest_w = 0;
  for (const run::PowerPart& part : power.gpu_parts) gpu_w += part.watts;
  for (const run::PowerPart& part : power.node_parts) node_w += part.watts;
  for (const double watts : run.cluster_power.watts) {
    series_w += watts / static_cast<double>(run.cluster_power.watts.size());
    highest_w = std::max(highest_w, watts);
  }
  EXPECT_LT(relative(gpu_w, power.mean_w_per_gpu), 1e-9);
  EXPECT_LT(relative(series_w, power.cluster_mean_w), 1e-9);
  const double nodes = power.cluster_mean_w / node_w;
  EXPECT_LT(relative(nodes, std::round(nodes)), 1e-9);
  EXPECT_LE(power.mean_w_per_gpu, power.p95_w_per_gpu * (1 + 1e-9));
  EXPECT_LE(power.p95_w_per_gpu, power.peak_w_per_gpu);
  EXPECT_LE(power.cluster_peak_w, highest_w * (1 + 1e-9));
  EXPECT_LE(run.cluster_power.p95_w, power.cluster_peak_w);
  EXPECT_LE(run.cluster_power.lowest_w, run.cluster_power.p95_w);
}

/// Every dimension of a step's energy has all of it, and all of the step.
void expect_parts_of_energy_add_up(const run::Run& run) {
  std::map<std::string, double> joules, work_j, seconds;
  for (const run::EnergyRow& row : run.power.step_energy) {
    joules[row.dimension] += row.joules;
    work_j[row.dimension] += row.work_joules;
    seconds[row.dimension] += row.seconds;
    EXPECT_GE(row.work_joules, 0) << row.dimension << ' ' << row.name;
    EXPECT_GE(row.joules, row.work_joules) << row.dimension << ' ' << row.name;
    EXPECT_GE(row.seconds, 0) << row.dimension << ' ' << row.name;
  }
  EXPECT_EQ(joules.size(), 9u);
  for (const auto& [dimension, sum] : joules) {
    EXPECT_LT(relative(sum, run.power.gpu_energy_j_per_step), 1e-9) << dimension;
    if (dimension == "part") continue;
    EXPECT_LT(relative(seconds[dimension], run.performance.step_time_s), 1e-9) << dimension;
    EXPECT_LT(relative(work_j[dimension], work_j["phase"]), 1e-9) << dimension;
  }
}

/// A temperature at or above a limit is a thermal event.
void expect_events_at_limits(const run::Run& run, const physics::GpuPower& gpu) {
  for (const run::Telemetry& row : run.telemetry) {
    const bool hot = (gpu.target_c > 0 && row.gpu_c >= gpu.target_c) ||
                     (gpu.memory_limit_c > 0 && row.memory_c >= gpu.memory_limit_c);
    constexpr uint32_t kThermal = physics::kSwThermalSlowdown | physics::kHwThermalSlowdown;
    if (hot) {
      ASSERT_NE(row.event_reasons & kThermal, 0) << row.gpu_c << " C";
    }
    if (gpu.slowdown_c > 0 && row.gpu_c >= gpu.slowdown_c) {
      ASSERT_NE(row.event_reasons & physics::kHwThermalSlowdown, 0) << row.gpu_c << " C";
    }
  }
}

TEST(PowerViews, SayTheSame) {
  const int64_t jobs = base::random_cases(150);
  int64_t hot = 0, refused = 0, restless = 0;
  for (int64_t number = 0; number < jobs; ++number) {
    const Values values = random_job(static_cast<uint64_t>(number));
    SCOPED_TRACE(fmt::format("job {}:{}", number, words_of(values)));
    const auto job = test::try_job_of(values);
    if (!job) {
      ++refused;
      continue;
    }
    std::vector<int64_t> ranks(static_cast<size_t>(job->gpus));
    for (size_t i = 0; i < ranks.size(); ++i) ranks[i] = static_cast<int64_t>(i);
    const auto run = simulate(*job, {.all_ranks = true,
                                     .intervals = false,
                                     .telemetry_ranks = ranks,
                                     .bands = true,
                                     .energy_parts = true});
    if (!run) {
      EXPECT_TRUE(run.error().message.find("find no rest") != std::string::npos)
          << run.error().message;
      ++restless;
      continue;
    }
    expect_summary_is_telemetry(*run);
    expect_summary_is_ranks(*run);
    expect_energy_adds_up(*run);
    expect_parts_of_energy_add_up(*run);
    expect_events_at_limits(*run, *physics::gpu_power(job->cluster.node.gpu));
    hot += run->thermal.event_shares[2].fraction > 0;
    if (HasFatalFailure() || HasNonfatalFailure()) break;
  }
  EXPECT_GT(hot, jobs / 50) << "limits of temperature are among what is looked at";
  EXPECT_LT(refused, jobs / 3);
  EXPECT_LE(restless, jobs / 500);
}

// A sensor that averages over 25 ms, whenever it reads, shows no more than the peak, but for what
// governors left of the step before and half a milliwatt.
TEST(PowerViews, NoReadingOf25MsLiesAboveThePeak) {
  for (const char* cap : {"700", "400"})
    for (const char* micro_batch : {"1", "2", "4"})
      for (const char* duration : {"", "3"}) {
        Values more = {{"power_cap", cap}, {"micro_batch_size", micro_batch}};
        if (*duration != 0) more.emplace_back("duration", duration);
        std::vector<int64_t> ranks = {0, 5, 10, 15};
        const auto run =
            simulate(test::llama3_8b(16, more), {.all_ranks = true, .telemetry_ranks = ranks});
        ASSERT_TRUE(run);
        ASSERT_FALSE(run->telemetry.empty());
        for (const run::Telemetry& row : run->telemetry)
          EXPECT_LE(row.power_w,
                    run->ranks[static_cast<size_t>(row.rank)].peak_power_w * 1.001 + 5e-4)
              << "cap " << cap << ", micro batch " << micro_batch << ", " << row.time_ns;
      }
}

TEST(PowerViews, PartsOfEnergyAddUp) {
  const int64_t jobs = base::random_cases(400);
  int64_t looked_at = 0;
  for (int64_t number = 0; number < jobs; ++number) {
    const Values values = job_of_any_work(static_cast<uint64_t>(number));
    SCOPED_TRACE(fmt::format("job {}:{}", number, words_of(values)));
    const auto job = test::try_job_of(values);
    if (!job) continue;
    const auto run =
        simulate(*job, {.engine = number % 4 == 0 ? EngineKind::kEvents : EngineKind::kSweep,
                        .intervals = false,
                        .energy_parts = true});
    ASSERT_TRUE(run.has_value()) << run.error().message;
    ++looked_at;
    expect_parts_of_energy_add_up(*run);
    if (HasFailure()) break;
  }
  EXPECT_GT(looked_at, jobs * 3 / 4);
}

// A GPU at half the others' clock holds everybody up. Without it a step takes what it takes where
// all are alike, but for a little heat; nothing throttles, so that costs nothing.
TEST(ClockCosts, OfOneSlowGpu) {
  const auto step = [](const Values& more) {
    const auto run = simulate(test::llama3_8b(16, more), {.energy_parts = true});
    EXPECT_TRUE(run.has_value());
    return run ? *run : run::Run{};
  };
  const run::Run alike = step({{"lock_clock", "1200MHz"}});
  const run::Run slow =
      step({{"lock_clock", "1200MHz"}, {"override", "node1.gpu3.lock_clock=600MHz"}});
  const double lost_s = slow.performance.step_time_s - alike.performance.step_time_s;
  ASSERT_GT(lost_s, 0.2 * alike.performance.step_time_s);
  EXPECT_NEAR(slow.thermal.straggler_cost_s, lost_s, 0.01 * lost_s);
  EXPECT_EQ(slow.thermal.throttling_cost_s, 0);
  EXPECT_EQ(alike.thermal.straggler_cost_s, 0);
}

// A cap that holds clocks down costs what the cap makes the step longer.
TEST(ClockCosts, OfACap) {
  const auto job = test::llama3_8b(16, {{"power_cap", "400W"}});
  const auto capped = simulate(job, {.energy_parts = true});
  const auto locked =
      simulate(test::llama3_8b(16, {{"power_cap", "700W"}}), {.energy_parts = true});
  ASSERT_TRUE(capped && locked);
  const double lost_s = capped->performance.step_time_s - locked->performance.step_time_s;
  ASSERT_GT(lost_s, 0.05 * locked->performance.step_time_s);
  // What the default cap costs is in both.
  EXPECT_NEAR(capped->thermal.throttling_cost_s, lost_s + locked->thermal.throttling_cost_s,
              0.05 * lost_s);
}

}  // namespace
}  // namespace ergometer::engine

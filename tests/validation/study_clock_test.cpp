// Which clocks GPUs are held to, and what that costs; see study.h.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "study.h"

namespace ergometer::study {
namespace {

TEST(Study, DeepPipelinesThrottleMore) {
  struct Case {
    const char *gpu, *model;
    std::vector<std::string> deep;  ///< 16 stages and more
    std::string tensor;             ///< TP 8
  };
  for (const Case& c :
       std::vector<Case>{{"h200", "GPT3-175B", {"gpt3-175b_4", "gpt3-175b_1"}, "gpt3-175b_3"},
                         {"h100", "GPT3-175B", {"gpt3-175b_1", "gpt3-175b_2"}, "gpt3-175b_3"},
                         {"h200", "Llama3-70B", {"llama3-70b_4"}, "llama3-70b_1"},
                         {"h100", "Llama3-70B", {"llama3-70b_3"}, "llama3-70b_1"}}) {
    const Prediction tensor = sweep_row(c.gpu, c.tensor, "01000");
    bool agrees = true;
    std::string clocks;
    for (const std::string& layout : c.deep) {
      const Prediction deep = sweep_row(c.gpu, layout, "01000");
      clocks += fmt::format("{} {:.0f} ({:.0f}) MHz, ", layout_name(deep),
                            deep.heat().mean_clock_mhz, deep.heat().lowest_clock_mhz);
      agrees &= deep.heat().mean_clock_mhz < tensor.heat().mean_clock_mhz &&
                deep.heat().lowest_clock_mhz < tensor.heat().lowest_clock_mhz &&
                deep.heat().throttled_time_fraction > tensor.heat().throttled_time_fraction;
    }
    expect_agreement(
        {fmt::format("Deep pipelines throttle more than TP 8: {}, {}", c.model,
                     c.gpu == std::string("h200") ? "32 H200" : "64 H100"),
         "PP 16 to 32 worst",
         clocks + fmt::format("{} {:.0f} ({:.0f}) MHz", layout_name(tensor),
                              tensor.heat().mean_clock_mhz, tensor.heat().lowest_clock_mhz),
         "mean clock (slowest GPU's); a deep stage computes without pause and the cap holds it, "
         "collectives of TP 8 keep mean power below the cap"},
        agrees);
  }
}

TEST(Study, ThrottlingByDepth) {
  std::vector<double> slowest, share, clock;
  for (const char* layout : {"gpt3-175b_3", "gpt3-175b_2", "gpt3-175b_1", "gpt3-175b_4"}) {
    const Prediction p = sweep_row("h200", layout, "01000");
    slowest.push_back(p.heat().lowest_clock_mhz);
    share.push_back(100 * p.heat().throttled_time_fraction);
    clock.push_back(p.heat().mean_clock_mhz);
  }
  expect_in_part(
      {"Throttling grows with depth, GPT3-175B on H200: PP 4, 8, 16, 32", "grows",
       fmt::format("slowest GPU {} MHz; mean {} MHz; {} % of time below the top clock",
                   text(slowest, "{:.0f}"), text(clock, "{:.0f}"), text(share, "{:.0f}")),
       "deeper with every doubling, but longest with 8 stages: bubbles are time at the top clock"},
      std::is_sorted(slowest.rbegin(), slowest.rend()) && share[3] < share[1]);
}

TEST(Study, HotGpusLoseClock) {
  const Prediction p = sweep_row("h200", "gpt3-175b_1", "00000");
  const double front = row_mean(p, 0, &run::Rank::mean_clock_mhz);
  const double rear = row_mean(p, 1, &run::Rank::mean_clock_mhz);
  const Prediction boards = sweep_row("h200", "gpt3-175b_1", "00000", {{"seed", "1"}});
  expect_agreement(
      {"Clocks of hot GPUs under load, GPT3-175B TP2-PP16, H200", "1980 to about 1700 MHz or lower",
       fmt::format("slowest {:.0f} MHz, {:.0f} MHz with boards that differ; front row {:.0f}, rear "
                   "row {:.0f} MHz",
                   p.heat().lowest_clock_mhz, boards.heat().lowest_clock_mhz, front, rear),
       fmt::format("limit: {}; heat acts by leakage, no thermal limit is reached",
                   p.heat().limit.substr(0, p.heat().limit.find(':')))},
      p.heat().lowest_clock_mhz < 1780 && boards.heat().lowest_clock_mhz > 1550 && rear < front);
}

TEST(Study, OverlapRaisesPeakTemperature) {
#ifdef ERGOMETER_SANITIZED
  GTEST_SKIP() << "a hundred jobs of up to 64 GPUs: minutes with sanitizers";
#endif
  // Pairs of rows that differ by overlap, where the flags do something.
  std::vector<double> hotter_c, slower_mhz;
  for (const std::string gpu : {"h200", "h100"})
    for (const std::string& layout : layouts_of(gpu))
      for (const auto& [base, overlap] : {std::pair{"00000", "10000"}, {"01000", "11000"}}) {
        const Prediction before = sweep_row(gpu, layout, base);
        const Prediction after = sweep_row(gpu, layout, overlap);
        if (after.time().step_time_s == before.time().step_time_s) continue;
        hotter_c.push_back(after.heat().max_gpu_c - before.heat().max_gpu_c);
        slower_mhz.push_back(before.heat().mean_clock_mhz - after.heat().mean_clock_mhz);
      }
  const auto count = [](const std::vector<double>& values, auto&& is) {
    return std::count_if(values.begin(), values.end(), is);
  };
  constexpr double kVisibleC = 0.05;
  const auto hotter = count(hotter_c, [](double c) { return c > kVisibleC; });
  const auto cooler = count(hotter_c, [](double c) { return c < -kVisibleC; });
  const auto slower = count(slower_mhz, [](double mhz) { return mhz > 0; });
  expect_in_part(
      {"Overlap raises peak temperature and throttling", "consistently",
       fmt::format("of {} pairs {} hotter (by up to {:.1f} C), {} cooler (by up to {:.1f} C), "
                   "mean {:+.2f} C; mean clock lower in {}, on average by {:.0f} MHz",
                   hotter_c.size(), hotter, *std::max_element(hotter_c.begin(), hotter_c.end()),
                   cooler, -*std::min_element(hotter_c.begin(), hotter_c.end()), mean(hotter_c),
                   slower, mean(slower_mhz)),
       "throttling yes; heat follows mean power, which the cap already holds in deep pipelines and "
       "the network in the Mixtrals: visible with TP 4 and 8"},
      mean(hotter_c) > 0 && hotter > 2 * cooler && mean(slower_mhz) > 0 &&
          2 * slower > static_cast<long>(slower_mhz.size()));
}

TEST(Study, RecomputationAndThrottling) {
  const auto compare = [](const std::vector<std::pair<std::string, std::string>>& layouts) {
    struct {
      std::vector<double> share_before, share_after, lowest_before, lowest_after;
    } r;
    for (const auto& [gpu, layout] : layouts) {
      const Prediction before = sweep_row(gpu, layout, "00000");
      const Prediction after = sweep_row(gpu, layout, "01000");
      r.share_before.push_back(100 * before.heat().throttled_time_fraction);
      r.share_after.push_back(100 * after.heat().throttled_time_fraction);
      r.lowest_before.push_back(before.heat().lowest_clock_mhz);
      r.lowest_after.push_back(after.heat().lowest_clock_mhz);
    }
    return r;
  };
  const auto gpt = compare({{"h200", "gpt3-175b_1"},
                            {"h200", "gpt3-175b_4"},
                            {"h100", "gpt3-175b_1"},
                            {"h100", "gpt3-175b_2"}});
  expect_in_part(
      {"Recomputation lowers throttling in deep GPT3-175B pipelines", "lower",
       fmt::format("slowest GPU {} to {} MHz; time below the top clock {} to {} %",
                   text(gpt.lowest_before, "{:.0f}"), text(gpt.lowest_after, "{:.0f}"),
                   text(gpt.share_before, "{:.0f}"), text(gpt.share_after, "{:.0f}")),
       "less deep, as long: forward passes draw less than backward ones, which add to FP32 "
       "gradients in HBM"},
      mean(gpt.lowest_after) > mean(gpt.lowest_before) &&
          std::fabs(mean(gpt.share_after) - mean(gpt.share_before)) < 3);
  const auto llama = compare({{"h200", "llama3-70b_1"},
                              {"h200", "llama3-70b_2"},
                              {"h200", "llama3-70b_3"},
                              {"h200", "llama3-70b_4"}});
  expect_in_part(
      {"Recomputation raises throttling in data-parallel Llama3-70B", "higher",
       fmt::format("time below the top clock {} to {} % (PP 2, 4, 8, 16); slowest GPU {} to {} MHz",
                   text(llama.share_before, "{:.0f}"), text(llama.share_after, "{:.0f}"),
                   text(llama.lowest_before, "{:.0f}"), text(llama.lowest_after, "{:.0f}")),
       "longer with 8 and 16 stages, but less deep, for the same reason"},
      llama.share_after[2] > llama.share_before[2] && llama.share_after[3] > llama.share_before[3]);
}

TEST(Study, PowerFaultOfANode) {
  const Prediction well = sweep_row("h200", "llama3-70b_2", "01000");
  const Prediction ill =
      sweep_row("h200", "llama3-70b_2", "01000", {{"override", "node1.power_brake=on"}});
  const double factor = ill.time().step_time_s / well.time().step_time_s;
  expect_agreement({"A node with a power fault slows its job", "more than 4 times",
                    fmt::format("{:.1f} times; \"{}\"", factor, ill.heat().limit),
                    "the brake's clock is the lowest of the lattice"},
                   factor >= 4 && factor < 8);
}

TEST(Study, OneGpuHoldsUpTheRest) {
  const Values fsdp = {{"model", "llama3-8b"}, {"cluster", "hgx-h100"}, {"gpus", "16"},
                       {"gbs", "32"},          {"seq", "8192"},         {"mbs", "1"},
                       {"fsdp", "true"}};
  const double factor = job(fsdp, {{"override", "node0.gpu3.power_brake=on"}}).time().step_time_s /
                        job(fsdp).time().step_time_s;
  expect_agreement({"One braked GPU of 16 H100, FSDP (jingchaozhang.github.io)", "5 times slower",
                    fmt::format("{:.1f} times", factor), "the model they trained is not known"},
                   factor > 4 && factor < 6);
}

TEST(Study, UnevenStages) {
  const auto changes = [](const std::string& layout, const std::string& layers) {
    const Values recompute_all = {{"recompute-method", "uniform"}, {"recompute-num-layers", "1"}};
    const Prediction even = sweep_row("h200", layout, "01000", recompute_all);
    const Prediction uneven =
        sweep_row("h200", layout, "01000", with(recompute_all, {{"stage-layers", layers}}));
    return std::array{100 * (uneven.time().tokens_per_s / even.time().tokens_per_s - 1),
                      100 * (uneven.power().tokens_per_j / even.power().tokens_per_j - 1),
                      100 * (row_gap(uneven) / row_gap(even) - 1)};
  };
  const auto said = [](const std::array<double, 3>& c) {
    return fmt::format("tokens/s {:+.1f} %, tokens/J {:+.1f} %, row gap {:+.0f} %", c[0], c[1],
                       c[2]);
  };
  const auto gpt = changes("gpt3-175b_2", "13,11,13,11,13,11,13,11");
  expect_agreement({"GPT3-175B TP4-PP8, 13 and 11 layers on cool and hot GPUs",
                    "efficiency -7 %, temperature gap -17 %", said(gpt),
                    "the stages of 13 set the pace; the others regain their clock for nothing"},
                   gpt[0] < -4 && gpt[0] > -9 && gpt[2] < -5);
  const auto llama = changes("llama3-70b_2", "21,19,21,19");
  expect_disagreement(
      {"Llama3-70B TP4-PP4, 21 and 19 layers", "efficiency +4 %, temperature gap -8 %", said(llama),
       "with DP 2 a stage fills a node, so no layer moves from the hot row; and only the power cap "
       "limits, which a cooler GPU hardly feels"},
      llama[0] < 0);
}

TEST(Study, LowerClocksSaveEnergy) {
  const Prediction free = sweep_row("h200", "gpt3-175b_1", "01000", {{"seed", "1"}});
  const Prediction held =
      sweep_row("h200", "gpt3-175b_1", "01000", {{"seed", "1"}, {"lock-clock", "1700"}});
  const double time = 100 * (held.time().step_time_s / free.time().step_time_s - 1);
  const double energy =
      100 * (held.power().gpu_energy_j_per_step / free.power().gpu_energy_j_per_step - 1);
  expect_agreement(
      {"A lower clock saves energy at little time under the cap (Perseus, 2312.06902)",
       "up to 30 % without slowdown, by stage",
       fmt::format("one lock of 1700 MHz, boards that differ: GPU energy {:+.1f} %, time {:+.1f} %",
                   energy, time),
       "GPUs faster than the slowest only wait; locks by stage would save more"},
      energy < -3 && time < 2 && -energy > 3 * time);
}

}  // namespace
}  // namespace ergometer::study

// How hot GPUs get, where and why; see study.h.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "study.h"

namespace ergometer::study {
namespace {

/// How much hotter the rear row is than the front row, in % of C.
double rear_excess(const Prediction& p) {
  return 100 * row_gap(p) / row_mean(p, 0, &run::Rank::mean_gpu_c);
}

TEST(Study, RearGpusAreHotter) {
  for (const std::string gpu : {"h200", "h100"}) {
    std::vector<double> excess;
    for (const std::string& layout : layouts_of(gpu))
      excess.push_back(rear_excess(sweep_row(gpu, layout, "01000")));
    const auto [least, most] = std::minmax_element(excess.begin(), excess.end());
    expect_agreement(
        {fmt::format("Rear GPUs hotter, HGX {}, air, four models", gpu == "h200" ? "H200" : "H100"),
         "15 to 27 %",
         fmt::format("{:.1f} to {:.1f} %, mean {:.1f} %, {} layouts", *least, *most, mean(excess),
                     excess.size()),
         "preheat is set to the 18 C of an H100 board (2507.16781); that it scales with load and "
         "stays in the range (told in whole per cent) from 200 to 680 W is predicted"},
        *least >= 15 && std::round(*most) <= 27);
  }
}

TEST(Study, Mi250DiesOfAModuleDiffer) {
  std::vector<double> gaps;  // of every module of every job; its dies are ranks 2 i and 2 i + 1
  for (const Values& model : {kGpt30b, kLlama30b})
    for (const auto& [tp, pp] : {std::pair{"8", "4"}, {"8", "2"}, {"4", "4"}, {"4", "2"}}) {
      const Prediction p = job(with(model, {{"tp", tp}, {"pp", pp}, {"mbs", "1"}}));
      for (size_t i = 0; i + 1 < p.run.ranks.size(); i += 2)
        gaps.push_back(p.run.ranks[i + 1].mean_gpu_c - p.run.ranks[i].mean_gpu_c);
    }
  const auto [least, most] = std::minmax_element(gaps.begin(), gaps.end());
  expect_agreement(
      {"MI250, dies of one module", "5 to 10 C apart",
       fmt::format("{:.1f} to {:.1f} C, {} modules in 8 jobs", *least, *most, gaps.size()),
       "preheat is set to it; which die is downstream is assumed"},
      *least >= 5 && *most <= 10);
}

TEST(Study, LiquidRemovesTheRowGap) {
  for (const auto& [layout, name] :
       {std::pair{"gpt3-175b_1", "GPT3-175B TP2-PP16"}, {"llama3-70b_2", "Llama3-70B TP4-PP4"}}) {
    const Prediction air = sweep_row("h200", layout, "01000");
    const Prediction liquid = sweep_row("h200", layout, "01000", {{"cooling", "liquid"}});
    expect_agreement(
        {fmt::format("Liquid removes the row gap; what limits next: {}, H200", name),
         "asked of the simulator",
         fmt::format("gap {:.1f} to {:.1f} C, hottest {:.1f} to {:.1f} C, tokens/J {:+.0f} %, "
                     "tokens/s {:+.1f} %; then \"{}\"",
                     row_gap(air), row_gap(liquid), air.heat().max_gpu_c, liquid.heat().max_gpu_c,
                     100 * (liquid.power().tokens_per_j / air.power().tokens_per_j - 1),
                     100 * (liquid.time().tokens_per_s / air.time().tokens_per_s - 1),
                     liquid.heat().limit),
         "what is left of the gap: two plates in series"},
        row_gap(liquid) < 4 && row_gap(liquid) < row_gap(air) / 4 &&
            liquid.heat().limit.find("thermal") == std::string::npos);
  }
}

const Values kBoardOfEight = {{"model", "llama3-8b"}, {"cluster", "hgx-h100"}, {"gpus", "8"},
                              {"gbs", "32"},          {"seq", "8192"},         {"mbs", "1"},
                              {"recompute", "full"},  {"fsdp", "true"}};

TEST(Study, AirAndLiquidOnOneBoard) {
  const Prediction air = job(kBoardOfEight);
  const Prediction liquid = job(kBoardOfEight, {{"cooling", "liquid"}});
  const auto coolest = [](const Prediction& p) {
    double least = 1e9;
    for (const run::Rank& rank : p.run.ranks) least = std::min(least, rank.mean_gpu_c);
    return least;
  };
  const auto hottest = [](const Prediction& p) {
    double most = 0;
    for (const run::Rank& rank : p.run.ranks) most = std::max(most, rank.mean_gpu_c);
    return most;
  };
  const double air_low = coolest(air), air_high = hottest(air);
  const double liquid_low = coolest(liquid), liquid_high = hottest(liquid);
  expect_agreement({"8 x H100 training in air and in liquid (2507.16781)", "54 to 72 C; 41 to 50 C",
                    fmt::format("{:.1f} to {:.1f} C; {:.1f} to {:.1f} C", air_low, air_high,
                                liquid_low, liquid_high),
                    "resistances are set to it at 650 W; the job's power is predicted"},
                   std::fabs(air_low - 54) < 4 && std::fabs(air_high - 72) < 4 &&
                       liquid_low >= 41 && liquid_high <= 50);
  const double gain = 100 * (air.time().step_time_s / liquid.time().step_time_s - 1);
  expect_disagreement(
      {"The same: liquid is faster", "17 % (54 against 46 TFLOP/s a GPU)",
       fmt::format("{:+.1f} %; {:.0f} W a GPU in air, {:.0f} W in liquid", gain,
                   air.power().mean_w_per_gpu, liquid.power().mean_w_per_gpu),
       "72 C is far from the limit of 87 C and 20 W of leakage cost at most 2 % of clock; at a "
       "twentieth of the peak something else than the clock made the difference"},
      gain >= 0 && gain < 10);
}

TEST(Study, LitSiliconOnMi300x) {
  const Values fsdp = {{"model", "llama3-8b"}, {"cluster", "mi300x"}, {"gpus", "8"},
                       {"gbs", "32"},          {"seq", "4096"},       {"mbs", "2"},
                       {"fsdp", "true"}};
  std::vector<double> heat, clocks;
  for (int seed = 1; seed <= 15; ++seed) {
    const Prediction p = job(fsdp, {{"seed", fmt::format("{}", seed)}});
    const auto ratio = [&](double run::Rank::* value) {
      double least = 1e9, most = 0;
      for (const run::Rank& rank : p.run.ranks) {
        least = std::min(least, rank.*value);
        most = std::max(most, rank.*value);
      }
      return most / least;
    };
    heat.push_back(ratio(&run::Rank::mean_gpu_c));
    clocks.push_back(ratio(&run::Rank::mean_clock_mhz));
  }
  const auto range = [](const std::vector<double>& values) {
    return fmt::format("{:.3f} ({:.3f} to {:.3f})", median(values),
                       *std::min_element(values.begin(), values.end()),
                       *std::max_element(values.begin(), values.end()));
  };
  expect_agreement({"MI300X node: hottest over coolest GPU (2511.09861)", "1.155",
                    "median " + range(heat) + " over 15 sets of boards",
                    "preheat is set to it; the boards' spread is assumed"},
                   std::fabs(median(heat) - 1.155) < 0.025);
  expect_disagreement(
      {"MI300X node: fastest over slowest clock (2511.09861)", "1.062",
       "median " + range(clocks) + " over 15 sets of boards",
       "GPUs that wait for the slowest have watts to spare in the governor's window and clock up; "
       "if the window were shorter than those waits (milliseconds), so that clocks are what each "
       "can hold while it computes, the median were 1.063"},
      *std::min_element(clocks.begin(), clocks.end()) > 1.062 && median(clocks) < 1.13);
}

TEST(Study, WarmAirSlowsTraining) {
  const Values llama = {{"model", "llama3.1-405b"},
                        {"cluster", "h100-superpod"},
                        {"gpus", "448"},
                        {"tp", "8"},
                        {"pp", "14"},
                        {"vpp", "9"},
                        {"gbs", "56"},
                        {"mbs", "1"},
                        {"seq", "8192"},
                        {"overlap-grad-reduce", "true"},
                        {"overlap-param-gather", "true"},
                        {"tp-comm-overlap", "true"},
                        {"overlap-p2p", "true"}};
  std::vector<double> percent_per_k;
  for (const char* seed : {"1", "2", "3"}) {
    const double cool = job(llama, {{"inlet-c", "20"}, {"seed", seed}}).time().tokens_per_s;
    const double warm = job(llama, {{"inlet-c", "30"}, {"seed", seed}}).time().tokens_per_s;
    percent_per_k.push_back(10 * (1 - warm / cool));
  }
  const double slope = mean(percent_per_k);
  expect_agreement(
      {"Throughput over the day (Llama 3, 2407.21783)", "1 to 2 %",
       fmt::format(
           "{:.2f} % a kelvin of inlet (three sets of boards: {}), Llama-3.1-405B in air: 1 "
           "to 2 % are {:.0f} to {:.0f} K",
           slope, text(percent_per_k, "{:.2f}"), 1 / slope, 2 / slope),
       "their swing of inlet is not public; leakage under the power cap"},
      slope > 0.05 && slope < 0.2);
}

}  // namespace
}  // namespace ergometer::study

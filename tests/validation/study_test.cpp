// What the MICRO 2025 study (arXiv 2509.10371) and a few other papers saw in the power, the heat
// and the clocks of training, against what comes out here. Every test prints rows of the table in
// docs/models/study.md, which scripts/study_findings.sh makes from them. No watt, joule or step
// time of the study is public, so most of it is signs and ratios.
//
// A row that agrees is held to what was reported. A row that disagrees is held to the direction
// that is predicted now, so that it is noticed when that changes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "engine/simulate.h"
#include "spec/matrix.h"
#include "spec/read.h"
#include "spec/settings.h"

namespace ergometer {
namespace {

// --- The table.

struct Finding {
  std::string what, seen, predicted, why = {};
};

void print_row(const Finding& finding, const char* verdict) {
  fmt::print("| {} | {} | {} | {} | {} |\n", finding.what, finding.seen, finding.predicted, verdict,
             finding.why);
}
void expect_agreement(const Finding& finding, bool agrees) {
  print_row(finding, agrees ? "yes" : "lost");
  EXPECT_TRUE(agrees) << finding.what;
}
/// `still`: the prediction is on the side on which it is known to be.
void expect_disagreement(const Finding& finding, bool still) {
  print_row(finding, "**no**");
  EXPECT_TRUE(still) << finding.what << ": the disagreement is gone";
}
void expect_in_part(const Finding& finding, bool still) {
  print_row(finding, "in part");
  EXPECT_TRUE(still) << finding.what;
}

// --- Jobs.

using Values = std::vector<std::pair<std::string, std::string>>;

struct Prediction {
  spec::Job job;
  run::Run run;
  const run::Performance& time() const { return run.performance; }
  const run::Power& power() const { return run.power; }
  const run::Thermal& heat() const { return run.thermal; }
};

Prediction simulated(const spec::Settings& settings, const std::string& name) {
  auto job = spec::resolve(settings);
  EXPECT_TRUE(job) << name << ": " << (job ? "" : job.error().message);
  if (!job) return {};
  auto run = engine::simulate(*job, {.all_ranks = true});
  EXPECT_TRUE(run) << name << ": " << (run ? "" : run.error().message);
  if (!run) return {};
  return {*std::move(job), *std::move(run)};
}

void set(spec::Settings& settings, const Values& values) {
  for (const auto& [name, value] : values)
    settings.set(spec::find_setting(name)->name, value, spec::Origin{"--" + name, {}});
}

Prediction job(const Values& values, const Values& more = {}) {
  spec::Settings settings;
  set(settings, values);
  set(settings, more);
  return simulated(settings, values.front().second);
}

/// A configuration of the study by testbed, name and variant: ("h200", "gpt3-175b_1", "01000").
Prediction row(const std::string& family, const std::string& layout, const std::string& variant,
               const Values& more = {}) {
  static const auto rows = spec::read_matrix("charllm-matrix");
  if (!rows) {
    ADD_FAILURE() << rows.error().message;
    return {};
  }
  const std::string id = layout + "_" + variant;
  for (const spec::MatrixRow& candidate : *rows) {
    if (candidate.family != family || candidate.config_id != id || candidate.refusal) continue;
    spec::Settings settings = candidate.settings;
    set(settings, more);
    return simulated(settings, family + "/" + id);
  }
  ADD_FAILURE() << "no row " << family << "/" << id;
  return {};
}
Prediction sweep_row(const std::string& gpu, const std::string& layout, const std::string& variant,
                     const Values& more = {}) {
  return row("optimization-sweep-" + gpu, layout, variant, more);
}
Prediction batch_row(const std::string& layout, int micro_batch) {
  return row("microbatch-sweep-h200", layout, fmt::format("mbs{}", micro_batch));
}

/// As "TP2-PP16".
std::string layout_name(const Prediction& p) {
  const spec::Parallelism& layout = p.job.parallelism;
  return (layout.ep > 1 ? fmt::format("EP{}-", layout.ep) : "") +
         fmt::format("TP{}-PP{}", layout.tp, layout.pp);
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}
double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::string text(const std::vector<double>& values, const char* format) {
  std::string result;
  for (const double value : values)
    result += (result.empty() ? "" : ", ") + fmt::format(fmt::runtime(format), value);
  return result;
}

/// Mean over the GPUs in the row of slots nearest the inlet (0) or behind it (1).
double row_mean(const Prediction& p, int slot_row, double run::Rank::* value) {
  std::vector<double> values;
  for (const run::Rank& rank : p.run.ranks)
    if (p.job.cluster.node.slots[static_cast<size_t>(rank.slot)].row == slot_row)
      values.push_back(rank.*value);
  return mean(values);
}

/// How much hotter the rear row is than the front row, in % of C.
double rear_excess(const Prediction& p) {
  return 100 *
         (row_mean(p, 1, &run::Rank::mean_gpu_c) / row_mean(p, 0, &run::Rank::mean_gpu_c) - 1);
}

const std::vector<std::string> kH200Layouts = {
    "gpt3-175b_1",     "gpt3-175b_2",    "gpt3-175b_3",   "gpt3-175b_4",     "llama3-70b_1",
    "llama3-70b_2",    "llama3-70b_3",   "llama3-70b_4",  "mixtral-8x22b_1", "mixtral-8x22b_2",
    "mixtral-8x22b_3", "mixtral-8x7b_1", "mixtral-8x7b_2"};
/// Without llama3-70b_4, whose 32 stages do not divide 80 layers.
const std::vector<std::string> kH100Layouts = {
    "gpt3-175b_1",    "gpt3-175b_2",     "gpt3-175b_3",     "llama3-70b_1",    "llama3-70b_2",
    "llama3-70b_3",   "mixtral-8x22b_1", "mixtral-8x22b_2", "mixtral-8x22b_3", "mixtral-8x22b_4",
    "mixtral-8x7b_1", "mixtral-8x7b_2",  "mixtral-8x7b_3",  "mixtral-8x7b_4"};

const std::vector<std::string>& layouts_of(const std::string& gpu) {
  return gpu == "h200" ? kH200Layouts : kH100Layouts;
}

// --- Heat in the node.

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
         "stays in the range from 200 to 680 W is predicted"},
        *least >= 15 && std::round(*most) <= 27);
  }
}

const Values kGpt30b = {{"model", "gpt3-30b"},
                        {"cluster", "charllm-mi250"},
                        {"gpus", "32"},
                        {"gbs", "128"},
                        {"seq", "2048"}};
const Values kLlama30b = {{"model", "llama3-30b"}, {"cluster", "charllm-mi250"},
                          {"gpus", "32"},          {"gbs", "128"},
                          {"seq", "8192"},         {"recompute", "full"}};

Values with(Values values, const Values& more) {
  values.insert(values.end(), more.begin(), more.end());
  return values;
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
  const auto gap = [](const Prediction& p) {
    return row_mean(p, 1, &run::Rank::mean_gpu_c) - row_mean(p, 0, &run::Rank::mean_gpu_c);
  };
  for (const auto& [layout, name] :
       {std::pair{"gpt3-175b_1", "GPT3-175B TP2-PP16"}, {"llama3-70b_2", "Llama3-70B TP4-PP4"}}) {
    const Prediction air = sweep_row("h200", layout, "01000");
    const Prediction liquid = sweep_row("h200", layout, "01000", {{"cooling", "liquid"}});
    expect_agreement(
        {fmt::format("Liquid removes the row gap; what limits next: {}, H200", name),
         "asked of the simulator",
         fmt::format("gap {:.1f} to {:.1f} C, hottest {:.1f} to {:.1f} C, tokens/J {:+.0f} %, "
                     "tokens/s {:+.1f} %; then \"{}\"",
                     gap(air), gap(liquid), air.heat().max_gpu_c, liquid.heat().max_gpu_c,
                     100 * (liquid.power().tokens_per_j / air.power().tokens_per_j - 1),
                     100 * (liquid.time().tokens_per_s / air.time().tokens_per_s - 1),
                     liquid.heat().limit),
         "what is left of the gap: two plates in series"},
        gap(liquid) < 4 && gap(liquid) < gap(air) / 4 &&
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

// --- Clocks.

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
         "mean clock (slowest GPU's); between its stages a GPU computes without pause and the cap "
         "holds it, with TP 8 collectives dilute the work below the cap"},
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
  // Rows whose overlap flags do something; the rest repeat their base rows.
  std::vector<double> changes, clocks;
  std::string cooler;
  for (const std::string gpu : {"h200", "h100"})
    for (const std::string& layout : layouts_of(gpu))
      for (const auto& [base, overlap] : {std::pair{"00000", "10000"}, {"01000", "11000"}}) {
        const Prediction before = sweep_row(gpu, layout, base);
        const Prediction after = sweep_row(gpu, layout, overlap);
        if (after.time().step_time_s == before.time().step_time_s) continue;
        changes.push_back(after.heat().max_gpu_c - before.heat().max_gpu_c);
        clocks.push_back(after.heat().mean_clock_mhz - before.heat().mean_clock_mhz);
        if (changes.back() < -0.5)
          cooler += fmt::format("{}{} {} {:+.1f}", cooler.empty() ? "" : ", ", layout, gpu,
                                changes.back());
      }
  const auto hotter =
      std::count_if(changes.begin(), changes.end(), [](double c) { return c >= 0; });
  const auto slower = std::count_if(clocks.begin(), clocks.end(), [](double c) { return c <= 0; });
  expect_agreement(
      {"Overlap raises peak temperature and throttling", "consistently",
       fmt::format("hotter in {} of {} pairs, mean {:+.2f} C, {:+.1f} to {:+.1f} C; mean clock "
                   "lower in {}, by {:.0f} MHz in the mean",
                   hotter, changes.size(), mean(changes),
                   *std::min_element(changes.begin(), changes.end()),
                   *std::max_element(changes.begin(), changes.end()), slower, -mean(clocks)),
       cooler.empty() ? ""
                      : "cooler where overlapped gradients hold up the pipeline's transfers on the "
                        "one port: " +
                            cooler},
      mean(changes) > 0 && mean(clocks) < 0 &&
          hotter * 10 >= 7 * static_cast<long>(changes.size()));
}

TEST(Study, RecomputationAndThrottling) {
  const auto compare = [](const std::vector<std::pair<std::string, std::string>>& layouts) {
    struct {
      std::vector<double> share_before, share_after, lowest_before, lowest_after;
    } r;
    for (const auto& [gpu, layout] : layouts) {
      const Prediction before = sweep_row(gpu, layout, "00000"),
                       after = sweep_row(gpu, layout, "01000");
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
       "longer in the mean and with 8 and 16 stages, but less deep, for the same reason"},
      mean(llama.share_after) > mean(llama.share_before));
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

// --- Micro batches.

TEST(Study, LargerMicroBatchesDrawMoreAtPeak) {
  const auto peaks_of = [](const std::string& layout, std::vector<double>& peaks_w,
                           std::vector<double>& tokens) {
    std::string name;
    for (const int micro_batch : {1, 2, 4, 8}) {
      const Prediction p = batch_row(layout, micro_batch);
      peaks_w.push_back(p.power().peak_w_per_gpu);
      tokens.push_back(p.time().tokens_per_s);
      name = layout_name(p);
    }
    return name;
  };
  std::string wide, deep;
  bool wide_rises = true, deep_falls = true;
  for (const std::string layout : {"gpt3-175b_3", "llama3-70b_1", "llama3-70b_2"}) {
    std::vector<double> peaks_w, tokens;
    const std::string name = peaks_of(layout, peaks_w, tokens);
    wide += fmt::format("{}{} {}: {} W, {} tokens/s", wide.empty() ? "" : "; ",
                        layout.substr(0, layout.find('_')), name, text(peaks_w, "{:.0f}"),
                        text(tokens, "{:.0f}"));
    wide_rises &= peaks_w.back() > peaks_w.front() && tokens.back() < tokens[1];
  }
  expect_agreement({"Larger micro batches raise peak power even where throughput falls: up to 4 "
                    "stages, 1 to 8 samples",
                    "peak power rises regardless of throughput", wide, ""},
                   wide_rises);
  for (const std::string layout : {"gpt3-175b_1", "gpt3-175b_4", "llama3-70b_4"}) {
    std::vector<double> peaks_w, tokens;
    const std::string name = peaks_of(layout, peaks_w, tokens);
    deep += fmt::format("{}{} {}: {} W, {} tokens/s", deep.empty() ? "" : "; ",
                        layout.substr(0, layout.find('_')), name, text(peaks_w, "{:.0f}"),
                        text(tokens, "{:.0f}"));
    deep_falls &= peaks_w.back() < peaks_w.front() && tokens.back() < tokens.front();
  }
  expect_disagreement(
      {"The same with 16 and 32 stages",
       "peak power rises; throughput stops growing or falls (TP2-PP16)", deep,
       "throughput as seen; the peak is not: the clock is chosen with the window's own load in "
       "view, so the rise after a wait, at 1980 MHz until the cap bites, is missing, and larger "
       "micro batches mean longer waits"},
      deep_falls);
}

TEST(Study, FsdpGainsFromMicroBatches) {
  const auto step_s = [](int micro_batch) {
    return row("microbatch-sweep-h200-fsdp", "gpt3-175b_5", fmt::format("mbs{}", micro_batch))
        .time()
        .step_time_s;
  };
  const double factor = step_s(1) / step_s(4);
  expect_agreement({"GPT3-175B TP8-FSDP: micro batch 1 to 4", "more than 3 times faster",
                    fmt::format("{:.1f} times", factor),
                    "gathers through one port for eight GPUs are all there is"},
                   factor > 3);
}

TEST(Study, Mi250LargerMicroBatchesHelp) {
  const auto rates = [](const Values& values) {
    std::vector<double> tokens;
    for (const char* micro_batch : {"1", "2", "4"}) {
      const Prediction p = job(with(values, {{"mbs", micro_batch}}));
      if (p.run.memory.fits) tokens.push_back(p.time().tokens_per_s);
    }
    return tokens;
  };
  const std::vector<double> gpt = rates(with(kGpt30b, {{"tp", "8"}, {"pp", "4"}}));
  const std::vector<double> llama = rates(with(kLlama30b, {{"tp", "8"}, {"pp", "2"}}));
  const std::vector<double> half = rates(with(kGpt30b, {{"tp", "4"}, {"pp", "8"}}));
  const std::vector<double> deep = rates(with(kGpt30b, {{"tp", "2"}, {"pp", "16"}}));
  expect_in_part(
      {"MI250: larger micro batches help, memory ends it first", "generally",
       fmt::format("tokens/s at 1, 2, 4: GPT3-30B TP8-PP4 {}; Llama3-30B TP8-PP2 {}; GPT3-30B "
                   "TP4-PP8 {}; TP2-PP16 {}",
                   text(gpt, "{:.0f}"), text(llama, "{:.0f}"), text(half, "{:.0f}"),
                   text(deep, "{:.0f}")),
       "yes up to 8 stages from 1 to 2; with 16 the bubble costs more than larger kernels give; "
       "the study's MI250 layouts are not public"},
      gpt.back() > gpt.front() && llama[1] > llama[0] && half[1] > half[0] && deep[1] < deep[0]);
}

// --- H200 against H100.

TEST(Study, Gpt3OnH200AndH100) {
  const Prediction h200 = sweep_row("h200", "gpt3-175b_1", "01000");
  const Prediction h200_base = sweep_row("h200", "gpt3-175b_1", "00000");
  const Prediction h100 = sweep_row("h100", "gpt3-175b_1", "01000");
  expect_agreement({"GPT3-175B TP2: 32 H200 against 64 H100, tokens per joule", "H200 better",
                    fmt::format("{:.3f} (without recomputation {:.3f}) against {:.3f}",
                                h200.power().tokens_per_j, h200_base.power().tokens_per_j,
                                h100.power().tokens_per_j),
                    "half the stages, half the bubble; H100 fits with recomputation only"},
                   h200.power().tokens_per_j > h100.power().tokens_per_j);
  const double ratio = h200_base.time().tokens_per_s / h100.time().tokens_per_s;
  expect_disagreement(
      {"The same in tokens per second", "H200 ahead, or comparable (the two accounts differ)",
       fmt::format("{:.2f} of the H100s' at best ({:.0f} against {:.0f} tokens/s)", ratio,
                   h200_base.time().tokens_per_s, h100.time().tokens_per_s),
       "a GPU of the H200s must then be 2 times as fast as an H100: bubble and recomputation give "
       "1.5; no cause in clocks or heat that differs between the testbeds"},
      ratio < 0.95 && ratio > 0.5);
}

/// The layout of a testbed with most tokens per second, of those that fit.
Prediction fastest(const std::string& gpu, const std::string& model) {
  Prediction best;
  for (const std::string& layout : layouts_of(gpu))
    if (layout.starts_with(model + "_"))
      for (const char* variant : {"00000", "01000"}) {
        Prediction p = sweep_row(gpu, layout, variant);
        if (p.run.memory.fits && p.time().tokens_per_s > best.time().tokens_per_s)
          best = std::move(p);
      }
  return best;
}

TEST(Study, OtherModelsOnH200AndH100) {
  const Prediction moe = sweep_row("h200", "mixtral-8x22b_1", "01000");
  const Prediction moe_h100 = fastest("h100", "mixtral-8x22b");
  expect_agreement(
      {"Mixtral-8x22B EP8-TP1-PP4: H200 more efficient", "H200 better",
       fmt::format("{:.2f} tokens/J against {:.2f} at best ({}) on H100", moe.power().tokens_per_j,
                   moe_h100.power().tokens_per_j, layout_name(moe_h100)),
       ""},
      moe.power().tokens_per_j > moe_h100.power().tokens_per_j);
  for (const auto& [model, name] :
       {std::pair{"llama3-70b", "Llama3-70B"}, {"mixtral-8x7b", "Mixtral-8x7B"}}) {
    const Prediction h200 = fastest("h200", model), h100 = fastest("h100", model);
    const double factor = h100.time().tokens_per_s / h200.time().tokens_per_s;
    expect_agreement(
        {fmt::format("{}: 64 H100 clearly faster than 32 H200", name), "clearly faster",
         fmt::format("{:.2f} times ({} against {})", factor, layout_name(h100), layout_name(h200)),
         ""},
        factor > 1.3);
  }
}

// --- LoRA.

TEST(Study, LoraIsCoolerAndMoreEfficient) {
  const std::vector<std::pair<std::string, std::string>> dense = {
      {"gpt3-175b_1", "gpt3-175b_1"},        {"gpt3-175b_2", "gpt3-175b_2"},
      {"gpt3-175b_3", "gpt3-175b_3"},        {"llama3-70b_1", "llama3-70b_1"},
      {"llama3-70b_2", "llama3-70b_2"},      {"llama3-70b_3", "llama3-70b_3"},
      {"mixtral-8x22b_1", "mixtral-8x22b_1"}};
  std::vector<double> watts, hottest, per_token, per_sample;
  for (const auto& [full, lora] : dense) {
    const Prediction pretrained = sweep_row("h200", full, "01000"),
                     tuned = row("lora", lora, "mbs1");
    watts.push_back(tuned.power().mean_w_per_gpu - pretrained.power().mean_w_per_gpu);
    hottest.push_back(tuned.heat().max_gpu_c - pretrained.heat().max_gpu_c);
    per_token.push_back(tuned.power().tokens_per_j / pretrained.power().tokens_per_j);
    per_sample.push_back(per_token.back() *
                         static_cast<double>(pretrained.job.training.seq_length) /
                         static_cast<double>(tuned.job.training.seq_length));
  }
  const auto all_lower = [](const std::vector<double>& values) {
    return std::all_of(values.begin(), values.end(), [](double v) { return v < 0; });
  };
  expect_agreement(
      {"LoRA: lower power and temperature", "lower",
       fmt::format("{} W a GPU; hottest {} C", text(watts, "{:+.0f}"), text(hottest, "{:+.1f}")),
       "the same layout, GPT3-175B TP2, 4, 8, Llama3-70B TP8, 4, 2, Mixtral-8x22B TP1"},
      all_lower(watts) && all_lower(hottest));
  const Prediction small = sweep_row("h200", "mixtral-8x7b_1", "01000"),
                   small_lora = row("lora", "mixtral-8x7b_1", "mbs1");
  const double factor = small_lora.power().tokens_per_j / small.power().tokens_per_j;
  const double sequences = static_cast<double>(small.job.training.seq_length) /
                           static_cast<double>(small_lora.job.training.seq_length);
  expect_in_part(
      {"LoRA: training efficiency", "over 10 times",
       fmt::format("tokens/J {} times, samples/J {} times; Mixtral-8x7B EP8: {:.1f} and {:.1f} "
                   "times, tokens/s {:.1f}, samples/s {:.1f} times",
                   text(per_token, "{:.1f}"), text(per_sample, "{:.1f}"), factor,
                   factor * sequences, small_lora.time().tokens_per_s / small.time().tokens_per_s,
                   sequences * small_lora.time().tokens_per_s / small.time().tokens_per_s),
       "4 of 8 FLOPs a parameter are left: 2 times where compute is all; ten only where full "
       "training waits for the network, and by counting samples a quarter or half as long"},
      *std::min_element(per_token.begin(), per_token.end()) > 1.2 && factor * sequences > 5);
}

// --- Other papers.

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
  expect_in_part({"MI300X node: fastest over slowest clock (2511.09861)", "1.062",
                  "median " + range(clocks) + " over 15 sets of boards",
                  "inside the range of sets; the middle is higher: assumed spreads of leakage and "
                  "voltage, and GPUs that wait for the slowest are given its watts as clock"},
                 *std::min_element(clocks.begin(), clocks.end()) < 1.08 && median(clocks) > 1.062 &&
                     median(clocks) < 1.13);
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

TEST(Study, WarmAirSlowsTraining) {
  const Values llama = {{"model", "llama3.1-405b"},
                        {"cluster", "h100-superpod"},
                        {"gpus", "1792"},
                        {"tp", "8"},
                        {"pp", "14"},
                        {"vpp", "9"},
                        {"gbs", "224"},
                        {"mbs", "1"},
                        {"seq", "8192"},
                        {"overlap-grad-reduce", "true"},
                        {"overlap-param-gather", "true"},
                        {"tp-comm-overlap", "true"},
                        {"overlap-p2p", "true"},
                        {"seed", "1"}};
  const double cool = job(llama, {{"inlet-c", "20"}}).time().tokens_per_s;
  const double warm = job(llama, {{"inlet-c", "30"}}).time().tokens_per_s;
  const double loss = 100 * (1 - warm / cool);
  expect_agreement(
      {"Throughput over the day (Llama 3, 2407.21783)", "1 to 2 %",
       fmt::format("{:.2f} % for 10 K of inlet, Llama-3.1-405B, 1792 H100 in air", loss),
       "the swing of their inlet is not public; leakage under the power cap"},
      loss > 0.5 && loss < 3);
}

}  // namespace
}  // namespace ergometer

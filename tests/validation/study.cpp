#include "study.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "spec/matrix.h"
#include "spec/read.h"
#include "spec/settings.h"

namespace ergometer::study {
namespace {

void print_row(const Finding& finding, const char* verdict) {
  fmt::print("| {} | {} | {} | {} | {} |\n", finding.what, finding.seen, finding.predicted, verdict,
             finding.why);
}

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

}  // namespace

void expect_agreement(const Finding& finding, bool agrees) {
  print_row(finding, agrees ? "yes" : "lost");
  EXPECT_TRUE(agrees) << finding.what;
}
void expect_disagreement(const Finding& finding, bool still) {
  print_row(finding, "**no**");
  EXPECT_TRUE(still) << finding.what << ": the disagreement is gone";
}
void expect_in_part(const Finding& finding, bool still) {
  print_row(finding, "in part");
  EXPECT_TRUE(still) << finding.what;
}

Values with(Values values, const Values& more) {
  values.insert(values.end(), more.begin(), more.end());
  return values;
}

const Values kGpt30b = {{"model", "gpt3-30b"},
                        {"cluster", "charllm-mi250"},
                        {"gpus", "32"},
                        {"gbs", "128"},
                        {"seq", "2048"}};
const Values kLlama30b = {{"model", "llama3-30b"}, {"cluster", "charllm-mi250"},
                          {"gpus", "32"},          {"gbs", "128"},
                          {"seq", "8192"},         {"recompute", "full"}};

Prediction job(const Values& values, const Values& more) {
  spec::Settings settings;
  set(settings, values);
  set(settings, more);
  return simulated(settings, values.front().second);
}

Prediction row(const std::string& family, const std::string& layout, const std::string& variant,
               const Values& more) {
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
                     const Values& more) {
  return row("optimization-sweep-" + gpu, layout, variant, more);
}

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

double row_mean(const Prediction& p, int slot_row, double run::Rank::* value) {
  std::vector<double> values;
  for (const run::Rank& rank : p.run.ranks)
    if (p.job.cluster.node.slots[static_cast<size_t>(rank.slot)].row == slot_row)
      values.push_back(rank.*value);
  return mean(values);
}

double row_gap(const Prediction& p) {
  return row_mean(p, 1, &run::Rank::mean_gpu_c) - row_mean(p, 0, &run::Rank::mean_gpu_c);
}

const std::vector<std::string>& layouts_of(const std::string& gpu) {
  static const std::vector<std::string> kH200Layouts = {
      "gpt3-175b_1",     "gpt3-175b_2",    "gpt3-175b_3",   "gpt3-175b_4",     "llama3-70b_1",
      "llama3-70b_2",    "llama3-70b_3",   "llama3-70b_4",  "mixtral-8x22b_1", "mixtral-8x22b_2",
      "mixtral-8x22b_3", "mixtral-8x7b_1", "mixtral-8x7b_2"};
  // llama3-70b_4 is left out: 32 stages do not divide 80 layers.
  static const std::vector<std::string> kH100Layouts = {
      "gpt3-175b_1",    "gpt3-175b_2",     "gpt3-175b_3",     "llama3-70b_1",    "llama3-70b_2",
      "llama3-70b_3",   "mixtral-8x22b_1", "mixtral-8x22b_2", "mixtral-8x22b_3", "mixtral-8x22b_4",
      "mixtral-8x7b_1", "mixtral-8x7b_2",  "mixtral-8x7b_3",  "mixtral-8x7b_4"};
  return gpu == "h200" ? kH200Layouts : kH100Layouts;
}

}  // namespace ergometer::study

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/simulate.h"

/// What the MICRO 2025 study (arXiv 2509.10371) and a few other papers saw in the power, the heat
/// and the clocks of training, against what comes out here. Every test prints rows of the table in
/// docs/models/study.md, which scripts/study_findings.sh makes from them. No watt, joule or step
/// time of the study is public, so most of it is signs and ratios.
///
/// A row that agrees is held to what was reported. A row that disagrees is held to the direction
/// that is predicted now, so that it is noticed when that changes.
namespace ergometer::study {

struct Finding {
  std::string what, seen, predicted, why = {};
};

void expect_agreement(const Finding& finding, bool agrees);
/// `still`: the prediction is on the side on which it is known to be.
void expect_disagreement(const Finding& finding, bool still);
void expect_in_part(const Finding& finding, bool still);

using Values = std::vector<std::pair<std::string, std::string>>;
Values with(Values values, const Values& more);

struct Prediction {
  spec::Job job;
  run::Run run;
  const run::Performance& time() const { return run.performance; }
  const run::Power& power() const { return run.power; }
  const run::Thermal& heat() const { return run.thermal; }
};

/// Settings by name, as "--name value".
Prediction job(const Values& values, const Values& more = {});
/// A configuration of the study: ("lora", "gpt3-175b_1", "mbs1").
Prediction row(const std::string& family, const std::string& layout, const std::string& variant,
               const Values& more = {});
/// The optimization sweep of a testbed; variant: first digit overlap, second full recomputation.
Prediction sweep_row(const std::string& gpu, const std::string& layout, const std::string& variant,
                     const Values& more = {});
/// Layouts of the sweep that can run at all. `gpu`: "h200", "h100".
const std::vector<std::string>& layouts_of(const std::string& gpu);
/// As "EP8-TP2-PP16".
std::string layout_name(const Prediction& p);

/// The study's models on its MI250 testbed, whose layouts and settings are not public.
extern const Values kGpt30b, kLlama30b;

double mean(const std::vector<double>& values);
double median(std::vector<double> values);
/// Comma-separated.
std::string text(const std::vector<double>& values, const char* format);

/// Mean over the GPUs in the row of slots nearest the inlet (0) or behind it (1).
double row_mean(const Prediction& p, int slot_row, double run::Rank::* value);
/// Rear over front row, C.
double row_gap(const Prediction& p);

}  // namespace ergometer::study

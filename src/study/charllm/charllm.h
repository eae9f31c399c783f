#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "run/study.h"
#include "study/predict.h"

/// The MICRO 2025 characterisation study (arXiv 2509.10371: 32 H200, 64 H100, 32 dies of MI250, all
/// in air) beside what is predicted for the same jobs. No watt, joule or step time of the study is
/// public and its findings are known from readers' accounts, so most of it is signs and ratios.
namespace ergometer::study {

/// Jobs that figures and findings need beside the matrix: faults, uneven stages, other cooling,
/// counterfactual GPUs and links, MI250, the projection to 8,192 GPUs.
Result<std::vector<Point>> charllm_points();

/// Figures 3 to 22 of the study and those of its open questions. What the study's points lack is
/// left out. GPU by GPU figures play the jobs behind them once more.
std::vector<run::Figure> charllm_figures(const run::Study& study);

/// What was reported, what is predicted, whether the two agree and why. Ids begin with "sign."
/// where the claim is a direction or a rank order, "size." where it is a number or a range, "open."
/// where the study left a question to its readers; an open one is always "yes" and is not counted.
std::vector<run::StudyFinding> charllm_findings(const run::Study& study);

bool is_open(const run::StudyFinding& finding);
/// "22 of 33 signs and rank orders agree, 8 in part; 10 of 15 sizes agree, 3 in part".
std::string agreement_text(const std::vector<run::StudyFinding>& findings);

}  // namespace ergometer::study

// The MICRO 2025 study (arXiv 2509.10371) and what a few other papers saw, against what comes out
// here. Prints the rows of the table in docs/models/study.md, which scripts/study_findings.sh puts
// there. Verdicts are held: a finding that agrees must go on agreeing, and one that does not is
// noticed when that changes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "study/charllm/charllm.h"
#include "study/expand.h"
#include "study/finish.h"

namespace ergometer::study {
namespace {

using run::Agreement;

/// The catalog's study, as `ergometer sweep charllm` predicts it.
run::Study whole_study() {
  run::Study study;
  const auto definition = read_definition("charllm");
  EXPECT_TRUE(definition);
  const auto expansion = expand(*definition);
  EXPECT_TRUE(expansion);
  study.points = predict(expansion->points, 2);
  finish(*definition, study);
  return study;
}

const char* word(Agreement agrees) {
  if (agrees == Agreement::kYes) return "yes";
  return agrees == Agreement::kInPart ? "in part" : "**no**";
}

const std::map<std::string, Agreement> kVerdicts = {
    {"sign.deep-pipelines", Agreement::kYes},
    {"sign.throttling-by-depth", Agreement::kInPart},
    {"sign.rear-clocks", Agreement::kYes},
    {"size.hot-clocks", Agreement::kYes},
    {"sign.overlap-clocks", Agreement::kYes},
    {"sign.overlap-heat", Agreement::kNo},
    {"sign.recompute-gpt3", Agreement::kInPart},
    {"sign.recompute-llama3", Agreement::kInPart},
    {"size.clock-lock", Agreement::kYes},
    {"size.rear-hotter-h200", Agreement::kYes},
    {"size.rear-hotter-h100", Agreement::kYes},
    {"sign.rear-hotter", Agreement::kYes},
    {"sign.no-cool-down", Agreement::kYes},
    {"size.mi250-dies", Agreement::kYes},
    {"sign.power-fault", Agreement::kYes},
    {"size.power-fault", Agreement::kYes},
    {"sign.split-gpt3", Agreement::kYes},
    {"sign.split-gap-gpt3", Agreement::kYes},
    {"size.split-gpt3", Agreement::kYes},
    {"sign.split-llama3", Agreement::kNo},
    {"sign.split-gap-llama3", Agreement::kYes},
    {"size.split-llama3", Agreement::kInPart},
    {"size.cold-first", Agreement::kNo},
    {"sign.gpt3-energy", Agreement::kYes},
    {"sign.gpt3-speed", Agreement::kNo},
    {"sign.energy-where-slower", Agreement::kYes},
    {"size.energy-multiple", Agreement::kInPart},
    {"sign.mixtral-energy", Agreement::kYes},
    {"sign.speed-llama3-70b", Agreement::kYes},
    {"sign.speed-mixtral-8x7b", Agreement::kYes},
    {"sign.communication", Agreement::kYes},
    {"sign.sparse-send-recv", Agreement::kYes},
    {"size.effective-port", Agreement::kNo},
    {"sign.fsdp-micro-batch", Agreement::kYes},
    {"size.fsdp-micro-batch", Agreement::kYes},
    {"sign.deep-micro-batch", Agreement::kYes},
    {"sign.micro-batch-peak", Agreement::kInPart},
    {"sign.micro-batch-heat", Agreement::kNo},
    {"sign.mi250-micro-batch", Agreement::kInPart},
    {"sign.mi250-memory", Agreement::kNo},
    {"sign.mi250-clock", Agreement::kNo},
    {"sign.recompute-fits", Agreement::kInPart},
    {"sign.recompute-costs", Agreement::kYes},
    {"sign.overlap-gain", Agreement::kInPart},
    {"sign.lora-power", Agreement::kInPart},
    {"sign.lora-efficiency", Agreement::kYes},
    {"size.lora-efficiency", Agreement::kInPart},
    {"size.braked-gpu", Agreement::kYes},
    {"size.board-heat", Agreement::kNo},
    {"size.board-speed", Agreement::kNo},
    {"size.mi300x-heat", Agreement::kYes},
    {"size.mi300x-clocks", Agreement::kNo},
    {"size.warm-air", Agreement::kYes},
};

void expect_verdicts(const std::vector<run::StudyFinding>& findings) {
  for (const run::StudyFinding& f : findings) {
    fmt::print("| {} | {} | {} | {} | {} | {} |\n", f.id.substr(0, f.id.find('.')), f.title,
               f.source.starts_with("arXiv 2509") ? f.reported : f.reported + " (" + f.source + ")",
               f.predicted, is_open(f) ? "" : word(f.agrees), f.why);
    EXPECT_FALSE(f.points.empty()) << f.id;
    const auto known = kVerdicts.find(f.id);
    if (is_open(f)) continue;
    if (known == kVerdicts.end()) {
      ADD_FAILURE() << "no verdict is held of {\"" << f.id << "\", " << word(f.agrees) << "}";
      continue;
    }
    EXPECT_EQ(f.agrees, known->second) << f.id << ": " << f.predicted;
  }
  size_t open = 0;
  for (const run::StudyFinding& f : findings) open += is_open(f);
  EXPECT_EQ(findings.size() - open, kVerdicts.size());
  fmt::print("{}\n", agreement_text(findings));
}

void expect_ready_to_be_drawn(const run::Study& study) {
  std::map<std::string, int> panels;
  for (const run::Figure& figure : study.figures) {
    ++panels[figure.id];
    SCOPED_TRACE(figure.id + " " + figure.panel);
    EXPECT_FALSE(figure.caption.empty());
    EXPECT_FALSE(figure.title.empty());
    for (const run::FigureSeries& series : figure.series) {
      EXPECT_EQ(series.x.size(), series.y.size()) << series.label;
      if (!series.point.empty()) {
        EXPECT_EQ(series.x.size(), series.point.size()) << series.label;
      }
      EXPECT_EQ(series.value.size(),
                figure.kind == run::FigureKind::kHeatMap ? series.x.size() : 0u)
          << series.label;
      for (const double x : series.x) {
        if (figure.x.categories.empty()) continue;
        EXPECT_LT(x, static_cast<double>(figure.x.categories.size()));
      }
      for (const int64_t point : series.point)
        EXPECT_LT(point, static_cast<int64_t>(study.points.size()));
    }
  }
  for (int number = 3; number <= 22; ++number)
    EXPECT_GT(panels[fmt::format("figure-{}", number)], 0) << number;
}

TEST(CharllmStudy, VerdictsHoldAndFiguresAreReady) {
#ifdef ERGOMETER_SANITIZED
  GTEST_SKIP() << "hundreds of jobs of up to 8,192 GPUs: minutes with sanitizers";
#endif
  const run::Study study = whole_study();
  expect_verdicts(study.findings);
  expect_ready_to_be_drawn(study);
}

}  // namespace
}  // namespace ergometer::study

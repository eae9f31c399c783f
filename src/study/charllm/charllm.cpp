#include "study/charllm/charllm.h"

#include <fmt/format.h>

#include "study/charllm/figures/figures.h"
#include "study/charllm/findings/findings.h"

namespace ergometer::study {
namespace {

bool is_sign(const run::StudyFinding& finding) { return finding.id.starts_with("sign."); }

}  // namespace

std::vector<run::StudyFinding> charllm_findings(const run::Study& study) {
  charllm::Findings findings(study);
  for (const auto theme :
       {charllm::clock_findings, charllm::heat_findings, charllm::liquid_findings,
        charllm::stage_findings, charllm::testbed_findings, charllm::tuning_findings,
        charllm::adapter_findings, charllm::neighbour_findings, charllm::open_findings})
    theme(findings);
  std::vector<run::StudyFinding> all;
  for (charllm::Found& found : findings.take()) all.push_back(std::move(found.finding));
  return all;
}

std::vector<run::Figure> charllm_figures(const run::Study& study) {
  charllm::Figures figures(study);
  for (const auto group :
       {charllm::breakdown_figures, charllm::panel_figures, charllm::gpu_figures,
        charllm::timeline_figures, charllm::thermal_figures, charllm::open_figures})
    group(figures);
  return figures.take();
}

bool is_open(const run::StudyFinding& finding) { return finding.id.starts_with("open."); }

std::string agreement_text(const std::vector<run::StudyFinding>& findings) {
  struct Count {
    int all = 0, yes = 0, part = 0;
  } signs, sizes;
  for (const run::StudyFinding& finding : findings) {
    if (is_open(finding)) continue;
    Count& count = is_sign(finding) ? signs : sizes;
    ++count.all;
    count.yes += finding.agrees == run::Agreement::kYes;
    count.part += finding.agrees == run::Agreement::kInPart;
  }
  return fmt::format(
      "{} of {} signs and rank orders agree, {} in part; {} of {} sizes agree, {} in part",
      signs.yes, signs.all, signs.part, sizes.yes, sizes.all, sizes.part);
}

}  // namespace ergometer::study

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "run/study.h"
#include "study/charllm/evidence.h"

namespace ergometer::study::charllm {

/// What was reported and what is predicted, without the verdict.
struct Claim {
  std::string id, title, reported, source, predicted, why;
};

/// Findings as they are put together. One whose points are not all there is left out.
class Findings {
 public:
  explicit Findings(const run::Study& study) : study_(study) {}
  Basis basis() const { return Basis(study_); }
  void add(const Basis& basis, const Claim& claim, run::Agreement agrees) {
    if (!basis.complete()) return;
    list_.push_back({claim.id, claim.title, claim.reported, claim.source, claim.predicted,
                     claim.why, agrees, basis.points()});
  }
  void add(const Basis& basis, const Claim& claim, bool agrees) {
    add(basis, claim, agrees ? run::Agreement::kYes : run::Agreement::kNo);
  }
  std::vector<run::StudyFinding> take() { return std::move(list_); }

 private:
  const run::Study& study_;
  std::vector<run::StudyFinding> list_;
};

/// All, most or fewer of the cases go as reported: yes, in part, no.
run::Agreement of_cases(size_t agree, size_t cases);

/// The themes; each adds its findings in the order of the report.
void clock_findings(Findings& findings);
void heat_findings(Findings& findings);
void stage_findings(Findings& findings);
void testbed_findings(Findings& findings);
void tuning_findings(Findings& findings);
void adapter_findings(Findings& findings);
void neighbour_findings(Findings& findings);
void open_findings(Findings& findings);

/// The study's paper by its readers; "artifact" where it was read in the study's own files.
inline constexpr const char* kPaper = "arXiv 2509.10371, by its readers";

}  // namespace ergometer::study::charllm

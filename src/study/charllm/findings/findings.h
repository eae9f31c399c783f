#pragma once

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "run/study.h"
#include "study/charllm/evidence.h"

namespace ergometer::study::charllm {

/// The one number that a claim is about.
struct Measure {
  double value = 0;
  std::string unit;                            ///< " %", " times"
  double reported_low = 0, reported_high = 0;  ///< what was reported of it; may be infinite
};

/// For a side that nothing bounds.
inline constexpr double kAny = std::numeric_limits<double>::infinity();

/// What was reported and what is predicted, without the verdict.
struct Claim {
  std::string id, title, reported, source, predicted, why;
  std::optional<Measure> measure = std::nullopt;
};

/// A finding and its number.
struct Found {
  run::StudyFinding finding;
  std::optional<Measure> measure;
};

/// Findings as they are put together. One whose points are not all there is left out.
class Findings {
 public:
  /// `asked`: as of `Basis`.
  explicit Findings(const run::Study& study, Asked* asked = nullptr)
      : study_(study), asked_(asked) {}
  Basis basis() const { return Basis(study_, asked_); }
  void add(const Basis& basis, const Claim& claim, run::Agreement agrees) {
    if (!basis.complete()) return;
    list_.push_back({{claim.id, claim.title, claim.reported, claim.source, claim.predicted,
                      claim.why, agrees, basis.points()},
                     claim.measure});
  }
  void add(const Basis& basis, const Claim& claim, bool agrees) {
    add(basis, claim, agrees ? run::Agreement::kYes : run::Agreement::kNo);
  }
  std::vector<Found> take() { return std::move(list_); }

 private:
  const run::Study& study_;
  Asked* asked_;
  std::vector<Found> list_;
};

/// All, most or fewer of the cases go as reported: yes, in part, no.
run::Agreement of_cases(size_t agree, size_t cases);

/// The themes; each adds its findings in the order of the report.
void clock_findings(Findings& findings);
void heat_findings(Findings& findings);
void liquid_findings(Findings& findings);
void stage_findings(Findings& findings);
void testbed_findings(Findings& findings);
void tuning_findings(Findings& findings);
void adapter_findings(Findings& findings);
void neighbour_findings(Findings& findings);
void open_findings(Findings& findings);

/// The study's paper by its readers; "artifact" where it was read in the study's own files.
inline constexpr const char* kPaper = "arXiv 2509.10371, by its readers";

}  // namespace ergometer::study::charllm

#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/outcome/interval.h"
#include "validation/predict.h"
#include "validation/rows/measured_run.h"

namespace ergometer::validation {

/// Measured runs counted by kind, in the order of the kinds.
class EvidenceCount {
 public:
  void add(const engine::EvidenceKey& kind, const std::string& group, int64_t gpus);
  std::vector<engine::Evidence> rows() const;

 private:
  struct Seen {
    std::set<std::string> groups;
    int64_t rows = 0, most_gpus = 0;
  };
  std::map<engine::EvidenceKey, Seen> kinds_;
};

/// The measured step times by kind of run, in the order of the kinds: what catalog/tables/
/// evidence.csv holds. Rows without a prediction or a step time are no evidence. A group whose rows
/// are of two kinds counts in both.
std::vector<engine::Evidence> evidence(const std::vector<MeasuredRun>& runs,
                                       const std::vector<Prediction>& predictions);

}  // namespace ergometer::validation

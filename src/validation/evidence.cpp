#include "validation/evidence.h"

#include <algorithm>

#include "base/collection.h"
#include "validation/score.h"

namespace ergometer::validation {

void EvidenceCount::add(const engine::EvidenceKey& kind, const std::string& group, int64_t gpus) {
  Seen& seen = kinds_[kind];
  seen.groups.insert(group);
  ++seen.rows;
  seen.most_gpus = std::max(seen.most_gpus, gpus);
}

std::vector<engine::Evidence> EvidenceCount::rows() const {
  return base::mapped(kinds_, [](const auto& it) -> engine::Evidence {
    const auto& [kind, seen] = it;
    return {kind, static_cast<int64_t>(seen.groups.size()), seen.rows, seen.most_gpus};
  });
}

std::vector<engine::Evidence> evidence(const std::vector<MeasuredRun>& runs,
                                       const std::vector<Prediction>& predictions) {
  EvidenceCount kinds;
  for (size_t i = 0; i < runs.size(); ++i) {
    const Prediction& p = predictions[i];
    if (!p.skipped_reason.empty() || !p.measured.step_time_s) continue;
    kinds.add(p.kind, group_of(runs[i]), p.gpus);
  }
  return kinds.rows();
}

}  // namespace ergometer::validation

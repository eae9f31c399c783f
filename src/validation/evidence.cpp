#include "validation/evidence.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "validation/score.h"

namespace ergometer::validation {

std::vector<engine::Evidence> evidence(const std::vector<MeasuredRun>& runs,
                                       const std::vector<Prediction>& predictions) {
  struct Seen {
    std::set<std::string> groups;
    int64_t rows = 0, most_gpus = 0;
  };
  std::map<engine::EvidenceKey, Seen> kinds;
  for (size_t i = 0; i < runs.size(); ++i) {
    const Prediction& p = predictions[i];
    if (!p.skipped_reason.empty() || !p.measured.step_time_s) continue;
    Seen& seen = kinds[p.kind];
    seen.groups.insert(group_of(runs[i]));
    ++seen.rows;
    seen.most_gpus = std::max(seen.most_gpus, p.gpus);
  }
  std::vector<engine::Evidence> out;
  for (const auto& [key, seen] : kinds)
    out.push_back({key, static_cast<int64_t>(seen.groups.size()), seen.rows, seen.most_gpus});
  return out;
}

}  // namespace ergometer::validation

#include "spec/job/adjustments.h"

#include <algorithm>

namespace ergometer::spec {

std::vector<std::string> adjustments(const Job& job) {
  std::vector<std::string> reasons;
  for (const auto& [name, origin] : job.origins) {
    const size_t at = origin.text.find(kAdjusted);
    if (at == std::string::npos) continue;
    std::string reason = origin.text.substr(at + kAdjusted.size());
    if (std::find(reasons.begin(), reasons.end(), reason) == reasons.end())
      reasons.push_back(std::move(reason));
  }
  return reasons;
}

}  // namespace ergometer::spec

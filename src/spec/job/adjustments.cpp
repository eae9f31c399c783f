#include "spec/job/adjustments.h"

#include "base/collection.h"

namespace ergometer::spec {

std::vector<std::string> adjustments(const Job& job) {
  std::vector<std::string> reasons;
  for (const auto& [name, origin] : job.origins) {
    const size_t at = origin.text.find(kAdjusted);
    if (at == std::string::npos) continue;
    std::string reason = origin.text.substr(at + kAdjusted.size());
    if (!base::contains(reasons, reason)) reasons.push_back(std::move(reason));
  }
  return reasons;
}

}  // namespace ergometer::spec

#include "analysis/findings/run_advice.h"

namespace ergometer::analysis {

std::string advice_for_job(std::span<const Advice> all, const run::JobSettings& job,
                           std::string_view otherwise) {
  std::string text;
  for (const Advice& advice : all) {
    if (!advice.can_help(job)) continue;
    if (!text.empty()) text += ", ";
    text += advice.text;
  }
  return (text.empty() ? std::string(otherwise) : text) + ".";
}

}  // namespace ergometer::analysis

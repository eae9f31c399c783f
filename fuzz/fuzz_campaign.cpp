// What `ergometer plan` reads: a table of failures, phases of a run, a series by hour; what
// `replan` reads: changes of conditions, which cut a run into stretches without gaps.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "campaign/by_hour.h"
#include "campaign/changes_file.h"
#include "campaign/failures.h"
#include "campaign/phases_file.h"

namespace {

/// A refusal has a message.
template <class Result>
void check_campaign_input(const Result& result) {
  if (!result && result.error().message.empty()) std::abort();
}

void check_changes(const std::string& text) {
  using namespace ergometer::campaign;
  constexpr double kRunS = 36000;
  const auto changes = parse_changes(text, "changes.yaml");
  check_campaign_input(changes);
  if (!changes) return;
  const auto stretches = stretches_of({}, *changes, kRunS, "changes.yaml");
  check_campaign_input(stretches);
  if (!stretches) return;
  double end_s = 0;
  for (const Stretch& stretch : *stretches) {
    if (stretch.from_s != end_s || !(stretch.to_s > end_s)) std::abort();
    end_s = stretch.to_s;
  }
  if (end_s != kRunS) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ergometer::campaign;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto failures = parse_failures(text, "failures.csv");
  check_campaign_input(failures);
  if (failures && !(failures->per_gpu_hour >= 0 && failures->spread >= 1)) std::abort();
  const auto phases = parse_phases(text, "run.yaml");
  check_campaign_input(phases);
  if (phases)
    for (const Phase& phase : *phases)
      if (!(phase.tokens >= 1)) std::abort();
  check_campaign_input(parse_by_hour(text, "limit.csv", "limit", {"W", 1, 1e12}));
  check_campaign_input(parse_tokens(text));
  check_changes(text);
  return 0;
}

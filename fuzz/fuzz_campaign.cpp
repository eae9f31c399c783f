// What `ergometer plan` reads: a table of failures, phases of a run, a series by hour.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "campaign/by_hour.h"
#include "campaign/failures.h"
#include "campaign/phases_file.h"

namespace {

/// A refusal has a message.
template <class Result>
void check_campaign_input(const Result& result) {
  if (!result && result.error().message.empty()) std::abort();
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
  return 0;
}

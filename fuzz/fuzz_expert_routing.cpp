// How tokens choose experts: a table of counts says in line what it says in its rows.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "spec/job/expert_routing.h"

namespace spec = ergometer::spec;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int64_t kExperts = 64;
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (!text.starts_with("file:")) (void)spec::parse_expert_routing(text, kExperts);
  const auto in_line = spec::parse_expert_counts(text, "counts.csv", kExperts);
  if (!in_line) return 0;
  const auto routing = spec::parse_expert_routing(*in_line, kExperts);
  ERGOMETER_CHECK(routing && routing->kind == spec::RoutingKind::kCounts,
                  "counts read as they were written");
  return 0;
}

// A file of rules for `ergometer serve --rules`: what passes its checks can be told and held to a
// job.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "watch/alerts.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ergometer::watch;
  const auto read = parse_rules({reinterpret_cast<const char*>(data), size}, "rules.yaml");
  if (!read) {
    if (read.error().message.empty()) std::abort();
    return 0;
  }
  for (const Rule& rule : *read) {
    if (meaning(rule).empty() || rule.finding.empty() == rule.metric.empty()) std::abort();
    if (!rule.metric.empty() && rule.window_ns < 1'000'000'000) std::abort();
    if (rule.action.kind == Action::Kind::kCommand && rule.action.command.empty()) std::abort();
  }
  Alerts alerts(*read);
  for (int64_t second = 1; second < 4; ++second)
    alerts.look(
        {second * 1'000'000'000, {}, {{second, 1.5, 0, 0}}, {{"silent", "bad", "a", {"b"}, 0}}});
  return 0;
}

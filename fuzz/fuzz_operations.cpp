// A timeline of operations and the sizes of its groups: refused with a message, or an answer of
// finite numbers.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "analysis/operations/operation_slowdown.h"
#include "import/operations/operations.h"
#include "report/measured/operations_output.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ergometer;
  const std::string text(reinterpret_cast<const char*>(data), size);
  auto groups = importer::read_operation_groups(text, "sizes.yaml");
  if (!groups && groups.error().message.empty()) std::abort();
  importer::TextSource source(text);
  const auto timeline = importer::read_operations(
      source, "timeline.json",
      groups ? *groups : run::OperationGroups{.stages = 2, .replicas = 2, .lanes = 2, .chunks = 2});
  if (!timeline) {
    if (timeline.error().message.empty()) std::abort();
    return 0;
  }
  const auto of = analysis::operation_slowdown(*timeline, 1);
  if (!std::isfinite(of.slowdown) || of.replayed_step_s < 0 || of.by_worker.empty()) std::abort();
  if (report::operations_json(of, "timeline.json").empty()) std::abort();
  if (report::operations_text(of, "timeline.json", {}).empty()) std::abort();
  return 0;
}

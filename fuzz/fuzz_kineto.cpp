// A trace, packed or in an archive or plain: refused with a message, or a breakdown that adds up.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "check_trace.h"
#include "file_input.h"
#include "import/import.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const FileInput input(data, size);
  const auto recorded = ergometer::importer::read_recorded({input.path()}, {}, 1);
  if (!recorded) {
    if (recorded.error().message.empty()) std::abort();
    return 0;
  }
  for (const auto& dropped : recorded->traces.dropped)
    if (dropped.count <= 0 || dropped.reason.empty()) std::abort();
  check(recorded->traces.ranks);
  return 0;
}

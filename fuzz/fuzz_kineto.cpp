// A trace, packed or in an archive or plain: refused with a message, or a breakdown that adds up.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "check_trace.h"
#include "file_input.h"
#include "import/import.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const FileInput input(data, size);
  const auto traces = ergometer::importer::read_traces({input.path()}, 1);
  if (!traces) {
    if (traces.error().message.empty()) std::abort();
    return 0;
  }
  for (const auto& dropped : traces->dropped)
    if (dropped.count <= 0 || dropped.reason.empty()) std::abort();
  check(traces->ranks);
  return 0;
}

// A MegaScan timeline or a Primus dump: refused with a message, or a summary that adds up.
#include <cstddef>
#include <cstdint>

#include "file_input.h"
#include "graph_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const FileInput input(data, size);
  check_file(input.path());
  return 0;
}

// A study's matrix of configurations: refused with a message, or rows whose jobs resolve or are
// refused.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "check_settings.h"
#include "spec/files/matrix.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ergometer;
  const auto rows = spec::parse_matrix({reinterpret_cast<const char*>(data), size}, "matrix.csv");
  if (!rows) {
    if (rows.error().message.empty()) std::abort();
    return 0;
  }
  for (const spec::MatrixRow& row : *rows) {
    if (row.refusal && row.refusal->empty()) std::abort();
    spec::Settings job = row.settings;
    // Files are not followed: the input names them at will.
    for (const char* file : {"model", "cluster", "software", "rank_map"}) job.erase(file);
    check_settings(job);
  }
  return 0;
}

// Schedule files: what is read is whole, can be written and reads the same again.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "spec/settings/schedule_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ergometer::spec;
  const auto file = parse_schedule({reinterpret_cast<const char*>(data), size});
  if (!file) return 0;
  ERGOMETER_CHECK(micro_batches_of(file->order) == file->micro_batches &&
                      chunks_of(file->order) == file->chunks,
                  "every stage has every micro batch");
  const auto again = parse_schedule(schedule_text(file->order, "file"));
  ERGOMETER_CHECK(again && again->order == file->order, "a schedule reads as it was written");
  return 0;
}

// Where a job lies: what is read can be written and reads the same again.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "together/nodes.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto place = ergometer::together::parse_place(text);
  if (!place) return 0;
  const auto again = ergometer::together::parse_place(ergometer::together::place_text(*place));
  ERGOMETER_CHECK(again && *again == *place, "a place reads as it was written");
  return 0;
}

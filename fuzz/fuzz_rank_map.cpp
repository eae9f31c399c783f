// Rank maps: what is read can be written and reads the same again.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "spec/settings/rank_map.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto map = ergometer::spec::parse_rank_list(text);
  if (!map) return 0;
  const auto again = ergometer::spec::parse_rank_list(ergometer::spec::rank_map_text(*map));
  ERGOMETER_CHECK(again && *again == *map, "a rank map reads as it was written");
  return 0;
}

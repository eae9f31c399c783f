// Numbers with units, as data files and flags give them: whatever is accepted is a finite number.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/json_writer.h"
#include "base/nearest.h"
#include "base/text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace base = ergometer::base;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto measure = base::parse_measure(text); measure && !std::isfinite(measure->value))
    std::abort();
  if (const auto number = base::parse_number(text); number && !std::isfinite(*number)) std::abort();
  if (const auto integer = base::parse_integer(text);
      integer && base::parse_integer(std::to_string(*integer)).value() != *integer)
    std::abort();
  base::json_quote(text);
  base::edit_distance(text, "interleaved");
  return 0;
}

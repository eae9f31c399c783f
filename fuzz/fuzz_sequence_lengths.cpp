// How long documents are: a file says in line what it says in its lines.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "spec/job/sequence_lengths.h"

namespace spec = ergometer::spec;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (!text.starts_with("file:")) (void)spec::parse_sequence_lengths(text);
  const auto in_line = spec::parse_length_counts(text, "lengths.csv");
  if (!in_line) return 0;
  const auto lengths = spec::parse_sequence_lengths(*in_line);
  ERGOMETER_CHECK(lengths && lengths->kind == spec::LengthKind::kCounted,
                  "lengths read as they were written");
  return 0;
}

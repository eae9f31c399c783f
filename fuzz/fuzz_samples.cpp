// What samples have of images and text: a file says in line what it says in its lines.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "spec/job/sample_sizes.h"

namespace spec = ergometer::spec;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (!text.starts_with("file:")) (void)spec::parse_samples(text);
  const auto in_line = spec::parse_sample_table(text, "samples.csv");
  if (!in_line) return 0;
  const auto samples = spec::parse_samples(*in_line);
  ERGOMETER_CHECK(samples && samples->kind == spec::LengthKind::kSamples,
                  "samples read as they were written");
  return 0;
}

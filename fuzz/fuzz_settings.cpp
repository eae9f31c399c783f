// The settings that a Run file keeps of its job.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "check_settings.h"
#include "spec/files/settings_record.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ergometer;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto read = spec::parse_settings_json(text, "a.run");
  check_settings(read);
  if (!read) return 0;
  const auto again = spec::parse_settings_json(spec::settings_json(*read), "a.run");
  if (!again || again->all().size() != read->all().size()) std::abort();
  return 0;
}

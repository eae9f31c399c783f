// A launch script, or a list of Megatron-LM's arguments.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "check_settings.h"
#include "intake/launch_script.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ergometer;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto reading =
      intake::parse_launch_script(text, "fuzz.sh", {{{"A", "1"}}, {"x", "2"}, {}, 0});
  if (!reading) {
    if (reading.error().message.empty()) std::abort();
    return 0;
  }
  check_settings(Result<spec::Settings>(reading->settings));
  // A mark of something unknown never leaves the reader.
  for (const auto& [name, value] : reading->settings.all())
    if (value.text.find('\x01') != std::string::npos) std::abort();
  return 0;
}

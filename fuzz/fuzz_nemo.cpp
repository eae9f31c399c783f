// A NeMo 1 YAML.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "check_settings.h"
#include "spec/settings/settings.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> ignored;
  check_settings(ergometer::spec::parse_nemo(text, "nemo.yaml", ignored));
  return 0;
}

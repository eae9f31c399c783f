// A NeMo 1 YAML.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "check_settings.h"
#include "file_input.h"
#include "spec/settings/settings.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const FileInput input(data, size);
  std::vector<std::string> ignored;
  check_settings(ergometer::spec::read_nemo(input.path(), ignored));
  return 0;
}

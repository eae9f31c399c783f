// A launch script or a list of Megatron-LM arguments.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "check_settings.h"
#include "file_input.h"
#include "intake/launch_script.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const FileInput input(data, size);
  std::vector<std::string> ignored;
  check_settings(ergometer::intake::read_megatron_arguments(input.path(), ignored));
  return 0;
}

// A job file.
#include <cstddef>
#include <cstdint>
#include <string>

#include "check_settings.h"
#include "spec/settings/settings.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // In a folder that is not there: what the input names beside itself is nobody's file or pipe.
  const std::string text(reinterpret_cast<const char*>(data), size);
  check_settings(ergometer::spec::parse_job_file(text, "no-such-folder/job.yaml"));
  return 0;
}

// A job file.
#include <cstddef>
#include <cstdint>

#include "check_settings.h"
#include "file_input.h"
#include "spec/settings/settings.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const FileInput input(data, size);
  check_settings(ergometer::spec::read_job_file(input.path()));
  return 0;
}

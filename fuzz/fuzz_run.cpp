// A Run file of any bytes: read whole and as telemetry, and looked at as `analyze` does. Whatever
// it holds, the answer is a Run or an error with a message.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "analysis/telemetry.h"
#include "run/run.h"

namespace {

const std::string& path() {
  static const std::string name = "/dev/shm/ergometer-fuzz-run-" + std::to_string(getpid());
  return name;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  using namespace ergometer;
  std::FILE* file = std::fopen(path().c_str(), "wb");
  if (file == nullptr) std::abort();
  std::fwrite(data, 1, size, file);
  std::fclose(file);
  const auto run = run::read_run(path());
  if (!run && run.error().message.empty()) std::abort();
  const auto log = run::read_device_log(path());
  if (log) (void)analysis::analyze_telemetry(*log);
  (void)run::has_traces(path());
  std::remove(path().c_str());
  return 0;
}

// A file of measured runs, and the jobs that its rows make.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "validation/rows/measurement.h"
#include "validation/rows/run_job.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ergometer;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto runs = validation::parse_measured_runs(text, "fuzz.csv");
  if (!runs) {
    if (runs.error().message.empty()) std::abort();
    return 0;
  }
  for (const validation::MeasuredRun& run : *runs) {
    const auto made = validation::make_job(run);
    if (!made) {
      if (made.error().message.empty()) std::abort();
      continue;
    }
    const auto& parallel = made->job.parallelism;
    if (parallel.tp * parallel.cp * parallel.pp * parallel.dp != made->job.gpus) std::abort();
    const auto measured = validation::measurement(run, made->job);
    if (measured.step_time_s && !(*measured.step_time_s > 0)) std::abort();
  }
  return 0;
}

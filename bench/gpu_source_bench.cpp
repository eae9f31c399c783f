// What recording costs beside the vendor's calls: eight GPUs, 20 metrics each, read through a fake
// of NVIDIA's library that answers at once. Its answers are in the time: an upper bound.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "record/sources.h"

namespace {

using namespace ergometer;

constexpr const char* kScript = R"(
gpus 8
name NVIDIA H200
update_us 1
value architecture 9
value capability_major 9
value capability_minor 0
value 186 612345 700000
value 185 600000
counter 83 5000000 60
value 82 64
counter 197 1000000 500
counter 198 2000000 700
counter 138.all 1000 1
counter 139.all 2000 1
counter 74 1500000000 1
counter 76 0 1
counter 269 2500000000 1
counter 270 0 1
counter 271 40000000 1
value temperature 61
value margin 26
value sm_clock 1755
value memory_clock 3201
value reasons 4
value gpu_util 97
value memory_util 41
)";

void read_eight_gpus(benchmark::State& state) {
  const auto path = std::filesystem::temp_directory_path() / ("nvml_" + std::to_string(getpid()));
  std::ofstream(path) << kScript;
  setenv("ERGOMETER_FAKE_NVML", path.c_str(), 1);
  record::SourceOptions options;
  options.nvml_libraries = {ERGOMETER_FAKE_NVML};
  const auto source = record::open_nvml(options);
  std::filesystem::remove(path);
  if (!source) return state.SkipWithError(source.error().message.c_str());
  record::Batch batch;
  int64_t readings = 0;
  for ([[maybe_unused]] const auto _ : state) {
    batch.clear();
    (*source)->read(batch);
    readings += static_cast<int64_t>(batch.readings.size());
  }
  state.counters["readings"] =
      static_cast<double>(readings) / static_cast<double>(state.iterations());
}
BENCHMARK(read_eight_gpus)->Unit(benchmark::kMicrosecond);

}  // namespace

// What recording costs beyond the sources' calls: 8 GPUs with 20 metrics each, all of them new at
// every round. The goal at 10 Hz is 0.5 % of a core and 32 MB.

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "record/recorder.h"
#include "record/usage.h"

namespace {

using namespace ergometer;

constexpr size_t kSourceGpus = 8, kSourceMetrics = 20;

class ManyGpus : public record::Source {
 public:
  ManyGpus() : devices_(kSourceGpus) {}
  std::string_view name() const override { return "many"; }
  std::span<const run::Device> devices() const override { return devices_; }
  std::span<const run::Metric> metrics() const override { return {}; }
  void read(record::Batch& batch) override {
    ++reads_;
    for (size_t gpu = 0; gpu < kSourceGpus; ++gpu) {
      const int64_t now = record::now_ns();
      for (size_t m = 0; m < kSourceMetrics; ++m)
        batch.add(gpu, static_cast<run::Metric>(m), now,
                  50 + 0.125 * static_cast<double>(reads_ % 97));
    }
  }
  std::vector<record::CallCost> costs() const override { return {}; }

 private:
  std::vector<run::Device> devices_;
  int64_t reads_ = 0;
};

void record_eight_gpus(benchmark::State& state) {
  const auto hz = static_cast<double>(state.range(0));
  const std::string path =
      (std::filesystem::temp_directory_path() / ("recorder-bench-" + std::to_string(getpid())))
          .string();
  for (auto _ : state) {
    auto recording = run::Recording::create(path, {{"host", "node1"}});
    if (!recording) return state.SkipWithError(recording.error().message.c_str());
    std::vector<std::unique_ptr<record::Source>> sources;
    sources.push_back(std::make_unique<ManyGpus>());
    record::Snapshot snapshot;
    record::Recorder recorder(std::move(sources), *std::move(recording), snapshot,
                              {hz, "node1", {}}, [](const std::string&) {});
    recorder.start();
    std::this_thread::sleep_for(std::chrono::seconds(20));
    const record::RecorderReport report = recorder.stop();
    const double ns = static_cast<double>(report.end_ns - report.start_ns);
    state.counters["own_cpu_pct"] = 100 * static_cast<double>(report.cpu_ns) / ns;
    state.counters["missed"] = static_cast<double>(report.missed);
    state.counters["resident_mb"] = static_cast<double>(record::resident_bytes()) * 1e-6;
    state.counters["file_kb_per_s"] =
        static_cast<double>(std::filesystem::file_size(path)) * 1e-3 / (ns * 1e-9);
  }
  std::filesystem::remove(path);
}
BENCHMARK(record_eight_gpus)->Arg(1)->Arg(10)->Arg(100)->Iterations(1)->UseRealTime();

}  // namespace

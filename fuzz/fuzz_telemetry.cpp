// A file of telemetry of any kind, and what is said of it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "check_telemetry.h"
#include "file_input.h"
#include "import/import.h"
#include "import/telemetry/telemetry.h"

namespace {

using namespace ergometer;

constexpr uint8_t kAsFile = 31;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Packed, in an archive or a database: as a file.
  if (size > 0 && data[0] == kAsFile) {
    const FileInput file(data + 1, size - 1);
    const auto telemetry = importer::read_telemetry({file.path()}, {.repair = true});
    if (!telemetry) return 0;
    check(analysis::analyze_telemetry(telemetry->log));
    check_changes(telemetry->log);
    return 0;
  }
  // The first byte chooses the name, since a pair list's meaning stands there.
  constexpr const char* kNames[] = {"t.csv",
                                    "gpu_power_0.csv",
                                    "pcie_tx_bytes_3.csv",
                                    "nvlink_rx_throughput_1.csv",
                                    "mixtral-8x7b_1_x/power_0.csv",
                                    "system_cpu_idle_rank_0_id_1.csv",
                                    "system_memory_used_0.csv",
                                    "system_ib_rx_bytes_rank_0_id_a.csv"};
  const size_t choice = size > 0 ? data[0] % 16 : 0;
  const size_t skipped = size > 0 && data[0] < ' ' ? 1 : 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + skipped, size - skipped);
  const auto log = importer::parse_telemetry(text, kNames[choice / 2], {choice % 2 == 1});
  if (!log) {
    if (log.error().message.empty()) std::abort();
    return 0;
  }
  for (const run::Device& device : log->devices)
    for (const run::Series& series : device.series)
      for (size_t i = 1; i < series.samples.size(); ++i)
        if (series.samples[i].time_ns < series.samples[i - 1].time_ns) std::abort();
  check(analysis::analyze_telemetry(*log));
  check_changes(*log);
  return 0;
}

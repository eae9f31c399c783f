// A file of telemetry of any kind, and what is said of it.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "analysis/telemetry/anomalies.h"
#include "analysis/telemetry/heat_cost.h"
#include "analysis/telemetry/telemetry.h"
#include "file_input.h"
#include "import/import.h"
#include "import/telemetry/telemetry.h"

namespace {

using namespace ergometer;

constexpr uint8_t kAsFile = 31;

void check(double value) {
  if (!std::isfinite(value)) std::abort();
}

void check(const analysis::TelemetryReport& report) {
  for (const analysis::DeviceReport& device : report.devices) {
    for (const double value : {device.mean_w, device.p95_w, device.peak_w, device.energy_j,
                               device.disagreement_pct, device.updates.period_s})
      check(value);
    for (const analysis::EnergyWay& way : device.energies) check(way.energy_j);
    for (const analysis::ChangePoint& change : device.changes) check(change.before + change.after);
  }
  for (const analysis::TrainingReport& training : report.training)
    check(training.node_energy_j + training.energy_per_sample_j + training.disagreement_pct +
          training.logged.median_s + training.logged.high_s);
  for (const analysis::GaugeReport& gauge : report.gauges) check(gauge.mean);
  for (const analysis::CollectiveSize& size : report.collectives.sizes)
    check(size.median_s + size.bus_gb_per_s);
  for (const analysis::CommunicatorRank& rank : report.collectives.ranks)
    check(rank.others_waited_s);
  check(report.power.mean_w_per_gpu + report.cluster.mean_w + report.thermal.mean_gpu_c);
}

/// What is told of GPUs beside each other and over time.
void check_changes(const run::DeviceLog& log) {
  for (const analysis::LevelShift& shift : analysis::find_anomalies({}, log).shifts)
    check(shift.before + shift.after);
  for (const analysis::HeatCost& cost : analysis::heat_costs(log)) check(cost.lost_fraction);
}

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

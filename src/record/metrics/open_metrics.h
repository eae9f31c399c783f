#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "record/snapshot.h"

namespace ergometer::record {

/// What the recorder says of itself.
struct RecorderHealth {
  int64_t ticks = 0, missed_ticks = 0;
  struct Calls {
    std::string source;  ///< "nvml"
    std::vector<CallCost> calls;
  };
  std::vector<Calls> sources;
};

enum class NameSet : uint8_t {
  kErgometer,  ///< our names in base units: "ergometer_gpu_power_watts"
  kDcgm,       ///< GPUs under the DCGM exporter's names and labels, for boards made for it
};

struct MetricsOptions {
  NameSet names = NameSet::kErgometer;
  /// A reading that came longer ago is left out: its sensor no longer answers. Longer than the
  /// slowest source's pace.
  int64_t stale_after_ns = 60'000'000'000;
};

struct MetricsPage {
  std::string content_type, body;
};

/// The latest readings and the latest training step for Prometheus. `accept` is the request's
/// header: who names OpenMetrics gets that, everyone else the text format 0.0.4. Under DCGM's names
/// it is always the latter, as OpenMetrics wants counters to end in "_total".
///
/// Samples carry no times: Prometheus then takes that of its request, and sees at once when a
/// series ends. A Run played back shows its readings as of now.
MetricsPage metrics_page(const std::vector<Snapshot::Latest>& latest, const RecorderHealth& health,
                         const MetricsOptions& options, int64_t now_ns, std::string_view accept,
                         const std::optional<run::TrainingStep>& step = std::nullopt);

}  // namespace ergometer::record

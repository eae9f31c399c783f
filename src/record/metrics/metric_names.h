#pragma once

#include <string>
#include <string_view>

#include "run/device_log.h"

namespace ergometer::record {

/// A metric under a name of an exporter.
struct ExportedName {
  std::string_view name;  ///< ours: what stands behind "ergometer_gpu_", without "_total"
  std::string_view unit;  ///< the end of the name where it is a unit: "watts"; else empty
  double scale = 1;       ///< what the metric's value is multiplied by
  std::string_view help;
};

/// Our names: base units, Prometheus' conventions. kEventReasons has none of its own kind: each of
/// its bits is a sample of 0 or 1 with the label `reason`.
const ExportedName& own_name(run::Metric metric);
/// "ergometer_gpu_power_watts", "ergometer_port_transmit_bytes": without "_total".
std::string own_family(run::DeviceKind kind, run::Metric metric);

/// The DCGM exporter's name of a GPU's metric; null where it has none, or none that counts the
/// same.
const ExportedName* dcgm_name(run::Metric metric);

}  // namespace ergometer::record

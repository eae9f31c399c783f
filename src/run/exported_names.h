#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "run/device_log.h"

namespace ergometer::run {

/// A metric under a name of an exporter.
struct ExportedName {
  std::string_view name;  ///< ours: what stands behind "ergometer_gpu_", without "_total"
  std::string_view unit;  ///< the end of the name where it is a unit: "watts"; else empty
  double scale = 1;       ///< what the metric's value is multiplied by
  std::string_view help;
};

/// Our names: base units, Prometheus' conventions. kEventReasons has none of its own kind: each of
/// its bits is a sample of 0 or 1 with the label `reason`.
const ExportedName& own_name(Metric metric);
/// "ergometer_gpu_power_watts", "ergometer_port_transmit_bytes": without "_total".
std::string own_family(DeviceKind kind, Metric metric);

/// What our family of that name holds, "_total" behind it or not.
struct OwnFamily {
  DeviceKind kind = DeviceKind::kGpu;
  Metric metric = Metric::kPower;
};
std::optional<OwnFamily> own_family_of(std::string_view name);

/// A unit as OTLP has it (UCUM) and as Prometheus' names end in it, by OpenTelemetry's rules for
/// translating the one into the other.
struct UnitName {
  std::string_view otlp, prometheus;
};
std::span<const UnitName> unit_names();

/// Our names for OTLP, of which collectors make `own_family`: "ergometer.gpu.power" in "W". The
/// unit is empty where OTLP has none of the kind; the name then ends in it.
struct OtlpName {
  std::string name;
  std::string_view unit;
};
OtlpName otlp_name(DeviceKind kind, Metric metric);

/// Of the latest training step of a recorder's node.
inline constexpr std::string_view kStepSeconds = "ergometer_step_seconds",
                                  kStepNumber = "ergometer_step_number",
                                  kStepRate = "ergometer_step_tokens_per_second_per_gpu";

}  // namespace ergometer::run

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "import/telemetry/log_builder.h"
#include "run/device_log.h"

namespace ergometer::importer {

// What tables and JSON of rocm-smi and amd-smi share.

/// More than any node has: cards of tables that are printed in turn are kept apart by it.
inline constexpr int64_t kMostCards = 1 << 16;

/// What a column is, by its name in small letters; nothing of those that are not used.
std::optional<run::Metric> amd_metric(std::string_view name);

/// "card3" or "3"; nothing of anything else.
std::optional<int64_t> amd_card(std::string_view name);

/// rocm-smi puts clocks into brackets: "(1700Mhz)".
std::string_view unbracketed(std::string_view cell);
/// Adds a reading such as "455.0", "71 C" or "N/A" of the column `title`. Empty: done; else what
/// is allowed in its place.
std::string add_amd_value(std::string_view cell, run::Metric metric, std::string_view title,
                          int64_t time_ns, size_t device, LogBuilder& log);

}  // namespace ergometer::importer

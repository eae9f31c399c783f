#include "import/smi/amd_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "import/telemetry/value.h"
#include "import/text/decimal.h"

namespace ergometer::importer {
namespace {

using run::Metric;

struct AmdColumn {
  std::string_view name;  ///< in small letters
  Metric metric;
};
constexpr std::array kAmdColumns = std::to_array<AmdColumn>({
    // rocm-smi
    {"temperature (sensor edge) (c)", Metric::kGpuTemperature},
    {"temperature (sensor junction) (c)", Metric::kHotspotTemperature},
    {"temperature (sensor memory) (c)", Metric::kMemoryTemperature},
    {"average graphics package power (w)", Metric::kPower},
    {"current socket graphics package power (w)", Metric::kPower},
    {"max graphics package power (w)", Metric::kPowerLimit},
    {"sclk clock speed:", Metric::kSmClock},
    {"mclk clock speed:", Metric::kMemoryClock},
    {"gpu use (%)", Metric::kGpuUtilization},
    {"vram total used memory (b)", Metric::kMemoryUsed},
    // amd-smi metric
    {"socket_power", Metric::kPower},
    {"current_socket_power", Metric::kPower},
    {"average_socket_power", Metric::kPower},
    {"edge", Metric::kGpuTemperature},
    {"hotspot", Metric::kHotspotTemperature},
    {"gfx_activity", Metric::kGpuUtilization},
    {"umc_activity", Metric::kMemoryUtilization},
    {"gfx_0_clk", Metric::kSmClock},
    {"mem_0_clk", Metric::kMemoryClock},
    // amd-smi monitor
    {"power_usage", Metric::kPower},
    {"max_power", Metric::kPowerLimit},
    {"hotspot_temperature", Metric::kHotspotTemperature},
    {"memory_temperature", Metric::kMemoryTemperature},
    {"gfx_clk", Metric::kSmClock},
    {"gfx_clock", Metric::kSmClock},
    {"mem_clock", Metric::kMemoryClock},
    {"gfx", Metric::kGpuUtilization},
    {"mem", Metric::kMemoryUtilization},
});

}  // namespace

std::optional<Metric> amd_metric(std::string_view name) {
  const auto* const known = std::ranges::find(kAmdColumns, name, &AmdColumn::name);
  return known == kAmdColumns.end() ? std::nullopt : std::optional(known->metric);
}

std::optional<int64_t> amd_card(std::string_view name) {
  if (name.starts_with("card")) name.remove_prefix(4);
  const auto number = whole_number(name);
  return number && *number >= 0 && *number < kMostCards ? number : std::nullopt;
}

std::string_view unbracketed(std::string_view cell) {
  return cell.starts_with('(') && cell.ends_with(')') ? cell.substr(1, cell.size() - 2) : cell;
}

std::string add_amd_value(std::string_view cell, Metric metric, std::string_view title,
                          int64_t time_ns, size_t device, LogBuilder& log) {
  cell = unbracketed(cell);
  const Cell read = read_cell(cell);
  if (read.kind == Cell::Kind::kMissing) {
    log.drop(fmt::format("{}: {}", title, cell.empty() ? "empty" : cell));
    return "";
  }
  const std::string_view own = run::metric_info(metric).unit;
  const auto factor = unit_factor(read.unit, own);
  if (read.kind == Cell::Kind::kBad || !factor) return fmt::format("a number in {}, or N/A", own);
  if (metric == Metric::kPower && read.value == 0) {
    log.drop("power of 0 W: where two dies share a module, the first one reads the power of both");
    return "";
  }
  log.add(device, metric, time_ns, read.value * *factor);
  return "";
}

}  // namespace ergometer::importer

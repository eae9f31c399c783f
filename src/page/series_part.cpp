#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/collection.h"
#include "page/columns.h"
#include "page/run_part.h"
#include "page/series_lines.h"

namespace ergometer::page {
namespace {

using base::JsonWriter;

/// Times of a line, and of all lines of a metric together.
constexpr size_t kMostTimes = 2000, kMostValues = 128'000;
/// Up to so many GPUs all have a line; of more, some, and how all are distributed. A simulated Run
/// has chosen them.
constexpr size_t kMostLines = 64, kChosenLines = 16;

/// As numpy's default: linear between the two nearest. `sorted` is not empty.
double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

constexpr std::array kBandNames = {"lowest", "p5", "p50", "p95", "highest"};
using Bands = std::array<std::vector<double>, kBandNames.size()>;

Bands bands_of(const std::vector<std::vector<double>>& lines, size_t times) {
  constexpr std::array kShares = {0.0, 0.05, 0.5, 0.95, 1.0};
  Bands bands;
  std::vector<double> known;
  for (size_t i = 0; i < times; ++i) {
    known.clear();
    for (const std::vector<double>& line : lines)
      if (std::isfinite(line[i])) known.push_back(line[i]);
    std::ranges::sort(known);
    for (size_t band = 0; band < bands.size(); ++band)
      bands[band].push_back(known.empty() ? NAN : quantile(known, kShares[band]));
  }
  return bands;
}

/// The metric of the Run's bands that a drawn metric is.
run::Metric band_metric(const std::string& name) {
  static const std::map<std::string, run::Metric, std::less<>> kMetrics = {
      {"power_w", run::Metric::kInstantPower},
      {"gpu_c", run::Metric::kGpuTemperature},
      {"memory_c", run::Metric::kMemoryTemperature},
      {"sm_clock_mhz", run::Metric::kSmClock}};
  return base::value_or(kMetrics, name, run::Metric::kCount);
}

/// The Run's own bands at the grid's times: a band stands until the next.
Bands bands_of(const std::vector<run::TelemetryBand>& all, run::Metric metric,
               const std::vector<int64_t>& times_ns) {
  std::vector<const run::TelemetryBand*> own;
  for (const run::TelemetryBand& band : all)
    if (band.metric == metric) own.push_back(&band);
  Bands bands;
  if (own.empty()) return bands;
  size_t at = 0;
  for (const int64_t time_ns : times_ns) {
    while (at + 1 < own.size() && own[at + 1]->time_ns <= time_ns) ++at;
    const run::TelemetryBand& b = *own[at];
    const std::array values = {b.lowest, b.p5, b.p50, b.p95, b.highest};
    for (size_t i = 0; i < bands.size(); ++i) bands[i].push_back(values[i]);
  }
  return bands;
}

std::string label_of(const run::Device& device) {
  if (device.kind == run::DeviceKind::kGpu && device.rank >= 0)
    return device.host.empty() ? fmt::format("rank {}", device.rank)
                               : fmt::format("rank {}, {}", device.rank, device.host);
  std::string label = device.host;
  if (!device.name.empty()) label += (label.empty() ? "" : " ") + device.name;
  if (device.index >= 0 && device.kind != run::DeviceKind::kNode)
    label += fmt::format("{}{}", label.empty() ? "" : " ", device.index);
  return label.empty() ? run::kind_name(device.kind) : label;
}

void write_line(JsonWriter& json, const RunView& view, const run::Device& device,
                const std::vector<double>& values) {
  json.member("label", label_of(device));
  if (device.kind == run::DeviceKind::kGpu && device.rank >= 0) {
    json.member("rank", device.rank);
    write_place(json, view, device.rank);
  }
  column(json, "values", values);
}

void write_bands(JsonWriter& json, const Bands& bands) {
  json.key("distribution").begin_object();
  for (size_t i = 0; i < bands.size(); ++i) column(json, kBandNames[i], bands[i]);
  json.end_object();
}

void write_metric(JsonWriter& json, const RunView& view, const MetricLines& metric,
                  const TimeGrid& grid) {
  const bool chosen = !view.run().bands.empty();
  const bool many = metric.lines.size() > kMostLines && !chosen;
  std::vector<std::vector<double>> values;
  for (const Line& line : metric.lines) values.push_back(grid.values(line.samples));
  json.member("name", metric.name).member("title", metric.title).member("unit", metric.unit);
  json.objects("gpus", chosen_lines(metric.lines, many ? kChosenLines : metric.lines.size()),
               [&](size_t i) { write_line(json, view, *metric.lines[i].device, values[i]); });
  const Bands own = bands_of(view.run().bands, band_metric(metric.name), grid.times_ns());
  if (!own[0].empty())
    write_bands(json, own);
  else if (many)
    write_bands(json, bands_of(values, grid.times_ns().size()));
}

std::vector<double> seconds_from(const std::vector<int64_t>& times_ns, int64_t zero_ns) {
  return base::mapped(times_ns,
                      [&](int64_t time) { return static_cast<double>(time - zero_ns) * 1e-9; });
}

void write_cluster_power(JsonWriter& json, const run::ClusterPower& power) {
  Samples samples;
  for (size_t i = 0; i < power.watts.size(); ++i)
    samples.push_back(
        {std::llround(static_cast<double>(i) * power.interval_s * 1e9), power.watts[i]});
  const Samples* line = &samples;
  const TimeGrid grid({&line, 1}, kMostTimes);
  json.key("cluster_power").begin_object();
  column(json, "time_s", seconds_from(grid.times_ns(), 0));
  column(json, "watts", grid.values(samples));
  json.end_object();
}

}  // namespace

void write_series_part(JsonWriter& json, const RunView& view) {
  const std::vector<MetricLines> metrics = metric_lines(view.log);
  const bool has_cluster = view.run().has_power && !view.run().cluster_power.watts.empty();
  if (metrics.empty() && !has_cluster) return;
  std::vector<const Samples*> lines;
  size_t most = kMostLines;
  for (const MetricLines& metric : metrics) {
    if (!view.run().bands.empty()) most = std::max(most, metric.lines.size());
    for (const Line& line : metric.lines) lines.push_back(&line.samples);
  }
  const TimeGrid grid(lines, std::min(kMostTimes, kMostValues / most));
  // A simulated Run's times begin with its step; a recording's are seconds since 1970.
  const int64_t zero_ns = view.simulated || grid.times_ns().empty() ? 0 : grid.times_ns().front();
  json.key("series").begin_object();
  if (zero_ns != 0) json.member("epoch_ns", zero_ns);
  column(json, "time_s", seconds_from(grid.times_ns(), zero_ns));
  write_limits(json, view);
  json.objects("metrics", metrics,
               [&](const MetricLines& metric) { write_metric(json, view, metric, grid); });
  if (has_cluster) write_cluster_power(json, view.run().cluster_power);
  json.end_object();
}

}  // namespace ergometer::page

#include <map>

#include "import/nsys/nsys.h"
#include "import/nsys/table.h"
#include "import/text/decimal.h"

namespace ergometer::importer {
namespace {

using run::Metric;

/// The metrics that are what a series of ours holds; the lowest byte of a type is the GPU.
std::optional<Metric> metric_of(std::string_view name) {
  if (name.starts_with("GPC Clock Frequency")) return Metric::kSmClock;
  if (name.starts_with("GR Active")) return Metric::kGpuUtilization;
  return std::nullopt;
}
constexpr int64_t kGpuBits = 0xff;
/// Clocks come in MHz or Hz, by version.
double clock_mhz(double value) {
  constexpr double kMostMhz = 1e5;
  return value > kMostMhz ? value / 1e6 : value;
}

struct Mean {
  double sum = 0;
  int64_t count = 0;
};

using MetricKey = std::pair<int64_t, int64_t>;  // type and metric

Result<std::map<MetricKey, std::string>> read_names(run::Database& db, const std::string& file) {
  std::map<MetricKey, std::string> names;
  NsysTable rows(db, file, "TARGET_INFO_GPU_METRICS",
                 {{"typeId", true}, {"metricId", true}, {"metricName", true}});
  while (rows.next())
    names[{rows.integer(0).value_or(-1), rows.integer(1).value_or(-1)}] = rows.text(2).value_or("");
  ERGOMETER_TRY(rows.finish());
  return names;
}

}  // namespace

Result<void> read_nsys_metrics(run::Database& db, LogBuilder& log) {
  const std::string file = log.file();
  if (!db.has_table("GPU_METRICS")) return {};
  ERGOMETER_ASSIGN(const auto names, read_names(db, file));
  ERGOMETER_ASSIGN(const int64_t epoch, nsys_epoch(db, file));
  NsysTable rows(
      db, file, "GPU_METRICS",
      {{"timestamp"}, {"rawTimestamp"}, {"typeId", true}, {"metricId", true}, {"value", true}});
  std::map<MetricKey, Mean> means;
  while (rows.next()) {
    const auto time = rows.integer(0) ? rows.integer(0) : rows.integer(1);
    const MetricKey key{rows.integer(2).value_or(-1), rows.integer(3).value_or(-1)};
    const auto value = rows.real(4);
    const auto name = names.find(key);
    const bool in_range = time && *time >= -epoch && *time <= kLargestTime - epoch;
    if (!in_range || !value || key.first < 0 || name == names.end()) {
      log.drop("row of GPU_METRICS without a time, a value or a metric that is known");
      continue;
    }
    if (const auto metric = metric_of(name->second)) {
      log.add(log.gpu_number(key.first & kGpuBits), *metric, epoch + *time,
              *metric == Metric::kSmClock ? clock_mhz(*value) : *value);
    } else {
      means[key].sum += *value;
      ++means[key].count;
    }
  }
  ERGOMETER_TRY(rows.finish());
  for (const auto& [key, mean] : means)
    log.log().gauges.push_back(
        {names.at(key), "", key.first & kGpuBits, mean.sum / static_cast<double>(mean.count)});
  return {};
}

}  // namespace ergometer::importer

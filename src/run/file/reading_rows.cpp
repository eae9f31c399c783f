#include "run/file/reading_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

namespace ergometer::run {
namespace {

constexpr size_t kMetricCount = static_cast<size_t>(Metric::kCount);
constexpr int kFirstMetric = 2;  ///< column behind time and device
/// 1970 to 2116: differences stay within 64 bits.
constexpr int64_t kLatestNs = int64_t{1} << 62;

using Row = std::array<std::optional<double>, kMetricCount>;

void write_row(Statement& insert, const ReadingCell& place, const Row& row) {
  insert.clear();
  insert.bind(1, place.time_ns);
  insert.bind(2, static_cast<int64_t>(place.device));
  for (size_t i = 0; i < row.size(); ++i)
    if (row[i]) insert.bind(kFirstMetric + 1 + static_cast<int>(i), *row[i]);
  insert.step();
}

void put_in_order(Device& device) {
  const auto earlier = [](const Sample& a, const Sample& b) { return a.time_ns < b.time_ns; };
  for (Series& series : device.series)
    if (!std::ranges::is_sorted(series.samples, earlier))
      std::ranges::stable_sort(series.samples, earlier);
  std::ranges::sort(device.series, {}, &Series::metric);
}

/// Where the series of each metric stands in its device; made when it is first asked for.
class SeriesIndex {
 public:
  explicit SeriesIndex(std::vector<Device>& devices)
      : devices_(devices), at_(devices.size() * kMetricCount, -1) {}

  void add(size_t device, Metric metric, const Sample& sample) {
    int32_t& at = at_[device * kMetricCount + static_cast<size_t>(metric)];
    std::vector<Series>& series = devices_[device].series;
    if (at < 0) {
      at = static_cast<int32_t>(series.size());
      series.push_back({metric, false, {}});
    }
    series[static_cast<size_t>(at)].samples.push_back(sample);
  }

 private:
  std::vector<Device>& devices_;
  std::vector<int32_t> at_;
};

}  // namespace

MetricColumns::MetricColumns(const Statement& select) : select_(select) {
  for (int column = kFirstMetric; column < select.columns(); ++column)
    if (const auto metric = metric_of(select.column_name(column)))
      columns_.emplace_back(column, *metric);
}

void create_readings(Database& db) {
  std::string sql = "CREATE TABLE readings (time_ns INTEGER NOT NULL, device INTEGER NOT NULL";
  for (size_t m = 0; m < kMetricCount; ++m)
    sql += fmt::format(",\n  {} REAL", metric_info(static_cast<Metric>(m)).name);
  db.execute((sql + ")").c_str());
}

void insert_readings(Database& db, std::span<const ReadingCell> cells) {
  std::string sql = "INSERT INTO readings VALUES (?, ?";
  for (size_t m = 0; m < kMetricCount; ++m) sql += ", ?";
  Statement insert(db, (sql + ")").c_str());
  Row row;
  for (size_t i = 0; i < cells.size() && db.ok(); ++i) {
    const ReadingCell& cell = cells[i];
    row[static_cast<size_t>(cell.metric)] = cell.value;
    const bool last = i + 1 == cells.size() || cells[i + 1].time_ns != cell.time_ns ||
                      cells[i + 1].device != cell.device ||
                      row[static_cast<size_t>(cells[i + 1].metric)];
    if (!last) continue;
    write_row(insert, cell, row);
    row.fill(std::nullopt);
  }
}

int64_t select_readings_behind(Database& db, int64_t after, int64_t most, size_t devices,
                               std::vector<ReadingCell>& cells) {
  Statement select(db, "SELECT *, rowid FROM readings WHERE rowid > ? ORDER BY rowid LIMIT ?");
  select.bind(1, after);
  select.bind(2, most);
  const MetricColumns metrics(select);
  const int row = select.columns() - 1;
  int64_t last = after;
  while (select.step()) {
    // A made-up table may have a column of that name, with any values.
    if (select.integer(row) <= last) break;
    last = select.integer(row);
    const int64_t time_ns = select.integer(0), device = select.integer(1);
    if (device < 0 || static_cast<size_t>(device) >= devices || time_ns < 0 || time_ns > kLatestNs)
      continue;
    metrics.each([&](Metric metric, double value) {
      if (metric_info(metric).reads(value))
        cells.push_back({time_ns, static_cast<size_t>(device), metric, value});
    });
  }
  return last;
}

bool select_readings(Database& db, std::vector<Device>& devices) {
  Statement select(db, "SELECT * FROM readings ORDER BY rowid");
  const MetricColumns metrics(select);
  SeriesIndex index(devices);
  bool whole = true;
  while (select.step()) {
    const int64_t time_ns = select.integer(0), device = select.integer(1);
    if (device < 0 || static_cast<size_t>(device) >= devices.size() || time_ns < -kLatestNs ||
        time_ns > kLatestNs)
      return false;
    metrics.each([&](Metric metric, double value) {
      whole = whole && metric_info(metric).reads(value);
      index.add(static_cast<size_t>(device), metric, {time_ns, value});
    });
  }
  for (Device& device : devices) put_in_order(device);
  return whole;
}

}  // namespace ergometer::run

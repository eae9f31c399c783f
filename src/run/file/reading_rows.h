#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "run/device_log.h"
#include "run/file/sqlite.h"

namespace ergometer::run {

// The table `readings` of a Run file: a row for a device and a time, a column for every metric,
// NULL where nothing was read.

void create_readings(Database& db);

/// A value of one metric of one device.
struct ReadingCell {
  int64_t time_ns = 0;
  size_t device = 0;
  Metric metric = Metric::kPower;
  double value = 0;
};

/// Which metrics the columns of a query of `SELECT *` hold: those behind time and device that are
/// named after one.
class MetricColumns {
 public:
  explicit MetricColumns(const Statement& select);
  /// `use(metric, value)` for each that the row holds which the query is at.
  template <class Use>
  void each(const Use& use) const {
    for (const auto& [column, metric] : columns_)
      if (!select_.is_null(column)) use(metric, select_.real(column));
  }

 private:
  const Statement& select_;
  std::vector<std::pair<int, Metric>> columns_;
};

/// Writes cells in their order: those of one device and time that stand side by side share a row.
void insert_readings(Database& db, std::span<const ReadingCell> cells);

/// Adds to `cells`, as they stand, at most `most` rows behind row `after`; the last row that was
/// looked at. What no sensor reads, and rows of other devices than `devices`, are passed over; rows
/// that are not numbered upward end it.
int64_t select_readings_behind(Database& db, int64_t after, int64_t most, size_t devices,
                               std::vector<ReadingCell>& cells);

/// Adds the table's readings to the series of `devices`, which are put in order of time. Columns
/// that no metric is named after are passed over. False when a row names a device that is not there
/// or holds what no sensor reads.
bool select_readings(Database& db, std::vector<Device>& devices);

}  // namespace ergometer::run

#include <fmt/format.h>

#include <cmath>

#include "import/telemetry/readers.h"
#include "import/telemetry/value.h"

namespace ergometer::importer {
namespace {

constexpr size_t kNoColumn = static_cast<size_t>(-1);

/// A table with its header, row by row.
class Table {
 public:
  Table(std::string_view text, const std::string& file) : lines_(text), file_(file) {
    if (lines_.next()) split_cells(lines_.line(), titles_);
  }
  Result<bool> next(LogBuilder& log) {
    while (lines_.next()) {
      split_cells(lines_.line(), cells_);
      if (cells_.size() == titles_.size()) return true;
      if (!lines_.cut_off())
        return input_error("{}:{}: found {} cells, allowed: {}, as in the header", file_,
                           lines_.number(), cells_.size(), titles_.size());
      log.drop("a row that is cut off at the end of the file");
    }
    return false;
  }
  size_t find(std::string_view title) const {
    for (size_t i = 0; i < titles_.size(); ++i)
      if (titles_[i] == title) return i;
    return kNoColumn;
  }
  size_t find_first_of(std::initializer_list<std::string_view> titles) const {
    for (const std::string_view title : titles)
      if (const size_t at = find(title); at != kNoColumn) return at;
    return kNoColumn;
  }
  const std::vector<std::string_view>& titles() const { return titles_; }
  std::string_view cell(size_t column) const { return cells_[column]; }
  Result<double> number_at(size_t column) const {
    const auto value = number(cells_[column]);
    if (value && std::isfinite(*value) && *value >= 0 && *value < 1e15) return *value;
    return input_error("{}:{}: column '{}': found '{}', allowed: a number from 0", file_,
                       lines_.number(), titles_[column], cells_[column]);
  }
  int64_t line() const { return lines_.number(); }

 private:
  Lines lines_;
  const std::string& file_;
  std::vector<std::string_view> titles_, cells_;
};

/// The GPU of "gpu3_energy", -1 of another column.
int64_t energy_gpu(std::string_view title) {
  if (!title.starts_with("gpu") || !title.ends_with("_energy")) return -1;
  const auto index = number(title.substr(3, title.size() - 3 - std::string_view("_energy").size()));
  constexpr double kMost = 1e6;
  if (!index || !(*index >= 0) || *index > kMost || *index != std::floor(*index)) return -1;
  return static_cast<int64_t>(*index);
}

Result<void> read_windows(Table& table, LogBuilder& log) {
  const size_t start = table.find("start_time"), name = table.find("window_name"),
               elapsed = table.find("elapsed_time");
  for (;;) {
    ERGOMETER_ASSIGN(const bool more, table.next(log));
    if (!more) return {};
    ERGOMETER_TRY(table.number_at(start));
    ERGOMETER_TRY(table.number_at(elapsed));
    const auto begin = seconds_to_ns(table.cell(start)),
               length = seconds_to_ns(table.cell(elapsed));
    if (!begin || !length)
      return input_error(
          "{}:{}: column 'start_time' or 'elapsed_time': found '{}' and '{}', allowed: "
          "seconds below 4e9",
          log.file(), table.line(), table.cell(start), table.cell(elapsed));
    for (size_t i = 0; i < table.titles().size(); ++i) {
      const int64_t gpu = energy_gpu(table.titles()[i]);
      if (gpu < 0) continue;
      ERGOMETER_ASSIGN(const double joules, table.number_at(i));
      run::Device& device = log.device(run::DeviceKind::kGpu, log.file(), fmt::format("{}", gpu));
      device.index = gpu;
      device.windows.push_back(
          {name == kNoColumn ? "" : std::string(table.cell(name)), *begin, *length, joules});
    }
  }
}

bool is_limit(std::string_view title) {
  return title == "power_limit" || title.starts_with("power_limit_");
}

/// The row's highest limit: where GPUs have one each, that of the heaviest stage.
Result<double> highest_limit(const Table& table) {
  double limit = 0;
  for (size_t i = 0; i < table.titles().size(); ++i) {
    if (!is_limit(table.titles()[i])) continue;
    ERGOMETER_ASSIGN(const double watts, table.number_at(i));
    limit = std::max(limit, watts);
  }
  return limit;
}

Result<void> read_limits(Table& table, LogBuilder& log) {
  const size_t time = table.find_first_of({"time_per_epoch", "time", "elapsed_time"}),
               energy = table.find_first_of({"energy", "energy_per_epoch"}),
               power = table.find("average_power");
  for (;;) {
    ERGOMETER_ASSIGN(const bool more, table.next(log));
    if (!more) return {};
    run::PowerLimitRow row;
    ERGOMETER_ASSIGN(row.limit_w, highest_limit(table));
    ERGOMETER_ASSIGN(row.time_s, table.number_at(time));
    if (power != kNoColumn) {
      ERGOMETER_ASSIGN(row.mean_w, table.number_at(power));
    }
    if (energy != kNoColumn) {
      ERGOMETER_ASSIGN(row.energy_j, table.number_at(energy));
    }
    if (power == kNoColumn && row.time_s > 0) row.mean_w = row.energy_j / row.time_s;
    if (energy == kNoColumn) row.energy_j = row.mean_w * row.time_s;
    for (size_t i = 0; i < table.titles().size(); ++i) {
      const std::string_view title = table.titles()[i];
      if (i == time || i == energy || i == power || is_limit(title) ||
          title.find("power_limit") != std::string_view::npos)
        continue;
      row.job += fmt::format("{}{}={}", row.job.empty() ? "" : " ", title, table.cell(i));
    }
    log.log().power_limits.push_back(std::move(row));
  }
}

bool has_windows(const Table& table) {
  if (table.find("start_time") == kNoColumn || table.find("elapsed_time") == kNoColumn)
    return false;
  for (const std::string_view title : table.titles())
    if (energy_gpu(title) >= 0) return true;
  return false;
}

bool has_limits(const Table& table) {
  bool limit = false;
  for (const std::string_view title : table.titles()) limit = limit || is_limit(title);
  return limit && table.find_first_of({"time_per_epoch", "time", "elapsed_time"}) != kNoColumn &&
         table.find_first_of({"energy", "energy_per_epoch", "average_power"}) != kNoColumn;
}

}  // namespace

bool is_zeus_table(std::string_view text) {
  const std::string file;
  const Table table(first_line(text), file);
  return has_windows(table) || has_limits(table);
}

Result<void> read_zeus_table(std::string_view text, LogBuilder& log) {
  Table table(text, log.file());
  return has_windows(table) ? read_windows(table, log) : read_limits(table, log);
}

}  // namespace ergometer::importer

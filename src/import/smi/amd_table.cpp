#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "base/text.h"
#include "import/smi/amd_value.h"
#include "import/smi/rounds.h"
#include "import/telemetry/readers.h"
#include "import/telemetry/value.h"

namespace ergometer::importer {
namespace {

// What `rocm-smi --csv` and `amd-smi metric --csv` or `amd-smi monitor --csv` print:
//
//   device,Temperature (Sensor junction) (C),sclk clock speed:,Average Graphics Package Power (W)
//   card0,62.0,(1700Mhz),455.0
//
//   timestamp,gpu,power_usage,hotspot_temperature,memory_temperature,gfx_clk,gfx
//   1741082272,0,655,71,60,2100,100
//
// Called again and again they print their head again, and rocm-smi's warnings and empty lines stand
// between. Only amd-smi says when, and only while it watches.

using run::Metric;

struct Head {
  struct Column {
    std::string title;
    std::optional<Metric> metric;
  };
  static constexpr size_t kNone = static_cast<size_t>(-1);
  std::vector<Column> columns;
  size_t gpu = kNone, time = kNone;
  int64_t number = 0;  ///< of the file's unlike heads
};

/// The head that a line is; nothing of any other line.
std::optional<Head> head_of(std::string_view line) {
  constexpr std::array kFirst = std::to_array<std::string_view>({"device", "gpu", "timestamp"});
  if (std::ranges::none_of(kFirst, [&](auto word) { return line.starts_with(word); })) return {};
  std::vector<std::string_view> cells;
  split_cells(line, cells);
  Head head;
  bool any = false, celsius = false;
  for (size_t i = 0; i < cells.size(); ++i) {
    const std::string name = base::lower(cells[i]);
    const bool gpu = name == "device" || name == "gpu";
    if (gpu && head.gpu == Head::kNone) head.gpu = i;
    if (name == "timestamp") head.time = i;
    const std::optional<Metric> known = amd_metric(name);
    Head::Column& column = head.columns.emplace_back(Head::Column{std::string(cells[i]), {}});
    column.metric = known;
    // Words that other tools' tables use too name none of these tools.
    any = any || (known && name != "mem" && name != "edge");
    celsius = celsius || name == "hotspot";
  }
  if (!any || head.gpu > 1) return std::nullopt;
  std::set<Metric> told;
  for (Head::Column& column : head.columns) {
    // Beside "hotspot" it is a temperature, in monitor's columns how busy the memory is.
    if (celsius && column.title == "mem") column.metric = Metric::kMemoryTemperature;
    // Of two ways to tell the same the first one counts.
    if (column.metric && !told.insert(*column.metric).second) column.metric.reset();
  }
  return head;
}

class AmdTableReader {
 public:
  explicit AmdTableReader(LogBuilder& log) : log_(log), rounds_(log.options().sample_period_s) {}
  Result<void> read(std::string_view text);

 private:
  Result<void> begin(Head head, const std::string& title, int64_t line);
  Result<void> read_row(int64_t line);
  Result<void> read_value(std::string_view cell, const Head::Column& column, int64_t line,
                          int64_t time_ns, size_t device);
  Result<int64_t> time_of(int64_t line, int64_t gpu);
  tl::unexpected<base::Error> error(int64_t line, const Head::Column& column,
                                    std::string_view found, std::string_view allowed) const {
    return input_error("{}:{}: column '{}': found '{}', allowed: {}", log_.file(), line,
                       column.title, found, allowed);
  }

  LogBuilder& log_;
  Rounds rounds_;
  Head head_;
  std::map<std::string, int64_t> heads_;  ///< their numbers, by their lines
  std::vector<std::string_view> cells_;
  int64_t rows_ = 0;
};

Result<void> AmdTableReader::begin(Head head, const std::string& title, int64_t line) {
  if (!heads_.empty() && (head.time == Head::kNone) != (head_.time == Head::kNone))
    return input_error(
        "{}:{}: found tables with a timestamp and without, allowed: one kind in a file",
        log_.file(), line);
  head_ = std::move(head);
  head_.number = heads_.try_emplace(title, std::ssize(heads_)).first->second;
  return {};
}

Result<int64_t> AmdTableReader::time_of(int64_t line, int64_t gpu) {
  // Tables of other columns that are printed in turn belong to one round.
  if (head_.time == Head::kNone) return rounds_.time_ns(gpu + head_.number * kMostCards);
  const std::string_view cell = cells_[head_.time];
  if (const auto time = time_to_ns(cell); time && !cell.starts_with('-')) return *time;
  return error(line, head_.columns[head_.time], cell,
               "seconds since 1970, or a time such as 2025-03-04T10:11:12");
}

Result<void> AmdTableReader::read_value(std::string_view cell, const Head::Column& column,
                                        int64_t line, int64_t time_ns, size_t device) {
  const std::string allowed =
      add_amd_value(cell, *column.metric, column.title, time_ns, device, log_);
  return allowed.empty() ? Result<void>() : error(line, column, unbracketed(cell), allowed);
}

Result<void> AmdTableReader::read_row(int64_t line) {
  const std::string_view name = cells_[head_.gpu];
  if (name == "system") {
    log_.drop("rows of system are not used");
    return {};
  }
  const auto gpu = amd_card(name);
  if (!gpu)
    return error(line, head_.columns[head_.gpu], cells_[head_.gpu], "a GPU's number, or card0");
  ERGOMETER_ASSIGN(const int64_t time_ns, time_of(line, *gpu));
  const size_t device = log_.gpu_number(*gpu);
  for (size_t i = 0; i < cells_.size(); ++i) {
    const Head::Column& column = head_.columns[i];
    if (column.metric) {
      ERGOMETER_TRY(read_value(cells_[i], column, line, time_ns, device));
    } else if (i != head_.gpu && i != head_.time) {
      log_.drop(fmt::format("column '{}' is not used", column.title));
    }
  }
  ++rows_;
  return {};
}

Result<void> AmdTableReader::read(std::string_view text) {
  for (Lines lines(text); lines.next();) {
    if (auto head = head_of(lines.line())) {
      ERGOMETER_TRY(begin(*std::move(head), std::string(trim(lines.line())), lines.number()));
      continue;
    }
    split_cells(lines.line(), cells_);
    const size_t columns = head_.columns.size();
    if (columns == 0 || (cells_.size() == 1 && columns > 1 && !lines.cut_off())) {
      log_.drop("a line of text between the rows");
      continue;
    }
    const auto done = cells_.size() == columns
                          ? read_row(lines.number())
                          : input_error("{}:{}: found {} cells, allowed: {}, as in the head",
                                        log_.file(), lines.number(), cells_.size(), columns);
    if (done) continue;
    if (!lines.cut_off()) return done;
    log_.drop("a row that is cut off at the end of the file");
  }
  if (rows_ == 0)
    return input_error("{}: found a head of rocm-smi or amd-smi, allowed: a head and rows below it",
                       log_.file());
  if (head_.time == Head::kNone) note_untimed("a guess", log_);
  return {};
}

}  // namespace

bool is_amd_table(std::string_view text) {
  return any_first_line(text, [](std::string_view line) { return head_of(line).has_value(); });
}

Result<void> read_amd_table(std::string_view text, LogBuilder& log) {
  return AmdTableReader(log).read(text);
}

}  // namespace ergometer::importer

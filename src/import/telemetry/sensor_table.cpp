#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "import/telemetry/readers.h"
#include "import/telemetry/value.h"
#include "import/text/decimal.h"
#include "run/event_reasons.h"

namespace ergometer::importer {
namespace {

using run::Metric;

constexpr int64_t kMostGpus = 1 << 24;

enum class Role : uint8_t {
  kUnknown,
  kTime,
  kIndex,
  kRank,
  kUuid,
  kSerial,
  kName,
  kHost,
  kMetric,
  kReason
};

struct KnownColumn {
  std::string_view name;
  Role role;
  Metric metric = Metric::kCount;
  std::string_view unit = {};  ///< where the header says none and it is not the metric's own
  bool plain = false;          ///< a word that other tables use too: counts only beside a time
};
constexpr std::array kColumns = std::to_array<KnownColumn>({
    {"timestamp", Role::kTime},
    {"time", Role::kTime},
    {"datetime", Role::kTime},
    {"unix_time", Role::kTime},
    {"time_s", Role::kTime},
    {"time_ms", Role::kTime, Metric::kCount, "ms"},
    {"time_us", Role::kTime, Metric::kCount, "us"},
    {"time_ns", Role::kTime, Metric::kCount, "ns"},
    {"index", Role::kIndex},
    {"gpu", Role::kIndex},
    {"gpu_id", Role::kIndex},
    {"gpu_index", Role::kIndex},
    {"rank", Role::kRank},
    {"uuid", Role::kUuid},
    {"gpu_uuid", Role::kUuid},
    {"serial", Role::kSerial},
    {"gpu_serial", Role::kSerial},
    {"pci.bus_id", Role::kUuid},
    {"gpu_bus_id", Role::kUuid},
    {"name", Role::kName},
    {"gpu_name", Role::kName},
    {"modelname", Role::kName},
    {"host", Role::kHost},
    {"hostname", Role::kHost},
    {"node", Role::kHost},
    {"power.draw", Role::kMetric, Metric::kPower},
    {"power.draw.instant", Role::kMetric, Metric::kInstantPower},
    {"power.draw.average", Role::kMetric, Metric::kAveragePower},
    {"module.power.draw.instant", Role::kMetric, Metric::kModulePower},
    {"enforced.power.limit", Role::kMetric, Metric::kPowerLimit},
    {"power.limit", Role::kMetric, Metric::kPowerLimit},
    {"temperature.gpu", Role::kMetric, Metric::kGpuTemperature},
    {"temperature.memory", Role::kMetric, Metric::kMemoryTemperature},
    {"clocks.sm", Role::kMetric, Metric::kSmClock},
    {"clocks.current.sm", Role::kMetric, Metric::kSmClock},
    {"clocks.mem", Role::kMetric, Metric::kMemoryClock},
    {"clocks.current.memory", Role::kMetric, Metric::kMemoryClock},
    {"utilization.gpu", Role::kMetric, Metric::kGpuUtilization},
    {"utilization.memory", Role::kMetric, Metric::kMemoryUtilization},
    {"memory.used", Role::kMetric, Metric::kMemoryUsed, "MiB"},
    {"fan.speed", Role::kMetric, Metric::kFan},
    {"clocks_event_reasons.active", Role::kMetric, Metric::kEventReasons},
    {"clocks_throttle_reasons.active", Role::kMetric, Metric::kEventReasons},
    {"power_w", Role::kMetric, Metric::kInstantPower, {}, true},
    {"average_power_w", Role::kMetric, Metric::kAveragePower, {}, true},
    {"gpu_c", Role::kMetric, Metric::kGpuTemperature, {}, true},
    {"memory_c", Role::kMetric, Metric::kMemoryTemperature, {}, true},
    {"sm_clock_mhz", Role::kMetric, Metric::kSmClock, {}, true},
    {"event_reasons", Role::kMetric, Metric::kEventReasons, {}, true},
    {"power", Role::kMetric, Metric::kPower, {}, true},
    {"watts", Role::kMetric, Metric::kPower, {}, true},
    {"power_draw", Role::kMetric, Metric::kPower, {}, true},
    {"energy_j", Role::kMetric, Metric::kEnergy, {}, true},
    {"temperature", Role::kMetric, Metric::kGpuTemperature, {}, true},
    {"utilization", Role::kMetric, Metric::kGpuUtilization, {}, true},
});

struct Column {
  std::string title;
  Role role = Role::kUnknown;
  Metric metric = Metric::kCount;
  std::string_view unit;
  double factor = 1;  ///< what one is in the metric's own unit, where no unit stands by it
  int64_t bit = 0;    ///< of an event reason's own column
  int64_t gpu = -1;   ///< of a column that is one GPU's power
  bool plain = false;
};

/// "gpu3" and "3" are 3.
int64_t gpu_number(std::string_view name) {
  if (name.starts_with("gpu")) name.remove_prefix(3);
  constexpr size_t kMostDigits = 4;
  if (name.empty() || name.size() > kMostDigits) return -1;
  int64_t value = 0;
  for (const char c : name) {
    if (c < '0' || c > '9') return -1;
    value = value * 10 + (c - '0');
  }
  return value;
}

int64_t reason_bit(std::string_view name) {
  for (const std::string_view prefix : {"clocks_event_reasons.", "clocks_throttle_reasons."}) {
    if (!name.starts_with(prefix)) continue;
    for (const run::EventReasonName& reason : run::kEventReasons)
      if (name.substr(prefix.size()) == reason.name) return reason.bit;
  }
  return 0;
}

Column read_column(std::string_view title) {
  Column column;
  column.title = title;
  std::string name = base::lower(title);
  const size_t open = name.find_first_of("[(");
  if (open != std::string::npos) {
    const size_t close = title.find_first_of("])", open);
    if (close != std::string_view::npos) column.unit = title.substr(open + 1, close - open - 1);
    name = std::string(trim(std::string_view(name).substr(0, open)));
  }
  if (const int64_t bit = reason_bit(name); bit != 0) {
    column.role = Role::kReason;
    column.bit = bit;
    return column;
  }
  for (const KnownColumn& known : kColumns) {
    if (known.name != name) continue;
    column.role = known.role;
    column.metric = known.metric;
    column.plain = known.plain;
    if (column.unit.empty()) column.unit = known.unit;
    return column;
  }
  if (const Exported* known = exported(trim(title.substr(0, open)))) {
    column.role = Role::kMetric;
    column.metric = known->metric;
    column.factor = known->factor;
    return column;
  }
  column.gpu = gpu_number(name);
  return column;
}

struct Header {
  std::vector<Column> columns;
  size_t time = kNone;
  bool metrics = false, own_metrics = false;
  bool plain_power = false;  ///< "Time,Power": Zeus's first monitor wrote milliwatts under it
  static constexpr size_t kNone = static_cast<size_t>(-1);
};

Header read_header(std::string_view line) {
  if (line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
  Header header;
  std::vector<std::string_view> cells;
  split_cells(line, cells);
  for (const std::string_view cell : cells) header.columns.push_back(read_column(cell));
  for (size_t i = 0; i < header.columns.size(); ++i) {
    Column& column = header.columns[i];
    if (column.role == Role::kTime && header.time == Header::kNone) header.time = i;
    if (column.gpu >= 0 && header.time == 0) {
      column.role = Role::kMetric;
      column.metric = Metric::kPower;
      column.plain = true;
    }
    const bool metric = column.role == Role::kMetric || column.role == Role::kReason;
    header.metrics = header.metrics || metric;
    header.own_metrics = header.own_metrics || (metric && !column.plain);
  }
  // What is enforced counts where what was asked for stands beside it.
  const bool enforced = std::ranges::any_of(header.columns, [](const Column& column) {
    return base::lower(column.title).starts_with("enforced.power.limit");
  });
  for (Column& column : header.columns)
    if (enforced && base::lower(column.title).starts_with("power.limit"))
      column.role = Role::kUnknown;
  header.plain_power = cells.size() == 2 && cells[0] == "Time" && cells[1] == "Power";
  return header;
}

/// Where a row belongs.
struct Place {
  int64_t index = -1, rank = -1;
  std::string_view uuid, name, host;
  std::string_view serial;  ///< a board's, which may hold several GPUs

  /// A serial number tells GPUs apart only where nothing else does.
  std::string_view id() const { return uuid.empty() && index < 0 ? serial : uuid; }
  bool names_gpu() const { return index >= 0 || rank >= 0 || !id().empty() || !host.empty(); }
};

class TableReader {
 public:
  TableReader(Header header, std::string_view title, LogBuilder& log)
      : header_(std::move(header)), title_(title), log_(log) {}

  Result<void> check_header() const;
  Result<void> read_row(std::string_view line, int64_t number, bool cut_off);
  Result<void> finish();

 private:
  void settle_plain_power();
  struct Value {
    size_t row;
    double value;
    int32_t gpu;  ///< of a column that is one GPU's power
    Metric metric;
  };
  struct Row {
    int64_t time_ns;
    size_t device;  ///< kNone: counted once all rows are there
  };
  static constexpr size_t kNone = Header::kNone;
  tl::unexpected<base::Error> error(int64_t line, const Column& column, std::string_view found,
                                    std::string_view allowed) const;
  Result<void> read_value(std::string_view cell, int64_t line, const Column& column, int64_t& bits);
  Result<void> read_cells(int64_t line);
  Result<void> read_place(std::string_view cell, int64_t line, const Column& column, Place& place);
  size_t loop_length() const;
  size_t device_of(const Place& place, size_t turn);

  Header header_;
  std::string_view title_;
  LogBuilder& log_;
  std::vector<Row> rows_;
  std::vector<Value> values_;
  std::vector<std::string_view> cells_;
  std::string name_;
  bool named_ = false;  ///< some row says which GPU it is of
};

tl::unexpected<base::Error> TableReader::error(int64_t line, const Column& column,
                                               std::string_view found,
                                               std::string_view allowed) const {
  return input_error("{}:{}: column '{}': found '{}', allowed: {}", log_.file(), line, column.title,
                     found, allowed);
}

Result<void> TableReader::check_header() const {
  if (header_.time == Header::kNone)
    return input_error(
        "{}:1: the table has no column of time (timestamp, time, time_ns); without it nothing can "
        "be said over time. nvidia-smi writes it with --query-gpu=timestamp,...",
        log_.file());
  return {};
}

/// Never below zero, so that no difference of two overflows.
std::optional<int64_t> column_time(std::string_view cell, std::string_view unit) {
  if (cell.starts_with('-')) return std::nullopt;
  if (unit == "ns") return nanoseconds(std::string(cell) + "e-3");
  if (unit == "us") return nanoseconds(cell);
  if (unit == "ms") return nanoseconds(std::string(cell) + "e3");
  if (unit == "s") return seconds_to_ns(cell);
  return time_to_ns(cell);
}

Result<void> TableReader::read_value(std::string_view cell, int64_t line, const Column& column,
                                     int64_t& bits) {
  const Cell read = read_cell(cell);
  if (read.kind == Cell::Kind::kMissing) {
    log_.drop(fmt::format("{}: {}", column.title, cell.empty() ? "empty" : cell));
    return {};
  }
  const bool reason = column.role == Role::kReason;
  const std::string_view own = reason ? "" : run::metric_info(column.metric).unit;
  const std::string_view unit = read.unit.empty() ? column.unit : read.unit;
  const auto factor = unit.empty() ? column.factor : unit_factor(unit, own);
  if (read.kind == Cell::Kind::kBad || !factor)
    return error(
        line, column, cell,
        reason ? "'Active' or 'Not Active'" : fmt::format("a number in {}, or [N/A]", own));
  if (reason) {
    if (read.value != 0) bits |= column.bit;
    return {};
  }
  values_.push_back(
      {rows_.size(), read.value * *factor, static_cast<int32_t>(column.gpu), column.metric});
  return {};
}

Result<void> TableReader::read_place(std::string_view cell, int64_t line, const Column& column,
                                     Place& place) {
  const bool told = read_cell(cell).kind != Cell::Kind::kMissing;  // "[N/A]" names none
  if (column.role == Role::kUuid && place.uuid.empty() && told) place.uuid = cell;
  if (column.role == Role::kSerial && told) place.serial = cell;
  if (column.role == Role::kName && told) place.name = cell;
  if (column.role == Role::kHost && told) place.host = cell;
  if (column.role != Role::kIndex && column.role != Role::kRank) return {};
  const auto index = whole_number(cell);
  if (!index || *index < 0 || *index >= kMostGpus)
    return error(line, column, cell, "a whole number from 0");
  (column.role == Role::kIndex ? place.index : place.rank) = *index;
  return {};
}

Result<void> TableReader::read_cells(int64_t line) {
  const Column& time_column = header_.columns[header_.time];
  const std::string_view time_cell = cells_[header_.time];
  const auto time = column_time(time_cell, time_column.unit);
  if (!time)
    return error(line, time_column, time_cell,
                 "a time such as 2023/07/14 10:12:46.483, 2023-07-14T10:12:46.483Z or seconds "
                 "since 1970");
  Place place;
  int64_t bits = -1;
  for (size_t i = 0; i < cells_.size(); ++i) {
    const Column& column = header_.columns[i];
    if (column.role == Role::kReason && bits < 0) bits = 0;
    if (column.role == Role::kMetric || column.role == Role::kReason) {
      ERGOMETER_TRY(read_value(cells_[i], line, column, bits));
    } else {
      ERGOMETER_TRY(read_place(cells_[i], line, column, place));
    }
  }
  if (bits >= 0)
    values_.push_back({rows_.size(), static_cast<double>(bits), -1, Metric::kEventReasons});
  if (!place.name.empty()) name_ = place.name;
  named_ = named_ || place.names_gpu();
  rows_.push_back({*time, place.names_gpu() ? device_of(place, 0) : kNone});
  return {};
}

Result<void> TableReader::read_row(std::string_view line, int64_t number, bool cut_off) {
  if (trim(line) == title_) {
    log_.drop("the header once more");
    return {};
  }
  split_cells(line, cells_);
  const size_t columns = header_.columns.size(), first_value = values_.size();
  if (cells_.size() == 1 && columns > 1 && !cut_off) {
    log_.drop("a line of text between the rows");
    return {};
  }
  Result<void> done;
  if (cells_.size() != columns) {
    done = input_error("{}:{}: found {} cells, allowed: {}, as in the header", log_.file(), number,
                       cells_.size(), columns);
  } else {
    done = read_cells(number);
  }
  if (done || !cut_off) return done;
  values_.resize(first_value);
  log_.drop("a row that is cut off at the end of the file");
  return {};
}

/// How many rows a round over the GPUs has, where no column tells them apart: rows of a round
/// follow each other closely, rounds do not.
size_t TableReader::loop_length() const {
  constexpr size_t kMostGpusOfNode = 16, kFewestRounds = 4;
  constexpr int64_t kApart = 5;
  for (size_t length = 2; length <= kMostGpusOfNode; ++length) {
    if (rows_.size() < length * kFewestRounds) break;
    int64_t within = 0, between = INT64_MAX;
    for (size_t i = 1; i < rows_.size(); ++i) {
      const int64_t gap = rows_[i].time_ns - rows_[i - 1].time_ns;
      if (i % length == 0) {
        between = std::min(between, gap);
      } else {
        within = std::max(within, gap);
      }
    }
    if (between > 0 && within >= 0 && within < between / kApart) return length;
  }
  return 1;
}

size_t TableReader::device_of(const Place& place, size_t turn) {
  const std::string host = place.rank >= 0      ? ""
                           : place.host.empty() ? log_.file()
                                                : std::string(place.host);
  const std::string id = place.rank >= 0       ? fmt::format("rank {}", place.rank)
                         : !place.id().empty() ? std::string(place.id())
                                               : fmt::format("{} {}", place.index, turn);
  const size_t number = log_.device_number(run::DeviceKind::kGpu, host, id);
  run::Device& device = log_.device_at(number);
  device.rank = place.rank;
  if (!place.host.empty()) device.host = place.host;
  device.uuid = place.id();
  device.index = place.index;
  // Of GPUs that ranks name nothing tells the node; numbered by rank they stay apart.
  if (place.index < 0 && place.id().empty())
    device.index = place.rank >= 0 ? place.rank : static_cast<int64_t>(turn);
  if (!place.name.empty()) device.name = place.name;
  return number;
}

/// No board draws as little in milliwatts as any does in watts.
void TableReader::settle_plain_power() {
  constexpr double kLeastMilliwatts = 3000, kWattsPerMilliwatt = 1e-3;
  const bool watts = std::ranges::all_of(
      values_, [](const Value& value) { return value.value < kLeastMilliwatts; });
  if (!header_.plain_power || watts) return;
  for (Value& value : values_) value.value *= kWattsPerMilliwatt;
}

Result<void> TableReader::finish() {
  if (rows_.empty())
    return input_error("{}:1: found a header, allowed: a header and rows below it", log_.file());
  const bool by_column =
      std::ranges::any_of(values_, [](const Value& value) { return value.gpu >= 0; });
  const size_t length = named_ || by_column ? 1 : loop_length();
  if (length > 1)
    log_.note("{}: no column names the GPU; rows come in rounds of {}, taken as {} GPUs",
              log_.file(), length, length);
  settle_plain_power();
  for (const Value& value : values_) {
    const Row& row = rows_[value.row];
    Place place;
    place.index = value.gpu;
    place.name = name_;
    const size_t device =
        value.gpu >= 0 || row.device == kNone ? device_of(place, value.row % length) : row.device;
    log_.add(device, value.metric, row.time_ns, value.value);
  }
  for (const Column& column : header_.columns)
    if (column.role == Role::kUnknown)
      log_.drop(fmt::format("column '{}' is not used", column.title),
                static_cast<int64_t>(rows_.size()));
  return {};
}

}  // namespace

bool is_headerless_table(std::string_view text) {
  std::vector<std::string_view> cells;
  split_cells(first_line(text), cells);
  return cells.size() > 1 && std::ranges::any_of(cells, [](std::string_view cell) {
           return cell.find(':') != std::string_view::npos && time_to_ns(cell).has_value();
         });
}

bool is_sensor_table(std::string_view text) {
  Lines lines(text);
  lines.next();
  const Header header = read_header(lines.line());
  return header.columns.size() > 1 &&
         (header.own_metrics ||
          (header.metrics && header.time != Header::kNone && !lines.cut_off()));
}

Result<void> read_sensor_table(std::string_view text, LogBuilder& log) {
  Lines lines(text);
  lines.next();
  TableReader table(read_header(lines.line()), trim(lines.line()), log);
  ERGOMETER_TRY(table.check_header());
  while (lines.next()) ERGOMETER_TRY(table.read_row(lines.line(), lines.number(), lines.cut_off()));
  return table.finish();
}

}  // namespace ergometer::importer

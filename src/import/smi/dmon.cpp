#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "base/collection.h"
#include "import/smi/rounds.h"
#include "import/telemetry/readers.h"
#include "import/telemetry/value.h"
#include "import/text/decimal.h"

namespace ergometer::importer {
namespace {

// What `nvidia-smi dmon` and `dcgmi dmon` print while they watch:
//
//   # gpu    pwr  gtemp     sm   pclk        #Entity   POWER  TMPTR  SMCLK
//   # Idx      W      C      %    MHz        ID            W      C
//       0    310     62     99   1980        GPU 0     310.2     62   1980
//
// The head comes again every so often; "-" and "N/A" stand for what a GPU does not tell. With
// `-o DT` nvidia-smi puts date and time in front, with `--format csv` commas between.

using run::Metric;

/// What a column counts up to, of violations that dmon gives for the time since the row before.
enum class DmonKind : uint8_t { kReading, kPercentOfTime, kFlag };
struct DmonColumn {
  std::string_view name;
  Metric metric;
  double factor = 1;
  DmonKind kind = DmonKind::kReading;
};
constexpr double kMega = 1e6, kMilliJoules = 1e-3;
constexpr std::array kDmonColumns = std::to_array<DmonColumn>({
    // nvidia-smi, by groups of -s: p, u, c, v, m, e, t
    {"pwr", Metric::kPower},
    {"gtemp", Metric::kGpuTemperature},
    {"temp", Metric::kGpuTemperature},  // drivers before 396
    {"mtemp", Metric::kMemoryTemperature},
    {"sm", Metric::kGpuUtilization},
    {"mem", Metric::kMemoryUtilization},
    {"mclk", Metric::kMemoryClock},
    {"pclk", Metric::kSmClock},
    {"pviol", Metric::kSwPowerCapTime, 1, DmonKind::kPercentOfTime},
    {"tviol", Metric::kSwThermalTime, 1, DmonKind::kFlag},
    {"fb", Metric::kMemoryUsed, kMi},
    {"sbecc", Metric::kEccCorrected},
    {"dbecc", Metric::kEccUncorrected},
    {"pci", Metric::kPcieReplays},
    {"rxpci", Metric::kPcieReceivedRate, kMega},
    {"txpci", Metric::kPcieSentRate, kMega},
    // dcgmi's short names of fields
    {"POWER", Metric::kPower},
    {"TOTEC", Metric::kEnergy, kMilliJoules},
    {"TMPTR", Metric::kGpuTemperature},
    {"MMTMP", Metric::kMemoryTemperature},
    {"SMCLK", Metric::kSmClock},
    {"MMCLK", Metric::kMemoryClock},
    {"GPUTL", Metric::kGpuUtilization},
    {"MCUTL", Metric::kMemoryUtilization},
    {"FBUSD", Metric::kMemoryUsed, kMi},
    {"DVCCTR", Metric::kEventReasons},
    {"RPCTR", Metric::kPcieReplays},
    {"PCITX", Metric::kPcieSentRate},
    {"PCIRX", Metric::kPcieReceivedRate},
});

const DmonColumn* known_column(std::string_view name) {
  const auto at = std::ranges::find(kDmonColumns, name, &DmonColumn::name);
  return at == kDmonColumns.end() ? nullptr : &*at;
}

/// Words between spaces, or between commas where there is one.
void split_words(std::string_view line, std::vector<std::string_view>& words) {
  if (line.find(',') != std::string_view::npos) return split_cells(line, words);
  words.clear();
  for (size_t at = line.find_first_not_of(" \t\r"); at != std::string_view::npos;) {
    const size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(" \t\r", end);
  }
}

/// The head's columns; empty of any other line. "Entity" is what dcgmi calls a GPU or a part of
/// one.
std::vector<std::string_view> head_columns(std::string_view line) {
  line = trim(line);
  if (!line.starts_with('#')) return {};
  std::vector<std::string_view> words;
  split_words(line.substr(1), words);
  const bool any = std::ranges::any_of(words, [](auto w) { return known_column(w) != nullptr; });
  const bool gpu = base::contains(words, "gpu");
  if (words.empty() || !(words.front() == "Entity" || (gpu && any))) return {};
  return words;
}

/// The row of units below the head: "# Idx W C", "#YYYYMMDD HH:MM:SS Idx", and dcgmi's "ID W C".
bool is_units(std::string_view line) {
  line = trim(line);
  if (line.starts_with('#')) return true;
  std::vector<std::string_view> words;
  split_words(line, words);
  return !words.empty() && (words.front() == "ID" || words.front() == "Id");
}

class DmonReader {
 public:
  explicit DmonReader(LogBuilder& log) : log_(log), rounds_(log.options().sample_period_s) {}
  Result<void> read(std::string_view text);

 private:
  void begin(std::string_view head);
  Result<void> read_row(std::string_view line, int64_t number);
  Result<void> read_value(std::string_view word, int64_t line, std::string_view title,
                          int64_t time_ns, size_t device);
  Result<int64_t> clock_time(int64_t line);
  tl::unexpected<base::Error> error(int64_t line, std::string_view title, std::string_view found,
                                    std::string_view allowed) const {
    return input_error("{}:{}: column '{}': found '{}', allowed: {}", log_.file(), line, title,
                       found, allowed);
  }
  std::optional<size_t> column(std::string_view title) const {
    const auto at = std::ranges::find(titles_, title);
    if (at == titles_.end()) return std::nullopt;
    return static_cast<size_t>(at - titles_.begin());
  }

  LogBuilder& log_;
  std::vector<std::string_view> titles_, words_;
  bool entities_ = false;
  Rounds rounds_;
  int64_t days_ns_ = 0, last_clock_ns_ = -1;  ///< of times without a date
  struct Counted {
    int64_t time_ns = -1;
    double seconds = 0;
  };
  std::map<std::pair<size_t, Metric>, Counted> counted_;
  int64_t rows_ = 0;
};

void DmonReader::begin(std::string_view head) {
  titles_ = head_columns(head);
  entities_ = titles_.front() == "Entity";
}

/// "20240229" and "14:05:12"; a time without a date counts from 1970 on, day after day.
Result<int64_t> DmonReader::clock_time(int64_t line) {
  const size_t at = *column("Time");
  const auto date = column("Date");
  std::string text = "1970-01-01";
  if (date) {
    const std::string_view day = words_[*date];
    if (day.size() != 8) return error(line, "Date", day, "a date as YYYYMMDD");
    text = fmt::format("{}-{}-{}", day.substr(0, 4), day.substr(4, 2), day.substr(6));
  }
  const auto time = time_to_ns(fmt::format("{} {}", text, words_[at]));
  if (!time)
    return error(line, date ? "Date Time" : "Time",
                 fmt::format("{}{}{}", date ? words_[*date] : "", date ? " " : "", words_[at]),
                 "a date as YYYYMMDD and a time as HH:MM:SS");
  if (date) return *time;
  constexpr int64_t kDayNs = int64_t{86400} * 1'000'000'000;
  if (*time < last_clock_ns_) days_ns_ += kDayNs;
  last_clock_ns_ = *time;
  return *time + days_ns_;
}

Result<void> DmonReader::read_value(std::string_view word, int64_t line, std::string_view title,
                                    int64_t time_ns, size_t device) {
  const DmonColumn* known = known_column(title);
  if (known == nullptr) {
    log_.drop(fmt::format("column '{}' is not used", title));
    return {};
  }
  const Cell cell = read_cell(word);
  if (cell.kind == Cell::Kind::kMissing) {
    log_.drop(fmt::format("{}: {}", title, word));
    return {};
  }
  if (cell.kind == Cell::Kind::kBad || !cell.unit.empty())
    return error(line, title, word, "a number, or - or N/A where there is none");
  if (known->kind == DmonKind::kReading) {
    log_.add(device, known->metric, time_ns, cell.value * known->factor);
    return {};
  }
  Counted& counted = counted_[{device, known->metric}];
  constexpr double kPercent = 100;
  const double most = known->kind == DmonKind::kFlag ? 1 : kPercent;
  if (counted.time_ns >= 0 && time_ns > counted.time_ns)
    counted.seconds += std::clamp(cell.value / most, 0.0, 1.0) *
                       static_cast<double>(time_ns - counted.time_ns) * 1e-9;
  counted.time_ns = time_ns;
  log_.add(device, known->metric, time_ns, counted.seconds);
  return {};
}

Result<void> DmonReader::read_row(std::string_view line, int64_t number) {
  split_words(line, words_);
  if (entities_) {
    if (words_.size() >= 2 && words_.front() != "GPU") {
      log_.drop(fmt::format("rows of {} are not used", words_.front()));
      return {};
    }
    if (!words_.empty()) words_.erase(words_.begin());
  }
  if (words_.size() != titles_.size())
    return input_error("{}:{}: found {} columns, allowed: {}, as in the head", log_.file(), number,
                       words_.size(), titles_.size());
  const size_t at = entities_ ? 0 : *column("gpu");
  constexpr int64_t kMostIndex = 1 << 16;
  const auto gpu = whole_number(words_[at]);
  if (!gpu || *gpu < 0 || *gpu >= kMostIndex)
    return error(number, titles_[at], words_[at], "a GPU's index");
  int64_t time_ns = 0;
  if (column("Time")) {
    ERGOMETER_ASSIGN(time_ns, clock_time(number));
  } else {
    time_ns = rounds_.time_ns(*gpu);
  }
  const size_t device = log_.gpu_number(*gpu);
  for (size_t i = 0; i < titles_.size(); ++i)
    if (i != at && titles_[i] != "Date" && titles_[i] != "Time")
      ERGOMETER_TRY(read_value(words_[i], number, titles_[i], time_ns, device));
  ++rows_;
  return {};
}

Result<void> DmonReader::read(std::string_view text) {
  bool timed = true, dated = true;
  int64_t head_line = 0;
  for (Lines lines(text); lines.next();) {
    if (!head_columns(lines.line()).empty()) {
      begin(lines.line());
      timed = timed && column("Time").has_value();
      dated = dated && column("Date").has_value();
      if (head_line == 0) head_line = lines.number();
      continue;
    }
    if (head_line == 0) {
      log_.drop("a line above the head");
      continue;
    }
    if (is_units(lines.line())) continue;
    const auto done = read_row(lines.line(), lines.number());
    if (done) continue;
    if (!lines.cut_off()) return done;
    log_.drop("a row that is cut off at the end of the file");
  }
  if (rows_ == 0)
    return input_error("{}:{}: found a head, allowed: a head and rows below it", log_.file(),
                       head_line);
  if (!timed)
    note_untimed("dmon's default", log_);
  else if (!dated)
    log_.note(
        "{}: says the time of day and no date (dmon -o DT does): days are "
        "counted from 1970-01-01 on",
        log_.file());
  return {};
}

}  // namespace

void note_untimed(std::string_view default_of, LogBuilder& log) {
  const TelemetryOptions& options = log.options();
  log.note(
      "{}: no column says when a row was read: rows of a GPU are taken {:g} s apart, {}, the first "
      "at 0 s",
      log.file(), options.sample_period_s,
      options.sample_period_said ? std::string("as --sample-period says")
                                 : fmt::format("{} (else: --sample-period)", default_of));
}

bool is_dmon(std::string_view text) {
  return any_first_line(text, [](std::string_view line) { return !head_columns(line).empty(); });
}

Result<void> read_dmon(std::string_view text, LogBuilder& log) {
  return DmonReader(log).read(text);
}

}  // namespace ergometer::importer

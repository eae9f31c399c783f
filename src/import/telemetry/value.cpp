#include "import/telemetry/value.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "base/text.h"
#include "import/text/decimal.h"

namespace ergometer::importer {
namespace {

constexpr int64_t kNsPerSecond = 1'000'000'000;

/// Days from 1970-01-01 in the Gregorian calendar.
int64_t days_since_1970(int64_t year, int64_t month, int64_t day) {
  if (month <= 2) --year;
  const int64_t era = year / 400;
  const int64_t year_of_era = year - era * 400;
  const int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  const int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146097 + day_of_era - 719468;
}

/// Reads text piece by piece; once something is missing, all that follows is.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  int64_t digits(size_t count, int64_t lowest, int64_t highest) {
    int64_t value = 0;
    if (text_.size() < count) ok_ = false;
    for (size_t i = 0; ok_ && i < count; ++i) {
      ok_ = base::is_digit(text_[i]);
      value = value * 10 + (text_[i] - '0');
    }
    if (!ok_ || value < lowest || value > highest) return fail();
    text_.remove_prefix(count);
    return value;
  }
  bool one_of(std::string_view allowed) {
    if (!ok_ || text_.empty() || allowed.find(text_.front()) == std::string_view::npos)
      return false;
    last_ = text_.front();
    text_.remove_prefix(1);
    return true;
  }
  void must(std::string_view allowed) { ok_ = one_of(allowed) && ok_; }
  /// Digits behind the point as nanoseconds; those below are cut off.
  int64_t fraction() {
    int64_t value = 0, unit = kNsPerSecond;
    if (text_.empty() || !base::is_digit(text_.front())) return fail();
    for (; !text_.empty() && base::is_digit(text_.front()); text_.remove_prefix(1)) {
      unit /= 10;
      value += unit * (text_.front() - '0');
    }
    return value;
  }
  char last() const { return last_; }
  bool ok() const { return ok_; }
  bool at_end() const { return text_.empty(); }

 private:
  int64_t fail() {
    ok_ = false;
    return 0;
  }
  std::string_view text_;
  char last_ = 0;
  bool ok_ = true;
};

/// Seconds east of UTC, behind the time of day.
int64_t zone(Scanner& in) {
  if (in.one_of("Zz") || !in.one_of("+-")) return 0;
  const int64_t sign = in.last() == '-' ? -1 : 1;
  const int64_t hours = in.digits(2, 0, 14);
  if (in.at_end()) return sign * hours * 3600;
  in.one_of(":");
  return sign * (hours * 3600 + in.digits(2, 0, 59) * 60);
}

std::optional<int64_t> calendar_to_ns(std::string_view text) {
  Scanner in(text);
  const int64_t year = in.digits(4, 1970, 2199);
  in.must("/-");
  const int64_t month = in.digits(2, 1, 12);
  in.must("/-");
  const int64_t day = in.digits(2, 1, 31);
  in.must(" T");
  const int64_t hour = in.digits(2, 0, 23);
  in.must(":");
  const int64_t minute = in.digits(2, 0, 59);
  in.must(":");
  const int64_t second = in.digits(2, 0, 60);
  const int64_t fraction = in.ok() && in.one_of(".,") ? in.fraction() : 0;
  in.one_of(" ");
  const int64_t east = zone(in);
  if (!in.ok() || !in.at_end()) return std::nullopt;
  const int64_t next_month =
      days_since_1970(month == 12 ? year + 1 : year, month == 12 ? 1 : month + 1, 1);
  if (days_since_1970(year, month, day) >= next_month) return std::nullopt;  // 30 February
  const int64_t seconds =
      days_since_1970(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - east;
  return seconds * kNsPerSecond + fraction;
}

struct UnitName {
  std::string_view name, base;
  double factor;
};
constexpr std::array kUnits = std::to_array<UnitName>({
    {"W", "W", 1},
    {"mW", "W", 1e-3},
    {"kW", "W", 1e3},
    {"uW", "W", 1e-6},
    {"watts", "W", 1},
    {"J", "J", 1},
    {"mJ", "J", 1e-3},
    {"uJ", "J", 1e-6},
    {"kJ", "J", 1e3},
    {"Wh", "J", 3600},
    {"C", "C", 1},
    {"c", "C", 1},
    {"\xc2\xb0"
     "C",
     "C", 1},
    {"MHz", "MHz", 1},
    {"Mhz", "MHz", 1},  // rocm-smi's
    {"GHz", "MHz", 1e3},
    {"kHz", "MHz", 1e-3},
    {"Hz", "MHz", 1e-6},
    {"%", "%", 1},
    {"B", "B", 1},
    {"KiB", "B", kKi},
    {"MiB", "B", kMi},
    {"GiB", "B", kGi},
    {"KB", "B", 1e3},
    {"kB", "B", 1e3},
    {"MB", "B", 1e6},
    {"GB", "B", 1e9},
    {"B/s", "B/s", 1},
    {"KB/s", "B/s", 1e3},
    {"MB/s", "B/s", 1e6},
    {"GB/s", "B/s", 1e9},
    {"s", "s", 1},
    {"ms", "s", 1e-3},
    {"us", "s", 1e-6},
    {"ns", "s", 1e-9},
});

bool is_missing(std::string_view text) {
  if (text.empty() || text == "N/A" || text == "n/a" || text == "-" || text == "Not Supported" ||
      text == "None" || text == "null")
    return true;
  return text.front() == '[' && text.back() == ']';
}

}  // namespace

std::string_view trim(std::string_view text) { return base::trimmed(text, " \t\r"); }

std::optional<double> number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const char *const begin = text.data(), *const end = begin + text.size();
  if (text.starts_with("0x") || text.starts_with("0X")) {
    uint64_t bits = 0;
    const auto [last, error] = std::from_chars(begin + 2, end, bits, 16);
    if (error != std::errc() || last != end) return std::nullopt;
    return static_cast<double>(bits);
  }
  double value = 0;
  const auto [last, error] = std::from_chars(begin, end, value);
  if (last != end || text.empty()) return std::nullopt;
  if (error == std::errc::result_out_of_range) return text.front() == '-' ? -HUGE_VAL : HUGE_VAL;
  if (error != std::errc()) return std::nullopt;
  return value;
}

std::optional<int64_t> seconds_to_ns(std::string_view seconds) {
  if (seconds.find_first_of("eE") == std::string_view::npos)
    return nanoseconds(std::string(seconds) + "e6");
  const auto value = number(seconds);
  if (!value || !(std::abs(*value) < 4e9)) return std::nullopt;
  return static_cast<int64_t>(std::llround(*value * 1e9));
}

std::optional<int64_t> time_to_ns(std::string_view text) {
  if (text.size() > 4 && (text[4] == '/' || text[4] == '-')) return calendar_to_ns(text);
  const auto value = number(text);
  if (!value || !(*value >= 0)) return std::nullopt;
  if (*value < 1e11) return seconds_to_ns(text);
  if (text.find_first_of("eEx") != std::string_view::npos) return std::nullopt;
  if (*value < 1e14) return nanoseconds(std::string(text) + "e3");
  if (*value < 1e17) return nanoseconds(text);
  return nanoseconds(std::string(text) + "e-3");
}

Cell read_cell(std::string_view text) {
  text = trim(text);
  if (is_missing(text)) return {Cell::Kind::kMissing, 0, {}};
  if (text == "Active") return {Cell::Kind::kNumber, 1, {}};
  if (text == "Not Active") return {Cell::Kind::kNumber, 0, {}};
  if (const auto value = number(text)) return {Cell::Kind::kNumber, *value, {}};
  const size_t last = text.find_last_of("0123456789.");
  if (last == std::string_view::npos) return {};
  const auto value = number(trim(text.substr(0, last + 1)));
  if (!value) return {};
  return {Cell::Kind::kNumber, *value, trim(text.substr(last + 1))};
}

std::optional<double> unit_factor(std::string_view from, std::string_view to) {
  if (from.empty() || from == to) return 1;
  for (const UnitName& unit : kUnits)
    if (unit.name == from && unit.base == to) return unit.factor;
  return std::nullopt;
}

}  // namespace ergometer::importer

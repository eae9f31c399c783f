#include <fmt/format.h>

#include <array>
#include <optional>

#include "base/text.h"
#include "import/telemetry/readers.h"
#include "import/telemetry/value.h"

namespace ergometer::importer {
namespace {

// What `ipmitool dcmi power reading` prints, once or again and again:
//
//     Instantaneous power reading:                  6500 Watts
//     ...
//     IPMI timestamp:                           Tue Mar  4 10:11:12 2025
//
// or, since release 1.8.19, "IPMI timestamp:  03/04/2025 10:11:12 UTC    Sampling period: ...".

constexpr std::string_view kReading = "Instantaneous power reading:";
constexpr std::string_view kTimestamp = "IPMI timestamp:";

/// "Mar" is "03".
std::string_view month_number(std::string_view name) {
  constexpr std::string_view kNames = "JanFebMarAprMayJunJulAugSepOctNovDec";
  constexpr std::array kNumbers = std::to_array<std::string_view>(
      {"01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "12"});
  const size_t at = name.size() == 3 ? kNames.find(name) : std::string_view::npos;
  return at == std::string_view::npos || at % 3 != 0 ? "" : kNumbers[at / 3];
}

struct Stamp {
  std::optional<int64_t> time_ns;
  std::string_view zone;  ///< "EST"; empty where none is said
};

Stamp ipmi_time(std::string_view text) {
  const auto words = base::words(text);
  const auto zone = [&](size_t at) { return words.size() > at ? words[at] : std::string_view(); };
  // Tue Mar 4 10:11:12 2025
  if ((words.size() == 5 || words.size() == 6) && !month_number(words[1]).empty())
    return {time_to_ns(fmt::format("{}-{}-{:0>2} {}", words[4], month_number(words[1]), words[2],
                                   words[3])),
            zone(5)};
  // 03/04/2025 10:11:12 UTC
  constexpr size_t kDate = 10;
  if (words.size() < 2 || words.size() > 3 || words[0].size() != kDate) return {};
  return {time_to_ns(fmt::format("{}-{}-{} {}", words[0].substr(6), words[0].substr(0, 2),
                                 words[0].substr(3, 2), words[1])),
          zone(2)};
}

/// What stands behind a word at the beginning of a line.
std::optional<std::string_view> behind(std::string_view line, std::string_view word) {
  line = trim(line);
  if (!line.starts_with(word)) return std::nullopt;
  return trim(line.substr(word.size()));
}

}  // namespace

bool is_ipmi_power(std::string_view text) {
  return any_first_line(text,
                        [](std::string_view line) { return behind(line, kReading).has_value(); });
}

Result<void> read_ipmi_power(std::string_view text, LogBuilder& log) {
  const size_t node = log.device_number(run::DeviceKind::kNode, log.file(), log.file());
  log.device_at(node).name = stem_of(log.file());
  bool told = false;  // a reading whose time is not known yet
  double watts = 0;
  int64_t untold = 0;
  std::string_view other_zone;
  for (Lines lines(text); lines.next();) {
    if (const auto reading = behind(lines.line(), kReading)) {
      if (told) ++untold;
      const Cell cell = read_cell(*reading);
      const auto factor = unit_factor(cell.unit == "Watts" ? "W" : cell.unit, "W");
      if (cell.kind != Cell::Kind::kNumber || !factor)
        return input_error("{}:{}: {} found '{}', allowed: a number of Watts", log.file(),
                           lines.number(), kReading, *reading);
      watts = cell.value * *factor;
      told = true;
    } else if (const auto stamp = behind(lines.line(), kTimestamp)) {
      const auto [time_ns, zone] = ipmi_time(stamp->substr(0, stamp->find("Sampling")));
      if (!zone.empty() && zone != "UTC" && zone != "GMT") other_zone = zone;
      if (!time_ns)
        return input_error(
            "{}:{}: {} found '{}', allowed: a time such as Tue Mar  4 10:11:12 2025 or 03/04/2025 "
            "10:11:12 UTC",
            log.file(), lines.number(), kTimestamp, *stamp);
      if (told) log.add(node, run::Metric::kPower, *time_ns, watts);
      told = false;
    }
  }
  if (!other_zone.empty())
    log.note("{}: its times are in {}, and are taken for UTC", log.file(), other_zone);
  log.drop("a reading without a time", untold + (told ? 1 : 0));
  return {};
}

}  // namespace ergometer::importer

#include "record/bmc/ipmi_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "base/text.h"
#include "record/files/kept_file.h"

namespace ergometer::record {
namespace {

std::string_view next_line(std::string_view& rest) {
  const size_t end = std::min(rest.size(), rest.find('\n'));
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(rest.size(), end + 1));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

/// Small letters; what stands between words is one space.
std::string words(std::string_view name) {
  std::string text = " ";
  for (const char c : name) {
    if (base::is_letter_or_digit(c)) {
      text += base::lower(c);
    } else if (text.back() != ' ') {
      text += ' ';
    }
  }
  return text + ' ';
}

/// "PSU1 Input Power", "PS1 Input Power", "PSU1_PIN", "Pwr Supply 1 In"; not what it puts out.
bool is_supply_input(const std::string& name) {
  return base::contains_any(name, {" ps", " pwr supply", " power supply"}) &&
         base::contains_any(name, {" in ", " input", " pin ", " power in"}) &&
         !base::contains_any(name, {" out"});
}

/// "Pwr Consumption" (Dell), "Total_Power" (Supermicro), "Sys Power", "PWR_SYS", "Power Meter"
/// (HPE).
bool is_total(const std::string& name) {
  return base::contains_any(name, {" pwr consumption", " total power", " total pwr", " sys power",
                                   " system power", " pwr sys", " power meter", " node power"});
}

void add(const std::string& name, std::string_view unit, double value, NodeReadings& readings) {
  if (unit == "degrees C") {
    if (base::contains_any(name, {" inlet", " ambient", " intake"})) readings.inlet_c.add(value);
    if (base::contains_any(name, {" exhaust", " outlet"})) readings.outlet_c.add(value);
  } else if (unit == "RPM") {
    readings.fan_rpm.add(value);
  } else if (unit == "percent" && base::contains_any(name, {" fan"})) {
    readings.fan_percent.add(value);
  } else if (unit == "Watts") {
    if (is_supply_input(name)) {
      ++readings.supplies;
      readings.supplies_in_w.add(value);
    } else if (is_total(name) && !readings.total_w) {
      readings.total_w = value;
    }
  }
}

}  // namespace

void read_sdr(std::string_view text, NodeReadings& readings) {
  while (!text.empty()) {
    std::string_view line = next_line(text);
    std::array<std::string_view, 4> cells;
    for (std::string_view& cell : cells) {
      const size_t end = std::min(line.size(), line.find(','));
      cell = line.substr(0, end);
      line.remove_prefix(std::min(line.size(), end + 1));
    }
    const auto& [name, value, unit, status] = cells;
    const auto number = leading_number(value);
    // "ns": not there. Others ("nc", "cr": beyond a limit) are readings.
    if (number && std::isfinite(*number) && status != "ns")
      add(words(name), unit, *number, readings);
  }
}

void read_dcmi_power(std::string_view text, NodeReadings& readings) {
  constexpr std::string_view kLabel = "Instantaneous power reading:";
  const size_t at = text.find(kLabel);
  if (at == std::string_view::npos) return;
  const auto watts = leading_number(text.substr(at + kLabel.size()));
  // A controller that answers without measuring says 0.
  if (watts && *watts > 0) readings.total_w = *watts;
}

}  // namespace ergometer::record

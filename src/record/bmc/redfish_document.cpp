#include "record/bmc/redfish_document.h"

#include <nlohmann/json.hpp>
#include <optional>

namespace ergometer::record {
namespace {

using Json = nlohmann::json;

Json parse(std::string_view text) { return Json::parse(text, nullptr, false); }

/// A member of an object; null when it is not there.
const Json& member(const Json& object, std::string_view name) {
  static const Json kNull;
  const auto at = object.is_object() ? object.find(name) : object.end();
  return at == object.end() ? kNull : *at;
}

std::string text(const Json& object, std::string_view name) {
  const Json& value = member(object, name);
  return value.is_string() ? value.get<std::string>() : "";
}

std::optional<double> number(const Json& value) {
  if (!value.is_number()) return std::nullopt;
  return value.get<double>();
}

/// A sensor's excerpt: {"Reading": 412}, in some services the number alone.
std::optional<double> reading(const Json& object, std::string_view name) {
  const Json& value = member(object, name);
  return value.is_object() ? number(member(value, "Reading")) : number(value);
}

void add(base::Mean& mean, std::optional<double> value) {
  if (value) mean.add(*value);
}

/// "Absent" slots are listed, often with readings of 0.
bool is_there(const Json& object) {
  const std::string state = text(member(object, "Status"), "State");
  return state != "Absent" && state != "Disabled";
}

void add_temperature(const std::string& context, std::optional<double> value,
                     NodeReadings& readings) {
  if (context == "Intake") add(readings.inlet_c, value);
  if (context == "Exhaust") add(readings.outlet_c, value);
}

void read_power(const Json& document, NodeReadings& readings) {
  for (const Json& control : member(document, "PowerControl")) {
    const auto watts = number(member(control, "PowerConsumedWatts"));
    // The first one is the chassis, what follows is its parts.
    if (watts && *watts > 0 && !readings.total_w) readings.total_w = watts;
    break;
  }
  for (const Json& supply : member(document, "PowerSupplies")) {
    if (!is_there(supply)) continue;
    ++readings.supplies;
    add(readings.supplies_in_w, number(member(supply, "PowerInputWatts")));
  }
}

void read_thermal(const Json& document, NodeReadings& readings) {
  for (const Json& sensor : member(document, "Temperatures"))
    if (is_there(sensor))
      add_temperature(text(sensor, "PhysicalContext"), number(member(sensor, "ReadingCelsius")),
                      readings);
  for (const Json& fan : member(document, "Fans")) {
    if (!is_there(fan)) continue;
    const bool percent = text(fan, "ReadingUnits") == "Percent";
    add(percent ? readings.fan_percent : readings.fan_rpm, number(member(fan, "Reading")));
  }
}

void read_environment(const Json& document, NodeReadings& readings) {
  const auto watts = reading(document, "PowerWatts");
  if (watts && *watts > 0 && !readings.total_w) readings.total_w = watts;
}

void read_thermal_metrics(const Json& document, NodeReadings& readings) {
  const Json& summary = member(document, "TemperatureSummaryCelsius");
  add(readings.inlet_c, reading(summary, "Intake"));
  add(readings.outlet_c, reading(summary, "Exhaust"));
}

void read_supply(const Json& document, NodeReadings& readings) {
  ++readings.supplies;
  add(readings.supplies_in_w, reading(document, "InputPowerWatts"));
}

void read_fan(const Json& document, NodeReadings& readings) {
  if (!is_there(document)) return;
  add(readings.fan_percent, reading(document, "SpeedPercent"));
  add(readings.fan_rpm, number(member(member(document, "SpeedPercent"), "SpeedRPM")));
}

void read_sensor(const Json& document, NodeReadings& readings) {
  if (is_there(document) && text(document, "ReadingType") == "Temperature")
    add_temperature(text(document, "PhysicalContext"), reading(document, "Reading"), readings);
}

}  // namespace

bool read_redfish(std::string_view document, NodeReadings& readings) {
  const Json parsed = parse(document);
  if (!parsed.is_object()) return false;
  struct Reader {
    std::string_view type;
    void (*read)(const Json&, NodeReadings&);
  };
  constexpr Reader kReaders[] = {{"#Power.", read_power},
                                 {"#Thermal.", read_thermal},
                                 {"#EnvironmentMetrics.", read_environment},
                                 {"#ThermalMetrics.", read_thermal_metrics},
                                 {"#PowerSupplyMetrics.", read_supply},
                                 {"#Fan.", read_fan},
                                 {"#Sensor.", read_sensor}};
  const std::string type = text(parsed, "@odata.type");
  for (const Reader& reader : kReaders)
    if (type.starts_with(reader.type)) reader.read(parsed, readings);
  return true;
}

std::vector<std::string> redfish_members(std::string_view document) {
  std::vector<std::string> paths;
  const Json collection = parse(document);
  for (const Json& entry : member(collection, "Members"))
    if (std::string path = text(entry, "@odata.id"); !path.empty())
      paths.push_back(std::move(path));
  return paths;
}

std::string redfish_link(std::string_view document, std::string_view name) {
  return text(member(parse(document), name), "@odata.id");
}

bool is_contained(std::string_view chassis) {
  return member(member(parse(chassis), "Links"), "ContainedBy").is_object();
}

}  // namespace ergometer::record

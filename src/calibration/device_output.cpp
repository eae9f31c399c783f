#include "calibration/device_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/json_writer.h"
#include "calibration/catalog_writer.h"
#include "calibration/device_model.h"

namespace ergometer::calibration {
namespace {

constexpr double kPercent = 100;

/// A parameter of a catalog file: its value in the model, in the file's unit.
struct Line {
  std::string_view name, unit;
  double scale;
  double (*of)(const DeviceModel&);
};

#define ERGOMETER_LINE(part) [](const DeviceModel& model) -> double { return model.part; }

constexpr std::array kPowerLines = std::to_array<Line>({
    {"power.constant", "W", 1, ERGOMETER_LINE(power.constant_w)},
    {"power.constant_memory", "W", 1, ERGOMETER_LINE(power.constant_memory_w)},
    {"power.leakage", "W", 1, ERGOMETER_LINE(power.leakage_w)},
    {"power.leakage_temperature", "C", 1, ERGOMETER_LINE(power.leakage_c)},
    {"power.leakage_per_k", "/K", 1, ERGOMETER_LINE(power.leakage_per_k)},
    {"power.active", "W", 1, ERGOMETER_LINE(power.active_w)},
    {"power.voltage_min", "", 1, ERGOMETER_LINE(power.voltage.lowest)},
    {"power.voltage_knee", "", 1,
     ERGOMETER_LINE(power.voltage.knee_hz / model.power.clocks.highest_hz)},
    {"power.excursion", "", 1, ERGOMETER_LINE(power.excursion)},
    {"power.cap_held", "", 1, ERGOMETER_LINE(power.held)},
    {"power.cap_burst", "", 1, ERGOMETER_LINE(power.burst)},
    {"power.cap_window", "s", 1, ERGOMETER_LINE(power.held_over_s)},
    {"power.reading_period", "s", 1, ERGOMETER_LINE(power.reading_period_s)},
    {"power.reading_instant", "s", 1, ERGOMETER_LINE(power.reading_instant_s)},
    {"power.reading_average", "s", 1, ERGOMETER_LINE(power.reading_average_s)},
    {"power.tensor_fp16", "pJ/FLOP", kPico, ERGOMETER_LINE(energy.tensor_fp16)},
    {"power.vector", "pJ/FLOP", kPico, ERGOMETER_LINE(energy.vector)},
    {"power.cache", "pJ/B", kPico, ERGOMETER_LINE(energy.cache)},
    {"power.memory", "pJ/B", kPico, ERGOMETER_LINE(energy.memory)},
    {"power.link", "pJ/B", kPico, ERGOMETER_LINE(energy.link)},
    {"power.data_share", "", 1, ERGOMETER_LINE(energy.data_share)},
});
constexpr std::array kCoolingLines = std::to_array<Line>({
    {"die_capacity", "J/K", 1, ERGOMETER_LINE(cooling.die_j_per_k)},
    {"spreader_capacity", "J/K", 1, ERGOMETER_LINE(cooling.spreader_j_per_k)},
    {"sink_capacity", "J/K", 1, ERGOMETER_LINE(cooling.sink_j_per_k)},
    {"memory_capacity", "J/K", 1, ERGOMETER_LINE(cooling.memory_j_per_k)},
    {"die_resistance", "K/W", 1, ERGOMETER_LINE(cooling.die_k_per_w)},
    {"spreader_resistance", "K/W", 1, ERGOMETER_LINE(cooling.spreader_k_per_w)},
    {"memory_resistance", "K/W", 1, ERGOMETER_LINE(cooling.memory_k_per_w)},
    {"sink_resistance", "K/W", 1, ERGOMETER_LINE(cooling.sink_k_per_w)},
    {"film_resistance", "K/W", 1, ERGOMETER_LINE(cooling.film_k_per_w)},
    {"flow_exponent", "", 1, ERGOMETER_LINE(cooling.flow_exponent)},
    {"preheat", "K/W", 1, ERGOMETER_LINE(cooling.preheat_k_per_w)},
    {"inlet", "C", 1, ERGOMETER_LINE(cooling.inlet_c)},
});

#undef ERGOMETER_LINE

const DeviceNumber* find(const std::vector<DeviceNumber>& numbers, std::string_view name) {
  for (const DeviceNumber& number : numbers)
    if (number.knob.name == name) return &number;
  return nullptr;
}

std::string with_unit(double value, std::string_view unit) {
  return unit.empty() ? four_digits(value) : fmt::format("{} {}", four_digits(value), unit);
}

/// Where a number comes from, and its grade.
std::string source_of(const DeviceNumber* number, const DeviceRecord& record) {
  if (number == nullptr) return "source: \"not measured: the prior's\", grade: assumed";
  if (number->kept)
    return fmt::format(
        "source: \"the prior's: the record of {} does not determine it\", grade: assumed",
        record.limits.name);
  return fmt::format(
      "source: \"ergometer calibrate --device on {}, standard error {:.1f} %{}\", grade: fitted",
      record.limits.name, kPercent * number->standard_error,
      number->at_bound ? ", at the end of its range" : "");
}

std::string file_of(std::string_view name, std::string_view comment, std::span<const Line> lines,
                    const DeviceRecord& record, const DeviceFit& fit,
                    const std::vector<DeviceNumber>& numbers) {
  std::string out = fmt::format("# {}\nname: {}\nparameters:\n", comment, name);
  const bool knows_sensor = fit.model.power.reading_period_s > 0;
  for (const Line& line : lines)
    if (knows_sensor || !line.name.starts_with("power.reading_"))
      out += fmt::format("  {}: {{value: {}, {}}}\n", line.name,
                         with_unit(line.of(fit.model) / line.scale, line.unit),
                         source_of(find(numbers, line.name), record));
  return out;
}

std::string error_text(const char* what, const DeviceScore& score, double scale,
                       std::string_view unit, std::string_view limit) {
  if (score.held_count == 0) return fmt::format("{:<20} not reported\n", what);
  return fmt::format("{:<20} fitted {:6.2f} {}   held back {:6.2f} {}{}\n", what,
                     scale * score.fitted, unit, scale * score.held, unit, limit);
}

void add_numbers(std::string& out, const std::vector<DeviceNumber>& numbers,
                 const std::optional<DeviceModel>& truth) {
  for (const DeviceNumber& number : numbers) {
    const DeviceKnob& knob = number.knob;
    fmt::format_to(std::back_inserter(out), "{:<20}  {:>14}  {:>14}  {:>5.1f} %", knob.name,
                   with_unit(number.prior / knob.scale, knob.unit),
                   with_unit(number.value / knob.scale, knob.unit),
                   kPercent * number.standard_error);
    if (truth) {
      DeviceModel model = *truth;
      out += fmt::format("  {:>14}", with_unit(knob.of(model) / knob.scale, knob.unit));
    }
    out += number.kept       ? "  the record does not determine it\n"
           : number.at_bound ? "  at the end of its range\n"
                             : "\n";
  }
}

void add_numbers(base::JsonWriter& json, const char* key,
                 const std::vector<DeviceNumber>& numbers) {
  json.rows(key, numbers, [&](const DeviceNumber& number) {
    json.member("name", number.knob.name).member("unit", number.knob.unit);
    json.member("prior", number.prior / number.knob.scale);
    json.member("value", number.value / number.knob.scale);
    json.member("standard_error_log", number.standard_error);
    json.member("determined", !number.kept);
    json.member("at_bound", number.at_bound);
  });
}

void add_score(base::JsonWriter& json, const char* key, const DeviceScore& score) {
  json.key(key).begin_object(base::kOneLine);
  json.member("fitted", score.fitted).member("fitted_count", score.fitted_count);
  json.member("held", score.held).member("held_count", score.held_count).end_object();
}

}  // namespace

std::string to_text(const DeviceRecord& record, const DeviceFit& fit,
                    const std::optional<DeviceModel>& truth) {
  std::string out = fmt::format("{}: {} samples in {:.0f} s\n", record.limits.name,
                                record.samples.size(), record.samples.back().seen.time_s);
  for (const std::string& note : record.notes) out += note + "\n";
  out += fmt::format("\n{:<20}  {:>14}  {:>14}  {:>7}{}\n", "parameter", "prior", "value", "error",
                     truth ? fmt::format("  {:>14}", "simulated") : "");
  add_numbers(out, fit.power, truth);
  add_numbers(out, fit.heat, truth);
  const auto at_end = [](const DeviceNumber& number) { return number.at_bound; };
  if (std::ranges::any_of(fit.power, at_end) || std::ranges::any_of(fit.heat, at_end))
    out +=
        "At the end of its range: the best value may lie beyond, where the GPU is not built or "
        "cooled\n"
        "as the catalog takes it to be. What was held back says how well the numbers serve "
        "together.\n";
  out += "\n" + error_text("power", fit.power_error, kPercent, "%", "   (limit 5 %)");
  out += error_text("die temperature", fit.die_error_c, 1, "C", "   (limit 2 C)");
  out += error_text("HBM temperature", fit.memory_error_c, 1, "C", "");
  return out;
}

std::string to_json(const DeviceRecord& record, const DeviceFit& fit) {
  base::JsonWriter json;
  json.begin_object();
  json.member("schema", "ergometer.device/1").member("device", record.limits.name);
  json.member("samples", record.samples.size());
  json.list("left_out", record.notes);
  add_numbers(json, "power", fit.power);
  add_numbers(json, "heat", fit.heat);
  add_score(json, "power_error", fit.power_error);
  add_score(json, "die_error_c", fit.die_error_c);
  add_score(json, "memory_error_c", fit.memory_error_c);
  json.member("within_limits", fit.within_limits()).end_object();
  return json.take();
}

std::string power_file(std::string_view name, const DeviceRecord& record, const DeviceFit& fit) {
  return file_of(name, fmt::format("What {} draws, measured.", record.limits.name), kPowerLines,
                 record, fit, fit.power);
}

std::string cooling_file(std::string_view name, const DeviceRecord& record, const DeviceFit& fit) {
  return file_of(
      name,
      fmt::format("How {} warms, measured, at the record's coolant flow.", record.limits.name),
      kCoolingLines, record, fit, fit.heat);
}

}  // namespace ergometer::calibration

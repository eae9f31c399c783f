#include <fmt/format.h>

#include <array>
#include <string_view>

#include "base/collection.h"
#include "base/text.h"
#include "record/factors.h"
#include "record/files/file_source.h"
#include "record/files/make_device.h"

// Sensors of the mainboard, from class/hwmon/hwmon*/: `name` says the chip, temp1_label what a
// sensor stands for, temp1_input (1/1000 degree), fan1_input (1/min) and power1_input or
// power1_average (microwatts) what it reads.
//
//  - CPU packages: "Package id N" of coretemp; Tdie, else Tctl of k10temp and zenpower.
//  - The node: its power from ACPI's power meter, else what all supplies that report over PMBus
//    take in; inlet and outlet temperature by label; the mean speed of the fans that turn.
//
// Chips of GPUs, disks, memory modules, network cards and their optics are no sensors of the node.

namespace ergometer::record {
namespace {

using run::Metric;

/// Supplies' drivers (drivers/hwmon/pmbus). Other PMBus chips regulate a voltage on the board: what
/// they take in is a part of what the supplies give.
constexpr auto kSupplies = std::to_array<std::string_view>(
    {"cffps", "cffps1", "cffps2", "ipsps1", "pfe1100", "pfe3000", "dps460", "dps650ab", "dps800",
     "sgd009", "ym2151e", "yh5151e", "dps920ab", "crps", "crps185"});

/// Of a part of the node: their temperatures and fans say nothing of its air.
constexpr auto kParts = std::to_array<std::string_view>(
    {"coretemp", "k10temp", "zenpower", "amdgpu", "radeon", "nouveau", "xe", "i915", "nvme",
     "drivetemp", "jc42", "spd5118", "mlx5", "bnxt_en", "ice", "iwlwifi_1", "corsairpsu"});

/// "temp1" of "temp1_input", for inputs of one type.
std::vector<std::string> inputs(const std::string& chip, std::string_view type) {
  constexpr std::string_view kInput = "_input", kAverage = "_average";
  std::vector<std::string> stems;
  for (const std::string& file : entries(chip)) {
    if (!file.starts_with(type)) continue;
    for (const std::string_view ending : {kInput, kAverage}) {
      if (!file.ends_with(ending)) continue;
      const std::string stem = file.substr(0, file.size() - ending.size());
      if (!base::contains(stems, stem)) stems.push_back(stem);
    }
  }
  return stems;
}

class Finder {
 public:
  void look(const std::string& chip, const std::string& name);
  FoundSensors finish();

 private:
  size_t add_device(run::DeviceKind kind, int64_t index, std::string name);
  void add_intel_packages(const std::string& chip);
  void add_amd_package(const std::string& chip);
  void add_meter(const std::string& chip);
  void add_supply(const std::string& chip);
  void add_air(const std::string& chip);
  void add_of_node(Metric metric, std::vector<FileSensor::File> files, bool mean);

  FoundSensors found_;
  int64_t amd_packages_ = 0;
  std::vector<FileSensor::File> meter_, supplies_, inlets_, outlets_, fans_;
};

size_t Finder::add_device(run::DeviceKind kind, int64_t index, std::string name) {
  found_.devices.push_back(make_device(kind, std::move(name), index));
  return found_.devices.size() - 1;
}

void Finder::look(const std::string& chip, const std::string& name) {
  if (name == "coretemp") add_intel_packages(chip);
  if (name == "k10temp" || name == "zenpower") add_amd_package(chip);
  if (name == "power_meter") add_meter(chip);
  if (base::contains(kSupplies, name)) return add_supply(chip);
  if (!base::contains(kParts, name)) add_air(chip);
}

void Finder::add_intel_packages(const std::string& chip) {
  constexpr std::string_view kLabel = "Package id ";
  for (const std::string& stem : inputs(chip, "temp")) {
    const std::string path = chip + '/' + stem;
    const std::string label = read_line(path + "_label").value_or("");
    if (!label.starts_with(kLabel)) continue;
    const auto index =
        static_cast<int64_t>(leading_number(label.substr(kLabel.size())).value_or(-1));
    const size_t device =
        add_device(run::DeviceKind::kCpu, index, fmt::format("package-{}", index));
    found_.add(device, Metric::kCpuTemperature, {{path + "_input", kMilli}});
  }
}

/// Tctl may stand above the temperature by an offset, which Tdie is free of.
void Finder::add_amd_package(const std::string& chip) {
  std::string best;
  for (const std::string& stem : inputs(chip, "temp")) {
    const std::string path = chip + '/' + stem;
    const std::string label = read_line(path + "_label").value_or("");
    if (label == "Tdie" || (label == "Tctl" && best.empty())) best = path;
  }
  if (best.empty()) return;
  const int64_t index = amd_packages_++;
  const size_t device = add_device(run::DeviceKind::kCpu, index, fmt::format("package-{}", index));
  found_.add(device, Metric::kCpuTemperature, {{best + "_input", kMilli}});
}

void Finder::add_meter(const std::string& chip) {
  if (!meter_.empty()) return;
  for (const char* file : {"/power1_average", "/power1_input"})
    if (meter_.empty() && read_line(chip + file)) meter_.push_back({chip + file, kMicro});
}

void Finder::add_supply(const std::string& chip) {
  for (const std::string& stem : inputs(chip, "power")) {
    const std::string path = chip + '/' + stem;
    if (read_line(path + "_label") == "pin") supplies_.push_back({path + "_input", kMicro});
  }
}

void Finder::add_air(const std::string& chip) {
  for (const std::string& stem : inputs(chip, "temp")) {
    const std::string path = chip + '/' + stem;
    const std::string label = base::lower(read_line(path + "_label").value_or(""));
    if (base::contains_any(label, {"inlet", "intake", "ambient"}))
      inlets_.push_back({path + "_input", kMilli});
    if (base::contains_any(label, {"outlet", "exhaust"}))
      outlets_.push_back({path + "_input", kMilli});
  }
  for (const std::string& stem : inputs(chip, "fan")) {
    const std::string path = chip + '/' + stem + "_input";
    // A header on the board without a fan reads 0.
    if (leading_number(read_line(path).value_or("0")).value_or(0) > 0) fans_.push_back({path, 1});
  }
}

void Finder::add_of_node(Metric metric, std::vector<FileSensor::File> files, bool mean) {
  if (files.empty()) return;
  const auto& devices = found_.devices;
  const bool there = !devices.empty() && devices.back().kind == run::DeviceKind::kNode;
  const size_t device =
      there ? devices.size() - 1 : add_device(run::DeviceKind::kNode, -1, "mainboard");
  found_.sensors.push_back(
      {.device = device, .metric = metric, .files = std::move(files), .mean = mean});
}

FoundSensors Finder::finish() {
  add_of_node(Metric::kPower, meter_.empty() ? supplies_ : meter_, false);
  add_of_node(Metric::kInletTemperature, inlets_, true);
  add_of_node(Metric::kOutletTemperature, outlets_, true);
  add_of_node(Metric::kFanSpeed, fans_, true);
  return std::move(found_);
}

}  // namespace

Opened open_hwmon(const SourceOptions& options) {
  const std::string root = options.sys + "/class/hwmon";
  Finder finder;
  for (const std::string& chip : entries(root))
    if (const auto name = read_line(root + '/' + chip + "/name"))
      finder.look(root + '/' + chip, *name);
  // Slow: ACPI's meter and PMBus answer over buses of the board, which takes milliseconds.
  return open_files({.name = "hwmon",
                     .slow = true,
                     .none = fmt::format("{} holds no sensor of a CPU or of the node", root),
                     .denied = ""},
                    finder.finish(), options);
}

}  // namespace ergometer::record

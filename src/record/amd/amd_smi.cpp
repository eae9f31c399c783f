#include "record/amd/amd_smi.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>

#include "record/amd/smi_library.h"
#include "record/factors.h"

// Structures of AMD SMI grow and shift between releases: ROCm 6.3, 6.4, 7.0, 7.2 and 10.1 were held
// side by side. So only functions and leading members are used that all of them have, into buffers
// larger than any structure, and `gpu_metrics` is read from the kernel, whose table says its
// version.
namespace ergometer::record::amd {
namespace {

using base::SharedLibrary;
using run::Metric;

using Handle = void*;
// amdsmi.h: amdsmi_status_t, amdsmi_init_flags_t, amdsmi_temperature_type_t, amdsmi_clk_type_t
constexpr int kAmdSuccess = 0, kAmdNoPermission = 10;
constexpr uint64_t kInitGpus = 2;
constexpr int kAmdEdge = 0, kHotspot = 1, kAmdVram = 2, kAmdCurrent = 0;
constexpr int kGfxClock = 0, kAmdFabricClock = 1, kAmdMemoryClock = 4, kVramMemory = 0;

/// Larger than any structure that a function below fills.
using Buffer = std::array<unsigned char, 4096>;
template <class Number>
Number at(const Buffer& buffer, size_t offset) {
  Number number{};
  std::memcpy(&number, buffer.data() + offset, sizeof number);
  return number;
}
/// Members of 16 and 32 bits stand for "N/A" when all their bits are set.
double known(uint32_t value) {
  return value == UINT32_MAX || value == UINT16_MAX ? NAN : static_cast<double>(value);
}

struct AmdSmiFunctions {
  int (*init)(uint64_t);
  int (*shutdown)();
  int (*version)(void*);
  int (*sockets)(uint32_t*, Handle*);
  int (*processors)(Handle, uint32_t*, Handle*);
  int (*bdf_id)(Handle, uint64_t*);
  int (*uuid)(Handle, unsigned*, char*);
  int (*asic_info)(Handle, void*);
  int (*power_info)(Handle, void*);
  int (*power_cap)(Handle, uint32_t sensor, void*);
  int (*energy)(Handle, uint64_t* count, float* microjoules, uint64_t* time_ns);
  int (*temperature)(Handle, int sensor, int metric, int64_t* celsius);
  int (*activity)(Handle, void*);
  int (*clock)(Handle, int kind, void*);
  int (*memory_used)(Handle, int kind, uint64_t* bytes);
  int (*fan)(Handle, uint32_t sensor, int64_t* of_255);
  int (*ecc)(Handle, void*);
  int (*replays)(Handle, uint64_t*);
};

struct AmdSmiLibrary : SmiLibrary<AmdSmiFunctions> {
  using SmiLibrary<AmdSmiFunctions>::SmiLibrary;
  size_t power_at = 0;  ///< where amdsmi_power_info_t has current_socket_power
};

Result<void> find_amd_functions(AmdSmiLibrary& it) {
  const SharedLibrary& library = it.library;
  AmdSmiFunctions& call = it.call;
  ERGOMETER_TRY(library.find("amdsmi_init", call.init));
  ERGOMETER_TRY(library.find("amdsmi_shut_down", call.shutdown));
  ERGOMETER_TRY(library.find("amdsmi_get_lib_version", call.version));
  ERGOMETER_TRY(library.find("amdsmi_get_socket_handles", call.sockets));
  ERGOMETER_TRY(library.find("amdsmi_get_processor_handles", call.processors));
  ERGOMETER_TRY(library.find("amdsmi_get_gpu_bdf_id", call.bdf_id));
  find(library, "amdsmi_get_gpu_device_uuid", call.uuid);
  find(library, "amdsmi_get_gpu_asic_info", call.asic_info);
  find(library, "amdsmi_get_power_info", call.power_info);
  find(library, "amdsmi_get_power_cap_info", call.power_cap);
  find(library, "amdsmi_get_energy_count", call.energy);
  find(library, "amdsmi_get_temp_metric", call.temperature);
  find(library, "amdsmi_get_gpu_activity", call.activity);
  find(library, "amdsmi_get_clock_info", call.clock);
  find(library, "amdsmi_get_gpu_memory_usage", call.memory_used);
  find(library, "amdsmi_get_gpu_fan_speed", call.fan);
  find(library, "amdsmi_get_gpu_total_ecc_count", call.ecc);
  find(library, "amdsmi_get_gpu_pci_replay_counter", call.replays);
  return {};
}

/// Until 25.x the version begins with the year: {24, 7, 1} is ROCm 6.3.0; 6.4.0 is {25, 25, 3} and
/// put 8 bytes before the power; 7.0 is {26, 0, 0}.
Result<size_t> power_offset(const AmdSmiFunctions& call) {
  Buffer buffer{};
  if (const int status = call.version(buffer.data()); status != kAmdSuccess)
    return missing_error("AMD SMI: version: status {}", status);
  const std::array version = {at<uint32_t>(buffer, 0), at<uint32_t>(buffer, 4),
                              at<uint32_t>(buffer, 8)};
  constexpr std::array<uint32_t, 3> kRocm63 = {24, 7, 1}, kRocm64 = {25, 25, 3};
  if (version < kRocm63)
    return missing_error("AMD SMI {}.{}.{} is older than ROCm 6.3", version[0], version[1],
                         version[2]);
  return version < kRocm64 ? 0 : 8;
}

class SmiSensors : public Sensors {
 public:
  SmiSensors(std::shared_ptr<AmdSmiLibrary> library, Handle gpu, CallCosts& costs)
      : library_(std::move(library)), call_(library_->call), gpu_(gpu), costs_(costs) {}

  Status read(Metric metric, Value& value) override {
    const int status = ask(metric, value);
    if (status == kAmdNoPermission) return Status::kRefused;
    return status == kAmdSuccess && !std::isnan(value.value) ? Status::kGood : Status::kNone;
  }

 private:
  int ask(Metric metric, Value& value) {
    switch (metric) {
      case Metric::kInstantPower: return power(library_->power_at, value);
      case Metric::kAveragePower: return power(library_->power_at + 4, value);
      case Metric::kPowerLimit: return power_limit(value);
      case Metric::kEnergy: return energy(value);
      case Metric::kGpuTemperature: return temperature(kAmdEdge, value);
      case Metric::kHotspotTemperature: return temperature(kHotspot, value);
      case Metric::kMemoryTemperature: return temperature(kAmdVram, value);
      case Metric::kSmClock: return clock(kGfxClock, value);
      case Metric::kMemoryClock: return clock(kAmdMemoryClock, value);
      case Metric::kFabricClock: return clock(kAmdFabricClock, value);
      case Metric::kGpuUtilization: return activity(0, value);
      case Metric::kMemoryUtilization: return activity(4, value);
      case Metric::kMemoryUsed:
        return whole("amdsmi_get_gpu_memory_usage", value,
                     [&](uint64_t* bytes) { return call_.memory_used(gpu_, kVramMemory, bytes); });
      case Metric::kFan: return fan(value);
      case Metric::kEccCorrected: return ecc(0, value);
      case Metric::kEccUncorrected: return ecc(8, value);
      case Metric::kPcieReplays:
        return whole("amdsmi_get_gpu_pci_replay_counter", value,
                     [&](uint64_t* replays) { return call_.replays(gpu_, replays); });
      default: return kMissing;
    }
  }

  template <class Function>
  int whole(const char* name, Value& value, Function&& function) {
    uint64_t raw = 0;
    const int status = costs_.timed(costs_.slot(name), [&] { return function(&raw); });
    value.value = raw == UINT64_MAX ? NAN : static_cast<double>(raw);
    return status;
  }
  /// Calls a function that fills a structure.
  template <class Function>
  int fill(const char* name, Function&& function) {
    buffer_.fill(0xff);  // what it does not fill is N/A
    return costs_.timed(costs_.slot(name), [&] { return function(buffer_.data()); });
  }
  int power(size_t offset, Value& value) {
    const int status =
        fill("amdsmi_get_power_info", [&](void* to) { return call_.power_info(gpu_, to); });
    value.value = known(at<uint32_t>(buffer_, offset));
    return status;
  }
  int power_limit(Value& value) {
    const int status =
        fill("amdsmi_get_power_cap_info", [&](void* to) { return call_.power_cap(gpu_, 0, to); });
    const auto cap = at<uint64_t>(buffer_, 0);
    // In microwatts; releases that count in watts stay far below this.
    constexpr uint64_t kMostWatts = 100'000;
    const double watts = static_cast<double>(cap) * (cap > kMostWatts ? kMicro : 1);
    value.value = cap == UINT64_MAX ? NAN : watts;
    return status;
  }
  int energy(Value& value) {
    uint64_t count = 0, time_ns = 0;
    float microjoules = 0;
    const int status = costs_.timed(costs_.slot("amdsmi_get_energy_count"), [&] {
      return call_.energy(gpu_, &count, &microjoules, &time_ns);
    });
    value.value =
        count == UINT64_MAX ? NAN : static_cast<double>(count) * joules_per_count(microjoules);
    value.boot_time_ns = static_cast<int64_t>(time_ns);
    return status;
  }
  int temperature(int sensor, Value& value) {
    int64_t celsius = 0;
    const int status = costs_.timed(costs_.slot("amdsmi_get_temp_metric"), [&] {
      return call_.temperature(gpu_, sensor, kAmdCurrent, &celsius);
    });
    constexpr int64_t kNotAvailable = UINT16_MAX;
    value.value = celsius >= kNotAvailable ? NAN : static_cast<double>(celsius);
    return status;
  }
  int clock(int kind, Value& value) {
    const int status =
        fill("amdsmi_get_clock_info", [&](void* to) { return call_.clock(gpu_, kind, to); });
    value.value = known(at<uint32_t>(buffer_, 0));
    return status;
  }
  int activity(size_t offset, Value& value) {
    const int status =
        fill("amdsmi_get_gpu_activity", [&](void* to) { return call_.activity(gpu_, to); });
    value.value = known(at<uint32_t>(buffer_, offset));
    return status;
  }
  int fan(Value& value) {
    int64_t speed = 0;
    const int status = costs_.timed(costs_.slot("amdsmi_get_gpu_fan_speed"),
                                    [&] { return call_.fan(gpu_, 0, &speed); });
    value.value = kPercentOfByte * static_cast<double>(speed);
    return status;
  }
  int ecc(size_t offset, Value& value) {
    const int status =
        fill("amdsmi_get_gpu_total_ecc_count", [&](void* to) { return call_.ecc(gpu_, to); });
    const auto count = at<uint64_t>(buffer_, offset);
    value.value = count == UINT64_MAX ? NAN : static_cast<double>(count);
    return status;
  }

  std::shared_ptr<AmdSmiLibrary> library_;
  const AmdSmiFunctions& call_;
  Handle gpu_;
  CallCosts& costs_;
  Buffer buffer_{};
};

Gpu describe(const std::shared_ptr<AmdSmiLibrary>& library, Handle handle, CallCosts& costs) {
  const AmdSmiFunctions& call = library->call;
  Gpu gpu;
  uint64_t bdf_id = 0;
  if (call.bdf_id(handle, &bdf_id) == kAmdSuccess) gpu.pci = pci_address(bdf_id);
  std::array<char, 64> uuid{};
  unsigned length = uuid.size() - 1;
  if (call.uuid(handle, &length, uuid.data()) == kAmdSuccess) gpu.uuid = uuid.data();
  Buffer asic{};  // begins with the market name
  constexpr size_t kNameBytes = 256;
  if (call.asic_info(handle, asic.data()) == kAmdSuccess)
    gpu.name.assign(reinterpret_cast<const char*>(asic.data()),
                    strnlen(reinterpret_cast<const char*>(asic.data()), kNameBytes));
  gpu.sensors = std::make_unique<SmiSensors>(library, handle, costs);
  return gpu;
}

/// The handles that `list` gives: how many there are, then themselves.
template <class List>
std::vector<Handle> handles(List&& list) {
  uint32_t count = 0;
  if (list(&count, nullptr) != kAmdSuccess) return {};
  std::vector<Handle> found(count);
  if (count == 0 || list(&count, found.data()) != kAmdSuccess) return {};
  found.resize(std::min<size_t>(count, found.size()));
  return found;
}

}  // namespace

std::string pci_address(uint64_t bdf_id) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{}", bdf_id >> 32, bdf_id >> 8 & 0xff,
                     bdf_id >> 3 & 0x1f, bdf_id & 7);
}

Result<std::vector<Gpu>> open_amd_smi(const std::vector<std::string>& names, CallCosts& costs) {
  ERGOMETER_ASSIGN(SharedLibrary opened, SharedLibrary::open(names, "AMD SMI"));
  const auto library = std::make_shared<AmdSmiLibrary>(std::move(opened));
  ERGOMETER_TRY(find_amd_functions(*library));
  const AmdSmiFunctions& call = library->call;
  ERGOMETER_ASSIGN(library->power_at, power_offset(call));
  if (const int status = call.init(kInitGpus); status != kAmdSuccess)
    return missing_error("AMD SMI: start: status {}", status);
  library->started = true;
  std::vector<Gpu> gpus;
  const auto sockets = [&](uint32_t* count, Handle* to) { return call.sockets(count, to); };
  for (const Handle socket : handles(sockets)) {
    const auto processors = [&](uint32_t* count, Handle* to) {
      return call.processors(socket, count, to);
    };
    for (const Handle gpu : handles(processors)) gpus.push_back(describe(library, gpu, costs));
  }
  if (gpus.empty()) return missing_error("AMD SMI finds no GPU");
  return gpus;
}

}  // namespace ergometer::record::amd

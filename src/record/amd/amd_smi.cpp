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
  Call<uint64_t> init{"amdsmi_init"};
  Call<> shutdown{"amdsmi_shut_down"};
  Call<void*> version{"amdsmi_get_lib_version"};
  Call<uint32_t*, Handle*> sockets{"amdsmi_get_socket_handles"};
  Call<Handle, uint32_t*, Handle*> processors{"amdsmi_get_processor_handles"};
  Call<Handle, uint64_t*> bdf_id{"amdsmi_get_gpu_bdf_id"};
  Call<Handle, unsigned*, char*> uuid{"amdsmi_get_gpu_device_uuid"};
  Call<Handle, void*> asic_info{"amdsmi_get_gpu_asic_info"};
  Call<Handle, void*> power_info{"amdsmi_get_power_info"};
  Call<Handle, uint32_t, void*> power_cap{"amdsmi_get_power_cap_info"};
  Call<Handle, uint64_t*, float*, uint64_t*> energy{"amdsmi_get_energy_count"};
  Call<Handle, int, int, int64_t*> temperature{"amdsmi_get_temp_metric"};
  Call<Handle, void*> activity{"amdsmi_get_gpu_activity"};
  Call<Handle, int, void*> clock{"amdsmi_get_clock_info"};
  Call<Handle, int, uint64_t*> memory_used{"amdsmi_get_gpu_memory_usage"};
  Call<Handle, uint32_t, int64_t*> fan{"amdsmi_get_gpu_fan_speed"};
  Call<Handle, void*> ecc{"amdsmi_get_gpu_total_ecc_count"};
  Call<Handle, uint64_t*> replays{"amdsmi_get_gpu_pci_replay_counter"};
};

struct AmdSmiLibrary : SmiLibrary<AmdSmiFunctions> {
  using SmiLibrary<AmdSmiFunctions>::SmiLibrary;
  size_t power_at = 0;  ///< where amdsmi_power_info_t has current_socket_power
};

Result<void> find_amd_functions(AmdSmiLibrary& it) {
  const SharedLibrary& library = it.library;
  AmdSmiFunctions& call = it.call;
  ERGOMETER_TRY(find(library, call.init, call.shutdown, call.version, call.sockets, call.processors,
                     call.bdf_id));
  find_if_there(library, call.uuid, call.asic_info, call.power_info, call.power_cap, call.energy,
                call.temperature, call.activity, call.clock, call.memory_used, call.fan, call.ecc,
                call.replays);
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
    return status_of(ask(metric, value), kAmdSuccess, kAmdNoPermission, value);
  }

 private:
  int ask(Metric metric, Value& value) {
    switch (metric) {
      case Metric::kInstantPower: return power(library_->power_at, value);
      case Metric::kAveragePower: return power(library_->power_at + 4, value);
      case Metric::kPowerLimit: return power_limit(value);
      case Metric::kEnergy: return read_energy(call_.energy, costs_, gpu_, value);
      case Metric::kGpuTemperature: return temperature(kAmdEdge, value);
      case Metric::kHotspotTemperature: return temperature(kHotspot, value);
      case Metric::kMemoryTemperature: return temperature(kAmdVram, value);
      case Metric::kSmClock: return clock(kGfxClock, value);
      case Metric::kMemoryClock: return clock(kAmdMemoryClock, value);
      case Metric::kFabricClock: return clock(kAmdFabricClock, value);
      case Metric::kGpuUtilization: return activity(0, value);
      case Metric::kMemoryUtilization: return activity(4, value);
      case Metric::kMemoryUsed: return whole(value, call_.memory_used, kVramMemory);
      case Metric::kFan: return fan(value);
      case Metric::kEccCorrected: return ecc(0, value);
      case Metric::kEccUncorrected: return ecc(8, value);
      case Metric::kPcieReplays: return whole(value, call_.replays);
      default: return kMissing;
    }
  }

  int whole(Value& value, const auto& call, auto... what) {
    uint64_t raw = 0;
    const int status = call.timed(costs_, gpu_, what..., &raw);
    value.value = raw == UINT64_MAX ? NAN : static_cast<double>(raw);
    return status;
  }
  /// Calls a function that fills a structure.
  int fill(const auto& call, auto... what) {
    buffer_.fill(0xff);  // what it does not fill is N/A
    return call.timed(costs_, gpu_, what..., buffer_.data());
  }
  int power(size_t offset, Value& value) {
    const int status = fill(call_.power_info);
    value.value = known(at<uint32_t>(buffer_, offset));
    return status;
  }
  int power_limit(Value& value) {
    const int status = fill(call_.power_cap, 0);
    const auto cap = at<uint64_t>(buffer_, 0);
    // In microwatts; releases that count in watts stay far below this.
    constexpr uint64_t kMostWatts = 100'000;
    const double watts = static_cast<double>(cap) * (cap > kMostWatts ? kMicro : 1);
    value.value = cap == UINT64_MAX ? NAN : watts;
    return status;
  }
  int temperature(int sensor, Value& value) {
    int64_t celsius = 0;
    const int status = call_.temperature.timed(costs_, gpu_, sensor, kAmdCurrent, &celsius);
    constexpr int64_t kNotAvailable = UINT16_MAX;
    value.value = celsius >= kNotAvailable ? NAN : static_cast<double>(celsius);
    return status;
  }
  int clock(int kind, Value& value) {
    const int status = fill(call_.clock, kind);
    value.value = known(at<uint32_t>(buffer_, 0));
    return status;
  }
  int activity(size_t offset, Value& value) {
    const int status = fill(call_.activity);
    value.value = known(at<uint32_t>(buffer_, offset));
    return status;
  }
  int fan(Value& value) {
    int64_t speed = 0;
    const int status = call_.fan.timed(costs_, gpu_, 0, &speed);
    value.value = kPercentOfByte * static_cast<double>(speed);
    return status;
  }
  int ecc(size_t offset, Value& value) {
    const int status = fill(call_.ecc);
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

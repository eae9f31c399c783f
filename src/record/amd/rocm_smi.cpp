#include "record/amd/rocm_smi.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>

#include "record/amd/smi_library.h"
#include "record/factors.h"

// rocm_smi.h of ROCm 5.2 and 6.4: what both have. Not called: rsmi_dev_pci_throughput_get, which
// takes a second.
namespace ergometer::record::amd {
namespace {

using base::SharedLibrary;
using run::Metric;

// rsmi_status_t, rsmi_temperature_type_t, rsmi_clk_type_t, rsmi_gpu_block_t, RSMI_POWER_TYPE
constexpr int kRocmSuccess = 0, kRocmNoPermission = 4;
constexpr int kRocmEdge = 0, kJunction = 1, kMemory = 2, kRocmCurrent = 0;
constexpr int kSystemClock = 0, kRocmFabricClock = 1, kRocmMemoryClock = 4, kRocmVram = 0;
constexpr uint64_t kMemoryBlock = 1;
constexpr int kAverage = 0;

struct Errors {
  uint64_t corrected, uncorrected;
};
/// rsmi_frequencies_t has had 32 frequencies behind two numbers, and 33 behind a flag and two.
using Frequencies = std::array<uint64_t, 64>;

struct RocmSmiFunctions {
  Call<uint64_t> init{"rsmi_init"};
  Call<> shutdown{"rsmi_shut_down"};
  Call<uint32_t*> count{"rsmi_num_monitor_devices"};
  Call<uint32_t, uint64_t*> pci_id{"rsmi_dev_pci_id_get"};
  Call<uint32_t, uint64_t*> unique_id{"rsmi_dev_unique_id_get"};
  Call<uint32_t, char*, size_t> name{"rsmi_dev_name_get"};
  Call<uint32_t, uint64_t*, int*> power{"rsmi_dev_power_get"};
  Call<uint32_t, uint32_t, uint64_t*> average_power{"rsmi_dev_power_ave_get"};
  Call<uint32_t, uint32_t, uint64_t*> power_cap{"rsmi_dev_power_cap_get"};
  Call<uint32_t, uint64_t*, float*, uint64_t*> energy{"rsmi_dev_energy_count_get"};
  Call<uint32_t, uint32_t, int, int64_t*> temperature{"rsmi_dev_temp_metric_get"};
  Call<uint32_t, int, uint64_t*> clock{"rsmi_dev_gpu_clk_freq_get"};
  Call<uint32_t, uint32_t*> busy{"rsmi_dev_busy_percent_get"};
  Call<uint32_t, uint32_t*> memory_busy{"rsmi_dev_memory_busy_percent_get"};
  Call<uint32_t, int, uint64_t*> memory_used{"rsmi_dev_memory_usage_get"};
  Call<uint32_t, uint32_t, int64_t*> fan{"rsmi_dev_fan_speed_get"};
  Call<uint32_t, uint64_t, Errors*> ecc{"rsmi_dev_ecc_count_get"};
  Call<uint32_t, uint64_t*> replays{"rsmi_dev_pci_replay_counter_get"};
};

using RocmSmiLibrary = SmiLibrary<RocmSmiFunctions>;

Result<void> find_rocm_functions(RocmSmiLibrary& it) {
  const SharedLibrary& library = it.library;
  RocmSmiFunctions& call = it.call;
  ERGOMETER_TRY(find(library, call.init, call.shutdown, call.count, call.pci_id));
  find_if_there(library, call.unique_id, call.name, call.power, call.average_power, call.power_cap,
                call.energy, call.temperature, call.clock, call.busy, call.memory_busy,
                call.memory_used, call.fan, call.ecc, call.replays);
  return {};
}

/// The clock in force, in Hz, of either form of rsmi_frequencies_t. A flag is 0 or 1 with the count
/// of frequencies, at least one, behind it; a count of one has the index 0 behind it.
double current_frequency(const Frequencies& raw) {
  std::array<uint32_t, 3> head{};
  std::memcpy(head.data(), raw.data(), sizeof head);
  const bool flagged = (head[0] & 0xff) <= 1 && head[1] >= 1;
  const uint32_t count = flagged ? head[1] : head[0], current = flagged ? head[2] : head[1];
  const size_t first = flagged ? 2 : 1;
  constexpr uint32_t kMostFrequencies = 33;
  if (count > kMostFrequencies || current >= count) return NAN;
  return static_cast<double>(raw[first + current]);
}

class RsmiSensors : public Sensors {
 public:
  RsmiSensors(std::shared_ptr<RocmSmiLibrary> library, uint32_t gpu, CallCosts& costs)
      : library_(std::move(library)), call_(library_->call), gpu_(gpu), costs_(costs) {}

  Status read(Metric metric, Value& value) override {
    return status_of(ask(metric, value), kRocmSuccess, kRocmNoPermission, value);
  }

 private:
  int ask(Metric metric, Value& value) {
    switch (metric) {
      case Metric::kInstantPower:
      case Metric::kAveragePower: return power(metric, value);
      case Metric::kPowerLimit: return number<uint64_t>(value, kMicro, call_.power_cap, 0);
      case Metric::kEnergy: return read_energy(call_.energy, costs_, gpu_, value);
      case Metric::kGpuTemperature: return temperature(kRocmEdge, value);
      case Metric::kHotspotTemperature: return temperature(kJunction, value);
      case Metric::kMemoryTemperature: return temperature(kMemory, value);
      case Metric::kSmClock: return clock(kSystemClock, value);
      case Metric::kMemoryClock: return clock(kRocmMemoryClock, value);
      case Metric::kFabricClock: return clock(kRocmFabricClock, value);
      case Metric::kGpuUtilization: return number<uint32_t>(value, 1, call_.busy);
      case Metric::kMemoryUtilization: return number<uint32_t>(value, 1, call_.memory_busy);
      case Metric::kMemoryUsed: return number<uint64_t>(value, 1, call_.memory_used, kRocmVram);
      case Metric::kFan: return number<int64_t>(value, kPercentOfByte, call_.fan, 0);
      case Metric::kEccCorrected:
      case Metric::kEccUncorrected: return ecc(metric, value);
      case Metric::kPcieReplays: return number<uint64_t>(value, 1, call_.replays);
      default: return kMissing;
    }
  }

  template <class Number>
  static void set(Value& value, double factor, Number raw) {
    const bool none = raw == static_cast<Number>(~Number{0});
    value.value = none ? NAN : factor * static_cast<double>(raw);
  }
  template <class Number>
  int number(Value& value, double factor, const auto& call, auto... what) {
    Number raw{};
    const int status = call.timed(costs_, gpu_, what..., &raw);
    set(value, factor, raw);
    return status;
  }
  int power(Metric metric, Value& value) {
    int type = kAverage;
    uint64_t microwatts = 0;
    int status = call_.power.timed(costs_, gpu_, &microwatts, &type);
    set(value, kMicro, microwatts);
    if (status == kMissing)  // before ROCm 6
      status = number<uint64_t>(value, kMicro, call_.average_power, 0);
    const bool average = type == kAverage;
    if (average != (metric == Metric::kAveragePower)) value.value = NAN;
    return status;
  }
  int temperature(uint32_t sensor, Value& value) {
    return number<int64_t>(value, kMilli, call_.temperature, sensor, kRocmCurrent);
  }
  int clock(int kind, Value& value) {
    Frequencies raw{};
    const int status = call_.clock.timed(costs_, gpu_, kind, raw.data());
    value.value = kMicro * current_frequency(raw);
    return status;
  }
  int ecc(Metric metric, Value& value) {
    Errors errors{};
    const int status = call_.ecc.timed(costs_, gpu_, kMemoryBlock, &errors);
    value.value = static_cast<double>(metric == Metric::kEccCorrected ? errors.corrected
                                                                      : errors.uncorrected);
    return status;
  }

  std::shared_ptr<RocmSmiLibrary> library_;
  const RocmSmiFunctions& call_;
  uint32_t gpu_;
  CallCosts& costs_;
};

}  // namespace

Result<std::vector<Gpu>> open_rocm_smi(const std::vector<std::string>& names, CallCosts& costs) {
  ERGOMETER_ASSIGN(SharedLibrary opened, SharedLibrary::open(names, "ROCm SMI"));
  const auto library = std::make_shared<RocmSmiLibrary>(std::move(opened));
  ERGOMETER_TRY(find_rocm_functions(*library));
  const RocmSmiFunctions& call = library->call;
  if (const int status = call.init(0); status != kRocmSuccess)
    return missing_error("ROCm SMI: start: status {}", status);
  library->started = true;
  uint32_t count = 0;
  if (call.count(&count) != kRocmSuccess || count == 0)
    return missing_error("ROCm SMI finds no GPU");
  std::vector<Gpu> gpus;
  for (uint32_t index = 0; index < count; ++index) {
    Gpu gpu;
    uint64_t id = 0;
    std::array<char, 256> name{};
    if (call.pci_id(index, &id) == kRocmSuccess) gpu.pci = pci_address(id);
    if (call.unique_id(index, &id) == kRocmSuccess) gpu.uuid = fmt::format("{:016x}", id);
    if (call.name(index, name.data(), name.size() - 1) == kRocmSuccess) gpu.name = name.data();
    gpu.sensors = std::make_unique<RsmiSensors>(library, index, costs);
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

}  // namespace ergometer::record::amd

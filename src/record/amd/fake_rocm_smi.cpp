// ROCm SMI as the script in ERGOMETER_FAKE_AMD says (record/fake_script.h). Keys are the words in
// the functions below, in the library's own units. `set`:
//
//   set flag 1       rsmi_frequencies_t begins with a flag, as since ROCm 6
//   set average 1    rsmi_dev_power_get says that its power is an average
#include <cstdint>
#include <cstring>

#include "record/fake_script.h"

using ergometer::record::fake::Script;

namespace {

constexpr int kSuccess = 0, kNotSupported = 2;
Script script;

int read(uint32_t gpu, const std::string& key, double& value) {
  if (script.lost(gpu, key)) return 11;
  return script.answer(gpu, key, value, kNotSupported);
}
template <class Number>
int get(uint32_t gpu, const std::string& key, Number* number) {
  double value = 0;
  const int status = read(gpu, key, value);
  if (status == kSuccess) *number = static_cast<Number>(value);
  return status;
}

}  // namespace

extern "C" {

int rsmi_init(uint64_t) {
  script = Script::read("ERGOMETER_FAKE_AMD", "");
  return kSuccess;
}
int rsmi_shut_down() { return kSuccess; }
int rsmi_num_monitor_devices(uint32_t* count) {
  *count = script.gpus;
  return kSuccess;
}
int rsmi_dev_pci_id_get(uint32_t gpu, uint64_t* id) {
  *id = static_cast<uint64_t>(0xc1 + gpu) << 8;
  return kSuccess;
}
int rsmi_dev_unique_id_get(uint32_t gpu, uint64_t* id) {
  *id = 0xabcdef0000000000 + gpu;
  return kSuccess;
}
int rsmi_dev_name_get(uint32_t, char* name, size_t size) {
  std::strncpy(name, script.name.c_str(), size);
  return kSuccess;
}
int rsmi_dev_power_get(uint32_t gpu, uint64_t* microwatts, int* type) {
  *type = script.settings.count("average") != 0 ? 0 : 1;
  return get(gpu, "power", microwatts);
}
int rsmi_dev_power_cap_get(uint32_t gpu, uint32_t, uint64_t* cap) {
  return get(gpu, "power_cap", cap);
}
int rsmi_dev_energy_count_get(uint32_t gpu, uint64_t* count, float* microjoules,
                              uint64_t* time_ns) {
  *microjoules = 15.3F;
  *time_ns = 1;  // no time of this host's
  return get(gpu, "energy", count);
}
int rsmi_dev_temp_metric_get(uint32_t gpu, uint32_t sensor, int, int64_t* millicelsius) {
  return get(gpu, "temperature." + std::to_string(sensor), millicelsius);
}
int rsmi_dev_gpu_clk_freq_get(uint32_t gpu, int kind, void* frequencies) {
  // The script's clock is the second of three.
  double value = 0;
  const int status = read(gpu, "clock." + std::to_string(kind), value);
  char* at = static_cast<char*>(frequencies);
  if (script.settings.count("flag") != 0) {
    *reinterpret_cast<bool*>(at) = true;
    at += 4;
  }
  const uint32_t count = 3, current = 1;
  std::memcpy(at, &count, sizeof count);
  std::memcpy(at + 4, &current, sizeof current);
  const size_t first = script.settings.count("flag") != 0 ? 16 : 8;
  const uint64_t hertz[3] = {500'000'000, static_cast<uint64_t>(value), 2'100'000'000};
  std::memcpy(static_cast<char*>(frequencies) + first, hertz, sizeof hertz);
  return status;
}
int rsmi_dev_busy_percent_get(uint32_t gpu, uint32_t* percent) { return get(gpu, "busy", percent); }
int rsmi_dev_memory_busy_percent_get(uint32_t gpu, uint32_t* percent) {
  return get(gpu, "memory_busy", percent);
}
int rsmi_dev_memory_usage_get(uint32_t gpu, int, uint64_t* used) { return get(gpu, "vram", used); }
int rsmi_dev_fan_speed_get(uint32_t gpu, uint32_t, int64_t* speed) {
  return get(gpu, "fan", speed);
}
int rsmi_dev_ecc_count_get(uint32_t gpu, uint64_t, uint64_t* counts) {
  const int status = get(gpu, "ecc_corrected", &counts[0]);
  return status == kSuccess ? get(gpu, "ecc_uncorrected", &counts[1]) : status;
}
int rsmi_dev_pci_replay_counter_get(uint32_t gpu, uint64_t* replays) {
  return get(gpu, "replays", replays);
}

}  // extern "C"

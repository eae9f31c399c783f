// AMD SMI as the script in ERGOMETER_FAKE_AMD says (record/fake_script.h). Keys are the words in
// the functions below, in the library's own units. `set`:
//
//   set version 26 2 0      the three numbers of amdsmi_get_lib_version
//   set age_ns 20000000     how old the energy counter's reading is
#include <time.h>

#include <cstdint>
#include <cstring>

#include "record/fake_script.h"

using ergometer::record::fake::Script;

namespace {

constexpr int kSuccess = 0, kNotSupported = 2;
Script script;
char handles[64];

unsigned gpu_of(void* handle) {
  return static_cast<unsigned>(static_cast<char*>(handle) - handles);
}

int read(void* gpu, const std::string& key, double& value) {
  if (script.lost(gpu_of(gpu), key)) return 31;
  return script.answer(gpu_of(gpu), key, value, kNotSupported);
}
template <class Number>
int get(void* gpu, const std::string& key, Number* number) {
  double value = 0;
  const int status = read(gpu, key, value);
  if (status == kSuccess) *number = static_cast<Number>(value);
  return status;
}
template <class Number>
void put(void* to, size_t offset, Number number) {
  std::memcpy(static_cast<char*>(to) + offset, &number, sizeof number);
}
uint32_t or_none(void* gpu, const std::string& key, uint32_t none) {
  double value = 0;
  return read(gpu, key, value) == kSuccess ? static_cast<uint32_t>(value) : none;
}

}  // namespace

extern "C" {

int amdsmi_init(uint64_t) { return kSuccess; }
int amdsmi_shut_down() { return kSuccess; }
/// The first thing that is asked, and so where the script is read.
int amdsmi_get_lib_version(void* version) {
  script = Script::read("ERGOMETER_FAKE_AMD", "set version 26 2 0\n");
  std::istringstream numbers(script.settings["version"]);
  uint32_t first = 0, second = 0, third = 0;
  // What the script sets stands behind the default.
  while (numbers >> first >> second >> third) {
    put(version, 0, first);
    put(version, 4, second);
    put(version, 8, third);
  }
  script.settings["power_at"] =
      first < 25 || (first == 25 && (second < 25 || (second == 25 && third < 3))) ? "0" : "8";
  return kSuccess;
}
int amdsmi_get_socket_handles(uint32_t* count, void** sockets) {
  for (uint32_t i = 0; sockets != nullptr && i < *count; ++i) sockets[i] = &handles[i];
  *count = script.gpus;
  return kSuccess;
}
int amdsmi_get_processor_handles(void* socket, uint32_t* count, void** gpus) {
  if (gpus != nullptr) *gpus = socket;
  *count = 1;
  return kSuccess;
}
int amdsmi_get_gpu_bdf_id(void* gpu, uint64_t* id) {
  *id = static_cast<uint64_t>(0xc1 + gpu_of(gpu)) << 8;
  return kSuccess;
}
int amdsmi_get_gpu_device_uuid(void* gpu, unsigned* length, char* uuid) {
  const std::string text = "abff74a1-0000-1000-80ab-00000000000" + std::to_string(gpu_of(gpu));
  if (*length <= text.size()) return 41;
  std::memcpy(uuid, text.c_str(), text.size() + 1);
  return kSuccess;
}
int amdsmi_get_gpu_asic_info(void*, void* info) {
  std::strcpy(static_cast<char*>(info), script.name.c_str());
  return kSuccess;
}
int amdsmi_get_power_info(void* gpu, void* info) {
  const size_t at = std::stoul(script.settings["power_at"]);
  if (double value = 0; read(gpu, "power_info", value) == 10) return 10;
  put(info, at, or_none(gpu, "current_power", UINT32_MAX));
  put(info, at + 4, or_none(gpu, "average_power", 0xffff));
  return kSuccess;
}
int amdsmi_get_power_cap_info(void* gpu, uint32_t, void* info) {
  uint64_t cap = 0;
  const int status = get(gpu, "power_cap", &cap);
  put(info, 0, cap);
  return status;
}
int amdsmi_get_energy_count(void* gpu, uint64_t* count, float* microjoules, uint64_t* time_ns) {
  *microjoules = 15.3F;
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  const std::string age = script.settings["age_ns"];
  *time_ns = static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 +
             static_cast<uint64_t>(now.tv_nsec) - (age.empty() ? 0 : std::stoull(age));
  return get(gpu, "energy", count);
}
int amdsmi_get_temp_metric(void* gpu, int sensor, int, int64_t* celsius) {
  return get(gpu, "temperature." + std::to_string(sensor), celsius);
}
int amdsmi_get_gpu_activity(void* gpu, void* info) {
  put(info, 0, or_none(gpu, "gfx_activity", 0xffff));
  put(info, 4, or_none(gpu, "umc_activity", UINT32_MAX));
  return kSuccess;
}
int amdsmi_get_clock_info(void* gpu, int kind, void* info) {
  put(info, 0, or_none(gpu, "clock." + std::to_string(kind), UINT32_MAX));
  return kSuccess;
}
int amdsmi_get_gpu_memory_usage(void* gpu, int, uint64_t* used) { return get(gpu, "vram", used); }
int amdsmi_get_gpu_fan_speed(void* gpu, uint32_t, int64_t* speed) { return get(gpu, "fan", speed); }
int amdsmi_get_gpu_total_ecc_count(void* gpu, void* counts) {
  uint64_t corrected = 0, uncorrected = 0;
  int status = get(gpu, "ecc_corrected", &corrected);
  if (status == kSuccess) status = get(gpu, "ecc_uncorrected", &uncorrected);
  put(counts, 0, corrected);
  put(counts, 8, uncorrected);
  return status;
}
int amdsmi_get_gpu_pci_replay_counter(void* gpu, uint64_t* replays) {
  return get(gpu, "replays", replays);
}

}  // extern "C"

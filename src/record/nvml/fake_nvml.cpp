// NVIDIA's management library as the script in ERGOMETER_FAKE_NVML says (record/fake_script.h);
// read anew at every nvmlInit_v2. Keys are field numbers with their scope ("186", "186.2",
// "138.all") and the words in the getters below. `set`:
//
//   set type KEY N       nvmlValueType of a field: 1 (32 bits) or 3 (64 bits, the default)
//   set stamp WORD       a field's time: `update` (the default), `call`, `none`, `foreign`
//   set ring KIND SIZE   nvmlDeviceGetSamples keeps the last SIZE updates of the key `ring.KIND`
//   set xid GPU NUMBER   an error message, once
//
// With ERGOMETER_OLD_DRIVER it lacks what drivers before release 450 lack.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>

#include "record/fake_script.h"
#include "record/nvml/api.h"

using namespace ergometer::record::nvml;
using ergometer::record::fake::Script;

namespace {

constexpr const char* kDefaults = R"(
gpus 1
value 186 700000
value power 650000
value temperature 41
value 82 45
value reasons 4
value sm_clock 1980
value memory_clock 2619
value highest_clock 1980
value default_cap 700000
value least_cap 200000
value most_cap 700000
value refused_cap 200000
)";
constexpr unsigned kMostGpus = 64;

Script script;
std::deque<EventData> events;
char handles[kMostGpus];

Handle handle_of(unsigned gpu) { return reinterpret_cast<Handle>(&handles[gpu]); }
unsigned gpu_of(Handle handle) {
  return static_cast<unsigned>(reinterpret_cast<char*>(handle) - handles);
}

std::string pci_of(unsigned gpu) {
  char id[32];
  std::snprintf(id, sizeof id, "00000000:%02X:00.0", 0x19 + gpu);
  return id;
}

/// "type 197" of the settings, or ""
std::string setting(const std::string& key) {
  const auto found = script.settings.find(key);
  return found == script.settings.end() ? "" : found->second;
}

int read(Handle gpu, const std::string& key, double& value) {
  if (script.lost(gpu_of(gpu), key)) return kGpuIsLost;
  return script.answer(gpu_of(gpu), key, value, kNotSupported);
}
template <class Number>
int get(Handle gpu, const std::string& key, Number* number) {
  double value = 0;
  const int status = read(gpu, key, value);
  if (status == kSuccess) *number = static_cast<Number>(value);
  return status;
}

[[maybe_unused]] void fill(FieldValue& value, Handle gpu) {
  std::string key = std::to_string(value.field);
  if (value.scope == kAllLinks)
    key += ".all";
  else if (value.scope != 0 || script.values.count(key + ".0") + script.counters.count(key + ".0"))
    key += "." + std::to_string(value.scope);
  script.wait_for(key);
  double number = 0;
  value.status = script.answer(gpu_of(gpu), key, number, kNotSupported);
  const std::string stamp = setting("stamp");
  const long long now = script.now_us();
  value.timestamp_us = stamp == "call"      ? now
                       : stamp == "none"    ? 0
                       : stamp == "foreign" ? script.updates() + 1
                                            : script.updated_us(script.updates());
  value.type = kUnsignedLongLong;
  std::istringstream types(setting("type"));
  std::string typed;
  for (int type = 0; types >> typed >> type;)
    if (typed == key) value.type = type;
  value.value.wide_signed = static_cast<long long>(number);
  if (value.type == kUnsigned) value.value.wide &= 0xffffffff;
}

int text(char* to, unsigned size, const std::string& from) {
  if (size <= from.size()) return kInsufficientSize;
  std::memcpy(to, from.c_str(), from.size() + 1);
  return kSuccess;
}

}  // namespace

extern "C" {

/// For tests: lets the script's clock run on.
void fake_nvml_advance_us(long long us) { script.clock_us += us; }

int nvmlInit_v2() {
  script = Script::read("ERGOMETER_FAKE_NVML", kDefaults);
  events.clear();
  std::istringstream xids(setting("xid"));
  unsigned gpu = 0;
  for (unsigned long long xid = 0; xids >> gpu >> xid;)
    events.push_back({handle_of(gpu), kXidEvent, xid, 0, 0});
  double status = 0;
  return script.answer(0, "init", status, kSuccess);
}
int nvmlShutdown() { return kSuccess; }
const char* nvmlErrorString(int status) {
  switch (status) {
    case kNotSupported: return "Not Supported";
    case kNoPermission: return "Insufficient Permissions";
    case kNotFound: return "Not Found";
    case kFunctionNotFound: return "Function Not Found";
    case kGpuIsLost: return "GPU is lost";
    case 9: return "Driver Not Loaded";
    default: return "Unknown Error";
  }
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = script.gpus;
  return kSuccess;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, Handle* handle) {
  if (index >= script.gpus) return kNotFound;
  double none = 0;
  *handle = handle_of(index);
  return script.answer(index, "handle", none, kSuccess);
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* id, Handle* handle) {
  for (unsigned gpu = 0; gpu < script.gpus; ++gpu)
    if (pci_of(gpu) == id) return nvmlDeviceGetHandleByIndex_v2(gpu, handle);
  return kNotFound;
}
int nvmlDeviceGetName(Handle, char* name, unsigned size) { return text(name, size, script.name); }
int nvmlDeviceGetUUID(Handle gpu, char* uuid, unsigned size) {
  return text(uuid, size, "GPU-0000000" + std::to_string(gpu_of(gpu)));
}
int nvmlDeviceGetPciInfo_v3(Handle gpu, PciInfo* info) {
  *info = {};
  return text(info->id, sizeof info->id, pci_of(gpu_of(gpu)));
}
int nvmlDeviceGetCudaComputeCapability(Handle gpu, int* major, int* minor) {
  const int status = get(gpu, "capability_major", major);
  return status == kSuccess ? get(gpu, "capability_minor", minor) : status;
}
int nvmlDeviceGetPowerUsage(Handle gpu, unsigned* power) { return get(gpu, "power", power); }
int nvmlDeviceGetEnforcedPowerLimit(Handle gpu, unsigned* limit) {
  return get(gpu, "power_limit", limit);
}
int nvmlDeviceGetTemperature(Handle gpu, int, unsigned* celsius) {
  return get(gpu, "temperature", celsius);
}
int nvmlDeviceGetTemperatureThreshold(Handle gpu, int kind, unsigned* celsius) {
  return get(gpu, "threshold." + std::to_string(kind), celsius);
}
int nvmlDeviceGetClockInfo(Handle gpu, int kind, unsigned* clock) {
  return get(gpu, kind == kMemoryClockType ? "memory_clock" : "sm_clock", clock);
}
int nvmlDeviceGetUtilizationRates(Handle gpu, Utilization* seen) {
  const int status = get(gpu, "gpu_util", &seen->gpu);
  return status == kSuccess ? get(gpu, "memory_util", &seen->memory) : status;
}
int nvmlDeviceGetMemoryInfo(Handle gpu, Memory* memory) {
  return get(gpu, "memory_used", &memory->used);
}
int nvmlDeviceGetFanSpeed(Handle gpu, unsigned* percent) { return get(gpu, "fan", percent); }
int nvmlDeviceGetViolationStatus(Handle gpu, int policy, ViolationTime* time) {
  return get(gpu, "violation." + std::to_string(policy), &time->violation_ns);
}
int nvmlDeviceGetTotalEccErrors(Handle gpu, int kind, int, unsigned long long* errors) {
  return get(gpu, "ecc." + std::to_string(kind), errors);
}
int nvmlDeviceGetPcieReplayCounter(Handle gpu, unsigned* replays) {
  return get(gpu, "replays", replays);
}
int nvmlDeviceGetCurrentClocksThrottleReasons(Handle gpu, unsigned long long* reasons) {
  return get(gpu, "reasons", reasons);
}
int nvmlDeviceGetSamples(Handle gpu, int kind, unsigned long long last_seen_us, int* type,
                         unsigned* count, Sample* samples) {
  const std::string key = "ring." + std::to_string(kind);
  unsigned ring = 0, size = 0;
  std::istringstream rings(setting("ring"));
  for (int of = 0; rings >> of >> ring;)
    if (of == kind) size = ring;
  if (script.lost(gpu_of(gpu), key)) return kGpuIsLost;
  if (size == 0) return kNotSupported;
  *type = kUnsigned;
  if (samples == nullptr) {
    *count = size;
    return kSuccess;
  }
  unsigned n = 0;
  const long long latest = script.updates();
  for (long long update = std::max(0LL, latest - size + 1); update <= latest && n < *count;
       ++update) {
    const auto us = static_cast<unsigned long long>(script.updated_us(update));
    double value = 0;
    const int status = script.answer_at(gpu_of(gpu), key, update, value, kNotSupported);
    if (status != kSuccess) return status;
    if (us <= last_seen_us) continue;
    samples[n].timestamp_us = us;
    samples[n++].value.wide = static_cast<unsigned>(value);
  }
  *count = n;
  return n == 0 ? kNotFound : kSuccess;
}
int nvmlEventSetCreate(EventSet* set) {
  *set = reinterpret_cast<EventSet>(&events);
  return kSuccess;
}
int nvmlDeviceRegisterEvents(Handle gpu, unsigned long long, EventSet) {
  double none = 0;
  return script.answer(gpu_of(gpu), "events", none, kSuccess);
}
int nvmlEventSetWait_v2(EventSet, EventData* event, unsigned) {
  if (events.empty()) return kTimeout;
  *event = events.front();
  events.pop_front();
  return kSuccess;
}
int nvmlEventSetFree(EventSet) { return kSuccess; }

int nvmlDeviceGetMaxClockInfo(Handle gpu, int, unsigned* clock) {
  return get(gpu, "highest_clock", clock);
}
int nvmlDeviceGetSupportedGraphicsClocks(Handle, unsigned, unsigned* count, unsigned* clocks) {
  clocks[0] = 1980;
  clocks[1] = 345;
  *count = 2;
  return kSuccess;
}
int nvmlDeviceGetPowerManagementDefaultLimit(Handle gpu, unsigned* limit) {
  return get(gpu, "default_cap", limit);
}
int nvmlDeviceGetPowerManagementLimitConstraints(Handle gpu, unsigned* least, unsigned* most) {
  const int status = get(gpu, "least_cap", least);
  return status == kSuccess ? get(gpu, "most_cap", most) : status;
}
int nvmlDeviceSetPowerManagementLimit(Handle gpu, unsigned milliwatts) {
  unsigned refused = 0;
  if (get(gpu, "refused_cap", &refused) == kSuccess && refused == milliwatts) return kNoPermission;
  script.values["186"] = {static_cast<double>(milliwatts)};
  script.values["power"] = {milliwatts - 50'000.0};
  return kSuccess;
}
int nvmlDeviceSetGpuLockedClocks(Handle, unsigned least, unsigned) {
  script.values["sm_clock"] = {static_cast<double>(least)};
  return kSuccess;
}
int nvmlDeviceResetGpuLockedClocks(Handle) {
  script.values["sm_clock"] = script.values["highest_clock"];
  return kSuccess;
}

#ifndef ERGOMETER_OLD_DRIVER
int nvmlDeviceGetArchitecture(Handle gpu, unsigned* it) { return get(gpu, "architecture", it); }
int nvmlDeviceGetMigMode(Handle gpu, unsigned* now, unsigned* pending) {
  *pending = 0;
  return get(gpu, "mig", now);
}
int nvmlDeviceGetTotalEnergyConsumption(Handle gpu, unsigned long long* millijoules) {
  return get(gpu, "energy", millijoules);
}
int nvmlDeviceGetMarginTemperature(Handle gpu, MarginTemperature* margin) {
  return get(gpu, "margin", &margin->margin_c);
}
int nvmlDeviceGetCurrentClocksEventReasons(Handle gpu, unsigned long long* reasons) {
  return get(gpu, "reasons", reasons);
}
int nvmlDeviceGetFieldValues(Handle gpu, int count, FieldValue* values) {
  if (script.lost(gpu_of(gpu), "fields")) return kGpuIsLost;
  for (int i = 0; i < count; ++i) fill(values[i], gpu);
  return kSuccess;
}
#endif

}  // extern "C"

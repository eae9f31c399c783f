// A driver of one GPU in a shared library of its own, for nvidia_device_test.cpp: answers with
// fixed numbers, remembers cap and clock, and does no work in no time.
#include <chrono>
#include <cstring>
#include <thread>

namespace {
unsigned cap_mw = 700'000, clock_mhz = 1980;
}

extern "C" {

int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
const char* nvmlErrorString(int) { return "Insufficient Permissions"; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  static int handle;
  *device = &handle;
  return index == 0 ? 0 : 6;
}
int nvmlDeviceGetName(void*, char* name, unsigned size) {
  std::strncpy(name, "Fake GPU", size);
  return 0;
}
int nvmlDeviceGetPciInfo_v3(void*, char* info) {
  std::strcpy(info + 36, "00000000:19:00.0");  // behind 16 characters and five numbers
  return 0;
}
int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) {
  *celsius = 41;
  return 0;
}
int nvmlDeviceGetClockInfo(void*, int type, unsigned* megahertz) {
  *megahertz = type == 2 ? 2619 : clock_mhz;
  return 0;
}
int nvmlDeviceGetMaxClockInfo(void*, int, unsigned* megahertz) {
  *megahertz = 1980;
  return 0;
}
int nvmlDeviceGetSupportedGraphicsClocks(void*, unsigned, unsigned* count, unsigned* clocks) {
  clocks[0] = 1980;
  clocks[1] = 345;
  *count = 2;
  return 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  *reasons = 4;
  return 0;
}
int nvmlDeviceGetPowerManagementDefaultLimit(void*, unsigned* milliwatts) {
  *milliwatts = 700'000;
  return 0;
}
int nvmlDeviceGetPowerManagementLimitConstraints(void*, unsigned* least, unsigned* most) {
  *least = 200'000;
  *most = 700'000;
  return 0;
}
int nvmlDeviceSetPowerManagementLimit(void*, unsigned milliwatts) {
  if (milliwatts == 200'000) return 4;  // as without permission
  cap_mw = milliwatts;
  return 0;
}
int nvmlDeviceSetGpuLockedClocks(void*, unsigned least, unsigned) {
  clock_mhz = least;
  return 0;
}
int nvmlDeviceResetGpuLockedClocks(void*) {
  clock_mhz = 1980;
  return 0;
}
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = cap_mw - 50'000;
  return 0;
}
struct FakeField {
  unsigned field, scope;
  long long timestamp, latency;
  int type, status;
  union {
    double real;
    unsigned whole;
  } value;
};
int nvmlDeviceGetFieldValues(void*, int, FakeField* field) {
  field->type = 1;
  field->status = field->field == 185 ? 3 : 0;  // no average: not supported
  field->value.whole = field->field == 82 ? 45 : cap_mw;
  return 0;
}

int cuInit(unsigned) { return 0; }
int cuDeviceGetByPCIBusId(int* device, const char* id) {
  *device = 0;
  return std::strcmp(id, "00000000:19:00.0") == 0 ? 0 : 101;
}
int cuDevicePrimaryCtxRetain(void** context, int) {
  static int handle;
  *context = &handle;
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
int cuCtxSetCurrent(void*) { return 0; }
int cuMemAlloc_v2(unsigned long long* pointer, size_t size) {
  static unsigned long long next = 4096;
  *pointer = next;
  next += size;
  return 0;
}
int cuMemFree_v2(unsigned long long) { return 0; }
int cuMemsetD32_v2(unsigned long long, unsigned, size_t) { return 0; }
int cuMemcpyHtoD_v2(unsigned long long, const void*, size_t) { return 0; }
int cuMemcpyDtoDAsync_v2(unsigned long long, unsigned long long, size_t, void*) { return 0; }
int cuStreamCreate(void** stream, unsigned) {
  *stream = nullptr;
  return 0;
}
int cuStreamSynchronize(void*) {
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  return 0;
}
int cublasCreate_v2(void** handle) {
  static int it;
  *handle = &it;
  return 0;
}
int cublasDestroy_v2(void*) { return 0; }
int cublasSetStream_v2(void*, void*) { return 0; }
int cublasGemmEx(void*, int, int, int, int, int, const void*, const void*, int, int, const void*,
                 int, int, const void*, void*, int, int, int, int) {
  return 0;
}

}  // extern "C"

// CUDA's driver and cuBLAS in a shared library of its own, for nvidia_device_test.cpp: one GPU, the
// first of record/nvml/fake_nvml.cpp, that does no work in no time.
#include <chrono>
#include <cstddef>
#include <cstring>
#include <thread>

extern "C" {

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

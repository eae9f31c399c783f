#include "calibration/cuda_work.h"

#include <array>
#include <atomic>
#include <bit>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "base/random.h"
#include "base/shared_library.h"
#include "calibration/device_work.h"

namespace ergometer::calibration {
namespace {

using base::SharedLibrary;

// CUDA's driver interface and cuBLAS, what is needed of them: cuda.h, cublas_api.h.
using DevicePointer = unsigned long long;
struct ContextHandle;
struct StreamHandle;
struct BlasHandle;
using Context = ContextHandle*;
using Stream = StreamHandle*;
using Blas = BlasHandle*;
constexpr int kSuccess = 0, kNoTranspose = 0, kBf16 = 14, kComputeFp32 = 68, kDefaultAlgorithm = -1;

struct Functions {
  int (*init)(unsigned);
  int (*device_by_bus_id)(int*, const char*);
  int (*retain_context)(Context*, int);
  int (*release_context)(int);
  int (*set_context)(Context);
  int (*allocate)(DevicePointer*, size_t);
  int (*release)(DevicePointer);
  int (*fill)(DevicePointer, unsigned, size_t);
  int (*copy_in)(DevicePointer, const void*, size_t);
  int (*copy_within)(DevicePointer, DevicePointer, size_t, Stream);
  int (*create_stream)(Stream*, unsigned);
  int (*wait)(Stream);
  int (*create_blas)(Blas*);
  int (*destroy_blas)(Blas);
  int (*set_stream)(Blas, Stream);
  int (*multiply)(Blas, int, int, int, int, int, const void*, const void*, int, int, const void*,
                  int, int, const void*, void*, int, int, int, int);
};

constexpr size_t kMatrixBytes = static_cast<size_t>(kGemmSize * kGemmSize) * 2;

Result<void> check(int status, const char* what) {
  if (status == kSuccess) return {};
  return missing_error("CUDA: {} failed with {}", what, status);
}

Result<Functions> find_functions(const SharedLibrary& cuda, const SharedLibrary& cublas) {
  Functions call{};
  ERGOMETER_TRY(cuda.find("cuInit", call.init));
  ERGOMETER_TRY(cuda.find("cuDeviceGetByPCIBusId", call.device_by_bus_id));
  ERGOMETER_TRY(cuda.find("cuDevicePrimaryCtxRetain", call.retain_context));
  ERGOMETER_TRY(cuda.find("cuDevicePrimaryCtxRelease_v2", call.release_context));
  ERGOMETER_TRY(cuda.find("cuCtxSetCurrent", call.set_context));
  ERGOMETER_TRY(cuda.find("cuMemAlloc_v2", call.allocate));
  ERGOMETER_TRY(cuda.find("cuMemFree_v2", call.release));
  ERGOMETER_TRY(cuda.find("cuMemsetD32_v2", call.fill));
  ERGOMETER_TRY(cuda.find("cuMemcpyHtoD_v2", call.copy_in));
  ERGOMETER_TRY(cuda.find("cuMemcpyDtoDAsync_v2", call.copy_within));
  ERGOMETER_TRY(cuda.find("cuStreamCreate", call.create_stream));
  ERGOMETER_TRY(cuda.find("cuStreamSynchronize", call.wait));
  ERGOMETER_TRY(cublas.find("cublasCreate_v2", call.create_blas));
  ERGOMETER_TRY(cublas.find("cublasDestroy_v2", call.destroy_blas));
  ERGOMETER_TRY(cublas.find("cublasSetStream_v2", call.set_stream));
  ERGOMETER_TRY(cublas.find("cublasGemmEx", call.multiply));
  return call;
}

/// BF16 numbers in [-1, 1): sign and eight bits of fraction of even draws.
std::vector<uint16_t> random_operands(size_t count) {
  const base::Random random(1, 0, "measurement operands");
  std::vector<uint16_t> values(count);
  for (size_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(random.uniform(i, -1, 1));
    values[i] = static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
  }
  return values;
}

class Worker : public CudaWork {
 public:
  Worker(SharedLibrary cuda, SharedLibrary cublas, const Functions& call)
      : cuda_(std::move(cuda)), cublas_(std::move(cublas)), call_(call) {}

  ~Worker() override {
    {
      const std::lock_guard lock(mutex_);
      quit_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
    if (context_ == nullptr) return;
    call_.set_context(context_);
    if (blas_ != nullptr) call_.destroy_blas(blas_);
    for (const DevicePointer buffer : buffers_)
      if (buffer != 0) call_.release(buffer);
    call_.release_context(device_);
  }

  Result<void> prepare(const std::string& bus_id) {
    ERGOMETER_TRY(check(call_.init(0), "start"));
    ERGOMETER_TRY(check(call_.device_by_bus_id(&device_, bus_id.c_str()), "find the GPU"));
    ERGOMETER_TRY(check(call_.retain_context(&context_, device_), "open the GPU"));
    ERGOMETER_TRY(check(call_.set_context(context_), "open the GPU"));
    ERGOMETER_TRY(check(call_.create_stream(&stream_, 0), "make a stream"));
    ERGOMETER_TRY(check(call_.create_blas(&blas_), "start cuBLAS"));
    ERGOMETER_TRY(check(call_.set_stream(blas_, stream_), "start cuBLAS"));
    for (DevicePointer& buffer : buffers_)
      ERGOMETER_TRY(check(call_.allocate(&buffer, kMatrixBytes), "allocate memory"));
    ERGOMETER_TRY(check(call_.fill(buffers_[kZeros], 0, kMatrixBytes / 4), "fill memory"));
    // The same stretch of random numbers over and over: matrices stay full of them.
    const std::vector<uint16_t> operands = random_operands(kMatrixBytes / 2 / kRepeats);
    const size_t part = operands.size() * sizeof operands[0];
    for (size_t i = 0; i < kRepeats; ++i)
      ERGOMETER_TRY(check(call_.copy_in(buffers_[kOperands] + i * part, operands.data(), part),
                          "fill memory"));
    thread_ = std::thread([this] { loop(); });
    return {};
  }

  void start(const DeviceLoad& load) override {
    {
      const std::lock_guard lock(mutex_);
      load_ = load;
    }
    changed_.notify_one();
  }
  WorkDone done() const override { return {products_.load(), copied_bytes_.load()}; }
  Result<void> status() const override { return check(failed_.load(), "the load"); }

 private:
  enum Buffer : size_t { kOperands, kZeros, kResult, kBuffers };
  static constexpr size_t kRepeats = 16;

  /// Two calls a turn: little time without work in between, and an end within milliseconds.
  void loop() {
    call_.set_context(context_);
    for (;;) {
      DeviceLoad load;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return quit_ || load_.work != DeviceWork::kNothing; });
        if (quit_) return;
        load = load_;
      }
      constexpr int kCalls = 2;
      int failed = kSuccess;
      for (int i = 0; i < kCalls && failed == kSuccess; ++i) failed = call(load);
      if (failed == kSuccess) failed = call_.wait(stream_);
      if (failed != kSuccess) {
        failed_ = failed;
        return;
      }
      if (load.work == DeviceWork::kMatrix)
        products_ = products_ + kCalls;
      else
        copied_bytes_ = copied_bytes_ + kCalls * 2.0 * kMatrixBytes;
    }
  }
  int call(const DeviceLoad& load) const {
    if (load.work == DeviceWork::kCopy)
      return call_.copy_within(buffers_[kResult], buffers_[kOperands], kMatrixBytes, stream_);
    constexpr int kSize = static_cast<int>(kGemmSize);
    const float one = 1, zero = 0;
    // cuBLAS takes as pointers what the driver gives as numbers.
    const auto* const values =
        std::bit_cast<const void*>(buffers_[load.zeros ? kZeros : kOperands]);
    return call_.multiply(blas_, kNoTranspose, kNoTranspose, kSize, kSize, kSize, &one, values,
                          kBf16, kSize, values, kBf16, kSize, &zero,
                          std::bit_cast<void*>(buffers_[kResult]), kBf16, kSize, kComputeFp32,
                          kDefaultAlgorithm);
  }

  SharedLibrary cuda_, cublas_;
  Functions call_;
  int device_ = 0;
  Context context_ = nullptr;
  Stream stream_ = nullptr;
  Blas blas_ = nullptr;
  std::array<DevicePointer, kBuffers> buffers_{};
  std::thread thread_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  DeviceLoad load_;
  bool quit_ = false;
  std::atomic<double> products_ = 0, copied_bytes_ = 0;
  std::atomic<int> failed_ = kSuccess;
};

}  // namespace

Result<std::unique_ptr<CudaWork>> CudaWork::open(const std::vector<std::string>& cuda,
                                                 const std::vector<std::string>& cublas,
                                                 const std::string& bus_id) {
  ERGOMETER_ASSIGN(SharedLibrary driver, SharedLibrary::open(cuda, kWithoutDriver));
  ERGOMETER_ASSIGN(SharedLibrary blas, SharedLibrary::open(cublas, kWithoutDriver));
  ERGOMETER_ASSIGN(const Functions call, find_functions(driver, blas));
  auto worker = std::make_unique<Worker>(std::move(driver), std::move(blas), call);
  ERGOMETER_TRY(worker->prepare(bus_id));
  return std::unique_ptr<CudaWork>(std::move(worker));
}

}  // namespace ergometer::calibration

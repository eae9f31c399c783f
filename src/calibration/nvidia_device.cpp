#include "calibration/nvidia_device.h"

#include <chrono>
#include <thread>

#include "calibration/cuda_work.h"
#include "calibration/device_work.h"
#include "calibration/nvml.h"

namespace ergometer::calibration {
namespace {

using Clock = std::chrono::steady_clock;

class NvidiaDevice : public Device {
 public:
  NvidiaDevice(Nvml nvml, DeviceLimits limits, std::unique_ptr<CudaWork> work)
      : nvml_(std::move(nvml)), limits_(std::move(limits)), work_(std::move(work)) {}

  const DeviceLimits& limits() const override { return limits_; }

  // A GPU that was never told anything is not told to forget it: that needs a permission.
  Result<void> set_cap(double watts) override {
    if (watts == 0 && !capped_) return {};
    ERGOMETER_TRY(nvml_.set_cap(watts));
    capped_ = watts != 0;
    return {};
  }
  Result<void> lock_clock(double hertz) override {
    if (hertz == 0 && !locked_) return {};
    ERGOMETER_TRY(hertz > 0 ? nvml_.lock_clock(hertz) : nvml_.unlock_clock());
    locked_ = hertz != 0;
    return {};
  }
  Result<void> start(const DeviceLoad& load) override {
    work_->start(load);
    return work_->status();
  }
  Result<DeviceSample> sample_at(double time_s) override {
    std::this_thread::sleep_until(begin_ + std::chrono::duration_cast<Clock::duration>(
                                               std::chrono::duration<double>(time_s)));
    ERGOMETER_TRY(work_->status());
    ERGOMETER_ASSIGN(DeviceSample seen, nvml_.read());
    seen.time_s = std::chrono::duration<double>(Clock::now() - begin_).count();
    add_rates(seen);
    return seen;
  }

 private:
  void add_rates(DeviceSample& seen) {
    const WorkDone done = work_->done();
    const double over_s = seen.time_s - last_s_;
    if (over_s > 0) {
      constexpr double kFlops = 2 * kGemmSize * kGemmSize * kGemmSize;
      const double copied = (done.copied_bytes - last_.copied_bytes) / over_s;
      seen.flops_per_s = kFlops * (done.products - last_.products) / over_s;
      seen.cache_bytes_per_s = kGemmCacheBytesPerFlop * seen.flops_per_s + copied;
      seen.memory_bytes_per_s = kGemmMemoryBytesPerFlop * seen.flops_per_s + copied;
    }
    last_ = done;
    last_s_ = seen.time_s;
  }

  Nvml nvml_;
  DeviceLimits limits_;
  std::unique_ptr<CudaWork> work_;
  Clock::time_point begin_ = Clock::now();
  bool capped_ = false, locked_ = false;
  WorkDone last_;
  double last_s_ = 0;
};

}  // namespace

Result<std::unique_ptr<Device>> open_nvidia_device(unsigned index,
                                                   const NvidiaLibraries& libraries) {
  ERGOMETER_ASSIGN(Nvml nvml, Nvml::open(libraries.nvml, index));
  ERGOMETER_ASSIGN(DeviceLimits limits, nvml.limits());
  ERGOMETER_ASSIGN(const std::string bus_id, nvml.bus_id());
  ERGOMETER_ASSIGN(auto work, CudaWork::open(libraries.cuda, libraries.cublas, bus_id));
  return std::unique_ptr<Device>(
      std::make_unique<NvidiaDevice>(std::move(nvml), std::move(limits), std::move(work)));
}

}  // namespace ergometer::calibration

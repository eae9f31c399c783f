#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "watch/job_now.h"

namespace ergometer::watch {

/// A node of GPUs at work with a port and a CPU, whose readings a test changes as time goes on.
class TestJob {
 public:
  static constexpr size_t kMetrics = static_cast<size_t>(run::Metric::kCount);
  static constexpr int64_t kSecondNs = 1'000'000'000;

  explicit TestJob(size_t gpus, std::string node = "node1") : node_(std::move(node)) {
    for (size_t i = 0; i < gpus; ++i) {
      add(run::DeviceKind::kGpu);
      set(i, run::Metric::kPower, 600);
      set(i, run::Metric::kSmClock, 1700);
      set(i, run::Metric::kGpuTemperature, 60);
      set(i, run::Metric::kGpuUtilization, 98);
      set(i, run::Metric::kEventReasons, 0);
    }
    set(port = add(run::DeviceKind::kPort, "mlx5_0/1"), run::Metric::kNetErrors, 7);
    set(cpu = add(run::DeviceKind::kNode), run::Metric::kCpuUtilization, 20);
  }

  void set(size_t device, run::Metric metric, double value) {
    devices_[device].values[static_cast<size_t>(metric)] = value;
    devices_[device].times_ns[static_cast<size_t>(metric)] = 1;
  }
  void set_gpus(run::Metric metric, double value) {
    for (size_t i = 0; i + 2 < devices_.size(); ++i) set(i, metric, value);
  }

  JobNow at(int64_t seconds, std::vector<run::TrainingStep> steps = {}) const {
    JobNow now{seconds * kSecondNs, {}, std::move(steps), {}};
    for (const Device& d : devices_)
      now.devices.push_back({d.kind, node_, d.name, "", d.index, d.values, d.times_ns});
    return now;
  }

  size_t port = 0, cpu = 0;

  /// Numbered from 0, but ports: each source begins at 0.
  size_t add(run::DeviceKind kind, std::string name = "H100") {
    devices_.push_back(
        {kind, std::move(name), kind == run::DeviceKind::kGpu ? std::ssize(devices_) : 0});
    return devices_.size() - 1;
  }

 private:
  struct Device {
    run::DeviceKind kind;
    std::string name;
    int64_t index;
    std::array<double, kMetrics> values{};
    std::array<int64_t, kMetrics> times_ns{};
  };
  std::string node_;
  std::vector<Device> devices_;
};

}  // namespace ergometer::watch

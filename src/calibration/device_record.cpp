#include "calibration/device_record.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

namespace ergometer::calibration {
namespace {

/// Gives load, cap and clock back, whatever happens.
class Restored {
 public:
  explicit Restored(Device& device) : device_(device) {}
  Restored(const Restored&) = delete;
  Restored& operator=(const Restored&) = delete;
  ~Restored() {
    // Nothing more can be done about a driver that refuses its own defaults.
    (void)device_.start({});
    (void)device_.set_cap(0);
    (void)device_.lock_clock(0);
  }

 private:
  Device& device_;
};

bool is_on(const PlanPhase& phase, double phase_s) {
  if (phase.period_s <= 0) return true;
  const double turns = phase_s / phase.period_s;
  constexpr double kRounding = 1e-9;
  return turns - std::floor(turns + kRounding) < 0.5 - kRounding;
}

std::string_view word_of(const DeviceLoad& load) {
  switch (load.work) {
    case DeviceWork::kNothing: return "nothing";
    case DeviceWork::kMatrix: return load.zeros ? "zeros" : "matrix";
    case DeviceWork::kCopy: return "copy";
  }
  return "";
}

/// A phase of the record under way.
class Recorder {
 public:
  Recorder(Device& device, double period_s, const RecordWatcher& watcher, DeviceRecord& record)
      : device_(device), period_s_(period_s), watcher_(watcher), record_(record) {}

  bool stopped() const { return watcher_.stopped && watcher_.stopped(); }

  Result<void> run(size_t index) {
    const PlanPhase& phase = record_.plan[index];
    for (const auto& set : {device_.set_cap(phase.cap_w), device_.lock_clock(phase.lock_hz)})
      if (!set) {
        record_.notes.push_back(
            fmt::format("phase \"{}\" left out: {}", phase.name, set.error().message));
        return {};
      }
    const auto samples = static_cast<int64_t>(std::llround(phase.duration_s / period_s_));
    for (int64_t i = 0; i < samples && !stopped(); ++i) {
      const double phase_s = static_cast<double>(i) * period_s_;
      ERGOMETER_TRY(switch_to(is_on(phase, phase_s) ? phase.load : DeviceLoad{}));
      ERGOMETER_ASSIGN(const DeviceSample seen, device_.sample_at(begin_s_ + phase_s + period_s_));
      record_.samples.push_back({seen, index, phase_s + period_s_, load_});
    }
    begin_s_ += static_cast<double>(samples) * period_s_;
    return {};
  }

 private:
  Result<void> switch_to(const DeviceLoad& load) {
    if (load == load_) return {};
    load_ = load;
    return device_.start(load);
  }

  Device& device_;
  double period_s_;
  const RecordWatcher& watcher_;
  DeviceRecord& record_;
  DeviceLoad load_;
  double begin_s_ = 0;
};

}  // namespace

Result<DeviceRecord> record(Device& device, const std::vector<PlanPhase>& plan, double period_s,
                            const RecordWatcher& watcher) {
  DeviceRecord result;
  result.limits = device.limits();
  result.plan = plan;
  const Restored restored(device);
  Recorder recorder(device, period_s, watcher, result);
  for (size_t index = 0; index < plan.size() && !recorder.stopped(); ++index) {
    if (watcher.begin) watcher.begin(plan[index]);
    ERGOMETER_TRY(recorder.run(index));
  }
  return result;
}

std::string to_csv(const DeviceRecord& record) {
  std::string out =
      "time_s,phase,phase_s,held_back,work,cap_w,lock_mhz,instant_w,average_w,die_c,memory_c,"
      "clock_mhz,reasons,flops_per_s,cache_bytes_per_s,memory_bytes_per_s\n";
  for (const RecordedSample& sample : record.samples) {
    const DeviceSample& seen = sample.seen;
    const PlanPhase& phase = record.plan[sample.phase];
    fmt::format_to(std::back_inserter(out),
                   "{:.3f},{},{:.3f},{},{},{:g},{:g},{:.3f},{:.3f},{:g},{:g},{:g},{:#x},{:.4g},"
                   "{:.4g},{:.4g}\n",
                   seen.time_s, phase.name, sample.phase_s, record.held(sample) ? 1 : 0,
                   word_of(sample.load), phase.cap_w, phase.lock_hz / kMega, seen.instant_w,
                   seen.average_w, seen.die_c, seen.memory_c, seen.clock_hz / kMega, seen.reasons,
                   seen.flops_per_s, seen.cache_bytes_per_s, seen.memory_bytes_per_s);
  }
  return out;
}

}  // namespace ergometer::calibration

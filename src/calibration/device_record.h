#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibration/device.h"
#include "calibration/device_plan.h"

namespace ergometer::calibration {

inline constexpr double kMega = 1e6;

/// A sample and what was asked of the device at that time.
struct RecordedSample {
  DeviceSample seen;
  size_t phase = 0;    ///< of the plan
  double phase_s = 0;  ///< since the phase began
  DeviceLoad load;     ///< since the sample before
};

struct DeviceRecord {
  DeviceLimits limits;
  std::vector<PlanPhase> plan;
  std::vector<RecordedSample> samples;
  std::vector<std::string> notes;  ///< phases left out, and why

  /// Held back from the fit.
  bool held(const RecordedSample& sample) const {
    return sample.phase_s > plan[sample.phase].fitted_s;
  }
};

/// Who looks on while a plan is carried out; each may be empty.
struct RecordWatcher {
  std::function<void(const PlanPhase&)> begin;  ///< told of each phase
  std::function<bool()> stopped;                ///< asked before every sample: end here?
};

/// Carries the plan out, a sample every `period_s`. A phase whose cap or clock the driver refuses
/// is left out, with a note; any other error ends the record, and so does `stopped`, without one.
/// Load, cap and clock are given back in every case.
Result<DeviceRecord> record(Device& device, const std::vector<PlanPhase>& plan, double period_s,
                            const RecordWatcher& watcher);

/// time_s,phase,phase_s,work,instant_w,...: a line a sample.
std::string to_csv(const DeviceRecord& record);

}  // namespace ergometer::calibration

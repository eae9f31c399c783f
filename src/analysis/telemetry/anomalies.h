#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run/device_log.h"
#include "run/gpu_trace.h"

namespace ergometer::analysis {

// What changes while a job runs. Levels are found as analysis/math/level_changes.h says; a change
// counts when it is also worth acting on: 2 % of a step's time or of a clock, 5 % of power, 3 C.

/// A level that changes: of a job's steps (`rank` -1), a rank's, or of a GPU's reading.
struct LevelShift {
  std::string what;  ///< "step_time_s", or a metric's name: "sm_clock", "gpu_temperature", ...
  int64_t rank = -1;
  std::string host;
  std::string gpu;       ///< of readings: what it is called (analysis/telemetry/gpu_names.h)
  int64_t step = -1;     ///< first step behind the change, of step times
  int64_t time_ns = -1;  ///< of readings
  double before = 0, after = 0;
};

/// Steps that take much longer than their neighbours: by more than a tenth and more than 5 times
/// the noise of the others. Periodic when three or more come at equal distances (four fifths of the
/// distances within one step, or a twentieth, of their median).
struct StepSpikes {
  int64_t rank = -1;  ///< -1: the job
  int64_t count = 0, steps = 0;
  double every_steps = 0;  ///< 0: not periodic
  double extra_s = 0;      ///< mean length above the median
  double cost_per_step_s = 0;
};

/// A GPU beside the others of its kind (same name), at least 4 of them.
struct PeerDeviation {
  enum class Kind : uint8_t {
    kOutlier,  ///< its mean is far from the median of all: by more than 3.5 robust standard
               ///< deviations (1.4826 times the median absolute deviation) and worth acting on;
               ///< of temperatures above it, of clocks below it: cool and fast is how they should
               ///< be
    /// It moves away from the median of the others while they run, and it is its own level that
    /// moved, not theirs.
    kDrift,
  };
  Kind kind = Kind::kOutlier;
  std::string what;
  int64_t rank = -1;
  std::string host, host_label, gpu;
  double own = 0, peers = 0;  ///< means; of a drift behind the change
  double moved = 0;           ///< of a drift: by how much the distance changed
  int64_t time_ns = -1;       ///< of a drift: when its own readings moved most
};

struct Anomalies {
  std::vector<LevelShift> shifts;
  std::vector<StepSpikes> spikes;
  std::vector<PeerDeviation> deviations;
  int64_t series = 0;  ///< looked at: with so many, one false alarm in a hundred is to be expected
};

Anomalies find_anomalies(const std::vector<run::RankTrace>& ranks, const run::DeviceLog& log);

}  // namespace ergometer::analysis

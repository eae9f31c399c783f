#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/energy/shape_power.h"
#include "analysis/work/attribution.h"
#include "run/device_log.h"
#include "run/gpu_trace.h"
#include "run/sensor_error.h"

// Which work draws how much, out of a trace and the power sensor beside it.
//
// A kernel takes microseconds, a sensor gives a mean over 20 ms to 1 s. So each update i of the
// sensor is taken as the sum of what the GPU did in its window,
//
//   P_i = sum over classes c of f_ic W_c + error,      sum over c of f_ic = 1,
//
// f_ic: share of window i in which class c ran, idle among them; W_c >= 0: watts of the whole GPU
// while it does. The W are found by least squares (analysis/math/least_squares.h); errors are taken
// as equal and independent, so windows that overlap are thinned out first. While communication runs
// beside other work, the time is a class of its own; classes side by side on two streams share time
// equally. Watts are not stated where they are not in the readings: below `kFewestUpdates` windows,
// and where two classes come in the same proportion in every window (variance inflation above 100)
// they are stated as one.
//
// Worked by hand: windows of 100 ms, half gemm and half idle at 400 W, all gemm at 700 W, all idle
// at 100 W: gemm 700 W, idle 100 W, residual 0.

namespace ergometer::analysis {

constexpr size_t kFewestUpdates = 20;

/// Time, power and energy of a class of work, or a phase. Errors are standard errors of the fit, to
/// which the sensor's gain comes (`error_by_fit`).
struct EnergyRow {
  std::string name;  ///< "gemm + elementwise" where the two cannot be told apart
  double seconds = 0, watts = 0, watts_error = 0, joules = 0, joules_error = 0;
};

/// One rank's trace and the telemetry of its GPU.
struct RankEnergy {
  int64_t rank = 0;
  std::optional<size_t> number;  ///< of its GPU among the log's devices
  std::string device;            ///< host and UUID or file of the telemetry
  std::string matched_by;        ///< "rank", "device index", "only one of each"
  std::string refused;           ///< why no watts are stated, a sentence; empty where they are
  std::string metric;            ///< the series used
  double period_s = 0, window_s = 0, lag_s = 0;
  int64_t windows = 0;    ///< that lie within the trace and do not overlap
  double covered_s = 0;   ///< from the first window's start to the last one's end
  double measured_j = 0;  ///< over that time
  double mean_w = 0;
  double residual_j = 0;                   ///< measured minus the classes' sum
  double residual_rms_w = 0;               ///< of the fit, a window
  std::vector<EnergyRow> classes, phases;  ///< the dearest first
  std::vector<ShapePower> shapes;
  int64_t steps = 0;  ///< marked ones that the telemetry covers
  double step_j = 0;  ///< mean of those
  /// Of `measured_j` and `mean_w`, and of `step_j`. `tell` states them by what it tells of the
  /// device; until then they hold what its sensor did not see.
  run::EnergyError error = {.stated = false}, step_error = {.stated = false};

  /// What its sensor's gain leaves open of all of them, and of every row.
  run::EnergyError gain() const { return {error.own, error.common, 0, error.known, error.stated}; }
};

/// What watts or joules of a rank with such a standard error, of the fit or of a mean of windows,
/// are off: that, and its sensor's gain, the same for every row.
run::EnergyError error_by_fit(const RankEnergy& rank, double value, double standard_error);

/// One for every trace. A GPU of the telemetry belongs to the trace of its rank; where no rank
/// matches, to the one whose events ran on the device of its index, if all telemetry is of one
/// host; one trace and one GPU belong together.
std::vector<RankEnergy> kernel_energy(const std::vector<run::RankTrace>& ranks,
                                      const std::vector<Attribution>& attributions,
                                      const run::DeviceLog& log);

}  // namespace ergometer::analysis

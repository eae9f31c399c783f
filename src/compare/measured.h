#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/findings/trace_summary.h"
#include "analysis/telemetry/telemetry.h"
#include "base/result.h"
#include "compare/comparison.h"
#include "run/run.h"
#include "spec/job/job.h"

namespace ergometer::compare {

/// Kernels of one class, a step and rank.
struct KernelClass {
  double count = 0, seconds = 0;  ///< seconds: sum of durations, streams side by side count each
};

/// What was measured of a job, or is predicted of it in the same form: everything that comparing
/// by parts needs.
struct Measured {
  bool steps_marked = false;                       ///< else a rank's whole trace stands for a step
  int64_t ranks = 0;                               ///< with traces; 0: telemetry alone
  run::Performance performance;                    ///< step time and breakdown
  std::map<std::string, KernelClass> compute;      ///< what the breakdown's compute part is made of
  std::map<std::string, KernelClass> collectives;  ///< by the breakdown's part
  /// Idle time of a step by cause; absent where launches are not recorded.
  std::optional<std::array<double, 3>> idle_s;  ///< launched late, launched in time, not known
  /// What ranks wait in collectives for the last of them with no compute beside it, of a step, by
  /// the breakdown's part (analysis/ranks/arrivals.h); it is in that part. Absent: no collective
  /// was found on several ranks.
  std::optional<std::map<std::string, double>> waiting_s;
  std::optional<double> gpus_w;  ///< of `gpus` together, mean over the steps
  Range gpu_energy_j;            ///< 90 % interval of a predicted side's step
  /// What the sensors' error leaves open of `gpus_w` and of means: half a 90 % interval, relative.
  double power_error = 0;
  int64_t gpus = 0;  ///< whose power that is
  /// Clock, temperature, power, and of a prediction their intervals; of `b` nothing is used.
  std::vector<Quantity> facts;
};

/// Of recorded or imported traces and telemetry.
Result<Measured> measure(const std::vector<run::RankTrace>& ranks, const run::DeviceLog& log,
                         const std::string& name);
/// Of a job that is simulated for it. Its kernels are those of the first ranks of every stage, at
/// most 64 in all: GPUs of a node and ranks with other experts are not alike.
Result<Measured> measure(const spec::Job& job);
/// The same as a profiler would see it, to be held to a recording: who waits in a collective or for
/// a message is inside its kernel, so what a prediction tells as idle time is exposed
/// communication.
Result<Measured> measure_as_recorded(const spec::Job& job);
/// Of a simulated Run and its sampled ranks' kernels as traces (analysis/simulated_traces.h).
Measured measure(const run::Run& run, const std::vector<run::RankTrace>& sampled, int64_t gpus);

/// Why B's step takes another time than A's, by what was measured of both: every part of the
/// breakdown, compute by class of kernels, and of each class the effect of its number and of its
/// duration,
///   n_b d_b - n_a d_a = (n_b - n_a) (d_a + d_b) / 2 + (d_b - d_a) (n_a + n_b) / 2,
/// which is the Shapley value of the two; kernels of a class side by side on several streams, and
/// events outside steps, are what is left of compute ("kernels side by side"). Idle time by cause.
/// Exposed communication in what ranks wait in it for the last one and the rest, where both sides
/// have collectives of several ranks.
/// Energy is power times time, taken apart in the same way.
///
/// Worked: 10 GEMMs of 2 ms become 12 of 3 ms: 36 - 20 = 16 ms, of it (12 - 10) x 2.5 = 5 ms
/// because there are more and (3 - 2) x 11 = 11 ms because each takes longer.
///
/// Where a recording has no traces only time and power are told: of its training log's steps, or,
/// of two recordings without either, of their whole length. An input error: one side has traces or
/// steps and the other has neither. Power and heat beside a training log are those of the time of
/// the steps that are looked at; where the log does not say when they were there is no energy.
Result<Comparison> compare_measured(const Measured& a, const Measured& b);

}  // namespace ergometer::compare

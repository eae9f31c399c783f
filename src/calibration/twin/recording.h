#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "calibration/twin/form.h"
#include "compare/measured.h"
#include "run/run.h"

namespace ergometer::calibration::twin {

/// What a recording and a prediction both say of a job, by name:
///
///   step                        a step's length, s
///   gemm, attention, memory     time of kernels in a step and rank, s; memory: all that are bound
///   by it all_reduce, all_gather,     the same of collectives by kind, waiting for others included
///   reduce_scatter, all_to_all, send_recv
///   idle                        share of the step without any kernel
///   power, die                  mean over GPUs while steps run, W and C
///   rest power, rest die        the same where GPUs hold a context and run nothing
struct Quantity {
  const char* name;
  const char* unit;
  double noise;  ///< one standard deviation: of the logarithm, or of an `absolute` one in its unit
  bool absolute = false;
};
/// Noises are assumed: a profiler's kernels and a log's steps repeat within a hundredth or two,
/// collectives wait for each other, sensors of power differ by a few hundredths from board to
/// board.
const std::vector<Quantity>& quantities();

using Values = std::map<std::string, double, std::less<>>;

struct Recording {
  Values values;
  bool traced = false;  ///< kernels are told apart
  Durations durations;  ///< of these kernels
  int64_t steps = 0;    ///< of a training log
  Values noises;        ///< of quantities that are not known as `Quantity::noise` says
  std::vector<std::string> notes;
};

/// As `Quantity::noise`, of this recording.
double noise_of(const Recording& recording, const Quantity& quantity);

/// Of recorded traces and telemetry. A step's length is that of a training log where there is one,
/// as profilers slow steps down. Power and temperature are means while its second half of steps
/// ran; without it, of the `settled_part` of what is `at_work`, and as uncertain as what was still
/// to come. `trace_steps`: of traces that mark none; 0: as many as optimizers marked. Input errors:
/// traces of which that is not known; neither traces nor a log of steps.
Result<Recording> recording_of(const std::vector<run::RankTrace>& ranks, const run::DeviceLog& log,
                               const std::string& name, int64_t trace_steps = 0);
/// Of what is measured, or predicted in the same form.
Values values_of(const compare::Measured& measured);

}  // namespace ergometer::calibration::twin

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "run/device_log.h"
#include "spec/job/job.h"

namespace ergometer::calibration::twin {

/// What was read of one GPU of a job while its steps ran: means. What was not read is 0.
struct BoardReading {
  std::string host;           ///< empty: the recording does not say
  int64_t node = 0, gpu = 0;  ///< of the job
  double power_w = 0, die_c = 0, clock_mhz = 0, limit_w = 0;
  std::optional<double> warmer_k;  ///< than in as long a stretch before
};

struct BoardReadings {
  std::vector<BoardReading> gpus;               ///< by node, then GPU
  std::vector<std::optional<double>> inlets_c;  ///< by node of the job, where a sensor says
  std::vector<std::string> hosts;               ///< by node of the job, as far as recorded
  std::vector<std::string> notes;               ///< what could not be told, one sentence each
};

/// Of the second half of the steps where a training log says when they were, else of the whole
/// recording. `hosts`: by node of the job; empty: recorded hosts are its nodes in the order of
/// their ranks. A recording that names none is one of ranks, such as a simulated Run. Input errors:
/// no GPU was read; more hosts, others, or other GPUs, than the job has.
Result<BoardReadings> board_readings(const run::DeviceLog& log, const spec::Job& job,
                                     const std::string& name,
                                     const std::vector<std::string>& hosts = {});

}  // namespace ergometer::calibration::twin

#pragma once

#include <cstddef>
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
  /// Of these means, one standard deviation of sampling: relative, K, relative.
  double power_error = 0, die_error_k = 0, clock_error = 0;
  /// Where there were fewer than kFewestReadings of one of them, which are no mean: how many.
  size_t few_power = 0, few_die = 0, few_clock = 0;
  std::optional<double> warmer_k;  ///< than in as long a stretch before
};

struct BoardReadings {
  std::vector<BoardReading> gpus;               ///< by node, then GPU
  std::vector<std::optional<double>> inlets_c;  ///< by node of the job, where a sensor says
  std::vector<std::string> hosts;               ///< by node of the job; empty: not known
  std::vector<std::string> notes;               ///< what could not be told, one sentence each
};

/// Of the second half of the steps where a training log says when they were, else of what is
/// `at_work`; of that the `settled_part`, and no temperature where they are more than 3 K off even
/// there. `hosts`: by node of the job; empty: of recorded hosts nodeN is the job's node
/// N, the others are its other nodes in the order of their ranks. Files that name no host are hosts
/// by themselves, without a name. A recording of one nameless host is one of ranks, such as a
/// simulated Run. Fewer than kFewestReadings, and GPUs below their lowest clock, count as not read.
/// Input errors: no GPU was read; more hosts, others, or other GPUs, than the job has.
Result<BoardReadings> board_readings(const run::DeviceLog& log, const spec::Job& job,
                                     const std::string& name,
                                     const std::vector<std::string>& hosts = {});

}  // namespace ergometer::calibration::twin

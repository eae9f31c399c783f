#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "launch/framework.h"
#include "launch/text_file.h"
#include "spec/job/job.h"

namespace ergometer::launch {

/// How long and from which random numbers a framework trains.
struct TrainingRun {
  int64_t steps = 50;
  int64_t seed = 1234;
};

/// `train.sh`, which starts a framework's training of a job on one node, and the configuration it
/// reads. It expects `settings.sh` to be read and NODE_RANK, MASTER_ADDR, MASTER_PORT, RUN (its
/// folder) and ATTEMPT (where what it makes may go) in the environment. `notes`: what the framework
/// decides otherwise than the prediction.
///
/// An input error: the framework would refuse these arguments, or they cannot say the job.
Result<std::vector<TextFile>> training_files(Framework framework, const spec::Job& job,
                                             const TrainingRun& training,
                                             std::vector<std::string>& notes);

}  // namespace ergometer::launch

#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "launch/framework.h"
#include "spec/job/job.h"

namespace ergometer::launch {

/// The settings of the job that a framework runs: what it is told of `job` is read back as its own
/// files are read, and where that is another division, recomputation, overlap or number format
/// than `said`, the settings that framework and files have take their place, a note each. Which
/// fused attention runs is what is installed, and stays as said. An input error: the framework
/// cannot be told the job.
///
/// `job`: what `said` resolves to, pre-training that `check_launchable` takes.
Result<spec::Settings> as_written(Framework framework, const spec::Settings& said,
                                  const spec::Job& job, std::vector<std::string>& notes);

}  // namespace ergometer::launch

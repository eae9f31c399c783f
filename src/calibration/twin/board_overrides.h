#pragma once

#include <cstdint>
#include <vector>

#include "calibration/twin/boards.h"
#include "spec/job/job.h"
#include "spec/job/overrides.h"

namespace ergometer::calibration::twin {

/// Adds one of a node (`gpu` below 0) or of one of its GPUs, with its text.
void add_override(spec::Job& job, int64_t node, int64_t gpu, spec::OverrideKind kind, double value,
                  const char* unit = "");

/// The job's overrides but what is told of recorded `gpus` and, by node, of `inlets`; one of
/// several GPUs or nodes stays for the others.
spec::Job without_told(spec::Job job, const std::vector<BoardReading>& gpus,
                       const std::vector<bool>& inlets);

/// The job on these boards: as overrides, each with its text, in the place of what the job said of
/// them, and what stays open of them as the spread of silicon: the kind's own unless all were
/// recorded.
spec::Job on_boards(spec::Job job, const Boards& boards);

}  // namespace ergometer::calibration::twin

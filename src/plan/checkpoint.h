#pragma once

#include "spec/job/job.h"
#include "workload/workload.h"

namespace ergometer::plan {

/// What a checkpoint of the job holds, bytes, each value once: parameters that are trained and
/// their optimizer states, in the widths that the job keeps them in (2 + 12 bytes a parameter in
/// 16 bit with an FP32 master and two moments; 4 + 8 without a master).
double checkpoint_bytes(const spec::Job& job, const workload::Workload& workload);

}  // namespace ergometer::plan

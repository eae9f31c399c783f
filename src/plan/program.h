#pragma once

#include "plan/plan.h"
#include "plan/writer.h"

namespace ergometer::plan {

/// Writes the program of one stage; adds the operators it needs that are not the workload's.
Role write_role(const spec::Job& job, const workload::Workload& workload, const Stage& stage,
                int64_t stage_index, OperatorTable& operators);

}  // namespace ergometer::plan

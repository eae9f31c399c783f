#pragma once

#include "plan/plan.h"
#include "plan/writer.h"

namespace ergometer::plan {

/// Writes the program of one stage for so many micro batches; adds the operators it needs that are
/// not the workload's.
Role write_role(const spec::Job& job, const workload::Workload& workload, int64_t micro_batches,
                const Stage& stage, int64_t stage_index, OperatorTable& operators);

/// Whether the operator is part of an exchange of tokens between experts, what may go beside
/// another micro batch's kernels: the all-to-alls; with HybridEP also the gather of the routing
/// map, the first part of its dispatch.
bool exchanges_tokens(const spec::Job& job, const workload::Operator& op);

}  // namespace ergometer::plan

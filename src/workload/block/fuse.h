#pragma once

#include <cstdint>

#include "spec/job/job.h"
#include "workload/workload.h"

namespace ergometer::workload {

/// Makes one kernel of a product and the collective beside it, where the job's `fuse` says so and
/// nothing else stands between the two on the compute stream:
///
///   ag-gemm    a tensor-parallel all-gather and the product that reads what it gathers
///   gemm-rs    a product and the reduce-scatter of what it makes
///   a2a-gemm   the tokens that experts get and their first product, their last product and the
///              tokens' way back; chunks need not be sorted in between, a tile takes its rows from
///              where they are
///
/// A product that makes gradients of weights is left alone, and so is what already runs beside
/// other work. What other members send or get does not cross this rank's memory between the two:
/// of the tensor handed over, bytes (1 - 1 / members) are neither written nor read.
void fuse(const spec::Job& job, int64_t tensor_members, int64_t expert_members, Workload& workload);

}  // namespace ergometer::workload

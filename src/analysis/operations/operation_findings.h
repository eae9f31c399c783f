#pragma once

#include "analysis/operations/operation_slowdown.h"

namespace ergometer::analysis {

/// Fills `mendings` and `findings` from the rest: a slow worker, a slow last stage, micro batches
/// of unequal length, slow transfers, late launches.
void tell_operations(OperationSlowdown& of);

}  // namespace ergometer::analysis

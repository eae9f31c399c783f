#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "analysis/work/operator_inputs.h"

namespace ergometer::analysis {

/// What one call of an operator has to do at least, from the shapes of its inputs.
///
/// FLOPs: a multiply-add counts two. GEMM (M,N,K): 2 MNK. Convolution forward: 2 x output elements
/// x (weight's elements / output channels); backward: the same for each of input's and weight's
/// gradient that is asked for. Attention forward: 2 B H Sq Skv (Dqk + Dv), halved where it is
/// causal; backward: 2.5 times that (5 GEMMs against 2). Where a shape or a flag is not recorded
/// the FLOPs lie between `low` and `high`.
///
/// Bytes: every input read once and every output written once: what must cross HBM when nothing is
/// left in a cache. Inputs that were expanded count in full, for strides are not looked at.
struct OperatorWork {
  struct Flops {
    double low = 0, high = 0;
  };
  std::optional<Flops> flops;
  std::optional<double> bytes;
  /// A pointwise, normalising or copying operator: HBM's bandwidth bounds it, and its neighbours of
  /// the same kind could run in one kernel with it.
  bool memory_bound = false;
  std::vector<int64_t> output;  ///< its first output's shape, where known
  double output_bytes = 0;
};

OperatorWork work_of(std::string_view operator_name, const std::vector<OperatorInput>& inputs);

}  // namespace ergometer::analysis

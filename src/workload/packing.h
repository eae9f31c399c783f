#pragma once

#include <optional>

#include "spec/job/compression.h"
#include "workload/operator.h"

// What compression adds to a job: smaller messages, and memory-bound kernels before and behind
// them. Convergence is not predicted.
namespace ergometer::workload {

/// Kernels around a message.
struct Packing {
  Operator pack, unpack;
};

/// Of a border's tensor between stages, of so many bytes in so many bytes a value: every value is
/// read and written once, on one of the two sides in int8.
Packing border_packing(const spec::Compression& how, double plain_bytes, double value_bytes);

/// A reduction of gradients between replicas, and its kernels where it is compressed.
struct PackedReduction {
  Operator sum;
  std::optional<Packing> packing = {};
};
/// `plain`: the all-reduce or reduce-scatter of `elements` gradients of `value_bytes` each over
/// `ranks` ranks. int8 keeps its form: sums are made of what was unpacked, and packed again for the
/// second half of an all-reduce. Top-k: ranks keep different values, so that an all-reduce is a
/// gather of everybody's, and a reduce-scatter an exchange in which each gets what it owns. What is
/// not sent is kept and added to the next step's gradients (error feedback), in FP32.
PackedReduction packed_reduction(const spec::Compression& how, const Operator& plain,
                                 double elements, double value_bytes, double ranks);

}  // namespace ergometer::workload

#pragma once

#include "workload/operator.h"

namespace ergometer::workload {

/// What an operator takes from the one before it and leaves to the one behind it, bytes.
struct Tensors {
  double read_bytes = 0, written_bytes = 0;
};

/// Of `op`, in a group of `members` where it is a collective. Of a product [m,k] x [k,n] m k
/// elements a group are read and m n written; of attention its queries and its outputs; of a
/// collective its buffer, on the side where members have only their part of it that part; of other
/// kernels, whose bytes are known but not which of them are read, half of them.
Tensors tensors_of(const Operator& op, double members);

}  // namespace ergometer::workload

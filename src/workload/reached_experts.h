#pragma once

#include <cstdint>

#include "workload/operator.h"
#include "workload/shapes.h"

namespace ergometer::workload {

/// Of a rank's experts those that any row of a micro batch reaches: expected, as a whole number of
/// at least one. With few tokens, as in decoding, not all; only their weights are read. Padded
/// to a capacity all, for every expert then gets as many rows. That one rank has more of them than
/// another by chance is not in it.
int64_t reached_experts(const spec::Job& job, const Shapes& shapes);

/// Matrices of the shape of a GEMM of ours that lie on the rank for it: one, or of an expert's as
/// many as there are, reached or not, divided among the GEMMs where each expert has its own.
double held_matrices(const spec::Job& job, const Shapes& shapes, const Operator& gemm);

}  // namespace ergometer::workload

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "run/gpu_trace.h"

namespace ergometer::analysis {

/// Elements of a tensor of such a shape.
inline double product(const std::vector<int64_t>& dims) {
  double elements = 1;
  for (const int64_t dim : dims) elements *= static_cast<double>(dim);
  return elements;
}

/// One argument of an operator, as far as the profiler recorded it.
struct OperatorInput {
  std::vector<int64_t> dims;  ///< of a tensor; empty for scalars, and for lists of tensors
  int64_t list_elements = 0;  ///< of a list of tensors: elements of all
  double element_bytes = 0;   ///< 0: not a tensor, or its type is not recorded
  std::string dtype;          ///< "c10::BFloat16", "float"
  std::string value;          ///< of what is no tensor: "True", "[1, 1]"

  double elements() const;
  double bytes() const { return elements() * element_bytes; }
};

/// Empty where the profiler recorded no shapes, or the text is damaged.
std::vector<OperatorInput> inputs_of(const run::RankTrace& trace, const run::Operator& op);

/// Of PyTorch's names of types; 0 for others.
double bytes_of_dtype(std::string_view dtype);

/// "[1, 2]" as numbers; empty when it is no such list.
std::vector<int64_t> integers_in(std::string_view list);

}  // namespace ergometer::analysis

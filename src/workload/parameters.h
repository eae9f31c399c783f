#pragma once

#include <cstdint>

#include "spec/job/model.h"

namespace ergometer::workload {

/// Parameters of the unpadded model, as its checkpoint holds them.
struct ParameterCount {
  int64_t total = 0;      ///< MTP modules not counted, as publishers do not
  int64_t active = 0;     ///< touched by one token: top-k and shared experts only
  int64_t embedding = 0;  ///< input embedding, positions included (also in total)
  int64_t head = 0;       ///< output projection; 0 when tied
  int64_t vision = 0;     ///< tower and projector (also in total and active)
  int64_t mtp = 0;        ///< the MTP modules' own, not in total
};

/// Biases of an MLP so wide.
inline int64_t mlp_biases(const spec::Model& model, int64_t width) {
  return (model.gated ? 2 : 1) * width + model.hidden;
}

ParameterCount count_parameters(const spec::Model& model);

}  // namespace ergometer::workload

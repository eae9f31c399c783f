#pragma once

#include <cstdint>
#include <vector>

#include "run/gpu_trace.h"
#include "run/operator_tree.h"

namespace ergometer::analysis {

/// Which call and which operator put each event of a trace on the GPU.
struct Attribution {
  static constexpr uint32_t kNone = run::OperatorTree::kNone;

  explicit Attribution(const run::RankTrace& trace);

  run::OperatorTree tree;
  std::vector<const run::Launch*> launches;  ///< of every event; null where not recorded
  std::vector<uint32_t> operators;           ///< the innermost; kNone where there is none
};

}  // namespace ergometer::analysis

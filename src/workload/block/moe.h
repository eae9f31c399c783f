#pragma once

#include <cstdint>

#include "workload/shapes.h"

namespace ergometer::workload {

/// Rows of the routed experts of one rank, with balanced routing or `Shapes::expert_load` times as
/// many that reach it. A rank routes its own tokens: its
/// sequence shard, or without sequence parallelism its tp-th of the tokens that all tensor-parallel
/// ranks hold.
struct MoeRows {
  double routed_tokens = 0;  ///< tokens this rank routes
  double sent = 0;           ///< rows it sends to experts: of top-k a token what a capacity leaves
  double exchanged = 0;      ///< rows that it sends or receives, whichever are more
  double computed = 0;  ///< rows its experts compute: `sent` of every expert-tensor-parallel rank
  double model = 0;     ///< of these, the model's own (top-k, without padding)
  int64_t experts = 0;  ///< on this rank
  int64_t reached = 0;  ///< of these the ones that any row reaches
  int64_t ffn = 0;      ///< one expert's width on this rank, one branch
  bool fixed = false;   ///< padded to a capacity; else the host waits for counts after routing
};

MoeRows moe_rows(const spec::Job& job, const Shapes& shapes);

}  // namespace ergometer::workload

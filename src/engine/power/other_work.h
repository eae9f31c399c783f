#pragma once

#include <cstdint>

namespace ergometer::engine {

/// What another job steadily draws on a GPU of the job's nodes that none of its own ranks has.
struct OtherWork {
  int64_t gpu = 0;      ///< node x GPUs of a node + its place there
  double watts = 0;     ///< at the board
  double memory_w = 0;  ///< of it, heat of the HBM
};

}  // namespace ergometer::engine

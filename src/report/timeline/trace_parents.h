#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "run/run.h"

namespace ergometer::report {

/// A stretch of a rank's compute stream that kernels lie in: the step, a pass of a micro batch, a
/// layer of it.
struct ParentSlice {
  int64_t rank = 0, start_ns = 0, end_ns = 0;
  std::string name;  ///< "step", "forward, micro batch 3", "layer 12"
};

/// Finds them while the kernels come by, rank by rank and in order of time on the stream.
class ParentSlices {
 public:
  void add(const run::Kernel& kernel);
  /// Those of a rank, every one before what lies in it; the step from 0 to its length.
  std::vector<ParentSlice> of_rank(int64_t rank, int64_t step_ns) const;

 private:
  struct Open {
    ParentSlice slice;
    int64_t level = 0;  ///< 1: a pass, 2: a layer
  };
  struct Rank {
    std::vector<Open> slices;
    std::string pass;                  ///< of the kernel before
    int64_t layer = -1;                ///< the same
    size_t in_pass = 0, in_layer = 0;  ///< where they are among the slices
    int64_t end_ns = 0;
  };
  std::map<int64_t, Rank> ranks_;
};

}  // namespace ergometer::report

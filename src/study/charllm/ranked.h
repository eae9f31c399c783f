#pragma once

#include <optional>
#include <vector>

#include "run/run.h"

namespace ergometer::study::charllm {

/// What a summary does not hold: a point's job played once more, GPU by GPU.
struct Ranked {
  std::vector<run::Rank> ranks;
  /// Bytes that a GPU sends in one step over its scale-up links and towards the NICs, by stage: all
  /// GPUs of a stage send the same.
  std::vector<double> intra_bytes, nic_bytes;
  std::vector<run::Kernel> kernels;  ///< of `sampled`
  double step_s = 0;
};

/// From the point's settings; none when it is not known or cannot run.
std::optional<Ranked> ranked(const run::StudyPoint* point,
                             const std::vector<int64_t>& sampled = {});

}  // namespace ergometer::study::charllm

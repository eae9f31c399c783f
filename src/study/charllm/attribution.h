#pragma once

#include <string>
#include <vector>

#include "study/charllm/evidence.h"
#include "study/charllm/points.h"

namespace ergometer::study::charllm {

/// What one GPU of a pair's H200 testbed has over one of its H100 testbed, split into causes. Parts
/// are natural logarithms of factors and add up to the whole.
///
/// The factors of `kPairFactors` get their Shapley values: the mean of what a factor brings over
/// all orders in which the four can be changed, all on a network so fast that only latency is left,
/// sixteen jobs. What the network takes is the rest: the whole advantage on the real network less
/// that on the fast one.
struct Attribution {
  struct Part {
    std::string name;
    double log_factor = 0;
  };
  double log_whole = 0;
  std::vector<Part> parts;
  /// The whole with half the scale-up bandwidth on both sides; the boards have the same, so the
  /// difference to the whole is no part of it.
  double log_whole_half_nvlink = 0;
};

/// `value`: name in the summary table, per GPU or per joule.
Attribution attribute(Basis& basis, const Pair& pair, const std::string& value);

}  // namespace ergometer::study::charllm

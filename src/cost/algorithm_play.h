#pragma once

#include <vector>

#include "spec/collective/algorithm.h"

namespace ergometer::cost {

/// The way of what one thread block sends.
struct AlgorithmRoute {
  std::vector<size_t> ports;  ///< of which it takes a fair part, beside what else crosses them
  double hop_s = 0;           ///< from a message's last byte out to its receiver's going on
};

struct AlgorithmRoutes {
  std::vector<double> port_bytes_per_s;          ///< one direction each
  double block_bytes_per_s = 0;                  ///< what one thread block moves at most
  std::vector<std::vector<AlgorithmRoute>> out;  ///< [gpu][thread block]; empty: sends nothing
};

/// When each of `loops` loops over `chunk_bytes` a chunk is done, seconds (algorithm_play.cpp).
/// `with_hops` false: messages are there when their last byte has left.
std::vector<double> play_algorithm(const spec::Algorithm& algorithm, const AlgorithmRoutes& routes,
                                   double chunk_bytes, int loops, bool with_hops);

}  // namespace ergometer::cost

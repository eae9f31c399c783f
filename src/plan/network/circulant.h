#pragma once

#include <cstdint>
#include <vector>

namespace ergometer::plan {

/// Strides of `links` rings through all of `nodes` nodes (2 or more), by which a node is joined to
/// the one so many further on: in pairs there and back, the nearest ones first. Where there are
/// fewer such strides than links, several links run side by side.
std::vector<int64_t> ring_strides(int64_t nodes, int64_t links);

/// What circuits carry that join every node n of `nodes` to n + stride, for all of the strides.
class Circulant {
 public:
  Circulant(int64_t nodes, std::vector<int64_t> strides);

  struct Carried {
    double bytes = 0;  ///< on the fullest link
    double hops = 0;   ///< of the longest way
  };
  /// `bytes[d]`: what every node sends to the one d further on, by the shortest ways; where several
  /// links lead on, each takes as much as the others.
  Carried carry(std::vector<double> bytes) const;

 private:
  std::vector<int64_t> strides_;
  std::vector<int64_t> hops_;   ///< by distance
  std::vector<int64_t> order_;  ///< distances, those of fewer hops first
};

}  // namespace ergometer::plan

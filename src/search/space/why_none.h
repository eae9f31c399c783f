#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "search/space/space.h"

namespace ergometer::search {

/// What rules out some ways to divide the GPUs.
struct RuledOut {
  int64_t divisions = 0;
  std::string why;  ///< what a check says of one of them
};

/// Where the ways to divide a space's GPUs end (tp, cp, pp, and of experts ep and etp; what is
/// fixed is not divided otherwise): each counts once, by what is said of its plainest layout when
/// no layout of it is legal.
struct WhyNone {
  int64_t divisions = 0;            ///< all
  int64_t legal = 0;                ///< with a layout: what then is missing is memory
  std::vector<RuledOut> ruled_out;  ///< most first
};

/// Takes as long as listing all layouts.
WhyNone why_none(const Space& space);

}  // namespace ergometer::search

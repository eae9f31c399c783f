#pragma once

#include <cstdint>
#include <vector>

#include "analysis/ranks/collective_match.h"
#include "run/gpu_trace.h"

namespace ergometer::analysis {

/// How uneven the tokens are that ranks exchange with all-to-all, 1: everybody has as many. As
/// `workload::ExpertLoads` has it of a prediction (`--moe-routing`), here from what recorded
/// exchanges say of their elements: tokens on their way to experts are unlike where they arrive,
/// on their way back where they leave.
struct ExchangeLoads {
  struct OfRank {
    int64_t rank = 0;
    double load = 1;  ///< mean over its exchanges
  };
  int64_t exchanges = 0;    ///< whose ranks are all recorded, with their elements
  double mean_fullest = 1;  ///< of the fullest rank of an exchange, mean over them
  double most = 1;          ///< of the fullest rank of all
  std::vector<OfRank> ranks;

  bool even() const { return most <= 1; }
};

ExchangeLoads exchange_loads(const std::vector<run::RankTrace>& ranks,
                             const MatchedCollectives& collectives);

}  // namespace ergometer::analysis

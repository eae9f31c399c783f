#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace ergometer::intake {

/// What DeepSpeed's launcher is told of the hosts it uses; numbers below 1: nothing.
struct DeepSpeedHosts {
  std::string hostfile;  ///< its text, "host slots=8" a line; empty: none is there
  std::string include;   ///< --include "host1:0,1@host2"
  std::string exclude;
  int64_t nodes = 0;  ///< --num_nodes: the first so many hosts
  int64_t gpus = 0;   ///< --num_gpus: of every host
};

/// How many GPUs it starts processes on; 0 where only the node knows. The error says what it
/// refuses, without a place.
Result<int64_t> deepspeed_gpus(const DeepSpeedHosts& hosts);

}  // namespace ergometer::intake

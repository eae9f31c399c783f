#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ergometer::run {

/// A collective, a send or a receive as a rank's flight recorder kept it. Its time is
/// nanoseconds since 1970 by the rank's own clock; 0: not told.
struct FlightCall {
  /// Enqueued on the CPU; seen to run on the GPU; seen to have ended.
  enum class State : uint8_t { kScheduled, kStarted, kCompleted };
  size_t group = 0;       ///< into FlightDump::groups
  int64_t record = 0;     ///< counts the rank's calls from 0
  int64_t sequence = -1;  ///< counts the group's collectives, the same on all its ranks
  std::string name;       ///< "nccl:all_reduce", "nccl:recv 3<-2": ranks within the group
  std::string sizes;      ///< of the inputs: "[[4096, 1024]]"
  std::string dtypes;     ///< the same: "BFloat16"
  int64_t elements = -1;  ///< of all inputs; -1: not told
  State state = State::kScheduled;
  bool p2p = false;
  int64_t created_ns = 0;
  double duration_ms = -1;  ///< on the GPU; -1: not measured
  std::string frame;  ///< the innermost that is not PyTorch's: "train.py:120 in step"; may be empty
};

/// A process group as the dump has it.
struct FlightGroup {
  std::string name, description;
  std::vector<int64_t> ranks;  ///< of the job, in the group's order; empty: not told
};

/// What PyTorch's flight recorder wrote of one rank: its last calls, the oldest first.
struct FlightDump {
  int64_t rank = -1;
  std::string file, version;
  std::vector<FlightGroup> groups;
  std::vector<FlightCall> calls;
};

}  // namespace ergometer::run

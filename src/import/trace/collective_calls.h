#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run/gpu_trace.h"

namespace ergometer::importer {

/// A call of NCCL or RCCL on the CPU, as a profiler saw it: "ncclAllReduce", also "ncclGroupStart"
/// and "ncclGroupEnd".
struct CollectiveCall {
  std::string name;
  int64_t thread = -1, start_ns = 0, end_ns = 0;
  int64_t bytes = -1;       ///< as NCCL counts a rank's message; -1: not recorded
  int64_t group_size = -1;  ///< ranks of the communicator
  std::string group;        ///< the communicator
};

/// The thread of a launch, and when it was.
struct LaunchingThread {
  int64_t correlation = -1, thread = -1, start_ns = 0;
};

/// Gives the trace's communication kernels their collective: the call on whose thread, and during
/// which, they were launched. Work of a group is launched as it ends: several collectives of one
/// kind in it are one with the sum of their bytes, of several kinds it is not said which.
void join_collective_calls(std::vector<CollectiveCall> calls, std::vector<LaunchingThread> launches,
                           run::RankTrace& trace);

}  // namespace ergometer::importer

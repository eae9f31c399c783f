#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run/gpu_trace.h"

namespace ergometer::run {

/// A piece of work in an execution graph; -1 and kNone where the file does not say.
struct WorkNode {
  static constexpr uint32_t kNone = ~uint32_t{0};
  enum class Kind : uint8_t {
    kUnknown,
    kMetadata,
    kMemoryLoad,
    kMemoryStore,
    kCompute,
    kSend,
    kReceive,
    kCollective,
  };
  uint64_t id = 0;
  int64_t start_ns = -1, duration_ns = -1;
  int64_t operations = -1;           ///< floating-point operations
  int64_t tensor_bytes = -1;         ///< of the tensors it reads and writes
  int64_t communication_bytes = -1;  ///< as a rank hands them to the collective
  int64_t thread = -1;               ///< of the CPU; of GPU work its stream
  uint32_t name = 0;                 ///< into `WorkGraph::names`
  uint32_t collective = kNone;       ///< the same: "all_reduce", "all_gather", ...
  uint32_t group = kNone;            ///< the same: the process group, or the dimensions involved
  uint32_t first_dependency = 0;     ///< into `WorkGraph::dependencies`: control, then data
  uint32_t control_dependencies = 0, data_dependencies = 0;
  Kind kind = Kind::kUnknown;
  bool cpu = false;  ///< runs on the CPU, as an operator that launches others may
};

/// What one file says of one rank's work and its order: a Chakra graph or a PyTorch execution
/// trace. Nodes stand in the file's order; dependencies are ids, and need not exist.
struct WorkGraph {
  int64_t rank = -1;   ///< -1: neither the file nor its name says
  std::string file;    ///< as `RankTrace::file`
  std::string format;  ///< "Chakra", "PyTorch execution trace 1.0.3-chakra.0.0.4"
  bool calls = false;  ///< control dependencies are who called whom, and not an order
  std::vector<std::string> names;
  std::vector<WorkNode> nodes;
  std::vector<uint64_t> dependencies;
  std::vector<Operator> operators;  ///< shapes and types; none, or one for every node
  int64_t storages = -1;            ///< different pieces of memory that tensors lie in
  int64_t storage_bytes = -1;       ///< their sizes together
  int64_t linked = -1;  ///< operators of the rank's trace found here; -1: there is no such trace
  std::vector<Dropped> dropped;  ///< as `RankTrace::dropped`
  bool truncated = false;        ///< the file ends in the middle
};

}  // namespace ergometer::run

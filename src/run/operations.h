#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ergometer::run {

/// How the ranks of a job are divided. Ranks are numbered as Megatron-LM does: tensor parallel
/// (`lanes`) fastest, then data parallel (`replicas`), then pipeline stages.
struct OperationGroups {
  int64_t stages = 1, replicas = 1, lanes = 1;
  int64_t chunks = 1;  ///< of a stage: virtual pipeline
  int64_t ranks() const { return stages * replicas * lanes; }
};

/// What of a job's step an operation is.
enum class OperationRole : uint8_t {
  kForward,
  kBackward,
  kForwardSend,
  kForwardReceive,
  kBackwardSend,
  kBackwardReceive,
  kReplicaCollective,  ///< joined by the replicas of a stage: parameters, gradients
  kLaneCollective,     ///< joined by the tensor-parallel ranks of a stage
  kStageCollective,    ///< joined by the stages of a replica that have it: shared embeddings
  kWorldCollective,    ///< joined by all ranks: the norm of all gradients
  kPause,              ///< the host collects garbage
  kOther,              ///< other computation: the optimizer
};

/// One operation of one rank. Times in microseconds, since any moment that the job's ranks share.
struct Operation {
  int32_t step = 0;  ///< position in OperationTimeline::steps
  int32_t stage = 0, replica = 0, lane = 0;
  int32_t chunk = -1, micro_batch = -1, sequence = -1;  ///< -1: not told
  int32_t kind = 0;                                     ///< position in OperationTimeline::kinds
  double start_us = 0, duration_us = 0;
};

struct OperationKind {
  std::string name;  ///< as the file has it: "forward-compute"
  OperationRole role = OperationRole::kOther;
};

/// The operations of every recorded rank of a job, over some of its steps.
struct OperationTimeline {
  std::string file;
  OperationGroups groups;
  std::vector<OperationKind> kinds;
  std::vector<int64_t> steps;         ///< numbers, increasing
  std::vector<Operation> operations;  ///< in the file's order
};

}  // namespace ergometer::run

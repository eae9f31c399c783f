#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ergometer::spec {

/// What a given algorithm computes. `chunks` is what a loop moves of the whole buffer: of an
/// all-reduce, an all-gather (what is gathered), a reduce-scatter (what is reduced), an all-to-all
/// (what one GPU holds).
enum class CollectiveTask : uint8_t { kAllReduce, kAllGather, kReduceScatter, kAllToAll };
inline constexpr std::array<std::string_view, 4> kTaskWords = {"allreduce", "allgather",
                                                               "reducescatter", "alltoall"};

/// LL: 4 bytes of data beside 4 of a flag; LL128: 120 of 128 bytes; Simple: data, then a flag.
enum class CollectiveProtocol : uint8_t { kLl, kLl128, kSimple };
inline constexpr std::array<std::string_view, 3> kProtocolWords = {"LL", "LL128", "Simple"};

enum class ChunkBuffer : uint8_t { kInput, kOutput, kScratch };

/// In the order of MSCCL's words: s r cpy re rcs rrc rrs rrcs nop.
enum class StepKind : uint8_t {
  kSend,
  kReceive,
  kCopy,
  kReduce,
  kReceiveCopySend,
  kReceiveReduceCopy,
  kReceiveReduceSend,
  kReceiveReduceCopySend,
  kNothing
};
constexpr bool sends(StepKind kind) {
  return kind == StepKind::kSend || kind == StepKind::kReceiveCopySend ||
         kind == StepKind::kReceiveReduceSend || kind == StepKind::kReceiveReduceCopySend;
}
constexpr bool receives(StepKind kind) {
  return kind >= StepKind::kReceiveCopySend ? kind != StepKind::kNothing
                                            : kind == StepKind::kReceive;
}
/// Whether it reads chunks of the GPU's own, and adds them to what it received or wrote to.
constexpr bool reads(StepKind kind) {
  return kind == StepKind::kSend || kind == StepKind::kCopy || kind == StepKind::kReduce ||
         (kind >= StepKind::kReceiveReduceCopy && kind <= StepKind::kReceiveReduceCopySend);
}
constexpr bool writes(StepKind kind) {
  return kind != StepKind::kSend && kind != StepKind::kReceiveReduceSend &&
         kind != StepKind::kNothing;
}

struct AlgorithmStep {
  StepKind kind = StepKind::kNothing;
  ChunkBuffer from = ChunkBuffer::kInput, to = ChunkBuffer::kInput;
  int from_chunk = 0, to_chunk = 0, count = 1;
  int after_block = -1, after_step = -1;  ///< of the same GPU, done before; -1: none
  bool awaited = false;                   ///< whether others may wait for it (hasdep)
  int line = 0;
};

/// Steps one behind the other, to and from at most one GPU each.
struct ThreadBlock {
  int send_to = -1, receive_from = -1, channel = 0;
  std::vector<AlgorithmStep> steps;
};

struct GpuProgram {
  int scratch_chunks = 0;
  std::vector<ThreadBlock> blocks;
};

/// A collective as programs of GPUs' thread blocks, as MSCCL's compiler writes it.
struct Algorithm {
  std::string name, file;
  int line = 1;  ///< where it begins
  CollectiveTask task = CollectiveTask::kAllReduce;
  CollectiveProtocol protocol = CollectiveProtocol::kSimple;
  int channels = 1;
  int chunks = 1;  ///< of the whole buffer, a loop's
  bool in_place = false, out_of_place = true;
  double min_bytes = 0, max_bytes = 0;  ///< of the whole buffer; max_bytes 0: no limit
  std::vector<GpuProgram> gpus;

  int size() const { return static_cast<int>(gpus.size()); }
  int input_chunks() const { return task == CollectiveTask::kAllGather ? chunks / size() : chunks; }
  int output_chunks() const {
    return task == CollectiveTask::kReduceScatter ? chunks / size() : chunks;
  }
  bool holds(double bytes) const {
    return bytes >= min_bytes && (max_bytes <= 0 || bytes <= max_bytes);
  }
};

}  // namespace ergometer::spec

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "run/gpu_trace.h"

namespace ergometer::analysis {

enum class CollectiveKind : uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kSendRecv,  ///< from a kernel's name alone, all-to-all may be meant: NCCL makes it of sends
  kBroadcast,
  kReduce,
  kBarrier,
  kUnknown,  ///< RCCL's generic kernel, with nothing that says more
};
std::string_view to_word(CollectiveKind kind);

/// By PyTorch's name of the collective ("allreduce", "_allgather_base", "all_to_allv") or, without
/// one, by the kernel's ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL").
CollectiveKind collective_kind(std::string_view name);

/// Which parallelism a process group serves, by the description that Megatron-Core, DeviceMesh and
/// others give it: "tp", "dp", "pp", "cp", "ep", "tp-cp", ..., those of experts as "etp" and "edp";
/// "world" for the default group. Empty when the description does not say.
std::string parallelism_of(std::string_view group_description);

/// The bytes that count for bandwidth: what every rank ends with (all-gather), begins with
/// (reduce-scatter, all-to-all) or both; nothing where elements or type are not known.
std::optional<double> collective_bytes(const run::Collective& collective, CollectiveKind kind);

/// What a rank's link carries for each of these bytes, as nccl-tests counts it for "busbw":
/// 2 (n-1)/n for all-reduce, (n-1)/n for all-gather, reduce-scatter and all-to-all, else 1.
double bus_factor(CollectiveKind kind, int64_t group_size);

}  // namespace ergometer::analysis

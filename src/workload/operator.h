#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "spec/job/job.h"

namespace ergometer::workload {

enum class OperatorKind : uint8_t { kGemm, kGroupedGemm, kAttention, kMemory, kCollective };
/// What part of the step the work belongs to. kBackward is the gradient of inputs (dgrad), kWeight
/// that of weights (wgrad) and everything only it needs: zero-bubble schedules run the two apart.
enum class Pass : uint8_t { kForward, kRecompute, kBackward, kWeight, kOptimizer };
enum class Module : uint8_t {
  kEmbedding,
  kNorm,
  kAttention,
  kMlp,
  kMoe,
  kHead,
  kLoss,
  kPipeline,
  kData,
  kOptimizer,
  kMamba
};
enum class CollectiveKind : uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kSendRecv
};
/// Which ranks take part. All but kPipeline, kEmbedding, kWorld and kStages lie inside one pipeline
/// stage.
enum class GroupKind : uint8_t {
  kTensor,        ///< tp
  kContext,       ///< cp
  kExpert,        ///< ep
  kExpertTensor,  ///< etp
  kData,          ///< dp x cp: replicas of the dense weights
  kExpertData,    ///< replicas of the expert weights; FSDP: those that share one copy
  kShard,         ///< FSDP: the ranks that share one copy (kData unless hybrid)
  kReplica,       ///< hybrid FSDP: one rank of every shard group
  kPipeline,      ///< a neighbouring stage
  kEmbedding,     ///< first and last stage: tied embedding gradients
  kWorld,         ///< every rank of the job: gradient norm
  kStages,        ///< one rank of every stage: a vocabulary divided over the pipeline
};
inline constexpr int kGroupKindCount = 12;
/// cuBLAS operand layouts: forward, dgrad, wgrad.
enum class GemmLayout : uint8_t { kTn, kNn, kNt };

/// One attention core call on one rank.
struct AttentionShape {
  int64_t batch = 0;
  int64_t heads = 0, kv_heads = 0;  ///< on this rank
  int64_t q_length = 0, kv_length = 0;
  int64_t qk_dim = 0, v_dim = 0;
  bool causal = true;
  bool backward = false;
  bool fused = true;        ///< flash attention; else separate score, softmax and value kernels
  int64_t window = 0;       ///< sliding window in tokens; 0: none
  bool sinks = false;       ///< a learned logit a head joins the softmax (GPT-OSS)
  bool masked = false;      ///< reads a mask of all pairs, and skips none
  double cached_bytes = 0;  ///< of an element of keys and values; 0: as the operands
};

/// Tokens of a mixture of experts that travel once to each member that holds any of their experts.
/// Routing is balanced: a token picks `group_choices` of `groups` groups of experts, then
/// `choices / group_choices` experts in each.
struct TokenRouting {
  int64_t experts = 0, choices = 0;  ///< choices 0: not such an exchange
  int64_t groups = 1, group_choices = 1;
};
/// Members that a token's experts lie on, expected, with the experts spread over `members` in
/// order.
double expected_members(const TokenRouting& routing, double members);

/// One piece of work of one rank, with its shapes: what the cost models price and the trace shows.
struct Operator {
  OperatorKind kind = OperatorKind::kMemory;
  Pass pass = Pass::kForward;
  Module module = Module::kNorm;
  bool vision = false;  ///< of the vision tower or its projector: its work goes by tiles
  std::string name;  ///< "qkv", "fc1", "core_attention", "tp_all_gather": short, lower case, stable

  // kGemm: one product [m,k] x [k,n]. kGroupedGemm: `groups` of them, m rows each.
  int64_t m = 0, n = 0, k = 0, groups = 1;
  GemmLayout layout = GemmLayout::kTn;
  spec::Precision precision = spec::Precision::kBf16;  ///< of the operands

  AttentionShape attention;

  double flops = 0;  ///< executed on this rank
  double model_flops =
      0;  ///< of these, the model's own by the job's FLOP convention; 0 for recomputation
  double bytes = 0;  ///< HBM traffic, read and written; of a collective: of copies in it
  /// Of these bytes the share that kernels pass on slower than HBM could: what the SMs issue
  /// binds them.
  double issued_share = 0;
  int kernels = 1;         ///< launches
  bool inner = false;      ///< launched from inside the call of the operator before it
  int expert_casts = 0;    ///< experts' tensors that the host quantizes one by one beside launching
  bool reruns = false;     ///< begins a checkpointed layer's second forward
  bool captured = false;   ///< launched as part of a CUDA graph while other work is not
  double host_wait_s = 0;  ///< host work that the stream waits for, whatever the GPU
  double to_host_bytes = 0, from_host_bytes = 0;  ///< that a rank copies meanwhile, each way

  // kCollective. `comm_bytes` is the whole gathered or reduced buffer (all-gather, reduce-scatter,
  // all-reduce), the bytes one rank holds (all-to-all; with `routing` one copy of its tokens), the
  // bytes one rank sends (send/recv).
  CollectiveKind collective = CollectiveKind::kAllReduce;
  GroupKind group = GroupKind::kTensor;
  double comm_bytes = 0;
  /// Of an all-to-all: bytes that leave the scale-up domain, over those that would if all members
  /// exchanged with all. What does not leave goes inside the domain: a member's bytes are the same.
  double leaving = 1;
  TokenRouting routing;
  /// A collective whose tiles stream into or out of a product's kernel: the two take what that
  /// kernel does, the product as ever and the collective the rest (cost/fused.cpp).
  std::shared_ptr<const struct FusedProduct> fused;
};

/// The product that a collective is fused with: as a kernel of its own, and as it is inside, where
/// what travels does not cross memory in between.
struct FusedProduct {
  Operator apart, inside;
  bool comes_first = false;  ///< it makes what is sent; else it reads what is received
};

}  // namespace ergometer::workload

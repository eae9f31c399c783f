
#include <string>
#include <string_view>

#include "spec/resolve/resolve.h"

namespace ergometer::spec {
namespace {

/// What can be said against fusing products with the collectives of tensor parallelism.
std::string against_fused_tensor(const Job& job) {
  if (job.training.mode == Mode::kDecode)
    return "is not of --mode decode, whose tokens are too few to divide: it reduces them whole";
  if (job.parallelism.tp == 1 || !job.parallelism.sequence_parallel)
    return "needs --tp above 1 and --sequence-parallel: without, no product meets its own gather "
           "or "
           "scatter";
  return job.training.overlap_tp ? "contradicts --tp-comm-overlap, which moves the same transfers"
                                 : "";
}

/// The same with the exchange of tokens between experts.
std::string against_fused_experts(const Job& job) {
  const Training& t = job.training;
  const bool sends =
      t.moe_dispatcher == MoeDispatcher::kAllToAll || t.moe_dispatcher == MoeDispatcher::kDeepEp;
  if (job.model.experts.count == 0 || job.parallelism.ep == 1)
    return "needs a model with experts and --ep above 1";
  if (!sends) return "needs --moe-token-dispatcher-type alltoall, or flex with DeepEP";
  if (t.overlap_expert_parallel) return "contradicts --overlap-moe-expert-parallel-comm";
  if (t.precision == Precision::kFp8 || t.precision == Precision::kNvfp4)
    return "needs 16 bit: with FP8 and FP4 a cast stands between exchange and product";
  if (!t.moe_grouped_gemm) return "needs --moe-grouped-gemm: one product of all experts";
  if (job.parallelism.etp > 1) return "needs --etp 1: a gather stands between exchange and product";
  return t.moe_shared_overlap ? "contradicts --moe-shared-expert-overlap, which needs an exchange "
                                "of its own"
                              : "";
}

/// The same with any of them.
std::string against_fused(const Job& job, std::string_view word) {
  const Training& t = job.training;
  if (t.lora_rank > 0) return "does not know the products of adapters (--lora)";
  if (!t.sequence_lengths.is_even())
    return "is not known of documents of unlike length (--sequence-lengths, --samples)";
  return word == "a2a-gemm" ? against_fused_experts(job) : against_fused_tensor(job);
}

}  // namespace

void check_fuse(SettingReader& read, const Job& job) {
  for (const std::string& word : job.training.fuse)
    if (const std::string against = against_fused(job, word); !against.empty())
      read.refuse("{}: {} {}", read.said("fuse"), word, against);
}

}  // namespace ergometer::spec

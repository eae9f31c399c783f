#include "spec/resolve/check_compression.h"

#include "spec/job/compression.h"

namespace ergometer::spec {
namespace {

std::string against_borders(const Job& job) {
  if (job.training.scatter_gather_p2p)
    return "contradicts --scatter-gather-tensors-in-pipeline, which divides what is sent";
  if (job.model.vision) return "is of models of text alone: borders of a vision tower are unlike";
  return job.training.sequence_lengths.is_even()
             ? ""
             : "needs sequences of one length: what stages send is unlike otherwise";
}

std::string against_gradients(const Job& job) {
  if (!job.trains()) return "needs training: nothing else has gradients";
  return job.parallelism.fsdp || job.parallelism.shards_gradients()
             ? "needs --zero 0 or 1, where gradients are reduced whole once a step"
             : "";
}

}  // namespace

void check_compression(SettingReader& read, const Job& job) {
  const auto refuse = [&](const char* name, const std::string& why) {
    if (!why.empty()) read.refuse("{} {}", read.said(name), why);
  };
  if (!activation_compression(job).none()) refuse("compress_activations", against_borders(job));
  if (!gradient_compression(job).none()) refuse("compress_gradients", against_gradients(job));
}

}  // namespace ergometer::spec

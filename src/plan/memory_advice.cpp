#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/collection.h"
#include "plan/memory.h"
#include "plan/memory_parts.h"

namespace ergometer::plan {
namespace {

struct Part {
  const char* name;
  double bytes;
};

Part largest_part(const StageMemory& stage) {
  const Part parts[] = {{"activations", stage.activations},
                        {"optimizer states", stage.optimizer},
                        {"weights", stage.weights},
                        {"gradients", stage.gradients},
                        {"buffers", stage.other}};
  return *std::max_element(std::begin(parts), std::end(parts),
                           [](const Part& a, const Part& b) { return a.bytes < b.bytes; });
}

/// A step of tensor parallelism takes two replicas for one, or two more GPUs; heads must divide,
/// and the group should stay inside the node's fast links.
bool can_double_tp(const spec::Job& job) {
  const int64_t tp = 2 * job.parallelism.tp;
  if (const auto& vision = job.model.vision;
      vision && (vision->tower.heads % tp != 0 || vision->tower.ffn % tp != 0))
    return false;
  return tp <= std::max<int64_t>(job.cluster.node.gpus, job.cluster.domain_gpus) &&
         job.model.heads % tp == 0 && job.model.ffn % tp == 0 &&
         tp * job.parallelism.cp * job.parallelism.pp <= job.gpus;
}

bool can_double_pp(const spec::Job& job) {
  const spec::Parallelism& p = job.parallelism;
  // A vision tower's layers are divided by their work, whatever their number.
  if (job.model.vision != nullptr) return p.tp * p.cp * 2 * p.pp <= job.gpus;
  return p.stage_layers.empty() && job.model.pipeline_layers() % (2 * p.pp * p.vpp) == 0 &&
         p.tp * p.cp * 2 * p.pp <= job.gpus;
}

bool can_double_ep(const spec::Job& job) {
  const spec::Parallelism& p = job.parallelism;
  const int64_t etp = p.etp > 0 ? p.etp : p.tp;
  return job.model.experts.count > 0 && job.model.experts.count % (2 * p.ep) == 0 &&
         job.stage_ranks() % (2 * p.ep * etp) == 0;
}

void suggest_for_states(const spec::Job& job, std::vector<std::string>& tries) {
  const spec::Parallelism& p = job.parallelism;
  const bool replicated = p.dp * p.cp > 1;
  if (job.trains() && replicated && p.zero_stage == 0 && !p.fsdp) tries.push_back("--zero 1");
  if (can_double_ep(job)) tries.push_back(fmt::format("--ep {}", 2 * p.ep));
  if (can_double_tp(job)) tries.push_back(fmt::format("--tp {}", 2 * p.tp));
  if (can_double_pp(job)) tries.push_back(fmt::format("--pp {}", 2 * p.pp));
  if (job.trains() && replicated && p.pp == 1 && !p.fsdp && p.zero_stage >= 1 && p.zero_stage < 3)
    tries.push_back("--fsdp");
}

void suggest_for_activations(const spec::Job& job, std::vector<std::string>& tries) {
  const spec::Parallelism& p = job.parallelism;
  const spec::Training& training = job.training;
  const bool partial = training.recompute == spec::Recompute::kFull &&
                       training.recompute_method == spec::RecomputeMethod::kBlock &&
                       training.recompute_layers > 0;
  if (job.trains() && training.recompute != spec::Recompute::kFull)
    tries.push_back("--recompute full");
  const std::vector<int64_t> layers = layers_per_chunk(job);
  const int64_t most = *std::ranges::max_element(layers);
  if (job.trains() && partial && training.recompute_layers < most)
    tries.push_back(fmt::format("--recompute-num-layers {}", most));
  if (training.micro_batch > 1)
    tries.push_back(fmt::format("--micro-batch-size {}", training.micro_batch / 2));
  if (p.tp > 1 && !p.sequence_parallel && job.trains()) tries.push_back("--sequence-parallel");
  if (job.trains() && training.attention == spec::AttentionBackend::kUnfused)
    tries.push_back("fused attention");
  if (can_double_tp(job)) tries.push_back(fmt::format("--tp {}", 2 * p.tp));
  if (job.trains() && job.model.vision == nullptr && training.seq_length % (4 * p.cp) == 0 &&
      p.tp * 2 * p.cp * p.pp <= job.gpus)
    tries.push_back(fmt::format("--cp {}", 2 * p.cp));
}

std::string join(const std::vector<std::string>& tries) {
  std::string text;
  for (size_t i = 0; i < tries.size(); ++i) {
    if (i > 0) text += i + 1 == tries.size() ? " or " : ", ";
    text += tries[i];
  }
  return text;
}

}  // namespace

std::string memory_advice(const spec::Job& job, const MemoryReport& report) {
  if (report.fits) return {};
  const StageMemory& worst = report.worst();
  const Part largest = largest_part(worst);
  const double states = worst.weights + worst.gradients + worst.optimizer;
  std::vector<std::string> tries;
  // When the states alone are too large, nothing that shrinks activations helps.
  const bool states_fit = states < report.capacity;
  if (states_fit && worst.activations + worst.other > report.capacity - states)
    suggest_for_activations(job, tries);
  if (!states_fit || largest.bytes != worst.activations) suggest_for_states(job, tries);
  std::vector<std::string> distinct;
  for (const std::string& one : tries)
    if (!base::contains(distinct, one)) distinct.push_back(one);
  constexpr size_t kMost = 4;
  if (distinct.size() > kMost) distinct.resize(kMost);
  if (distinct.empty()) distinct.push_back("more GPUs");
  const std::string holes =
      worst.total() > report.capacity
          ? ""
          : fmt::format(" and {:.1f} that the allocator keeps", worst.reserved / kGib);
  return fmt::format(
      "does not fit: needs {:.1f}{} of {:.1f} GiB on stage {}{}; the largest part is {} ({:.1f} "
      "GiB); try {}",
      worst.total() / kGib, holes, report.capacity / kGib, worst.stage,
      worst.gpu.empty() ? "" : fmt::format(" ({})", worst.gpu), largest.name, largest.bytes / kGib,
      join(distinct));
}

}  // namespace ergometer::plan

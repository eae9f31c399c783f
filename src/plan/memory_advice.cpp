#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "base/collection.h"
#include "base/text.h"
#include "plan/data_parallel.h"
#include "plan/memory.h"
#include "spec/settings/setting_names.h"
#include "spec/settings/settings.h"
#include "workload/workload.h"

namespace ergometer::plan {
namespace {

struct Part {
  const char* name;
  double bytes;
};

Part largest_part(const spec::Job& job, const StageMemory& stage) {
  const Part parts[] = {{"activations", stage.activations},
                        {"optimizer states", stage.optimizer},
                        {"weights", stage.weights},
                        {"gradients", stage.gradients},
                        {job.trains() ? "buffers" : "key-value cache and buffers", stage.other}};
  return *std::max_element(std::begin(parts), std::end(parts),
                           [](const Part& a, const Part& b) { return a.bytes < b.bytes; });
}

/// A change that needs less memory: what a user types, and the job with it.
struct Try {
  std::string words;
  spec::Job job;
};

bool divides_layers(const spec::Job& job) {
  const std::vector<int64_t> layers = layers_per_chunk(job);
  return std::ranges::all_of(layers, [](int64_t count) { return count > 0; }) &&
         std::accumulate(layers.begin(), layers.end(), int64_t{0}) == job.model.pipeline_layers();
}

/// Whether frameworks' recipes settle into how many parts an expert's matrices are cut, by layouts
/// that the advice changes.
bool settles_expert_tensor(const spec::Job& job) {
  if (job.model.experts.count == 0) return false;
  const auto origin = job.origins.find(std::string(spec::kEtp));
  return origin == job.origins.end() || origin->second.text.starts_with("default") ||
         origin->second.text.starts_with("recipe ");
}

/// "--etp 2": what else is typed so that experts are divided as in the job that was tried.
std::string expert_tensor_words(const spec::Job& before, const spec::Job& after) {
  const spec::Parallelism &b = before.parallelism, &a = after.parallelism;
  const bool moves = (a.tp != b.tp || a.ep != b.ep) && settles_expert_tensor(after);
  return moves ? fmt::format("--etp {}", a.etp) : "";
}

MemoryReport memory_of(const spec::Job& job) {
  const workload::Workload workload = workload::lower(job);
  return memory(job, workload, divide(job, workload));
}

class Tries {
 public:
  explicit Tries(const spec::Job& job) : job_(job) {}

  /// The job with what `change` does to it, where that is a job that runs.
  template <class Change>
  void add(std::string words, const Change& change) {
    for (const Try& one : all_)
      if (one.words == words) return;
    Try one{std::move(words), job_};
    change(one.job);
    one.job.settle_backward();
    spec::Parallelism& p = one.job.parallelism;
    const int64_t divided = p.tp * p.cp * p.pp;
    if (job_.gpus % divided != 0) return;
    p.dp = job_.gpus / divided;
    if (spec::check_job({}, one.job) && divides_layers(one.job)) all_.push_back(std::move(one));
  }
  const std::vector<Try>& all() const { return all_; }

 private:
  const spec::Job& job_;
  std::vector<Try> all_;
};

/// A step of tensor parallelism takes two replicas for one; the group should stay inside the node's
/// fast links.
void try_more_tp(const spec::Job& job, Tries& tries) {
  const int64_t tp = 2 * job.parallelism.tp;
  if (tp > std::max<int64_t>(job.cluster.node.gpus, job.cluster.domain_gpus)) return;
  tries.add(fmt::format("--tp {}", tp), [&](spec::Job& changed) {
    changed.parallelism.tp = tp;
    if (settles_expert_tensor(job) && job.parallelism.etp == job.parallelism.tp)
      changed.parallelism.etp = tp;
    // Sequence parallelism goes with tensor parallelism where nobody says otherwise.
    if (tp == 2 && job.trains()) changed.parallelism.sequence_parallel = true;
  });
}

void try_more_pp(const spec::Job& job, Tries& tries) {
  // Layers that someone counted out to the stages are not divided anew.
  if (job.parallelism.stage_layers.empty())
    tries.add(fmt::format("--pp {}", 2 * job.parallelism.pp),
              [](spec::Job& changed) { changed.parallelism.pp *= 2; });
}

void try_more_ep(const spec::Job& job, Tries& tries) {
  const spec::Parallelism& p = job.parallelism;
  const int64_t etp = p.etp > 0 ? p.etp : p.tp;
  if (job.model.experts.count > 0 && job.placed_experts() % (2 * p.ep) == 0 &&
      job.stage_ranks() % (2 * p.ep * etp) == 0)
    tries.add(fmt::format("--ep {}", 2 * p.ep),
              [](spec::Job& changed) { changed.parallelism.ep *= 2; });
}

void try_for_states(const spec::Job& job, Tries& tries) {
  const spec::Parallelism& p = job.parallelism;
  const bool replicated = p.dp * p.cp > 1;
  if (job.trains() && replicated && p.zero_stage == 0 && !p.fsdp)
    tries.add("--zero 1", [](spec::Job& changed) { changed.parallelism.zero_stage = 1; });
  // Megatron-LM keeps no weights in 4 bits.
  const bool may_quantize = job.training.lora_rank > 0 && !job.recipe.name.starts_with("megatron");
  if (may_quantize && job.training.quantize == spec::FrozenWeights::k16Bit)
    tries.add("--quantize nf4",
              [](spec::Job& changed) { changed.training.quantize = spec::FrozenWeights::kNf4; });
  try_more_ep(job, tries);
  try_more_tp(job, tries);
  try_more_pp(job, tries);
  if (adds_whole_gradients(job))
    tries.add("--reduce-every-micro-batch",
              [](spec::Job& changed) { changed.training.reduce_every_micro_batch = true; });
  if (job.trains() && replicated && p.pp == 1 && !p.fsdp && p.zero_stage < 3) {
    // Recipes of PyTorch's FSDP may add up whole gradients, where this one does not.
    const bool says_when =
        job.training.framework == spec::Framework::kTorchFsdp && job.micro_batches() > 1;
    tries.add(says_when ? "--fsdp --reduce-every-micro-batch" : "--fsdp", [](spec::Job& changed) {
      changed.parallelism.fsdp = true;
      changed.parallelism.zero_stage = 3;
    });
  }
}

void try_recomputation(const spec::Job& job, Tries& tries) {
  const spec::Training& training = job.training;
  if (training.recompute != spec::Recompute::kFull)
    tries.add("--recompute full", [](spec::Job& changed) {
      changed.training.recompute = spec::Recompute::kFull;
      changed.training.recompute_layers = 0;
    });
  const std::vector<int64_t> layers = layers_per_chunk(job);
  const int64_t most = *std::ranges::max_element(layers);
  const bool partial = training.recompute == spec::Recompute::kFull &&
                       training.recompute_method == spec::RecomputeMethod::kBlock &&
                       training.recompute_layers > 0;
  if (partial && training.recompute_layers < most)
    tries.add(fmt::format("--recompute-num-layers {}", most),
              [&](spec::Job& changed) { changed.training.recompute_layers = most; });
}

/// Half of the sequences that are served at once, again and again until their cache fits.
void try_fewer_sequences(const spec::Job& job, Tries& tries) {
  const int64_t replicas = job.parallelism.dp;
  spec::Job fewer = job;
  spec::Training& training = fewer.training;
  while (training.global_batch > replicas) {
    training.global_batch = training.global_batch / replicas / 2 * replicas;
    training.micro_batch = std::gcd(training.micro_batch, training.global_batch / replicas);
    if (memory_of(fewer).fits) break;
  }
  if (training.global_batch == job.training.global_batch) return;
  tries.add(fmt::format("--global-batch-size {} --micro-batch-size {}", training.global_batch,
                        training.micro_batch),
            [&](spec::Job& changed) { changed.training = training; });
}

void try_for_activations(const spec::Job& job, Tries& tries) {
  const spec::Parallelism& p = job.parallelism;
  const spec::Training& training = job.training;
  if (job.trains())
    try_recomputation(job, tries);
  else
    try_fewer_sequences(job, tries);
  if (training.micro_batch > 1)
    tries.add(fmt::format("--micro-batch-size {}", training.micro_batch / 2),
              [](spec::Job& changed) { changed.training.micro_batch /= 2; });
  if (p.tp > 1 && !p.sequence_parallel && job.trains())
    tries.add("--sequence-parallel",
              [](spec::Job& changed) { changed.parallelism.sequence_parallel = true; });
  if (job.trains() && training.attention == spec::AttentionBackend::kUnfused)
    tries.add("fused attention", [](spec::Job& changed) {
      changed.training.attention = spec::AttentionBackend::kFused;
    });
  try_more_tp(job, tries);
  if (job.trains() && job.model.vision == nullptr && training.seq_length % (4 * p.cp) == 0)
    tries.add(fmt::format("--cp {}", 2 * p.cp),
              [](spec::Job& changed) { changed.parallelism.cp *= 2; });
}

/// When the states alone are too large, nothing that shrinks activations helps.
std::vector<Try> tries_for(const spec::Job& job, const MemoryReport& report) {
  const StageMemory& worst = report.worst();
  Tries tries(job);
  if (worst.weights + worst.gradients + worst.optimizer < report.capacity)
    try_for_activations(job, tries);
  try_for_states(job, tries);
  return tries.all();
}

double filled(const MemoryReport& report) { return report.worst().needed() / report.capacity; }

/// What one change after the other comes to.
struct Tried {
  std::vector<std::string> enough;  ///< those that make it fit alone
  const Try* nearest = nullptr;     ///< that leaves the GPU least filled; null: none empties it
  MemoryReport then;                ///< with that one
};

Tried tried(const spec::Job& job, const std::vector<Try>& tries, const MemoryReport& before) {
  constexpr size_t kMost = 4;
  Tried result;
  result.then = before;
  for (const Try& one : tries) {
    if (result.enough.size() == kMost) break;
    MemoryReport report = memory_of(one.job);
    if (report.fits) {
      const std::string besides = expert_tensor_words(job, one.job);
      result.enough.push_back(one.words + (besides.empty() ? "" : " " + besides));
    }
    if (filled(report) >= filled(result.then)) continue;
    result.nearest = &one;
    result.then = std::move(report);
  }
  return result;
}

/// "try --tp 2 or --pp 4": of the changes those that make it fit alone. Where none does, the one
/// that comes nearest and further ones on top of it, which are needed together.
std::string what_to_try(const spec::Job& job, const MemoryReport& report) {
  constexpr size_t kMost = 4;
  std::vector<Try> tries = tries_for(job, report);
  Tried last = tried(job, tries, report);
  if (!last.enough.empty()) return "try " + base::listed(last.enough, "or");
  std::vector<std::string> together;
  for (size_t round = 0; last.nearest != nullptr && round < kMost; ++round) {
    const std::string& words = last.nearest->words;
    // More of an option takes the place of less of it.
    std::erase_if(together, [&](const std::string& earlier) {
      return words.find(earlier.substr(0, earlier.find(' '))) != words.npos;
    });
    together.push_back(words);
    if (last.then.fits) {
      const std::string besides = expert_tensor_words(job, last.nearest->job);
      if (!besides.empty()) together.push_back(besides);
      // One option, further along than the first try of it.
      if (together.size() == 1) return "try " + together.front();
      return "no single change is enough; take all of these together: " + base::listed(together);
    }
    const spec::Job next = last.nearest->job;
    tries = tries_for(next, last.then);
    last = tried(next, tries, MemoryReport(last.then));
  }
  if (together.empty()) return "try more GPUs to divide it over";
  return fmt::format("{} {} {:.1f} GiB; it takes more GPUs to divide it over",
                     base::listed(together),
                     together.size() == 1 ? "still needs" : "together still need",
                     last.then.worst().needed() / kGib);
}

}  // namespace

std::string memory_advice(const spec::Job& job, const MemoryReport& report) {
  if (report.fits) return {};
  const StageMemory& worst = report.worst();
  const Part largest = largest_part(job, worst);
  const std::string holes =
      worst.total() > report.capacity
          ? ""
          : fmt::format(" and {:.1f} that the allocator keeps", worst.reserved / kGib);
  return fmt::format(
      "does not fit: needs {:.1f}{} of {:.1f} GiB on stage {}{}; the largest part is {} ({:.1f} "
      "GiB); {}",
      worst.total() / kGib, holes, report.capacity / kGib, worst.stage,
      worst.gpu.empty() ? "" : fmt::format(" ({})", worst.gpu), largest.name, largest.bytes / kGib,
      what_to_try(job, report));
}

}  // namespace ergometer::plan

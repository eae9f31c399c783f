#include "optimize/layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/collection.h"
#include "plan/memory.h"
#include "plan/stages.h"
#include "workload/workload.h"

namespace ergometer::optimize {
namespace {

/// Stages looked at on either side of a move, and moves tried in a round.
constexpr size_t kDonors = 2, kReceivers = 3;

spec::Job with_layers(spec::Job job, std::vector<int64_t> layers) {
  job.parallelism.stage_layers = std::move(layers);
  job.parallelism.first_stage_layers = job.parallelism.last_stage_layers = 0;
  job.parallelism.embedding_counts_as_layer = job.parallelism.loss_counts_as_layer = false;
  return job;
}

std::string name_of(const std::vector<int64_t>& layers) {
  return fmt::format("layers {}", fmt::join(layers, ","));
}

/// Memory of every stage, bytes; `capacity`: of one GPU.
std::vector<double> stage_bytes(const spec::Job& job, double& capacity) {
  const workload::Workload workload = workload::lower(job);
  const plan::MemoryReport report = plan::memory(job, workload, plan::divide(job, workload));
  capacity = report.capacity;
  return base::mapped(report.stages, [&](const plan::StageMemory& stage) { return stage.total(); });
}

/// Layers recomputed of every part of the model when stage s recomputes up to `of_stage[s]` of
/// each.
spec::Job with_recomputation(spec::Job job, const std::vector<int64_t>& of_stage) {
  spec::Training& t = job.training;
  t.recompute_layers = 0;
  t.recompute_stage_layers.clear();
  t.recompute_method = spec::RecomputeMethod::kUniform;
  const int64_t most = *std::ranges::max_element(of_stage);
  if (most == 0) {
    t.recompute = spec::Recompute::kNone;
    job.settle_backward();
    return job;
  }
  t.recompute_method = spec::RecomputeMethod::kBlock;
  if (std::ranges::all_of(of_stage, [&](int64_t n) { return n == most; }))
    t.recompute_layers = most;
  else
    for (int64_t chunk = 0; chunk < job.parallelism.vpp; ++chunk)
      t.recompute_stage_layers.insert(t.recompute_stage_layers.end(), of_stage.begin(),
                                      of_stage.end());
  return job;
}

/// The fewest layers of a chunk that each stage has to recompute; empty: not even all suffice.
std::vector<int64_t> fewest_recomputed(const spec::Job& job) {
  const std::vector<int64_t> layers = plan::layers_per_chunk(job);
  const int64_t most = *std::ranges::max_element(layers);
  std::vector<int64_t> fewest(static_cast<size_t>(job.parallelism.pp), -1);
  for (int64_t n = 0; n <= most; ++n) {
    double capacity = 0;
    const std::vector<double> bytes =
        stage_bytes(with_recomputation(job, std::vector<int64_t>(fewest.size(), n)), capacity);
    for (size_t stage = 0; stage < fewest.size(); ++stage)
      if (fewest[stage] < 0 && bytes[stage] <= (1 - kMemoryMargin) * capacity) fewest[stage] = n;
    if (std::ranges::none_of(fewest, [](int64_t s) { return s < 0; })) return fewest;
  }
  return {};
}

/// Moves one layer within the chunks of two stages: from the donor's largest to the receiver's
/// smallest.
std::optional<std::vector<int64_t>> moved(std::vector<int64_t> layers,
                                          const spec::Parallelism& parallel, size_t donor,
                                          size_t receiver) {
  size_t from = donor, to = receiver;
  for (size_t i = 0; i < layers.size(); ++i) {
    const auto stage = static_cast<size_t>(parallel.stage_of(static_cast<int64_t>(i)));
    if (stage == donor && layers[i] >= layers[from]) from = i;
    if (stage == receiver && layers[i] < layers[to]) to = i;
  }
  if (layers[from] <= 1) return std::nullopt;
  --layers[from];
  ++layers[to];
  return layers;
}

/// Every other stage one more layer than an equal split, the others one less.
std::vector<std::vector<int64_t>> known_splits(const spec::Job& job) {
  const auto chunks = static_cast<size_t>(job.parallelism.pp * job.parallelism.vpp);
  const int64_t layers = job.model.pipeline_layers();
  std::vector<std::vector<int64_t>> splits;
  if (layers % static_cast<int64_t>(chunks) != 0) return splits;
  const int64_t even = layers / static_cast<int64_t>(chunks);
  splits.emplace_back(chunks, even);
  if (even < 2 || job.parallelism.pp % 2 != 0) return splits;
  for (const int64_t first : {+1, -1}) {
    std::vector<int64_t>& split = splits.emplace_back();
    for (size_t i = 0; i < chunks; ++i) split.push_back(even + (i % 2 == 0 ? first : -first));
  }
  return splits;
}

/// Where a job recomputes by stage, its numbers have to follow its layers.
std::optional<spec::Job> refitted(spec::Job job) {
  if (job.training.recompute_stage_layers.empty()) return job;
  const std::vector<int64_t> fewest = fewest_recomputed(job);
  if (fewest.empty()) return std::nullopt;
  return with_recomputation(std::move(job), fewest);
}

void add_split(const spec::Job& job, std::vector<int64_t> layers, bool known,
               std::vector<Candidate>& out) {
  if (layers == plan::layers_per_chunk(job)) return;
  const std::string name = name_of(layers);
  if (std::ranges::any_of(out, [&](const Candidate& c) { return c.name == name; })) return;
  if (auto fitted = refitted(with_layers(job, std::move(layers))))
    out.push_back({name, *std::move(fitted), known});
}

}  // namespace

std::string layers_name(const spec::Job& job) { return name_of(plan::layers_per_chunk(job)); }

std::vector<Candidate> propose_layers(const Played& played, bool first) {
  const spec::Job& job = played.candidate.job;
  const auto stages = static_cast<size_t>(job.parallelism.pp);
  std::vector<Candidate> candidates;
  if (stages < 2) return candidates;
  if (first)
    for (std::vector<int64_t>& split : known_splits(job))
      add_split(job, std::move(split), true, candidates);
  const std::vector<double> work = stage_work_s(mean_ranks(played.outcomes), job.parallelism.pp);
  std::vector<size_t> order(stages);
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return work[a] > work[b]; });
  const std::vector<int64_t> layers = plan::layers_per_chunk(job);
  for (size_t donor = 0; donor < std::min(kDonors, stages - 1); ++donor)
    for (size_t receiver = 0; receiver < std::min(kReceivers, stages - 1); ++receiver) {
      const size_t from = order[donor], to = order[stages - 1 - receiver];
      if (work[from] <= work[to]) continue;
      if (auto split = moved(layers, job.parallelism, from, to))
        add_split(job, *std::move(split), false, candidates);
    }
  return candidates;
}

std::vector<Candidate> propose_recomputation(const spec::Job& job) {
  std::vector<Candidate> candidates;
  const bool trains =
      job.training.mode == spec::Mode::kPretrain || job.training.mode == spec::Mode::kLora;
  if (!trains || job.training.recompute != spec::Recompute::kFull) return candidates;
  const std::vector<int64_t> fewest = fewest_recomputed(job);
  if (fewest.empty()) return candidates;
  const int64_t most = *std::ranges::max_element(fewest);
  const auto add = [&](std::string name, const std::vector<int64_t>& of_stage) {
    candidates.push_back({std::move(name), with_recomputation(job, of_stage)});
  };
  add(most == 0 ? std::string("no recomputation")
                : fmt::format("recompute {} layers a chunk", most),
      std::vector<int64_t>(fewest.size(), most));
  if (std::ranges::any_of(fewest, [&](int64_t n) { return n != most; }))
    add(fmt::format("recompute by stage {}", fmt::join(fewest, ",")), fewest);
  return candidates;
}

}  // namespace ergometer::optimize

#include "engine/outcome/summary.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/text.h"
#include "engine/outcome/memory_fit.h"
#include "spec/job/matrix_peak.h"
#include "spec/job/node_groups.h"
#include "workload/flops.h"
#include "workload/sequence_loads.h"

namespace ergometer::engine {
namespace {

using Parts = std::array<double, kPartCount>;

run::Breakdown breakdown(const Parts& parts_s) {
  const auto at = [&](Part part) { return parts_s[static_cast<size_t>(part)]; };
  return {.compute = at(Part::kCompute),
          .exposed_all_reduce = at(Part::kAllReduce),
          .exposed_all_gather = at(Part::kAllGather),
          .exposed_reduce_scatter = at(Part::kReduceScatter),
          .exposed_all_to_all = at(Part::kAllToAll),
          .exposed_send_recv = at(Part::kSendRecv),
          .optimizer = at(Part::kOptimizer),
          .idle = at(Part::kIdle)};
}

Parts mean_parts(const Timeline& timeline) {
  Parts mean{};
  for (const RankTimes& rank : timeline.ranks)
    for (size_t part = 0; part < kPartCount; ++part) mean[part] += rank.parts_s[part];
  for (double& part : mean) part /= static_cast<double>(timeline.ranks.size());
  return mean;
}

/// Idle time that is not the host's fault: waiting for other stages, and the end of the step.
double bubble_fraction(const spec::Job& job, const Timeline& timeline, double idle_s) {
  if (job.parallelism.pp == 1 || timeline.step_s <= 0) return 0;
  const double host_s =
      std::accumulate(timeline.host_gaps_s.begin(), timeline.host_gaps_s.end(), 0.0) /
      static_cast<double>(timeline.host_gaps_s.size());
  return std::max(0.0, idle_s - host_s) / timeline.step_s;
}

/// Dense FLOP/s of one GPU in the job's precision.
double peak_of(const spec::Job& job, const spec::Gpu& gpu) {
  return gpu.parameters.value_or(spec::matrix_peak(gpu, job.training, job.training.precision),
                                 gpu.peak_bf16_flops_per_s);
}

}  // namespace

double tokens_per_step(const spec::Job& job) {
  if (!job.training.sequence_lengths.is_even()) return workload::mean_step_totals(job).real_tokens;
  const auto sequences = static_cast<double>(job.training.global_batch);
  if (job.training.mode == spec::Mode::kDecode) return sequences;
  return sequences * static_cast<double>(job.training.seq_length);
}

double peak_flops_per_s(const spec::Job& job) {
  if (!spec::is_mixed(job.cluster)) return peak_of(job, job.cluster.node.gpu);
  double sum = 0;
  for (int64_t rank = 0; rank < job.gpus; ++rank)
    sum += peak_of(job, spec::node_of_group(job.cluster, spec::group_of_rank(job, rank)).gpu);
  return sum / static_cast<double>(job.gpus);
}

run::Performance performance(const spec::Job& job, const Timeline& timeline) {
  run::Performance result;
  const double step_s = timeline.step_s;
  const auto gpus = static_cast<double>(job.gpus);
  result.step_time_s = step_s;
  result.breakdown_s = breakdown(mean_parts(timeline));
  if (step_s <= 0) return result;
  result.tokens_per_s = tokens_per_step(job) / step_s;
  result.tokens_per_s_per_gpu = result.tokens_per_s / gpus;
  const double model = workload::model_flops_per_step(job).value() / step_s / gpus;
  const double hardware = workload::hardware_flops_per_step(job).value() / step_s / gpus;
  constexpr double kTera = 1e12;
  result.model_tflops_per_gpu = model / kTera;
  result.hardware_tflops_per_gpu = hardware / kTera;
  const double peak = peak_flops_per_s(job);
  result.mfu = peak > 0 ? model / peak : 0;
  result.hfu = peak > 0 ? hardware / peak : 0;
  result.pipeline_bubble_fraction = bubble_fraction(job, timeline, result.breakdown_s.idle);
  return result;
}

run::Memory memory_summary(const spec::Job& job, const plan::MemoryReport& report) {
  run::Memory memory;
  const plan::StageMemory& worst = report.worst();
  memory.fits = report.fits;
  memory.peak_bytes = worst.total();
  memory.reserved_bytes = worst.reserved;
  memory.capacity_bytes = report.capacity;
  memory.weights_bytes = worst.weights;
  memory.gradients_bytes = worst.gradients;
  memory.optimizer_bytes = worst.optimizer;
  memory.activations_bytes = worst.activations;
  memory.other_bytes = worst.other;
  memory.worst_stage = report.worst_stage;
  memory.advice = plan::memory_advice(job, report);
  for (const plan::StageMemory& stage : report.stages) {
    run::StageMemory& row = memory.stages.emplace_back();
    row.stage = stage.stage;
    row.weights_bytes = stage.weights;
    row.gradients_bytes = stage.gradients;
    row.optimizer_bytes = stage.optimizer;
    row.activations_bytes = stage.activations;
    row.other_bytes = stage.other;
    for (const auto& [name, bytes] : stage.parts)
      row.parts.push_back({.name = name, .bytes = bytes});
  }
  memory.fit_probability = memory_fit(job, memory).probability;
  return memory;
}

std::vector<run::GpuKind> gpu_kinds(const spec::Job& job, const Timeline& timeline) {
  std::vector<run::GpuKind> kinds;
  if (!spec::is_mixed(job.cluster)) return kinds;
  std::vector<std::vector<int64_t>> ranks(spec::group_count(job.cluster)), stages(ranks.size());
  std::vector<Parts> parts_s(ranks.size());
  for (int64_t rank = 0; rank < job.gpus; ++rank) {
    const size_t group = spec::group_of_rank(job, rank);
    ranks[group].push_back(rank);
    const int64_t stage = rank / job.stage_ranks();
    if (stages[group].empty() || stages[group].back() != stage) stages[group].push_back(stage);
    for (size_t part = 0; part < kPartCount; ++part)
      parts_s[group][part] += timeline.ranks[static_cast<size_t>(rank)].parts_s[part];
  }
  for (size_t group = 0; group < ranks.size(); ++group) {
    if (ranks[group].empty()) continue;
    for (double& part_s : parts_s[group]) part_s /= static_cast<double>(ranks[group].size());
    const run::Breakdown mean = breakdown(parts_s[group]);
    const spec::Node& node = spec::node_of_group(job.cluster, group);
    kinds.push_back({.gpu = node.gpu.name,
                     .node = node.name,
                     .gpus = std::ssize(ranks[group]),
                     .ranks = base::ranges_text(ranks[group], ", "),
                     .stages = base::ranges_text(stages[group], ", "),
                     .compute_s = mean.compute + mean.optimizer,
                     .communication_s = mean.exposed_all_reduce + mean.exposed_all_gather +
                                        mean.exposed_reduce_scatter + mean.exposed_all_to_all +
                                        mean.exposed_send_recv,
                     .idle_s = mean.idle});
  }
  return kinds;
}

std::vector<run::Rank> rank_table(const spec::Job& job, const Timeline& timeline,
                                  std::vector<run::Rank> powered) {
  std::vector<run::Rank> table = std::move(powered);
  table.resize(timeline.ranks.size());
  for (size_t i = 0; i < table.size(); ++i) {
    const auto rank = static_cast<int64_t>(i);
    table[i].rank = rank;
    table[i].node = job.parallelism.gpu_of(rank) / job.cluster.node.gpus;
    table[i].slot = job.parallelism.gpu_of(rank) % job.cluster.node.gpus;
    table[i].stage = rank / job.stage_ranks();
    table[i].end_s = timeline.ranks[i].end_s;
    table[i].breakdown_s = breakdown(timeline.ranks[i].parts_s);
  }
  return table;
}

}  // namespace ergometer::engine

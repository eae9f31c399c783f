#include "search/unlike/stage_layers.h"

#include <algorithm>
#include <limits>

#include "cost/cost.h"
#include "plan/memory.h"
#include "plan/plan.h"
#include "workload/workload.h"

namespace ergometer::search {
namespace {

double seconds_of(const workload::Block& block, bool recomputed,
                  const std::vector<cost::Price>& prices) {
  double seconds = 0;
  const auto add = [&](const std::vector<workload::Item>& items) {
    for (const workload::Item& item : items)
      if (item.op >= 0) seconds += prices[static_cast<size_t>(item.op)].seconds();
  };
  add(block.forward);
  add(block.backward);
  if (recomputed) add(block.recompute);
  return seconds;
}

/// A job of the same ranks whose layers are divided somehow: what its operators cost depends on the
/// kinds of GPU alone.
Result<std::vector<StageTime>> stage_times(const spec::Job& job) {
  const workload::Workload workload = workload::lower(job);
  const plan::Plan plan = plan::make_plan(job, workload, 1);
  ERGOMETER_ASSIGN(const std::vector<cost::CostModel> models, cost::models_of_groups(job));
  const cost::CostTable costs = cost::price_plan(models, plan, job);
  std::vector<StageTime> times;
  for (size_t stage = 0; stage < plan.stages.size(); ++stage) {
    StageTime& time = times.emplace_back();
    const plan::Chunk& chunk = plan.stages[stage].chunks.front();
    double layers = 0;
    for (size_t i = 0; i < chunk.blocks.size(); ++i) {
      const workload::Block& block = workload.blocks[static_cast<size_t>(chunk.blocks[i])];
      const double seconds =
          seconds_of(block, plan::is_recomputed(chunk, workload, i), costs.prices[stage]);
      (chunk.layers[i] < 0 ? time.ends_s : time.layer_s) += seconds;
      layers += chunk.layers[i] < 0 ? 0 : 1;
    }
    if (layers > 0) time.layer_s /= layers;
  }
  return times;
}

spec::Job with_stage_layers(spec::Job job, const std::vector<int64_t>& layers) {
  spec::Parallelism& p = job.parallelism;
  p.stage_layers = layers;
  p.first_stage_layers = p.last_stage_layers = 0;
  p.embedding_counts_as_layer = p.loss_counts_as_layer = false;
  return job;
}

}  // namespace

std::vector<int64_t> divide_layers(int64_t layers, std::span<const StageTime> times,
                                   std::span<const int64_t> most) {
  if (layers < std::ssize(times) || std::ranges::any_of(most, [](int64_t m) { return m < 1; }))
    return {};
  std::vector<int64_t> division(times.size(), 1);
  // Layer by layer to the stage that it leaves shortest: no other division has a shorter longest
  // stage.
  for (int64_t given = std::ssize(division); given < layers; ++given) {
    size_t best = division.size();
    double shortest = std::numeric_limits<double>::infinity();
    for (size_t stage = 0; stage < division.size(); ++stage) {
      const double after =
          times[stage].ends_s + static_cast<double>(division[stage] + 1) * times[stage].layer_s;
      if (division[stage] >= most[stage] || after >= shortest) continue;
      best = stage;
      shortest = after;
    }
    if (best == division.size()) return {};
    ++division[best];
  }
  return division;
}

Result<std::vector<int64_t>> layers_by_speed_and_memory(const spec::Job& job) {
  const int64_t layers = job.model.pipeline_layers();
  ERGOMETER_ASSIGN(const std::vector<StageTime> times, stage_times(job));
  std::vector<int64_t> most(times.size(), layers);
  for (;;) {
    std::vector<int64_t> division = divide_layers(layers, times, most);
    if (division.empty()) return division;
    const spec::Job divided = with_stage_layers(job, division);
    const workload::Workload workload = workload::lower(divided);
    const plan::MemoryReport report =
        plan::memory(divided, workload, plan::divide(divided, workload));
    if (report.fits) return division;
    // Every stage that has too many gives one away.
    for (size_t stage = 0; stage < most.size(); ++stage)
      if (report.stages[stage].needed() > report.stages[stage].capacity)
        most[stage] = division[stage] - 1;
  }
}

}  // namespace ergometer::search

#include "engine/sequence_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "engine/recompute_fit.h"
#include "engine/time/compile.h"
#include "plan/stages.h"
#include "spec/resolve/resolve.h"
#include "workload/samples.h"
#include "workload/sequence_loads.h"

namespace ergometer::engine {
namespace {

using run::SequenceRow;
using spec::SequenceBatching;
using workload::SequenceLoads;

/// A simulated job that other steps' documents are put into.
class OtherSteps {
 public:
  OtherSteps(const spec::Job& job, const Simulation& from, const cost::CostTable& costs)
      : job_(job), from_(from), costs_(costs), plan_(from.plan) {
    work_ = std::make_shared<workload::UnevenWork>(*plan_.uneven);
    plan_.uneven = work_;
  }
  const SequenceLoads& lowered() const { return from_.plan.uneven->sequences; }
  EngineInput with(SequenceLoads loads) {
    work_->sequences = std::move(loads);
    return {.job = job_,
            .plan = plan_,
            .costs = costs_,
            .clocks_hz = from_.played_at.clocks_hz,
            .sampled_ranks = {},
            .stretch = from_.stretch};
  }

 private:
  const spec::Job& job_;
  const Simulation& from_;
  const cost::CostTable& costs_;
  plan::Plan plan_;
  std::shared_ptr<workload::UnevenWork> work_;
};

/// What compute operators of a role take in a step, at reference clocks, with work as the mean.
double role_seconds(const Simulation& from, size_t role) {
  double seconds = 0;
  const std::vector<cost::Price>& prices = from.played_at.costs.prices[role];
  for (const plan::Instruction& it : from.plan.roles[role].program)
    if (it.kind == plan::InstructionKind::kCompute && it.op >= 0 && it.micro_batch >= 0)
      seconds += prices[static_cast<size_t>(it.op)].seconds();
  return seconds;
}

bool is_of_micro_batches(const workload::Operator& op) {
  return op.kind != workload::OperatorKind::kCollective && op.pass != workload::Pass::kOptimizer;
}

void scale(const plan::Plan& plan, double factor, std::vector<cost::Price>& prices) {
  for (size_t op = 0; op < prices.size(); ++op) {
    if (!is_of_micro_batches(plan.operators[op])) continue;
    prices[op].fixed_s *= factor;
    prices[op].clocked_s *= factor;
  }
}

/// Prices with which every stage has as much to compute as they have on average.
cost::CostTable stages_evened(const Simulation& from) {
  cost::CostTable costs = from.played_at.costs;
  std::vector<double> seconds;
  for (size_t role = 0; role < from.plan.roles.size(); ++role)
    seconds.push_back(role_seconds(from, role));
  const double mean =
      std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
  for (size_t role = 0; role < seconds.size(); ++role) {
    if (seconds[role] <= 0) continue;
    const double factor = mean / seconds[role];
    scale(from.plan, factor, costs.prices[role]);
    if (!costs.per_load.empty()) scale(from.plan, factor, costs.per_load[role]);
  }
  return costs;
}

/// All work of a step in equal parts.
SequenceLoads evened(SequenceLoads loads) {
  for (std::vector<double>& row : loads.loads) {
    const double sum = std::accumulate(row.begin(), row.end(), 0.0);
    std::ranges::fill(row, sum / static_cast<double>(row.size()));
  }
  loads.slowest_load = 1;
  return loads;
}

/// What ranks of a stage have less to compute than the one with most, mean over all of them.
double waiting_s(const Timeline& timeline, int64_t ranks_per_role) {
  const auto compute_s = [](const RankTimes& rank) {
    return rank.parts_s[static_cast<size_t>(Part::kCompute)];
  };
  double sum_s = 0;
  for (auto role = timeline.ranks.begin(); role != timeline.ranks.end(); role += ranks_per_role) {
    double most_s = 0, all_s = 0;
    for (auto rank = role; rank != role + ranks_per_role; ++rank) {
      most_s = std::max(most_s, compute_s(*rank));
      all_s += compute_s(*rank);
    }
    sum_s += most_s * static_cast<double>(ranks_per_role) - all_s;
  }
  return std::max(0.0, sum_s) / static_cast<double>(timeline.ranks.size());
}

/// Of the compute kernels' time, what the attention core takes, mean over replicas.
double attention_fraction(const EngineInput& input) {
  double attention_s = 0, all_s = 0;
  for (size_t role = 0; role < input.plan.roles.size(); ++role) {
    const PricedOperators operators(input, role);
    const std::vector<plan::Instruction>& program = input.plan.roles[role].program;
    for (size_t i = 0; i < program.size(); ++i) {
      if (program[i].kind != plan::InstructionKind::kCompute || program[i].op < 0) continue;
      const double time_s = operators.at_load(i, operators.loads().average(operators.row(i))).at(1);
      const auto kind = input.plan.operators[static_cast<size_t>(program[i].op)].kind;
      all_s += time_s;
      if (kind == workload::OperatorKind::kAttention) attention_s += time_s;
    }
  }
  return all_s > 0 ? attention_s / all_s : 0;
}

/// What is played as if it were in equal parts.
enum class Evened { kNothing, kWork, kStages };

SequenceRow sequence_row(std::string setting, const spec::Job& job, const Simulation& from,
                         Evened evened_part = Evened::kNothing) {
  const cost::CostTable even_stages =
      evened_part == Evened::kStages ? stages_evened(from) : cost::CostTable{};
  OtherSteps steps(job, from, evened_part == Evened::kStages ? even_stages : from.played_at.costs);
  SequenceRow row{.setting = std::move(setting)};
  row.slowest_load = 0;
  double tokens = 0, real_tokens = 0;
  constexpr auto kSteps = static_cast<double>(workload::kDrawnSteps);
  for (int64_t step = 0; step < workload::kDrawnSteps; ++step) {
    SequenceLoads loads = workload::sequence_loads(job, step, steps.lowered());
    if (evened_part == Evened::kWork) loads = evened(std::move(loads));
    tokens += loads.totals.tokens;
    real_tokens += loads.totals.real_tokens;
    row.slowest_load += loads.slowest_load / kSteps;
    const EngineInput input = steps.with(std::move(loads));
    const Timeline timeline = sweep(input);
    row.step_time_s += timeline.step_s / kSteps;
    row.step_time_s_low =
        step == 0 ? timeline.step_s : std::min(row.step_time_s_low, timeline.step_s);
    row.step_time_s_high = std::max(row.step_time_s_high, timeline.step_s);
    row.waiting_fraction +=
        waiting_s(timeline, input.plan.ranks_per_role) / timeline.step_s / kSteps;
    if (step == 0) row.attention_fraction = attention_fraction(input);
  }
  row.tokens_per_s = real_tokens / kSteps / row.step_time_s;
  row.padding_fraction = 1 - real_tokens / tokens;
  row.peak_memory_bytes = from.run.memory.peak_bytes;
  return row;
}

struct OtherDocuments {
  std::string setting;
  spec::Job job;
};

void set_packing(spec::Training& training, spec::SamplePacking packing) {
  training.sample_packing = packing;
  training.sequence_batching = packing == spec::SamplePacking::kNone ? SequenceBatching::kPadded
                                                                     : SequenceBatching::kVariable;
}

std::string list_text(const char* setting, const std::vector<int64_t>& numbers) {
  return fmt::format("{} {}", setting, fmt::join(numbers, ","));
}

spec::Job divided_by_products(const spec::Job& job) {
  spec::Job divided = job;
  if (job.parallelism.pp == 1) return divided;
  divided.parallelism.first_stage_layers = divided.parallelism.last_stage_layers = 0;
  divided.parallelism.stage_layers = spec::vision_stage_layers(job);
  return divided;
}

/// Jobs that recompute all of their layers, or as many on every chunk.
bool recomputes_layers(const spec::Job& job) {
  return job.training.recompute == spec::Recompute::kFull && job.parallelism.vpp == 1;
}

/// Against samples, stages and memory at once.
spec::Job with_all_remedies(const spec::Job& job) {
  spec::Job all = divided_by_products(job);
  set_packing(all.training, spec::SamplePacking::kBoth);
  return recomputes_layers(job) ? recomputed_by_memory(all) : all;
}

/// Another division of layers, and less that is computed again.
void add_stage_remedies(const spec::Job& job, std::vector<OtherDocuments>& changes) {
  spec::Job divided = divided_by_products(job);
  const std::vector<int64_t>& layers = divided.parallelism.stage_layers;
  if (layers != job.parallelism.stage_layers)
    changes.push_back({list_text("--stage-layers", layers), divided});
  if (recomputes_layers(job)) {
    spec::Job fitted = recomputed_by_memory(job);
    const std::vector<int64_t>& again = fitted.training.recompute_stage_layers;
    if (again != plan::layers_per_chunk(job))
      changes.push_back({list_text("--recompute-stage-layers", again), fitted});
  }
  const auto remedies = std::ranges::count_if(changes, [](const OtherDocuments& change) {
    return !change.setting.starts_with("--sequence-order");
  });
  if (remedies > 1) changes.push_back({"all of these but the order", with_all_remedies(job)});
  if (job.training.recompute == spec::Recompute::kNone) return;
  spec::Job none = job;
  none.training.recompute = spec::Recompute::kNone;
  none.settle_backward();
  changes.push_back({"--recompute none", std::move(none)});
}

std::vector<OtherDocuments> other_documents(const spec::Job& job) {
  std::vector<OtherDocuments> changes;
  const auto add = [&](std::string setting) -> spec::Training& {
    return changes.emplace_back(OtherDocuments{std::move(setting), job}).job.training;
  };
  const spec::Training& t = job.training;
  if (t.sequence_lengths.has_images() && t.sample_packing != spec::SamplePacking::kBoth)
    set_packing(add("--sample-packing both"), spec::SamplePacking::kBoth);
  if (t.sequence_order == spec::SequenceOrder::kRandom)
    add("--sequence-order length-balanced").sequence_order = spec::SequenceOrder::kLengthBalanced;
  if (t.sequence_lengths.has_images()) {
    add_stage_remedies(job, changes);
    return changes;
  }
  if (t.sequence_batching == SequenceBatching::kPacked) return changes;
  if (t.sequence_batching == SequenceBatching::kPaddedToSeq)
    add("--sequence-batching padded").sequence_batching = SequenceBatching::kPadded;
  if (t.sequence_batching != SequenceBatching::kVariable)
    add("--sequence-batching variable").sequence_batching = SequenceBatching::kVariable;
  add("--sequence-batching packed").sequence_batching = SequenceBatching::kPacked;
  return changes;
}

run::PackingRow packing_row(std::string setting, const spec::Job& job) {
  run::PackingRow row{.setting = std::move(setting)};
  constexpr auto kSteps = static_cast<double>(workload::kDrawnSteps);
  for (int64_t step = 0; step < workload::kDrawnSteps; ++step) {
    const workload::PackingRatios ratios =
        workload::packing_ratios(job, workload::draw_step(job, step));
    row.padding_fraction += ratios.padding / kSteps;
    row.token_distance += ratios.token_distance / kSteps;
    row.tile_distance += ratios.tile_distance / kSteps;
    row.tokens += ratios.tokens / kSteps;
    row.tiles += ratios.tiles / kSteps;
  }
  return row;
}

}  // namespace

Result<std::vector<SequenceRow>> sequence_rows(const spec::Job& job, const Simulation& played) {
  std::vector<SequenceRow> rows;
  if (job.training.sequence_lengths.is_even()) return rows;
  const spec::SequenceLengths& lengths = job.training.sequence_lengths;
  rows.push_back(sequence_row(
      (lengths.has_images() ? "--samples " : "--sequence-lengths ") + lengths.text, job, played));
  rows.push_back(sequence_row("micro batches of equal work", job, played, Evened::kWork));
  if (job.model.vision != nullptr && job.parallelism.pp > 1)
    rows.push_back(sequence_row("stages of equal work", job, played, Evened::kStages));
  for (const OtherDocuments& change : other_documents(job)) {
    ERGOMETER_ASSIGN(const Simulation other, simulate_in_full(change.job, {.intervals = false}));
    rows.push_back(sequence_row(change.setting, change.job, other));
  }
  return rows;
}

double mean_step_s(const spec::Job& job, const Simulation& played) {
  return job.training.sequence_lengths.is_even() ? played.run.performance.step_time_s
                                                 : sequence_row("", job, played).step_time_s;
}

std::vector<run::PackingRow> packing_rows(const spec::Job& job) {
  std::vector<run::PackingRow> rows;
  const spec::SequenceLengths& lengths = job.training.sequence_lengths;
  if (!lengths.has_images()) return rows;
  rows.push_back(packing_row("--samples " + lengths.text, job));
  for (const OtherDocuments& change : other_documents(job))
    if (change.setting.starts_with("--sample-packing"))
      rows.push_back(packing_row(change.setting, change.job));
  return rows;
}

}  // namespace ergometer::engine

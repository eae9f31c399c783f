#include "engine/sequence_rows.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "engine/time/compile.h"
#include "workload/sequence_loads.h"

namespace ergometer::engine {
namespace {

using run::SequenceRow;
using spec::SequenceBatching;
using workload::SequenceLoads;

/// A simulated job that other steps' documents are put into.
class OtherSteps {
 public:
  OtherSteps(const spec::Job& job, const Simulation& from)
      : job_(job), from_(from), plan_(from.plan) {
    work_ = std::make_shared<workload::UnevenWork>(*plan_.uneven);
    plan_.uneven = work_;
  }
  const SequenceLoads& lowered() const { return from_.plan.uneven->sequences; }
  EngineInput with(SequenceLoads loads) {
    work_->sequences = std::move(loads);
    return {.job = job_,
            .plan = plan_,
            .costs = from_.played_at.costs,
            .clocks_hz = from_.played_at.clocks_hz,
            .sampled_ranks = {},
            .stretch = from_.stretch};
  }

 private:
  const spec::Job& job_;
  const Simulation& from_;
  plan::Plan plan_;
  std::shared_ptr<workload::UnevenWork> work_;
};

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

SequenceRow sequence_row(std::string setting, const spec::Job& job, const Simulation& from,
                         bool evenly) {
  OtherSteps steps(job, from);
  SequenceRow row{.setting = std::move(setting)};
  row.slowest_load = 0;
  double tokens = 0, real_tokens = 0;
  constexpr auto kSteps = static_cast<double>(workload::kDrawnSteps);
  for (int64_t step = 0; step < workload::kDrawnSteps; ++step) {
    SequenceLoads loads = workload::sequence_loads(job, step, steps.lowered());
    if (evenly) loads = evened(std::move(loads));
    tokens += loads.tokens;
    real_tokens += loads.real_tokens;
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

std::vector<OtherDocuments> other_documents(const spec::Job& job) {
  std::vector<OtherDocuments> changes;
  const auto add = [&](std::string setting) -> spec::Training& {
    return changes.emplace_back(OtherDocuments{std::move(setting), job}).job.training;
  };
  const spec::Training& t = job.training;
  if (t.sequence_order == spec::SequenceOrder::kRandom)
    add("--sequence-order length-balanced").sequence_order = spec::SequenceOrder::kLengthBalanced;
  if (t.sequence_batching == SequenceBatching::kPacked) return changes;
  if (t.sequence_batching == SequenceBatching::kPaddedToSeq)
    add("--sequence-batching padded").sequence_batching = SequenceBatching::kPadded;
  if (t.sequence_batching != SequenceBatching::kVariable)
    add("--sequence-batching variable").sequence_batching = SequenceBatching::kVariable;
  add("--sequence-batching packed").sequence_batching = SequenceBatching::kPacked;
  return changes;
}

}  // namespace

base::Result<std::vector<SequenceRow>> sequence_rows(const spec::Job& job,
                                                     const Simulation& played) {
  std::vector<SequenceRow> rows;
  if (job.training.sequence_lengths.is_even()) return rows;
  rows.push_back(
      sequence_row("--sequence-lengths " + job.training.sequence_lengths.text, job, played, false));
  rows.push_back(sequence_row("micro batches of equal work", job, played, true));
  for (const OtherDocuments& change : other_documents(job)) {
    ERGOMETER_ASSIGN(const Simulation other, simulate_in_full(change.job, {.intervals = false}));
    rows.push_back(sequence_row(change.setting, change.job, other, false));
  }
  return rows;
}

}  // namespace ergometer::engine

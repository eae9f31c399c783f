#pragma once

#include "engine/time/timeline.h"

/// Hand-made plans for the engine's tests: programs written instruction by instruction, prices
/// beside them.
namespace ergometer::engine::test {

using plan::Instruction;
using plan::InstructionKind;
using workload::GroupKind;
using workload::Stream;

/// A plan under construction with everything an engine needs.
struct TestPlan {
  spec::Job job;
  plan::Plan plan;
  cost::CostTable costs;
  Stretch stretch;
  std::vector<double> clocks_hz{1e9};
  std::vector<int64_t> sampled;

  TestPlan(int64_t tp, int64_t cp, int64_t dp, int64_t pp) {
    job.parallelism.tp = tp;
    job.parallelism.cp = cp;
    job.parallelism.dp = dp;
    job.parallelism.pp = pp;
    job.parallelism.etp = 1;
    job.gpus = tp * cp * dp * pp;
    plan.roles.resize(static_cast<size_t>(pp));
    plan.ranks_per_role = tp * cp * dp;
    costs.prices.resize(static_cast<size_t>(pp));
    costs.reference_clock_hz = 1e9;
    for (int64_t stage = 0; stage < pp; ++stage)
      plan.roles[static_cast<size_t>(stage)].stage = stage;
  }

  /// Adds an operator with one price on all roles and gives its number.
  int32_t op(double fixed_s, double clocked_s = 0, workload::Pass pass = workload::Pass::kForward) {
    workload::Operator it;
    it.kind = workload::OperatorKind::kGemm;
    it.pass = pass;
    it.name = "work";
    plan.operators.push_back(it);
    for (auto& prices : costs.prices)
      prices.push_back({.fixed_s = fixed_s, .clocked_s = clocked_s});
    return static_cast<int32_t>(plan.operators.size()) - 1;
  }
  int32_t communication(workload::CollectiveKind kind, GroupKind group, double fixed_s) {
    const int32_t number = op(fixed_s);
    workload::Operator& it = plan.operators.back();
    it.kind = workload::OperatorKind::kCollective;
    it.name = "communication";
    it.collective = kind;
    it.group = group;
    return number;
  }

  void add(size_t role, Instruction instruction) {
    plan.roles[role].program.push_back(instruction);
  }
  void compute(size_t role, int32_t op, Stream stream = Stream::kCompute) {
    add(role, {.kind = InstructionKind::kCompute, .stream = stream, .op = op});
  }
  void collective(size_t role, int32_t op, Stream stream = Stream::kCompute) {
    add(role, {.kind = InstructionKind::kCollective, .stream = stream, .op = op});
  }
  void world(int32_t op, Stream stream = Stream::kCompute) {
    for (size_t role = 0; role < plan.roles.size(); ++role)
      add(role, {.kind = InstructionKind::kWorld, .stream = stream, .op = op});
  }
  /// A message from one role to another: sent and received at these points of the two programs.
  void message(size_t from, size_t to, int32_t op, Stream stream = Stream::kCompute) {
    add(from, {.kind = InstructionKind::kSend, .stream = stream, .op = op, .slot = plan.messages});
    add(to, {.kind = InstructionKind::kRecv, .stream = stream, .op = op, .slot = plan.messages});
    ++plan.messages;
  }

  EngineInput input() const {
    return {.job = job,
            .plan = plan,
            .costs = costs,
            .clocks_hz = clocks_hz,
            .sampled_ranks = sampled,
            .stretch = stretch};
  }
};

inline double part(const RankTimes& rank, Part which) {
  return rank.parts_s[static_cast<size_t>(which)];
}

}  // namespace ergometer::engine::test

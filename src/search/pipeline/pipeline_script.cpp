#include "search/pipeline/pipeline.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "plan/program.h"
#include "plan/stages.h"

// What the stages of a pipeline do in which order, taken from the plan itself: a skeleton of the
// job with one operator a pass is planned, and its programs are read.
namespace ergometer::search {
namespace {

using plan::Instruction;
using plan::InstructionKind;
using workload::Item;
using workload::Pass;
using workload::Stream;
using Kind = PipelineScript::Kind;
using Step = PipelineScript::Step;

enum Operators : int32_t { kForwardWork, kInputWork, kWeightWork, kSkeletonOperators };

/// A model whose layers are one kernel forward, one for the inputs' gradients and one for the
/// weights': what is left of a plan is schedule and transfers.
workload::Workload skeleton_workload(int64_t layers) {
  workload::Workload workload;
  workload.operators.resize(kSkeletonOperators);
  constexpr std::array<Pass, 3> kPasses = {Pass::kForward, Pass::kBackward, Pass::kWeight};
  constexpr std::array<const char*, 3> kNames = {"forward", "input_grad", "weight_grad"};
  for (size_t i = 0; i < kPasses.size(); ++i) {
    workload.operators[i].pass = kPasses[i];
    workload.operators[i].name = kNames[i];
  }
  workload::Block& layer = workload.blocks.emplace_back();
  const auto item = [](int op) {
    return Item{Item::Kind::kOperator, Stream::kCompute, Stream::kCompute, op};
  };
  layer.forward = {item(kForwardWork)};
  layer.backward = {item(kInputWork), item(kWeightWork)};
  workload.layer_blocks.assign(static_cast<size_t>(layers), 0);
  workload.boundary_bytes = 1;
  return workload;
}

spec::Job skeleton_job(const spec::Job& job, const PipelineShape& shape) {
  spec::Job skeleton = job;
  skeleton.model.layers.resize(static_cast<size_t>(shape.stages * shape.chunks),
                               job.model.layers.front());
  skeleton.model.mtp_layers = 0;
  skeleton.model.tied_embeddings = false;
  skeleton.gpus = shape.stages;
  spec::Parallelism& p = skeleton.parallelism;
  p = {};
  p.pp = shape.stages;
  p.vpp = shape.chunks;
  p.schedule = shape.schedule;
  p.microbatch_group = shape.stages;
  p.zero_stage = 0;
  spec::Training& t = skeleton.training;
  t.micro_batch = 1;
  t.global_batch = shape.micro_batches;
  t.moe_redundant_experts = 0;  // which one rank has no use for
  t.recompute = spec::Recompute::kNone;
  t.overlap_grad_reduce = t.overlap_param_gather = t.overlap_expert_parallel = false;
  t.overlap_p2p = shape.overlap;
  t.batch_p2p_sync = shape.sync;
  t.scatter_gather_p2p = false;
  return skeleton;
}

uint8_t lane_of(Stream stream) { return stream == Stream::kPipelineBackward ? 1 : 0; }

bool is_lane(Stream stream) {
  return stream == Stream::kPipelineForward || stream == Stream::kPipelineBackward;
}

/// The steps of one stage's program, as far as the end of the step's pipeline. `apart`: inputs' and
/// weights' gradients are slots of their own.
std::vector<Step> stage_steps(const plan::Role& role, const plan::OperatorTable& operators,
                              bool apart) {
  std::vector<Step> steps;
  const std::vector<Instruction>& program = role.program;
  for (size_t i = 0; i < program.size(); ++i) {
    const Instruction& it = program[i];
    if (it.op >= 0 && operators.at(it.op).name == "gradient_norm") break;
    Step step;
    step.stage = static_cast<int32_t>(role.stage);
    step.chunk = it.chunk;
    step.message = std::max(it.slot, 0);
    if (it.kind == InstructionKind::kCompute && it.op < kSkeletonOperators) {
      const bool whole = !apart && it.op == kInputWork && i + 1 < program.size() &&
                         program[i + 1].op == kWeightWork &&
                         program[i + 1].micro_batch == it.micro_batch;
      step.slot = it.op == kForwardWork ? Slot::kForward
                  : whole               ? Slot::kBackward
                  : it.op == kInputWork ? Slot::kInputGrad
                                        : Slot::kWeightGrad;
      i += whole ? 1 : 0;
    } else if (it.kind == InstructionKind::kSend || it.kind == InstructionKind::kRecv) {
      step.kind = it.kind == InstructionKind::kSend ? Kind::kSend : Kind::kReceive;
      step.lane = lane_of(it.stream);
      step.forward = operators.at(it.op).pass == Pass::kForward;
    } else if (it.kind == InstructionKind::kJoin && is_lane(it.stream)) {
      step.kind = Kind::kLaneFollows;
      step.lane = lane_of(it.stream);
    } else if (it.kind == InstructionKind::kJoin && is_lane(it.on)) {
      step.kind = Kind::kFollowLane;
      step.lane = lane_of(it.on);
    } else if (it.kind == InstructionKind::kHostSync) {
      step.kind = Kind::kSync;
    } else {
      continue;
    }
    steps.push_back(step);
  }
  return steps;
}

/// As `plan/program.cpp` says which slots run beside another.
void mark_pairs(std::vector<Step>& steps) {
  std::vector<Step*> runs;
  for (Step& step : steps)
    if (step.kind == Kind::kRun) runs.push_back(&step);
  std::vector<bool> forward;
  for (const Step* run : runs) forward.push_back(run->slot == Slot::kForward);
  for (size_t i = 0; i < runs.size(); ++i) {
    if (forward[i] && i > 0 && !forward[i - 1]) runs[i]->slot = Slot::kPairedForward;
    if (runs[i]->slot == Slot::kBackward && i + 1 < runs.size() && forward[i + 1])
      runs[i]->slot = Slot::kPairedBackward;
  }
}

/// All stages' steps in one order in which every message is sent before it is received.
std::vector<Step> in_order(const std::vector<std::vector<Step>>& stages, int32_t messages) {
  std::vector<Step> order;
  std::vector<bool> sent(static_cast<size_t>(messages));
  std::vector<size_t> next(stages.size());
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t s = 0; s < stages.size(); ++s)
      for (; next[s] < stages[s].size(); ++next[s]) {
        const Step& step = stages[s][next[s]];
        if (step.kind == Kind::kReceive && !sent[static_cast<size_t>(step.message)]) break;
        if (step.kind == Kind::kSend) sent[static_cast<size_t>(step.message)] = true;
        order.push_back(step);
        moved = true;
      }
  }
  for (size_t s = 0; s < stages.size(); ++s)
    ERGOMETER_CHECK(next[s] == stages[s].size(), "a stage waits for what is never sent");
  return order;
}

/// Of `PipelineScript::Program`.
std::vector<int32_t> places_of(size_t stream, const std::vector<Step>& steps) {
  auto next = static_cast<int32_t>(steps.size());
  std::vector<int32_t> places(steps.size() + 1, next);
  for (size_t i = steps.size(); i-- > 0;) {
    const Step& step = steps[i];
    const bool computes = step.kind == Kind::kRun || step.kind == Kind::kFollowLane;
    const bool is_lanes =
        step.kind == Kind::kLaneFollows || step.kind == Kind::kSend || step.kind == Kind::kReceive;
    if (stream == 0 ? computes : is_lanes && stream == 1u + step.lane)
      next = static_cast<int32_t>(i);
    places[i] = next;
  }
  return places;
}

}  // namespace

PipelineScript make_script(const spec::Job& job, const PipelineShape& shape) {
  const spec::Job skeleton = skeleton_job(job, shape);
  const workload::Workload workload = skeleton_workload(shape.stages * shape.chunks);
  const std::vector<plan::Stage> stages = plan::divide(skeleton, workload);
  PipelineScript script;
  script.shape = shape;
  std::vector<std::vector<Step>> by_stage;
  for (size_t s = 0; s < stages.size(); ++s) {
    plan::OperatorTable operators(workload);
    const plan::Role role = plan::write_role(skeleton, workload, skeleton.micro_batches(),
                                             stages[s], static_cast<int64_t>(s), operators);
    by_stage.push_back(stage_steps(role, operators, shape.schedule == spec::Schedule::kZbH1));
    mark_pairs(by_stage.back());
    for (const Step& step : by_stage.back())
      if (step.kind == Kind::kSend) script.messages = std::max(script.messages, step.message + 1);
  }
  script.steps = in_order(by_stage, script.messages);
  for (std::vector<Step>& steps : by_stage) {
    PipelineScript::Program& program = script.programs.emplace_back();
    for (size_t stream = 0; stream < program.places.size(); ++stream)
      program.places[stream] = places_of(stream, steps);
    program.steps = std::move(steps);
  }
  return script;
}

}  // namespace ergometer::search

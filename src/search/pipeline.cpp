#include "search/pipeline.h"

#include <algorithm>

#include "base/check.h"
#include "plan/program.h"
#include "plan/stages.h"

#if defined(__x86_64__) && !defined(ERGOMETER_SANITIZED)
#define ERGOMETER_WIDTHS __attribute__((target_clones("avx512f", "avx2", "default")))
#define ERGOMETER_INLINE inline __attribute__((always_inline))
#else
#define ERGOMETER_WIDTHS
#define ERGOMETER_INLINE inline
#endif

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

/// The steps of one stage's program, as far as the end of the step's pipeline.
std::vector<Step> stage_steps(const plan::Role& role, const plan::OperatorTable& operators) {
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
      const bool whole = it.op == kInputWork && i + 1 < program.size() &&
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

ERGOMETER_INLINE double larger(double a, double b) { return a > b ? a : b; }
ERGOMETER_INLINE double smaller(double a, double b) { return a < b ? a : b; }

/// The clocks of one stage.
struct StageClocks {
  Batch t{}, h{};
  std::array<Batch, 2> lanes{};
  std::array<Batch, 2> leaving{}, arriving{};  ///< when a lane's last send, or receive, is over
};

ERGOMETER_INLINE void run(const BatchCost& cost, StageClocks& clocks) {
  for (int i = 0; i < kLanes; ++i) {
    const double t = clocks.t[i], h = clocks.h[i];
    clocks.t[i] = larger(t + cost.tt[i], h + cost.th[i]);
    clocks.h[i] = larger(t + cost.ht[i], h + cost.hh[i]);
  }
}

ERGOMETER_INLINE void raise(const Batch& other, Batch& clock) {
  for (int i = 0; i < kLanes; ++i) clock[i] = larger(clock[i], other[i]);
}

/// A transfer from `start` on that takes `seconds` alone. `same`: when transfers that leave (or
/// arrive) on either lane end; beside one of them both go at the pace of sharing the links.
ERGOMETER_INLINE void occupy(double start, double seconds, double slower, size_t own, size_t i,
                             std::array<Batch, 2>& lanes, std::array<Batch, 2>& same) {
  const size_t other = 1 - own;
  const double beside = larger(0, smaller(same[other][i] - start, seconds)) * slower;
  const bool last = lanes[other][i] <= same[other][i];
  same[other][i] += beside;
  lanes[other][i] = last ? same[other][i] : lanes[other][i];
  same[own][i] = lanes[own][i] = start + seconds + beside;
}

ERGOMETER_INLINE void send(double seconds, double slower, double host_s, size_t lane,
                           StageClocks& clocks, Batch& message) {
  for (size_t i = 0; i < kLanes; ++i) {
    const double start = larger(clocks.lanes[lane][i], clocks.h[i]);
    message[i] = start;
    occupy(start, seconds, slower, lane, i, clocks.lanes, clocks.leaving);
    clocks.h[i] += host_s;
  }
}

ERGOMETER_INLINE void receive(double seconds, double slower, double host_s, size_t lane,
                              const Batch& message, StageClocks& clocks) {
  for (size_t i = 0; i < kLanes; ++i) {
    const double start = larger(larger(clocks.lanes[lane][i], clocks.h[i]), message[i]);
    occupy(start, seconds, slower, lane, i, clocks.lanes, clocks.arriving);
    clocks.h[i] += host_s;
  }
}

ERGOMETER_WIDTHS void play_steps(std::span<const Step> steps, size_t stage_count,
                                 size_t chunk_count, const ChunkCosts* const* costs,
                                 const TransferCost* next, StageClocks* stages, Batch* messages) {
  for (const Step& step : steps) {
    const auto s = static_cast<size_t>(step.stage);
    StageClocks& clocks = stages[s];
    Batch& lane = clocks.lanes[step.lane];
    // A forward transfer leaves for the next stage and arrives from the one before.
    const bool to_next = (step.kind == Kind::kSend) == step.forward;
    const TransferCost& transfer = next[to_next ? s : (s + stage_count - 1) % stage_count];
    const double seconds = transfer.send_s, slower = transfer.shared_s / transfer.send_s - 1;
    Batch& message = messages[step.message];
    switch (step.kind) {
      case Kind::kRun: {
        const BatchCost& cost =
            (*costs[s * chunk_count +
                    static_cast<size_t>(step.chunk)])[static_cast<size_t>(step.slot)];
        run(cost, clocks);
        break;
      }
      case Kind::kLaneFollows: raise(clocks.t, lane); break;
      case Kind::kFollowLane: raise(lane, clocks.t); break;
      case Kind::kSend: send(seconds, slower, transfer.host_s, step.lane, clocks, message); break;
      case Kind::kReceive:
        receive(seconds, slower, transfer.host_s, step.lane, message, clocks);
        break;
      case Kind::kSync: raise(clocks.t, clocks.h); break;
    }
  }
}

}  // namespace

void BatchCost::set(int lane, const MaxPlus& cost) {
  // Where nothing syncs the host `ht` is never; a large negative number keeps sums finite.
  constexpr double kLongAgo = -1e30;
  const auto i = static_cast<size_t>(lane);
  tt[i] = cost.tt;
  th[i] = std::max(cost.th, kLongAgo);
  ht[i] = std::max(cost.ht, kLongAgo);
  hh[i] = cost.hh;
}

PipelineScript make_script(const spec::Job& job, const PipelineShape& shape) {
  const spec::Job skeleton = skeleton_job(job, shape);
  const workload::Workload workload = skeleton_workload(shape.stages * shape.chunks);
  const std::vector<plan::Stage> stages = plan::divide(skeleton, workload);
  PipelineScript script;
  script.shape = shape;
  std::vector<std::vector<Step>> by_stage;
  for (size_t s = 0; s < stages.size(); ++s) {
    plan::OperatorTable operators(workload);
    const plan::Role role =
        plan::write_role(skeleton, workload, stages[s], static_cast<int64_t>(s), operators);
    by_stage.push_back(stage_steps(role, operators));
    mark_pairs(by_stage.back());
    for (const Step& step : by_stage.back())
      if (step.kind == Kind::kSend) script.messages = std::max(script.messages, step.message + 1);
  }
  script.steps = in_order(by_stage, script.messages);
  return script;
}

void play(const PipelineScript& script, std::span<const ChunkCosts* const> costs,
          std::span<const TransferCost> next, std::vector<Batch>& ends) {
  thread_local std::vector<StageClocks> stages;
  thread_local std::vector<Batch> messages;
  const auto count = static_cast<size_t>(script.shape.stages);
  stages.assign(count, StageClocks{});
  messages.resize(static_cast<size_t>(script.messages) + 1);
  play_steps(script.steps, count, static_cast<size_t>(script.shape.chunks), costs.data(),
             next.data(), stages.data(), messages.data());
  ends.resize(count);
  for (size_t s = 0; s < count; ++s) {
    ends[s] = stages[s].t;
    for (const Batch& lane : stages[s].lanes) raise(lane, ends[s]);
  }
}

}  // namespace ergometer::search

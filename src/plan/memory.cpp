#include "plan/memory.h"

#include <algorithm>
#include <utility>

#include "plan/memory_parts.h"
#include "plan/memory_reserve.h"
#include "spec/job/node_groups.h"

// Peak memory of a stage = model states + buffers + the largest of (what the schedule holds at its
// fullest, what the optimizer step needs beside the states). In the framework's allocator: the
// driver's context and NCCL's buffers are the node's "memory_reserve", fragmentation is
// `memory_reserve`'s.
namespace ergometer::plan {
namespace {

void add_part(StageMemory& stage, const char* name, double bytes) {
  if (bytes > 0) stage.parts.emplace_back(name, bytes);
}

}  // namespace

StageMemory stage_memory(const spec::Job& job, const workload::Workload& workload,
                         const Stage& stage, int64_t index) {
  const StateMemory state = state_memory(job, workload, stage);
  const BufferMemory buffers = buffer_memory(job, workload, stage);
  ActivationMemory active = activation_memory(job, workload, stage, index);
  StageMemory memory;
  memory.stage = index;
  const double alive = active.total();
  const bool in_step = state.step > alive;  // when no activation is left
  memory.weights = state.weights;
  memory.gradients = state.gradients + (in_step ? 0 : active.gradients);
  memory.optimizer = state.optimizer;
  add_part(memory, "weights", state.weights - state.fp8_copies);
  add_part(memory, "fp8_weights", state.fp8_copies);
  add_part(memory, "gradients", memory.gradients);
  add_part(memory, "optimizer", state.optimizer);
  if (in_step) {
    memory.other = state.step;
    add_part(memory, "gathered_parameters", state.after_step);
    add_part(memory, "fp32_gradients", state.step - state.after_step);
  } else {
    memory.activations = active.activations;
    memory.other = active.loss;
    for (auto& [name, bytes] : active.parts) memory.parts.emplace_back(std::move(name), bytes);
    add_part(memory, "loss", active.loss);
  }
  memory.other += buffers.total();
  add_part(memory, "dummy_gradients", buffers.dummy_gradients);
  add_part(memory, "unsharded_layers", buffers.gathered);
  add_part(memory, "tensor_parallel_buffers", buffers.tensor);
  add_part(memory, "kv_cache", buffers.kv_cache);
  add_part(memory, "workspace", buffers.workspace);
  const double with_holes = alive + memory_reserve(job, stage).bytes(alive);
  memory.reserved = std::max(0.0, with_holes - std::max(state.step, alive)) +
                    cached_gradients(job, stage_parameters(workload, stage), active.gradient_lift);
  return memory;
}

namespace {

/// Whether a stage is the nearer to its GPUs' memory, or the farther beyond it; as GPUs are alike,
/// the one that needs more.
bool is_tighter(const StageMemory& stage, const StageMemory& other) {
  if (stage.capacity == other.capacity) return stage.needed() > other.needed();
  return stage.needed() - stage.capacity > other.needed() - other.capacity;
}

/// A stage on the job's one kind of node.
StageMemory on_its_node(const spec::Job& job, const workload::Workload& workload,
                        const Stage& stage, int64_t number) {
  const spec::Node& node = job.cluster.node;
  StageMemory memory = stage_memory(job, workload, stage, number);
  memory.capacity = node.gpu.memory_bytes - node.parameters.value_or("memory_reserve", 0);
  return memory;
}

/// A stage on that of its kinds of node where it is tightest.
StageMemory tightest(const spec::Job& job, const workload::Workload& workload, const Stage& stage,
                     int64_t number) {
  if (!spec::is_mixed(job.cluster)) return on_its_node(job, workload, stage, number);
  StageMemory found;
  for (const size_t group : spec::groups_of_stage(job, number)) {
    StageMemory here = on_its_node(spec::on_group(job, group), workload, stage, number);
    here.gpu = spec::node_of_group(job.cluster, group).gpu.name;
    if (found.gpu.empty() || is_tighter(here, found)) found = std::move(here);
  }
  return found;
}

}  // namespace

MemoryReport memory(const spec::Job& job, const workload::Workload& workload,
                    const std::vector<Stage>& stages) {
  MemoryReport report;
  for (size_t i = 0; i < stages.size(); ++i) {
    report.stages.push_back(tightest(job, workload, stages[i], static_cast<int64_t>(i)));
    const StageMemory& stage = report.stages.back();
    if (is_tighter(stage, report.worst())) report.worst_stage = stage.stage;
    const StateMemory state = state_memory(job, workload, stages[i]);
    const double appeared = gradients_appear_in_backward(job)
                                ? gradient_bytes(job, stage_parameters(workload, stages[i]))
                                : 0;
    const double between = stage.weights + state.gradients + appeared + stage.optimizer +
                           state.after_step + buffer_memory(job, workload, stages[i]).total();
    report.allocated_after_step = std::max(report.allocated_after_step, between);
  }
  report.capacity = report.worst().capacity;
  report.fits = report.worst().needed() <= report.capacity;
  return report;
}

}  // namespace ergometer::plan

#include "plan/step_end.h"

#include <algorithm>
#include <optional>

#include "plan/allocator.h"
#include "plan/placement.h"
#include "workload/expert_loads.h"
#include "workload/matrices.h"

namespace ergometer::plan {
namespace {

using workload::CollectiveKind;
using workload::GroupKind;
using workload::Stream;

workload::Operator step_sum(const char* name, GroupKind group, double elements,
                            double element_bytes) {
  workload::Operator op =
      data_collective(name, CollectiveKind::kAllReduce, group, elements, element_bytes);
  op.pass = workload::Pass::kOptimizer;
  return op;
}

/// What the host does while the GPU has nothing to do.
workload::Operator host_work(const char* name, double seconds) {
  workload::Operator op;
  op.kind = workload::OperatorKind::kMemory;
  op.pass = workload::Pass::kOptimizer;
  op.module = workload::Module::kOptimizer;
  op.name = name;
  op.kernels = 0;
  op.host_wait_s = seconds;
  return op;
}

/// nanotron's ZeRO-1 cuts every parameter into its replicas' parts, one Python slice each, before
/// gradients are scattered and again before parameters are gathered
/// (huggingface/nanotron src/nanotron/optim/zero.py, gradient_accumulator.py). Vectors are counted
/// with the matrix before them.
double slicing_s(const spec::Job& job, const workload::Workload& workload, const Stage& stage) {
  const double slice_s = job.software.parameters.value_or("host.shard_slice", 0);
  const auto replicas = static_cast<double>(rank_group(job, GroupKind::kData).size);
  if (slice_s <= 0 || job.parallelism.zero_stage == 0 || replicas < 2) return 0;
  double matrices = 0;
  for (const Chunk& chunk : stage.chunks)
    for (const int index : chunk.blocks)
      matrices += std::max(
          1.0,
          static_cast<double>(workload.blocks[static_cast<size_t>(index)].weight_shapes.size()));
  return slice_s * replicas * matrices;
}

/// The making of circuits for what `module` sends.
int32_t circuits_for(workload::Module module, const spec::Job& job, OperatorTable& operators) {
  workload::Operator op =
      host_work(kReconfiguration, job.cluster.fabric.topology.circuits.reconfiguration_s);
  op.module = module;
  return operators.add(op);
}

constexpr Stream kBetweenStages[] = {Stream::kPipelineForward, Stream::kPipelineBackward,
                                     Stream::kVocabulary};

/// Beside compute, until a stage first sends.
void write_circuits_of_passes(const spec::Job& job, OperatorTable& operators,
                              ProgramWriter& writer) {
  const spec::CircuitPhases phases = spec::circuit_phases(job);
  if (!phases.change() || job.cluster.fabric.topology.circuits.reconfiguration_s <= 0) return;
  const Stream stream = phases.within_passes ? Stream::kCompute : Stream::kData;
  writer.op(stream, circuits_for(workload::Module::kPipeline, job, operators));
  for (const Stream lane : kBetweenStages) writer.join(lane, stream);
}

/// Before what sends on `stream`, when the stage's last transfer is done.
void write_circuits_of_end(Stream stream, const spec::Job& job, OperatorTable& operators,
                           ProgramWriter& writer) {
  if (job.cluster.fabric.topology.circuits.reconfiguration_s <= 0) return;
  if (stream != Stream::kCompute) writer.join(stream, Stream::kCompute);
  for (const Stream lane : kBetweenStages) writer.join(stream, lane);
  writer.op(stream, circuits_for(workload::Module::kData, job, operators));
}

double layer_elements(const spec::Model& model, const spec::Layer& layer) {
  const auto hidden = static_cast<double>(model.hidden);
  const bool attends = layer.mixer == spec::Mixer::kAttention;
  double elements = model.norms(layer) * model.norm_parameters();
  // Those of all heads at once, or of every head, lie with the heads.
  const bool of_heads = model.wide_qk_norm || model.qk_norm_by_head;
  if (attends && model.qk_norm && !of_heads) elements += 2 * static_cast<double>(model.head_dim);
  if (attends && model.out_bias) elements += hidden;
  if (layer.feed_forward && model.mlp_bias && !layer.moe) elements += hidden;
  if (layer.moe) {
    elements += static_cast<double>(model.experts.count) * hidden;
    if (model.experts.shared_gate) elements += hidden;
    elements += 2 * hidden * static_cast<double>(model.experts.latent);
  }
  if (attends && model.attention == spec::AttentionKind::kLatent) {
    const spec::LatentAttention& latent = model.latent;
    const auto q = static_cast<double>(latent.q_rank), kv = static_cast<double>(latent.kv_rank);
    elements += hidden * (q + kv + static_cast<double>(latent.qk_rope_dim)) + q + kv;
  }
  return elements;
}

/// Of a layer of the pipeline, the vision tower's first.
double layer_elements(const spec::Job& job, int64_t number) {
  const int64_t towers = job.model.vision_layers();
  const spec::Model& model = number < towers ? job.model.vision->tower : job.model;
  return layer_elements(
      model, model.layers[static_cast<size_t>(number < towers ? number : number - towers)]);
}

/// Both ends hold the embedding matrix: tied to the head, or used again by multi-token prediction.
/// Not where one stage holds both ends of the model.
bool embedding_on_both_ends(const spec::Job& job) {
  const bool shared = job.model.tied_embeddings || job.model.mtp_layers > 0;
  const int64_t last = job.parallelism.parts() - 1;
  return job.parallelism.stage_of(last) != 0 && shared && !job.parallelism.divides_vocabulary() &&
         job.training.mode == spec::Mode::kPretrain;
}

/// Elements per rank whose gradients every tensor-parallel rank computes on its own part of the
/// sequence and which are summed over tensor parallelism once a step: norms, routers, MLA's
/// undivided projections and the biases behind row-parallel products.
double sequence_parallel_elements(const spec::Job& job, const workload::Workload& workload,
                                  const Stage& stage) {
  const spec::Model& model = job.model;
  double elements = 0;
  for (const Chunk& chunk : stage.chunks) {
    for (size_t i = 0; i < chunk.blocks.size(); ++i) {
      if (chunk.layers[i] >= 0) elements += layer_elements(job, chunk.layers[i]);
      const bool head = chunk.blocks[i] == workload.head_block;
      if (head && model.final_norm) elements += model.norm_parameters();
    }
  }
  return elements;
}

void add_copies(double elements, const std::vector<double>& sums, std::vector<double>& of_ranks) {
  for (size_t rank = 0; rank < sums.size(); ++rank) of_ranks[rank] += elements * sums[rank];
}

/// Elements that an expert-parallel rank of a stage sends so that copies of experts get the sums of
/// their gradients: of the rank that sends most, and of that which sends most out of its domain.
struct CopiedElements {
  double sent = 0, leaving = 0;
};

/// `together`: members of the group that lie in a domain, in order.
CopiedElements copied_elements(const spec::Job& job, const workload::Workload& workload,
                               const Stage& stage, int64_t together) {
  const workload::CopySums sums = workload::copy_sums(job, together);
  if (sums.sent.empty()) return {};
  const auto ranks = static_cast<size_t>(job.parallelism.ep);
  std::vector<double> sent(ranks), leaving(ranks);
  for (const Chunk& chunk : stage.chunks) {
    for (size_t i = 0; i < chunk.blocks.size(); ++i) {
      const workload::Block& block = workload.blocks[static_cast<size_t>(chunk.blocks[i])];
      // A module for multi-token prediction has copies as the last layer has, a tower no experts.
      const int64_t layer = chunk.layers[i] - job.model.vision_layers();
      const size_t row = layer < 0 ? sums.sent.size() - 1 : static_cast<size_t>(layer);
      add_copies(block.parameters.trainable_expert, sums.sent[row], sent);
      add_copies(block.parameters.trainable_expert, sums.leaving[row], leaving);
    }
  }
  const bool sharded = job.parallelism.fsdp || job.parallelism.zero_stage >= 1;
  const auto shards =
      static_cast<double>(sharded ? rank_group(job, GroupKind::kExpertData).size : 1);
  // Of each of the rank's experts; scattered and gathered again.
  const double each = 2 / static_cast<double>(job.expert_slots()) / shards;
  return {each * std::ranges::max(sent), each * std::ranges::max(leaving)};
}

/// The sums of copies' gradients as one exchange over expert parallelism: as many bytes as the rank
/// sends that has most to send, of which as many leave its domain as in rings of the ranks that
/// hold copies. Where a rank map or unequal parts of the group in its domains leave open which
/// ranks share one, as many as of an exchange of all with all. No operator where nothing is copied.
std::optional<workload::Operator> copy_exchange(const spec::Job& job,
                                                const workload::Workload& workload,
                                                const Stage& stage, int64_t stage_index) {
  if (job.training.moe_redundant_experts == 0) return {};
  const GroupPlacement where = placement(job, GroupKind::kExpert, stage_index);
  const int64_t together = where.size / where.nodes;
  const bool known = job.parallelism.rank_map.empty() && together == where.ranks_per_node &&
                     together * where.nodes == where.size;
  const CopiedElements copied =
      copied_elements(job, workload, stage, known ? together : where.size);
  if (copied.sent <= 0) return {};
  const auto ranks = static_cast<double>(where.size);
  workload::Operator op =
      data_collective("expert_copy_grad_exchange", CollectiveKind::kAllToAll, GroupKind::kExpert,
                      copied.sent * ranks / (ranks - 1), gradient_bytes(job.training));
  op.pass = workload::Pass::kOptimizer;
  if (known && where.nodes > 1) {
    const double others = ranks - static_cast<double>(together);
    op.leaving = copied.leaving / copied.sent * (ranks - 1) / others;
  }
  return op;
}

}  // namespace

bool is_at_the_end(const spec::CircuitPhases& phases, const workload::Operator& op) {
  if (!phases.change() || op.kind != workload::OperatorKind::kCollective) return false;
  if (op.pass == workload::Pass::kOptimizer) return phases.end_reduces;
  if (op.group != GroupKind::kData && op.group != GroupKind::kExpertData) return false;
  return op.pass == workload::Pass::kForward ? phases.end_gathers : phases.end_reduces;
}

void write_step_begin(const spec::Job& job, const workload::Workload& workload, const Stage& stage,
                      OperatorTable& operators, ProgramWriter& writer) {
  write_circuits_of_passes(job, operators, writer);
  if (!workload::keeps_gradient_buffers(job.training)) return;
  const auto zero = workload::zero_gradients(job, stage_parameters(workload, stage));
  writer.op(Stream::kCompute, operators.add(zero));
}

void write_allocator_wait(double seconds, OperatorTable& operators, ProgramWriter& writer) {
  if (seconds <= 0) return;
  writer.at(-1, -1, -1);
  writer.op(Stream::kCompute, operators.add(host_work(kAllocatorWait, seconds)));
}

void write_step_end(const spec::Job& job, const workload::Workload& workload, const Stage& stage,
                    int64_t stage_index, OperatorTable& operators, ProgramWriter& writer,
                    DataParallel& data, ShardedUnits& units) {
  const spec::Parallelism& parallel = job.parallelism;
  const double bytes = gradient_bytes(job.training);
  writer.at(-1, -1, -1);
  const double cut_s = slicing_s(job, workload, stage);
  if (cut_s > 0) writer.op(Stream::kCompute, operators.add(host_work("host_slices", cut_s)));
  const spec::CircuitPhases circuits = spec::circuit_phases(job);
  if (circuits.end_reduces) write_circuits_of_end(Stream::kCompute, job, operators, writer);
  data.finish_gradients();
  units.finish_gradients();
  const auto copies = copy_exchange(job, workload, stage, stage_index);
  if (copies) writer.op(Stream::kCompute, operators.add(*copies));
  if (parallel.sequence_parallel && parallel.tp > 1 && job.training.mode == spec::Mode::kPretrain) {
    const double elements = sequence_parallel_elements(job, workload, stage);
    writer.op(Stream::kCompute,
              operators.add(step_sum("norm_grad_all_reduce", GroupKind::kTensor, elements, bytes)));
  }
  const bool end = stage_index == 0 || stage_index == parallel.pp - 1;
  if (end && embedding_on_both_ends(job)) {
    const double elements =
        static_cast<double>(job.padded_vocab() / parallel.tp) *
        static_cast<double>(job.model.embedding_dim > 0 ? job.model.embedding_dim
                                                        : job.model.hidden);
    writer.world(operators.add(
        step_sum("embedding_grad_all_reduce", GroupKind::kEmbedding, elements, bytes)));
  }
  const workload::ParameterShare share = stage_parameters(workload, stage);
  writer.op(Stream::kCompute, operators.add(workload::gradient_norm(job, share)));
  if (job.gpus > 1)
    writer.world(operators.add(step_sum("grad_norm_all_reduce", GroupKind::kWorld, 1, 4)));
  writer.host_sync();
  const bool only_gathers = circuits.end_gathers && !circuits.end_reduces;
  if (only_gathers) write_circuits_of_end(Stream::kData, job, operators, writer);
  const workload::Operator clip = workload::clip_gradients(job, share);
  if (clip.bytes > 0) writer.op(Stream::kCompute, operators.add(clip));
  writer.op(Stream::kCompute, operators.add(workload::optimizer_step(job, share)));
  if (only_gathers) writer.join(Stream::kCompute, Stream::kData);
  data.gather_parameters();
  const auto adapters = static_cast<double>(workload::adapters_in(job));
  const double host_s = job.software.parameters.value_or("step.fixed", 0) +
                        adapters * job.software.parameters.value_or("host.adapter", 0);
  if (host_s > 0) writer.op(Stream::kCompute, operators.add(host_work("host_step", host_s)));
  const spec::Circuits& optical = job.cluster.fabric.topology.circuits;
  const bool anew = optical.when == spec::Reconfigure::kStep && job.nodes() > 1;
  if (anew && optical.reconfiguration_s > 0)
    writer.op(Stream::kCompute, circuits_for(workload::Module::kOptimizer, job, operators));
}

}  // namespace ergometer::plan

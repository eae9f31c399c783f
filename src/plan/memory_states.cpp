#include "plan/memory_states.h"

#include <algorithm>
#include <vector>

#include "base/collection.h"
#include "plan/data_parallel.h"
#include "plan/memory_parts.h"
#include "plan/placement.h"
#include "spec/job/compression.h"
#include "workload/shapes.h"
#include "workload/storage.h"

// Model states, bytes per parameter of a rank (D: ranks the state is sharded over):
//
//                                     weight     gradient   optimizer
//   Megatron, no sharding             2          4 or 2     12 (FP32 master, two moments)
//   distributed optimizer (ZeRO 1)    2          4 or 2     12 / D
//   ZeRO 2                            2          4/D or 2/D 12 / D
//   ZeRO 3, Megatron-FSDP             2 / D      4/D or 2/D 12 / D
//   PyTorch FSDP, FP32 shards         4 / D      4 / D      8 / D
//     that reduces once a step        4 / D      4 or 2     8 / D (`adds_whole_gradients`)
//   PyTorch DDP under autocast        4          4, and 4   8 (the second of buckets, from two
//                                                           replicas on)
//   nanotron, ZeRO 0                  2          4 + 2      12
//   nanotron, ZeRO 1                  2          4 + 2      12 / D, and 2 + 2 / D of gather buffers
//   optimizer on the host             2, or 2/D  as above,  0
//                                                0 from ZeRO 2 on
//   LoRA                              2 frozen (FP8: 1 with FP8 parameters; quantized:
//                                     workload/storage.h), an adapter's parameters as above
//   without master weights            2          2          two moments
//
// 16-bit gradients are copied to FP32 for the optimizer step (4 / D). FP32 training has no separate
// master. PyTorch has no gradients of its own before the backward of a step's only micro batch
// (`gradients_appear_in_backward`). nanotron adds its FP32 gradients up beside the 16-bit ones in
// PyTorch DDP's buckets (none with one replica), and keeps the flat output and input of the
// all-gather that follows the sharded step until the next forward. Its row is read off 1,070
// measured allocations, which it meets to 0.2 % in the median (tests/validation/memory_test.cpp);
// the others are the schemes' own definitions (Megatron-LM docs/dist_optimizer, ZeRO 1910.02054).
namespace ergometer::plan {
namespace {

using workload::ParameterShare;

// Transformer Engine and cuBLAS workspaces, random states, small tensors: measured allocations
// exceed the sum of named tensors by this much (SimuMax's B200 runs;
// tests/validation/memory_test.cpp), unless the software profile says otherwise in
// "memory.workspace".
constexpr double kWorkspaceBytes = 0.5 * 1024 * 1024 * 1024;
// The same for nanotron, which has no Transformer Engine: what its allocations have in common
// whatever the model.
constexpr double kNanotronWorkspaceBytes = 0.07 * 1024 * 1024 * 1024;
constexpr double kMxfp8Scale = 1 + 1.0 / 32;    // one 8-bit scale per block of 32
constexpr double kNvfp4Bytes = 0.5 + 1.0 / 16;  // two to a byte, an FP8 scale for every 16

double element_bytes(const spec::Job& job) {
  return job.training.precision == spec::Precision::kFp32 ? 4 : 2;
}

bool nanotron(const spec::Job& job) { return job.training.framework == spec::Framework::kNanotron; }

bool torch_fsdp(const spec::Job& job) {
  return job.training.framework == spec::Framework::kTorchFsdp &&
         job.parallelism.shards_parameters();
}

/// PyTorch's DistributedDataParallel, or one GPU alone.
bool torch_ddp(const spec::Job& job) {
  return job.software.parameters.value_or("ddp.autocast", 0) > 0 && !job.parallelism.fsdp &&
         job.parallelism.zero_stage == 0;
}

/// PyTorch FSDP's shards of trained parameters are the master weights.
bool shards_are_masters(const spec::Job& job) {
  return torch_fsdp(job) && job.training.master_weights;
}

double trained_weight_bytes(const spec::Job& job) {
  return shards_are_masters(job) || job.training.autocast ? 4 : element_bytes(job);
}

/// Of a trained parameter: both moments, and its master where no shard is one.
double optimizer_bytes(const spec::Job& job) {
  return 2 * workload::moment_bytes(job.training.moments) +
         (shards_are_masters(job) || job.training.autocast ? 0
                                                           : workload::master_bytes(job.training));
}

Shards shards_from(const spec::Job& job, bool sharded) {
  if (!sharded) return {};
  const auto dense = job.parallelism.shards_parameters() ? workload::GroupKind::kShard
                                                         : workload::GroupKind::kData;
  return {static_cast<double>(rank_group(job, dense).size),
          static_cast<double>(rank_group(job, workload::GroupKind::kExpertData).size)};
}

double all(const ParameterShare& share, const Shards& shards) {
  return share.dense / shards.dense + share.expert / shards.expert;
}
double trainable(const ParameterShare& share, const Shards& shards) {
  return share.trainable_dense / shards.dense + share.trainable_expert / shards.expert;
}
/// Of the weights that multiply in FP8 or NVFP4.
double narrow(const ParameterShare& share, const Shards& shards) {
  return share.narrow_dense / shards.dense + share.narrow_expert / shards.expert;
}
double quantized(const ParameterShare& share, const Shards& shards) {
  return share.quantized_dense / shards.dense + share.quantized_expert / shards.expert;
}

/// What quantization saves of weights in 16 bit.
double saved_bytes(const spec::Job& job, const ParameterShare& share, const Shards& shards) {
  return (element_bytes(job) - workload::frozen_weight_bytes(job.training.quantize)) *
         quantized(share, shards);
}

/// Bytes per weight of its FP8 form: both orientations where GEMMs need them or block scales differ
/// by direction. Of a frozen parameter with one scale a tensor Transformer Engine caches no
/// transpose: it is made for one matrix at a time, in backward. Inference has no backward.
double fp8_copy_bytes(const spec::Job& job) {
  const double directions = job.trains() ? 2 : 1;
  if (job.training.precision == spec::Precision::kNvfp4) return directions * kNvfp4Bytes;
  const bool frozen = job.training.mode == spec::Mode::kLora && job.training.fp8_parameters;
  const bool both = !workload::multiplies_fp8_in_any_layout(job.cluster.node.gpu) && !frozen;
  switch (job.training.fp8_recipe) {
    case spec::Fp8Recipe::kDelayed:
    case spec::Fp8Recipe::kTensorwise: return both ? directions : 1;
    case spec::Fp8Recipe::kRowwise:
    case spec::Fp8Recipe::kBlockwise: return directions;
    case spec::Fp8Recipe::kMxfp8: return directions * kMxfp8Scale;
  }
  return 0;
}

void add_fp8(const spec::Job& job, const ParameterShare& share, StateMemory& state) {
  if (job.training.precision != spec::Precision::kFp8 &&
      job.training.precision != spec::Precision::kNvfp4)
    return;
  // What is quantized behind a gather lives as long as its layer computes.
  if (torch_fsdp(job) && job.parallelism.shards_parameters() && !job.training.fp8_parameters)
    return;
  const double elements = narrow(share, shards_from(job, job.parallelism.shards_parameters()));
  state.fp8_copies = elements * fp8_copy_bytes(job);
  const bool replaces = job.training.fp8_parameters || !job.trains();  // what is in 16 bit
  state.weights += state.fp8_copies - (replaces ? 2 * elements : 0);
}

double distinct_shape_bytes(const spec::Job& job, const workload::Workload& workload,
                            const Stage& stage) {
  if (!job.training.grad_accumulation_fusion ||
      job.training.framework != spec::Framework::kMegatron)
    return 0;
  std::vector<double> sizes;
  for (const Chunk& chunk : stage.chunks)
    for (const int index : chunk.blocks)
      for (const double size : workload.blocks[static_cast<size_t>(index)].weight_shapes)
        if (!base::contains(sizes, size)) sizes.push_back(size);
  const double elements = base::sum(sizes);
  return elements * element_bytes(job);
}

/// What weights take less in a gathered unit, gathered in FP8, than in 16 bit: nothing where their
/// other orientation is made beside it.
double saved_by_fp8(const spec::Job& job, const ParameterShare& share) {
  if (!workload::sends_fp8_parameters(job.training)) return 0;
  return (element_bytes(job) - fp8_copy_bytes(job)) * narrow(share, {});
}

/// Sharded parameters are whole while their unit, a layer, computes, and the next one is fetched
/// ahead; where gradients are sharded (from ZeRO-2 on), a layer's are whole until they are reduced.
/// What is outside the layers is one unit that stays gathered.
double gathered_bytes(const spec::Job& job, const workload::Workload& workload,
                      const Stage& stage) {
  if (!reduces_every_micro_batch(job)) return 0;
  constexpr Shards kWhole;
  double layer = 0, layer_gradient = 0, outside = 0;  // bytes, elements, bytes
  for (const Chunk& chunk : stage.chunks)
    for (const int index : chunk.blocks) {
      const workload::Block& block = workload.blocks[static_cast<size_t>(index)];
      const double bytes = element_bytes(job) * all(block.parameters, kWhole) -
                           saved_bytes(job, block.parameters, kWhole) -
                           saved_by_fp8(job, block.parameters);
      if (block.kind != workload::BlockKind::kLayer && block.kind != workload::BlockKind::kMtp) {
        outside += bytes;
        continue;
      }
      layer = std::max(layer, bytes);
      layer_gradient = std::max(layer_gradient, trainable(block.parameters, kWhole));
    }
  const double gradient = torch_fsdp(job) || !job.training.gradients_fp32 ? element_bytes(job) : 4;
  const double gathered = job.parallelism.shards_parameters() ? 2 * layer + outside : 0;
  return gathered + (adds_whole_gradients(job) ? 0 : gradient * layer_gradient);
}

/// The largest of the matrices that are unpacked before a product, one at a time.
double unpacked_bytes(const spec::Job& job, const workload::Workload& workload) {
  double most = 0;
  for (const workload::Operator& op : workload.operators)
    if (op.layout == workload::GemmLayout::kTn && op.n > 0 &&
        workload::keeps_quantized(job.training, op.name))
      most = std::max(most, static_cast<double>(op.n) * static_cast<double>(op.k));
  return element_bytes(job) * most;
}

/// What is kept of every sequence a replica serves, over the layers of the stage.
double kv_cache_bytes(const spec::Job& job, const workload::Workload& workload,
                      const Stage& stage) {
  if (job.trains()) return 0;
  const int64_t tokens = job.training.seq_length + job.training.generate_tokens;
  double bytes = 0;  // of a sequence
  for (const Chunk& chunk : stage.chunks)
    for (const int index : chunk.blocks) {
      const workload::CacheShare& cache = workload.blocks[static_cast<size_t>(index)].cache;
      const int64_t kept = cache.most_tokens > 0 ? std::min(tokens, cache.most_tokens) : tokens;
      bytes +=
          cache.token_bytes * static_cast<double>(kept) / static_cast<double>(job.parallelism.cp) +
          cache.state_bytes;
    }
  return bytes * static_cast<double>(job.training.global_batch) /
         static_cast<double>(job.parallelism.dp);
}

/// TE registers buffers for the gathered input and the scattered output of both column- and
/// row-parallel layers. nanotron's asynchronous tensor parallelism keeps two whole copies of the
/// residual stream in named buffers.
double tensor_buffer_bytes(const spec::Job& job, const workload::Workload& workload) {
  const spec::Parallelism& p = job.parallelism;
  constexpr double kNanotronBuffers = 2;
  constexpr double kUserbuffers = 3;  // between 2 and 4, by which of the four layers overlap
  if (p.tp == 1 || !p.sequence_parallel) return 0;
  const double whole = workload.boundary_bytes * static_cast<double>(p.tp);
  if (nanotron(job)) return kNanotronBuffers * whole;
  return job.training.overlap_tp ? kUserbuffers * whole : 0;
}

/// nanotron: what the all-gather behind the sharded optimizer step leaves.
double nanotron_gather_bytes(const spec::Job& job, const ParameterShare& share) {
  if (!nanotron(job) || job.parallelism.zero_stage == 0 ||
      job.parallelism.dp * job.parallelism.cp == 1)
    return 0;
  return element_bytes(job) * (trainable(share, {}) + trainable(share, shards_from(job, true)));
}

/// Whether gradients have four bytes.
bool wide_gradients(const spec::Job& job) {
  return job.training.gradients_fp32 || shards_are_masters(job) || nanotron(job) ||
         job.training.precision == spec::Precision::kFp32;
}

/// Added up until the last backward reduces them unit by unit: as products write them, but in the
/// width that is reduced in (FSDP 2).
double whole_gradient_bytes(const spec::Job& job) {
  return job.training.gradients_fp32 ? 4 : element_bytes(job);
}

/// PyTorch DDP's gradient buckets, which nanotron's gradients are made in.
double nanotron_bucket_bytes(const spec::Job& job, const ParameterShare& share) {
  if (!nanotron(job) || job.parallelism.dp * job.parallelism.cp == 1) return 0;
  return element_bytes(job) * trainable(share, {});
}

/// Those that PyTorch's own gradients are copied into and out of, and which last
/// (`gradient_as_bucket_view` is off unless asked for).
double ddp_bucket_bytes(const spec::Job& job, const ParameterShare& share) {
  if (!torch_ddp(job) || job.parallelism.dp * job.parallelism.cp == 1) return 0;
  return (wide_gradients(job) ? 4 : 2) * trainable(share, {});
}

}  // namespace

StateBytes state_bytes(const spec::Job& job) {
  const bool on_host = job.training.optimizer_offload && job.trains();
  const double gradient = adds_whole_gradients(job) ? whole_gradient_bytes(job)
                          : wide_gradients(job)     ? 4
                                                    : 2;
  const bool replicated = job.parallelism.dp * job.parallelism.cp > 1;
  const double buckets = torch_ddp(job) ? gradient : nanotron(job) ? element_bytes(job) : 0;
  return {.weight = on_host ? element_bytes(job) : trained_weight_bytes(job),
          .gradient = gradient,
          .optimizer = on_host ? 0 : optimizer_bytes(job),
          .buckets = replicated ? buckets : 0,
          .shards_are_masters = !on_host && shards_are_masters(job)};
}

bool gradients_appear_in_backward(const spec::Job& job) {
  return (torch_fsdp(job) || torch_ddp(job)) && job.trains() && !job.training.optimizer_offload &&
         job.parallelism.pp == 1 && job.micro_batches() == 1;
}

double gradient_bytes(const spec::Job& job, const ParameterShare& share) {
  if (adds_whole_gradients(job)) return whole_gradient_bytes(job) * trainable(share, {});
  const bool sharded = job.parallelism.shards_gradients();
  return (wide_gradients(job) ? 4 : 2) * trainable(share, shards_from(job, sharded)) +
         nanotron_bucket_bytes(job, share);
}

// On one H100 (tests/data/trainer) Llama 3.2 1B, which 256 tokens leave nothing but its states,
// holds 0.98 GiB beyond them and PyTorch's workspace: twice its matrix in 16 bit, as autograd adds
// nothing into the transposed view that a product's gradient is. That cast to FP32 is a tensor of
// its own: Llama 3.2 3B in FP32 holds 1.5 GiB more, once its matrix.
TiedGradients tied_gradients(const spec::Job& job) {
  if (!torch_ddp(job) || !job.model.tied_embeddings || job.parallelism.pp > 1 ||
      job.training.mode != spec::Mode::kPretrain || !job.training.freeze.empty())
    return {};
  const double bytes = (wide_gradients(job) ? 4 : 2) * static_cast<double>(job.padded_vocab()) *
                       static_cast<double>(job.model.hidden);
  return {bytes, wide_gradients(job) ? 0 : bytes};
}

double cached_gradients(const spec::Job& job, const ParameterShare& share, double lift) {
  return gradients_appear_in_backward(job) ? gradient_bytes(job, share) - lift : 0;
}

StateMemory state_memory(const spec::Job& job, const workload::Workload& workload,
                         const Stage& stage) {
  const ParameterShare share = stage_parameters(workload, stage);
  const int zero = job.parallelism.fsdp ? 3 : job.parallelism.zero_stage;
  const Shards optimizer = shards_from(job, zero >= 1);
  StateMemory state;
  const bool on_host = job.training.optimizer_offload && job.trains();
  const Shards kept = shards_from(job, zero >= 3);
  const double trained = state_bytes(job).weight;
  state.weights = element_bytes(job) * (all(share, kept) - trainable(share, kept)) +
                  trained * trainable(share, kept) - saved_bytes(job, share, kept);
  add_fp8(job, share, state);
  if (!job.trains()) return state;
  // Sharded gradients go to the host as they are reduced.
  if (on_host && zero >= 2 && !adds_whole_gradients(job)) return state;
  state.gradients = ddp_bucket_bytes(job, share) +
                    (gradients_appear_in_backward(job) ? 0 : gradient_bytes(job, share));
  // What top-k did not send waits for the next step, in FP32.
  if (job.parallelism.dp * job.parallelism.cp > 1 &&
      spec::gradient_compression(job).kind == spec::Compression::Kind::kTopK)
    state.gradients += 4 * trainable(share, {});
  if (on_host) return state;
  state.optimizer = optimizer_bytes(job) * trainable(share, optimizer);
  state.after_step = nanotron_gather_bytes(job, share);
  const bool copied = !wide_gradients(job) && job.training.master_weights;
  state.step = state.after_step + (copied ? 4 * trainable(share, optimizer) : 0);
  return state;
}

double checkpoint_bytes(const spec::Job& job, const workload::Workload& workload) {
  const double each = trained_weight_bytes(job) + optimizer_bytes(job);
  // Ranks that hold unlike experts, or unlike parts of one.
  const auto apart = static_cast<double>(rank_group(job, workload::GroupKind::kExpertData).stride);
  // Of copies one is written.
  const auto copies = static_cast<double>(job.training.moe_redundant_experts);
  const auto experts = static_cast<double>(job.model.experts.count);
  const double once = copies > 0 ? experts / (experts + copies) : 1;
  double elements = 0;
  for (const Stage& stage : divide(job, workload)) {
    const ParameterShare share = stage_parameters(workload, stage);
    elements += share.trainable_dense * static_cast<double>(job.parallelism.tp) +
                share.trainable_expert * apart * once;
  }
  return each * elements;
}

BufferMemory buffer_memory(const spec::Job& job, const workload::Workload& workload,
                           const Stage& stage) {
  BufferMemory buffers;
  buffers.workspace = job.software.parameters.value_or(
      "memory.workspace", nanotron(job) ? kNanotronWorkspaceBytes : kWorkspaceBytes);
  buffers.dummy_gradients = job.trains() ? distinct_shape_bytes(job, workload, stage) : 0;
  buffers.gathered = gathered_bytes(job, workload, stage) + unpacked_bytes(job, workload);
  buffers.tensor = tensor_buffer_bytes(job, workload);
  buffers.kv_cache = kv_cache_bytes(job, workload, stage);
  return buffers;
}

}  // namespace ergometer::plan

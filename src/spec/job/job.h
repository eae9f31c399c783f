#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "spec/job/cluster.h"
#include "spec/job/model.h"
#include "spec/job/pipeline_order.h"

namespace ergometer::spec {

/// Orders of work of the pipeline's stages (spec/job/stage_order.h); kFile: `Parallelism::order`.
enum class Schedule {
  kOneFOneB,
  kInterleaved,
  kGpipe,
  kZbH1,
  kZbH2,
  kLoopedBfs,
  kZbV,
  kVHalf,
  kVMin,
  kDualPipeV,
  kFile
};
/// Input and output layer divided over the stages along the vocabulary (arXiv 2411.05288): kept on
/// the first and the last stage; in passes between those of 1F1B, with as many barriers between a
/// micro batch's last forward and its first backward; or on all stages at once, in line.
enum class VocabularyParallel { kNone, kOneBarrier, kTwoBarriers, kInterlaced };
/// What stages learn from: the gradient that the next stage sends back; or each from a loss at its
/// own end, of a head there or of labels made up for its outputs, so that no gradient is sent.
enum class StageTraining { kTogether, kLocalHeads, kSyntheticLabels };
enum class CpComm { kP2p, kAllGather, kAllToAll };
enum class Recompute { kNone, kSelective, kFull };
enum class RecomputeMethod { kUniform, kBlock };
enum class Precision { kFp32, kFp16, kBf16, kFp8, kNvfp4 };
enum class Fp8Recipe { kDelayed, kTensorwise, kRowwise, kBlockwise, kMxfp8 };
enum class Mode { kPretrain, kLora, kPrefill, kDecode };
enum class MoeDispatcher { kAllToAll, kAllGather, kDeepEp, kHybridEp };
/// Which rank holds which expert: in order, or so that ranks get as even a load as can be.
enum class ExpertPlacement { kInOrder, kByLoad };
/// kFused: the best fused kernel the GPU has; the others name a generation of it.
enum class AttentionBackend { kFused, kUnfused, kFlash1, kFlash2, kFlash3, kCudnn };
inline bool is_fused(AttentionBackend backend) { return backend != AttentionBackend::kUnfused; }
enum class Framework { kMegatron, kTorchFsdp, kNanotron };

/// How the ranks are divided. Ranks are numbered tp fastest, then cp, dp, pp; experts cut the same
/// tp x cp x dp ranks of a stage into etp fastest, then ep, then expert data parallelism.
struct Parallelism {
  int64_t tp = 1, cp = 1, pp = 1, vpp = 1, dp = 1, ep = 1, etp = 0 /* 0: as tp */;
  bool sequence_parallel = false;
  CpComm cp_comm = CpComm::kP2p;
  Schedule schedule = Schedule::kOneFOneB;
  /// 0: every rank keeps everything; 1: optimizer states sharded over data parallelism (Megatron's
  /// distributed optimizer); 2: gradients too; 3: parameters too (FSDP).
  int zero_stage = 1;
  bool fsdp = false;
  int64_t fsdp_shard_size =
      0;  ///< hybrid shard: of dp x cp ranks, those that share one copy; 0: all
  /// Layers of the first and last stage, 0: even; whether embedding and loss count as a layer in
  /// the split.
  int64_t first_stage_layers = 0, last_stage_layers = 0;
  bool embedding_counts_as_layer = false, loss_counts_as_layer = false;
  std::vector<int64_t> stage_layers;  ///< explicit layers of every part (`part_of`), in model
                                      ///< order; empty: by the rules above
  bool layers_by_speed = false;       ///< `stage_layers` follow the speed of each stage's GPUs
  bool batches_by_speed = false;      ///< `group_micro_batches` follow the speed of replicas' GPUs
  /// By group of the cluster's nodes: micro batches of a data-parallel replica there; empty: every
  /// replica has as many.
  std::vector<int64_t> group_micro_batches;
  int64_t microbatch_group = 0;  ///< interleaving's group size; 0: pp
  VocabularyParallel vocabulary = VocabularyParallel::kNone;
  PipelineOrder order;  ///< a schedule file's; empty without one
  StageTraining stage_training = StageTraining::kTogether;
  double recovery_steps = 0;  ///< of stages trained apart: the share of steps that train together
  /// By rank the GPU it runs on, `node * gpus_per_node + index`; empty: rank r on GPU r.
  std::vector<int64_t> rank_map;

  /// Whether the model turns at the ends of the pipeline: the stages hold their odd chunks in
  /// reverse, with two chunks in the form of a V. Else every chunk begins at stage 0 again.
  bool turns() const {
    if (schedule == Schedule::kFile) return order.turns;
    return schedule >= Schedule::kZbV && schedule <= Schedule::kDualPipeV;
  }
  /// The model is cut into pp x vpp parts, 0 at the embedding: which one a stage's chunk holds.
  int64_t part_of(int64_t stage, int64_t chunk) const {
    return chunk * pp + (turns() && chunk % 2 == 1 ? pp - 1 - stage : stage);
  }
  int64_t parts() const { return pp * vpp; }
  /// Whether the user says how many layers stages hold, other than by what counts as a layer.
  bool says_stage_layers() const {
    return !stage_layers.empty() || first_stage_layers > 0 || last_stage_layers > 0;
  }
  bool shards_gradients() const { return fsdp || zero_stage >= 2; }
  /// FSDP and ZeRO-3: parameters are gathered unit by unit (`plan/sharded_units.h`).
  bool shards_parameters() const { return fsdp || zero_stage >= 3; }
  bool trains_apart() const { return stage_training != StageTraining::kTogether; }
  bool divides_vocabulary() const { return vocabulary != VocabularyParallel::kNone; }
  /// Ranks that hold a part each of the vocabulary.
  int64_t vocabulary_ranks() const { return divides_vocabulary() ? tp * pp : tp; }
  int64_t stage_of(int64_t part) const {
    return turns() && part / pp % 2 == 1 ? pp - 1 - part % pp : part % pp;
  }

  int64_t gpu_of(int64_t rank) const {
    return rank_map.empty() ? rank : rank_map[static_cast<size_t>(rank)];
  }
};

enum class RoutingKind : uint8_t {
  kEven,          ///< every expert takes as many tokens
  kZipf,          ///< the n-th most wanted expert of a layer takes n^-amount
  kHotExpert,     ///< one expert of a layer takes `amount` times its share
  kHotRank,       ///< the experts of the first rank of a group do
  kRotatingRank,  ///< those of another rank in every layer
  kBursts,        ///< those of the first rank, in every eighth layer
  kCounts         ///< as counted
};
/// How tokens choose experts.
struct ExpertRouting {
  RoutingKind kind = RoutingKind::kEven;
  double amount = 0;
  std::string text = "even";                ///< as the user wrote it
  std::vector<std::vector<double>> counts;  ///< tokens by layer that has experts, and expert
  bool is_even() const { return kind == RoutingKind::kEven; }
};

/// A sample that joins text and images: tiles of its images, tokens of it in the decoder, those of
/// the images among them.
struct SampleSize {
  int64_t tiles = 0, tokens = 0;
  bool operator==(const SampleSize&) const = default;
};
/// Means and standard deviations that samples are drawn by, lognormal each.
struct SampleMoments {
  double tiles = 0, tiles_deviation = 0, text = 0, text_deviation = 0;
};

enum class LengthKind : uint8_t {
  kEven,       ///< every document fills its sequence
  kLognormal,  ///< of median `first` and the standard deviation `second` of their logarithms
  kUniform,    ///< from `first` to `second`
  kCounted,    ///< as counted
  kSamples,    ///< of text and images, as counted (`samples`)
  kMoments     ///< of text and images, by `moments`
};
/// How long the documents are that a job trains on, tokens.
struct SequenceLengths {
  LengthKind kind = LengthKind::kEven;
  double first = 0, second = 0;
  std::string text = "even";                        ///< as the user wrote it
  std::vector<std::pair<int64_t, int64_t>> counts;  ///< length, documents
  std::vector<SampleSize> samples;                  ///< each as often
  SampleMoments moments;
  double images_left_out = 0;  ///< share of the images that no sequence holds whole
  bool has_images() const { return kind == LengthKind::kSamples || kind == LengthKind::kMoments; }
  bool is_even() const { return kind == LengthKind::kEven; }
};
/// How documents become micro batches (workload/sequences.h).
enum class SequenceBatching { kPacked, kPadded, kPaddedToSeq, kVariable };
/// Which of a step's samples lie together: as drawn, or those that cost alike.
enum class SequenceOrder { kRandom, kLengthBalanced };

/// How LoRA keeps the weights that it does not train: in the 16 bits they multiply in, in four
/// (NormalFloat4, whose scales may be quantized once more) or in eight (LLM.int8), unpacked before
/// every product.
enum class FrozenWeights { k16Bit, kNf4, kNf4Double, kInt8 };
/// What Adam's two moments are kept in; 8 bit: with an FP32 scale for every 256; FP8: with one a
/// tensor.
enum class Moments { kFp32, kBf16, k8Bit, kFp16, kFp8 };
/// How samples of text and images become micro batches: so many of them padded to the longest, by
/// tokens alone until a sequence is full, or until a sequence or a tower's tiles are.
enum class SamplePacking { kNone, kLength, kBoth };

struct Training {
  Mode mode = Mode::kPretrain;
  int64_t micro_batch = 1, global_batch = 0, seq_length = 0;
  bool least_batch = false;  ///< nobody gave a batch: the smallest that fills the pipeline
  /// Nobody said how a replica's sequences of a step come in micro batches: taken one at a time.
  bool assumed_micro_batch = false;
  /// Mean length of the documents packed into a sequence, weighted by tokens; attention stays
  /// inside a document. 0: one document fills the sequence.
  int64_t packed_mean_length = 0;
  SequenceLengths sequence_lengths;
  SequenceBatching sequence_batching = SequenceBatching::kPacked;
  SequenceOrder sequence_order = SequenceOrder::kRandom;
  int64_t sequence_seed = 1;  ///< which documents are drawn
  // Of a model with a vision tower.
  int64_t images_per_sample = 0;  ///< 0: text alone
  int64_t tiles_per_image = 0;
  int64_t tokens_per_image = 0;     ///< in the decoder, all tiles
  std::vector<std::string> freeze;  ///< vision, projector, language: without gradients
  SamplePacking sample_packing = SamplePacking::kNone;
  int64_t packing_rounds = 50;  ///< of iterative sampling and filtering
  int64_t pack_tiles = 18;      ///< the tower's share of a packed micro batch
  Precision precision = Precision::kBf16;
  Fp8Recipe fp8_recipe = Fp8Recipe::kDelayed;
  bool tf32 = true;             ///< products of FP32 in TF32, where a GPU has it
  bool fp8_parameters = false;  ///< parameters kept in FP8 or FP4; gathered: workload/shapes.h
  bool fp8_attention = false;   ///< the attention core multiplies in FP8 too
  bool gradients_fp32 = true;   ///< main gradients and their reduction in FP32, else in 16 bit
  Recompute recompute = Recompute::kNone;
  RecomputeMethod recompute_method = RecomputeMethod::kUniform;
  int64_t recompute_layers =
      0;  ///< block: layers a chunk; uniform: layers a checkpoint; 0: all / 1
  /// Block method: layers recomputed in every part of the model (`part_of`), instead of
  /// `recompute_layers`; empty: that.
  std::vector<int64_t> recompute_stage_layers;
  std::vector<std::string> recompute_modules;  ///< selective: core_attn, moe_act, layernorm,
                                               ///< mla_up_proj, mlp, moe, shared_experts
  bool overlap_grad_reduce = false, overlap_param_gather = false, overlap_tp = false,
       overlap_p2p = false;
  bool batch_p2p_sync =
      false;  ///< a device synchronisation after every batched pipeline exchange (NeMo 1)
  /// Ranks of a tensor-parallel group send a part each and gather it behind (Megatron-LM to 2022).
  bool scatter_gather_p2p = false;
  double bucket_elements = 0;  ///< gradient bucket; 0: Megatron's max(40 M, 1 M x dp)
  AttentionBackend attention = AttentionBackend::kFused;
  bool fused_cross_entropy = true;
  bool linear_cross_entropy = false;  ///< loss and output projection in one, piece by piece
  bool optimizer_offload = false;     ///< the optimizer's states and its step are on the host
  /// First layers of the model whose kept activations wait in the host's memory; their way there
  /// and back runs beside compute (workload/block/offload.cpp).
  int64_t offloaded_layers = 0;
  bool grad_accumulation_fusion = true;
  /// FSDP; else only the backward of a step's last micro batch reduces, and until then every rank
  /// adds up whole gradients (PyTorch's no_sync).
  bool reduce_every_micro_batch = true;
  bool fused_rope = true;
  MoeDispatcher moe_dispatcher = MoeDispatcher::kAllToAll;
  bool moe_grouped_gemm = true;
  double moe_capacity_factor = 0;    ///< 0: dropless
  bool moe_pad_to_capacity = false;  ///< every expert gets as many rows as it may take
  bool pads_experts() const { return moe_capacity_factor > 0 && moe_pad_to_capacity; }
  bool moe_shared_overlap = false;
  ExpertRouting moe_routing;
  ExpertPlacement moe_placement = ExpertPlacement::kInOrder;
  /// Copies of a layer's most wanted experts, beside the experts themselves, on all ranks of an
  /// expert-parallel group together; then experts are placed by load.
  int64_t moe_redundant_experts = 0;
  /// Tokens of one micro batch travel to experts beside another micro batch's compute.
  bool overlap_expert_parallel = false;
  /// What travels inside the kernel of a product: ag-gemm, gemm-rs, a2a-gemm
  /// (workload/block/fuse.h).
  std::vector<std::string> fuse;
  int64_t lora_rank = 0;
  std::vector<std::string> lora_targets;  ///< qkv or some of q, k, v; proj, fc1, fc2; empty: all
  std::vector<int64_t> lora_layers;       ///< that have adapters, from 0; empty: all
  FrozenWeights quantize = FrozenWeights::k16Bit;
  bool master_weights = true;  ///< trained parameters in FP32 beside, or as FSDP, instead of 16 bit
  Moments moments = Moments::kFp32;
  bool master_remainders = false;  ///< of FP32 masters only the 16 bits that bf16 parameters lack
  /// PyTorch without sharding (DistributedDataParallel, or one GPU): trained weights are in FP32,
  /// the optimizer's masters and what every use casts to 16 bit. Follows from the rest.
  bool autocast = false;
  int64_t generate_tokens = 0;        ///< decode: tokens to generate after a prompt of seq_length
  int64_t vocab_multiple = 128;       ///< the vocabulary is padded to a multiple of this times tp
  bool attention_flops_full = false;  ///< count both sides of attention's diagonal instead of one
  bool cuda_graphs = false;
  /// What is captured: attn, mlp, moe, moe_router, moe_preprocess, mamba; empty or full_iteration:
  /// everything.
  std::vector<std::string> cuda_graph_scope;
  Framework framework = Framework::kMegatron;
};

/// Something that is different about one GPU, or every GPU of a node: a fault or a what-if.
enum class OverrideKind : uint8_t {
  kPowerCap,      ///< W
  kLockClock,     ///< Hz
  kSpeed,         ///< a slow GPU: its clock as a share of what the governor decides
  kPowerBrake,    ///< 1: the external brake holds it at its lowest clock (a failed supply)
  kInlet,         ///< C, of the node
  kFan,           ///< share of full speed, of the node
  kBlockedInlet,  ///< share of the node's flow that is lost
  kResistance,    ///< factor on the resistance between die and sink (bad paste)
  kLeakage,       ///< factor
  kLink,          ///< share of its scale-up bandwidth that is left
  kNic,           ///< share of its network bandwidth that is left
};
struct Override {
  int64_t node = -1;  ///< -1: every node
  int64_t gpu = -1;   ///< index in the node; -1: every GPU of it
  OverrideKind kind = OverrideKind::kPowerCap;
  double value = 0;
  std::string text;  ///< as the user wrote it
  bool is_of_node(int64_t number) const { return node < 0 || node == number; }
  /// Whether it is said of this GPU; `index`, in the node, as in `gpu`.
  bool is_of(int64_t number, int64_t index) const {
    return is_of_node(number) && (gpu < 0 || gpu == index);
  }
  /// The same fact of the same place, whatever the value.
  bool same_target(const Override& other) const {
    return node == other.node && gpu == other.gpu && kind == other.kind;
  }
  bool operator==(const Override&) const = default;
};

/// Whose readings telemetry holds: the vendor's sensors, as nvidia-smi or amd-smi show them, or the
/// time line itself.
enum class Sensor : uint8_t { kVendor, kNone };

/// A training run around its steps, as far as its mean power wants to know it.
struct RunPhases {
  double steps = 0;         ///< of training; 0: as many as `length_s` has room for
  double length_s = 0;      ///< of the whole run; 0: as long as `steps` take
  double eval_every = 0;    ///< steps from one evaluation to the next; 0: none
  double eval_from = 0;     ///< steps before the first one
  double eval_batches = 0;  ///< global batches that each evaluates
  double eval_pause_s = 0;  ///< at each evaluation, while GPUs stand
  double pause_s = 0;       ///< of the whole run, while GPUs stand: start, checkpoints, data
  bool given() const { return steps > 0 || length_s > 0; }
  bool operator==(const RunPhases&) const = default;
};

/// What surrounds the job: power, clocks, cooling, and how long to look.
struct Conditions {
  /// Every GPU at the kind's reference clock; no power, no heat.
  bool constant_clocks = false;
  double power_cap_w = 0;    ///< a GPU; 0: the GPU's default
  double lock_clock_hz = 0;  ///< 0: none
  /// How much slower than priced clocks are where kernels change from waiting for memory to waiting
  /// for compute; 0: as the locked clock says. The engine sets it for GPUs that governors hold.
  double clock_slowdown = 0;
  Cooling cooling = Cooling::kAir;  ///< resolved: the node's unless the user says otherwise
  double inlet_c = 0;               ///< meaningful if has_inlet; else the cooling's own
  bool has_inlet = false;
  double fan = 0;               ///< share of full speed; 0: automatic
  uint64_t seed = 0;            ///< silicon; 0: every GPU nominal
  double operand_activity = 1;  ///< 0: zeros, 1: random data or trained weights
  double duration_s = 0;        ///< from a cold start; 0: not so
  Sensor sensor = Sensor::kVendor;
  /// Of a run from a cold start, counted from 1: the step that power and heat are told of; 0: none.
  int64_t measured_step = 0;
  double start_c = 0;  ///< mean of the GPUs' dies, at a start; 0: as idle
  RunPhases run;       ///< not given: the step alone
  // The facility.
  double cluster_cap_w = 0;    ///< 0: none; else held by equal power caps
  double pue = 1;              ///< facility power over IT power
  double smoothing_floor = 0;  ///< share of the power cap; 0: no smoothing
  double smoothing_up_w_per_s = 0, smoothing_down_w_per_s = 0;  ///< a GPU; 0: no limit
  double smoothing_hysteresis_s = 0;
  std::vector<Override> overrides;
  bool is_steady() const { return duration_s == 0 && measured_step == 0; }
  bool operator==(const Conditions&) const = default;
};

/// The generation of a framework: host costs and speeds relative to the catalog's kernels, by the
/// names of `spec/cluster/parameter_table.h`.
struct Software {
  std::string name;  ///< "megatron-core-25"
  base::ParameterSet parameters;
};

/// What a job's framework sets where nobody says anything: a file of catalog/recipes.
struct RecipeName {
  std::string name;    ///< "nemo 25.09"
  std::string title;   ///< "NVIDIA's NeMo and Megatron-Bridge recipes"
  std::string source;  ///< "given", "file" (the framework of the input file) or "inferred"
};

/// Where a setting came from, for messages and for --explain.
struct Origin {
  std::string text;  ///< "job.yaml:14", "--tp", "default: sequence parallelism goes with tensor
                     ///< parallelism"
  std::string key;   ///< the setting as the user spelled it, "parallelism.tp"; empty: as in the
                     ///< setting table
};

/// What the user wants to run, complete and checked: every field is meaningful, dp is filled in,
/// and `tp * cp * pp * dp == gpus`. Made by `spec/resolve/resolve.h`; nothing behind it needs to
/// doubt it.
struct Job {
  Model model;
  Cluster cluster;
  int64_t gpus = 0;
  Parallelism parallelism;
  Training training;
  Software software;
  RecipeName recipe;
  Conditions conditions;
  std::map<std::string, Origin> origins;  ///< by setting name ("tensor_model_parallel_size", ...)

  int64_t nodes() const { return (gpus + cluster.node.gpus - 1) / cluster.node.gpus; }
  /// Of the data-parallel replica that has most.
  int64_t micro_batches() const {
    if (const auto& own = parallelism.group_micro_batches; !own.empty())
      return *std::max_element(own.begin(), own.end());
    return training.global_batch / (training.micro_batch * parallelism.dp);
  }
  /// Ranks of one pipeline stage.
  int64_t stage_ranks() const { return parallelism.tp * parallelism.cp * parallelism.dp; }
  /// Experts of a layer on all ranks of an expert-parallel group together, copies among them.
  int64_t placed_experts() const { return model.experts.count + training.moe_redundant_experts; }
  /// Of these, what a rank holds.
  int64_t expert_slots() const { return placed_experts() / parallelism.ep; }
  /// Of experts and copies that take as much each, no rank gets more than another: copies alone
  /// leave what they are of undivided where ranks do not divide the experts.
  bool loads_experts_evenly() const {
    return training.moe_routing.is_even() && model.experts.count % parallelism.ep == 0;
  }
  /// The vocabulary as stored: padded so that those who share it divide it.
  int64_t padded_vocab() const {
    const int64_t multiple = training.vocab_multiple * parallelism.vocabulary_ranks();
    return (model.vocab + multiple - 1) / multiple * multiple;
  }
  /// Tiles that the tower works on in one micro batch.
  int64_t micro_batch_tiles() const {
    return training.micro_batch * training.images_per_sample * training.tiles_per_image;
  }
  bool offloads_activations() const { return trains() && training.offloaded_layers > 0; }
  /// Which layers gradients reach, where only some have adapters: to be settled again wherever
  /// recomputation or the pipeline change. Autograd ends at the lowest layer with adapters, unless
  /// layers are computed again, for which PEFT lets gradients pass to the embedding
  /// (enable_input_require_grads); with pipeline stages or partly recomputed layers they are
  /// assumed to pass as well.
  void settle_backward() {
    const std::vector<int64_t>& adapted = training.lora_layers;
    if (adapted.empty()) return;
    const bool ends = training.recompute == Recompute::kNone && parallelism.pp == 1;
    const int64_t lowest = ends ? *std::min_element(adapted.begin(), adapted.end()) : 0;
    for (size_t i = 0; i < model.layers.size(); ++i)
      model.layers[i].backward = static_cast<int64_t>(i) >= lowest;
  }
  bool trains() const { return training.mode == Mode::kPretrain || training.mode == Mode::kLora; }
  /// Requests are answered instead.
  bool is_inference() const { return !trains(); }
};

}  // namespace ergometer::spec

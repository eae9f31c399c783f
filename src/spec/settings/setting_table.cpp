#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "base/text.h"
#include "spec/settings/schedule_file.h"
#include "spec/settings/setting_fields.h"
#include "spec/settings/setting_values.h"

namespace ergometer::spec {
namespace {

using enum SettingKind;

constexpr double kMostTokens = 134'217'728;
constexpr double kMostSamples = 1e9;

constexpr SettingPlace kVision{"vision", "sequence"};
/// Every cause is one of `compare::factors()`.
constexpr SettingPlace kModel{"job", "model"};
constexpr SettingPlace kTensor{"parallelism", "tensor_parallelism"};
constexpr SettingPlace kContext{"parallelism", "context_parallelism"};
constexpr SettingPlace kPipeline{"parallelism", "pipeline"};
constexpr SettingPlace kSharding{"parallelism", "sharding"};
constexpr SettingPlace kSequence{"training", "sequence"};
constexpr SettingPlace kBatch{"training", "global_batch"};
constexpr SettingPlace kSoftware{"training", "software"};
constexpr SettingPlace kRecompute{"recomputation", "recomputation"};
constexpr SettingPlace kTransfers{"overlap", "overlap_pipeline"};
constexpr SettingPlace kPrecision{"precision", "precision"};
constexpr SettingPlace kExperts{"experts", "experts"};
constexpr SettingPlace kKernels{"kernels", "kernels"};
constexpr SettingPlace kGraphs{"kernels", "graphs"};
constexpr SettingPlace kTask{"task", "task"};
constexpr SettingPlace kLimits{"conditions", "limits"};
constexpr SettingPlace kCooling{"conditions", "cooling"};
constexpr SettingPlace kTime{"conditions", "time"};
/// Of no cause where none is named.
constexpr SettingPlace in(std::string_view group, std::string_view cause = {}) {
  return {group, cause};
}

/// A setting that becomes something else in the job.
constexpr SettingValue unkept(SettingKind kind, double min = 0, double max = 0) {
  return {.kind = kind, .min = min, .max = max};
}
/// A setting that is read by hand, and told from the job.
constexpr SettingValue told(SettingKind kind, SettingText text, std::string_view words = {}) {
  return {.kind = kind, .choices = words, .text = text};
}

// What only some settings have: `SettingTraits`.
constexpr auto why(std::string_view reason) {
  return [reason](SettingTraits& it) { it.reason = reason; };
}
constexpr auto habit() {
  return [](SettingTraits& it) { it.habit = true; };
}
constexpr auto also(std::string_view words) {
  return [words](SettingTraits& it) { it.also = words; };
}
constexpr auto sought(std::string_view words) {
  return [words](SettingTraits& it) { it.sought = words; };
}
constexpr auto megatron(std::string_view words) {
  return [words](SettingTraits& it) { it.megatron = words; };
}
constexpr auto core(std::string_view words = kOwnName) {
  return [words](SettingTraits& it) { it.core = words; };
}
constexpr auto nemo(std::string_view words = kOwnName) {
  return [words](SettingTraits& it) { it.nemo = words; };
}

/// Profiles of one name need not say the same: a file may stand in for the catalog's.
std::string software_text(const SettingInfo&, const Job& job) {
  std::string text = job.software.name;
  for (const auto& [name, parameter] : job.software.parameters.all())
    text += fmt::format(" {}={}", name, base::shortest(parameter.value));
  return text;
}

std::string reduction_text(const SettingInfo& info, const Job& job) {
  return field_text(info, !job.training.gradients_fp32);
}
std::string order_text(const SettingInfo&, const Job& job) {
  const Parallelism& p = job.parallelism;
  return p.order.stages.empty() ? "" : schedule_text(p.order, to_word(p.schedule));
}
std::string dispatcher_text(const SettingInfo&, const Job& job) {
  return std::string(to_word(job.training.moe_dispatcher));
}
std::string expert_routing_text(const SettingInfo&, const Job& job) {
  return job.training.moe_routing.text;
}
std::string lengths_text(const SettingInfo&, const Job& job) {
  const SequenceLengths& lengths = job.training.sequence_lengths;
  return lengths.has_images() ? "even" : lengths.text;
}
std::string samples_text(const SettingInfo&, const Job& job) {
  const SequenceLengths& lengths = job.training.sequence_lengths;
  return lengths.has_images() ? lengths.text : "";
}
std::string flex_backend_text(const SettingInfo&, const Job& job) {
  return std::string(flex_backend(job.training.moe_dispatcher));
}

/// A field that says nothing of a model without a vision tower.
template <auto kMember>
constexpr SettingValue of_images(double min = 0, double max = 0, std::string_view words = {}) {
  SettingValue value = field<kMember>(min, max, words);
  value.read = nullptr;  // by hand
  value.text = [](const SettingInfo& info, const Job& job) {
    return job.model.vision ? field_text(info, value_in<kMember>(job)) : std::string();
  };
  return value;
}

/// A field that says nothing where samples are alike.
template <auto kMember>
constexpr SettingValue of_samples(double min = 0, double max = 0) {
  SettingValue value = field<kMember>(min, max);
  value.read = nullptr;  // by hand
  value.text = [](const SettingInfo& info, const Job& job) {
    return job.training.sequence_lengths.has_images() ? field_text(info, value_in<kMember>(job))
                                                      : std::string();
  };
  return value;
}

/// Where nobody says it, the cooling's own holds, which is no value of the job.
constexpr SettingValue inlet() {
  SettingValue value = measure<&Conditions::inlet_c>(-20, 80, "C");
  value.text = [](const SettingInfo& info, const Job& job) {
    return job.conditions.has_inlet ? field_text(info, job.conditions.inlet_c) : "";
  };
  return value;
}

constexpr std::array kSettingTable = std::to_array<SettingInfo>({
    {"model", "", unkept(kText), kModel, "catalog name, config.json, or a folder that holds one"},
    {"cluster", "", unkept(kText), in("job"),
     "catalog name of a cluster or node kind, or a YAML file",
     sought("hardware|machine|system|platform|instance|instance_type|gpu|gpu_type|node_type")},
    {"gpus", "", field<&Job::gpus>(1, kMostRanks), in("job", "scale"),
     "GPUs of the job (on MI250: dies)", also("world_size"),
     sought("nodes|nnodes|num_nodes|node_count|ranks|num_processes|devices")},
    {"num_layers", "", field<&Model::layer_count>(1, 100'000), kModel,
     "decoder layers, instead of the model's own number", sought("layers|depth")},
    {"mtp_num_layers", "", field<&Model::mtp_layers>(0, 64), kModel,
     "multi-token-prediction modules, instead of the model's own number; 0: none",
     why("the model's own")},

    {"tensor_model_parallel_size", "tp", field<&Parallelism::tp>(1, kMostRanks), kTensor,
     "ranks that share every matrix", why("not split"), megatron("model_parallel_size"), core(),
     nemo()},
    {"pipeline_model_parallel_size", "pp", field<&Parallelism::pp>(1, kMostRanks), kPipeline,
     "pipeline stages", why("one stage"), core(), nemo()},
    {"virtual_pipeline_model_parallel_size", "vpp", field<&Parallelism::vpp>(1, 100'000), kPipeline,
     "model chunks of every stage", megatron("num_virtual_stages_per_pipeline_rank"), core(),
     nemo()},
    {"num_layers_per_virtual_pipeline_stage", "", unkept(kInteger, 1, 100'000), kPipeline,
     "layers of one model chunk, instead of --vpp"},
    {"context_parallel_size", "cp", field<&Parallelism::cp>(1, kMostRanks), kContext,
     "ranks that share every sequence", why("not split"), core(), nemo()},
    {"expert_model_parallel_size", "ep", field<&Parallelism::ep>(1, kMostRanks),
     in("parallelism", "expert_parallelism"), "ranks that share the experts",
     why("every rank holds all experts"), megatron("moe_expert_parallel_size"), core(), nemo()},
    {"expert_tensor_parallel_size", "etp", field<&Parallelism::etp>(1, kMostRanks), kTensor,
     "ranks that share one expert's matrices; by default as --tp", core(), nemo()},
    {"data_parallel_size", "dp", field<&Parallelism::dp>(1, kMostRanks), in("parallelism"),
     "replicas; what is left when not given"},
    {"sequence_parallel", "sp", field<&Parallelism::sequence_parallel>(), kTensor,
     "norms and dropout on slices of the sequence; on with --tp > 1", habit(), core()},
    {"cp_comm_type", "", field<&Parallelism::cp_comm>(), kContext,
     "how context parallelism exchanges keys and values", why("Megatron-LM's: ring"), core()},
    {"schedule", "", field<&Parallelism::schedule>(), kPipeline, "pipeline schedule"},
    {"schedule_file", "", told(kText, order_text), kPipeline,
     "a file with the order of work of every stage, as --schedule-save writes it"},
    {"microbatch_group_size_per_virtual_pipeline_stage", "",
     field<&Parallelism::microbatch_group>(1, kMostSamples), kPipeline,
     "micro batches that run before the next chunk; by default --pp",
     core("microbatch_group_size_per_vp_stage")},
    {"decoder_first_pipeline_num_layers", "", field<&Parallelism::first_stage_layers>(1, 100'000),
     kPipeline, "layers of the first stage", why("as the other stages"),
     core("num_layers_in_first_pipeline_stage"), nemo("num_layers_in_first_pipeline_stage")},
    {"decoder_last_pipeline_num_layers", "", field<&Parallelism::last_stage_layers>(1, 100'000),
     kPipeline, "layers of the last stage", why("as the other stages"),
     core("num_layers_in_last_pipeline_stage"), nemo("num_layers_in_last_pipeline_stage")},
    {"vocabulary_parallel", "", field<&Parallelism::vocabulary>(), kPipeline,
     "embedding and head divided over the stages by words", why("on the first and last stage")},
    {"account_for_embedding_in_pipeline_split", "",
     field<&Parallelism::embedding_counts_as_layer>(), kPipeline, "the embedding counts as a layer",
     why("Megatron-LM's"), core(), nemo()},
    {"account_for_loss_in_pipeline_split", "", field<&Parallelism::loss_counts_as_layer>(),
     kPipeline, "the loss counts as a layer", why("Megatron-LM's"), core(), nemo()},
    {"stage_layers", "", field<&Parallelism::stage_layers>(), kPipeline,
     "layers of every stage, chunk by chunk: 13,11,13,11", why("not given"),
     megatron("num_layer_list")},
    {"layers_by_speed", "", field<&Parallelism::layers_by_speed>(), kPipeline,
     "layers of every stage by the matrix rate of its GPUs", why("stages are equal")},
    {"pipeline_model_parallel_layout", "", unkept(kText), kPipeline,
     "Megatron's layout: \"Et*4|(t*4|)*14tmL\""},
    {"rank_map", "", told(kText, field<&Parallelism::rank_map>().text),
     in("parallelism", "placement"),
     "the GPU of every rank, counted node by node: 0-3,8-11,4-7,12-15, or a file with that"},
    {"zero", "", field<&Parallelism::zero_stage>(0, 3), kSharding,
     "sharded over data parallelism: 0 nothing, 1 optimizer, 2 gradients too, 3 parameters too",
     habit(), also("zero_stage"), sought("sharding|sharding_strategy"),
     megatron("use_distributed_optimizer=1")},
    {"fsdp", "", field<&Parallelism::fsdp>(), kSharding,
     "fully sharded data parallelism (PyTorch FSDP)", why("not asked for"),
     megatron("use_torch_fsdp2=true|use_megatron_fsdp=true|use_custom_fsdp=true")},
    {"fsdp_shard_size", "", field<&Parallelism::fsdp_shard_size>(1, kMostRanks), kSharding,
     "hybrid shard: ranks that hold one copy", why("all of dp")},
    {"allow_tp_across_nodes", "", unkept(kSwitch), kTensor,
     "let --tp leave the node's fast links in searches and rank maps"},

    {"micro_batch_size", "mbs", field<&Training::micro_batch>(1, 1'048'576),
     in("training", "micro_batch"), "sequences a replica handles at a time",
     sought("local_batch_size|per_device_batch_size|per_device_train_batch_size"), nemo()},
    {"global_batch_size", "gbs", field<&Training::global_batch>(1, kMostSamples), kBatch,
     "sequences of one step", sought("batch|batch_size|train_batch_size|total_batch_size"), nemo()},
    {"gradient_accumulation_steps", "ga", field<&Job::micro_batches>(1, kMostSamples), kBatch,
     "micro batches of every replica in one step, instead of --gbs"},
    {"seq_length", "seq", field<&Training::seq_length>(1, kMostTokens), kSequence,
     "tokens of a sequence (inference: of the prompt)", also("sequence_length|decoder_seq_length"),
     sought("context_length|context_window|max_length|max_seq_len|max_sequence_length|"
            "block_size|tokens_per_sequence")},
    {"packed_mean_length", "", field<&Training::packed_mean_length>(1, kMostTokens), kSequence,
     "mean length of the documents packed into a sequence, which attend to themselves alone; not "
     "given: one document fills it",
     why("one document fills a sequence")},
    {"sequence_lengths", "", told(kText, lengths_text), kSequence,
     "how long documents are: even, lognormal:800,1.2 (median, sigma), uniform:100-2000, or as "
     "counted: file:lengths.csv (docs/guide/uneven-sequences.md)",
     sought("document_lengths|length_distribution|varlen")},
    {"sequence_batching", "", field<&Training::sequence_batching>(), kSequence,
     "documents fill sequences, are padded to the longest of their micro batch or to --seq, or lie "
     "behind each other",
     why("documents fill sequences")},
    {"sequence_order", "", field<&Training::sequence_order>(), kSequence,
     "which documents run at a time: as drawn, or those that cost alike", why("as drawn"),
     sought("group_by_length|length_grouped_samples")},
    {"images_per_sample", "images", of_images<&Training::images_per_sample>(1, 4096), kVision,
     "images of every sequence, of a model with a vision tower",
     sought("num_images|images_per_sequence|image_count")},
    {"tiles_per_image", "tiles", of_images<&Training::tiles_per_image>(1, 4096), kVision,
     "pieces that an image is cut into, each a sequence of the tower, a thumbnail among them",
     sought("max_dynamic_patch|dynamic_patch|crops|max_num_tiles")},
    {"image_tokens", "", of_images<&Training::tokens_per_image>(1, kMostTokens), kVision,
     "tokens of the decoder that an image becomes, of towers that take images of any size",
     sought("image_seq_length|max_pixels|tokens_per_image")},
    {"freeze", "", of_images<&Training::freeze>(0, 0, "vision|projector|language"),
     in("vision", "task"), "parts of the model without gradients; by default none is",
     sought("freeze_backbone|freeze_llm|freeze_vit|tune_mm_mlp_adapter|unfreeze_vit_layers")},
    {"samples", "", told(kText, samples_text), kVision,
     "images and text of samples: lognormal:3,2,600,300 (means, deviations), or as counted: "
     "file:samples.csv (docs/guide/vision-language.md)",
     sought("sample_lengths|image_text_samples")},
    {"sample_packing", "packing", of_samples<&Training::sample_packing>(), kVision,
     "samples are padded to the longest, or packed by tokens, or by tokens and tiles",
     sought("group_packing|use_packed_ds")},
    {"packing_rounds", "", of_samples<&Training::packing_rounds>(1, 10'000), kVision,
     "rounds of packing by both; what no round fills goes into the next", sought("isf_rounds")},
    {"pack_tiles", "", of_samples<&Training::pack_tiles>(1, 1'000'000), kVision,
     "tiles of a packed micro batch at most", sought("num_images_expected|max_packed_images")},
    {"make_vocab_size_divisible_by", "", field<&Training::vocab_multiple>(1, 1'000'000),
     in("training", "model"), "pads the vocabulary to a multiple of this times --tp",
     why("Megatron-LM's"), core(), nemo()},
    {"dropout", "", field<&Model::dropout>(0, 1), in("training", "model"),
     "probability that a hidden value is dropped, instead of the model's own",
     why("the model's own"), habit()},
    {"flops", "", field<&Training::attention_flops_full>(0, 0, "causal|full"), in("training"),
     "model FLOPs count half of the attention square, or all", why("causal attention counts half")},
    {"framework", "", field<&Training::framework>(), kSoftware,
     "whose memory and launch habits are modelled"},
    {"software", "", told(kText, software_text), kSoftware,
     "framework and release, whose defaults hold: \"nemo 25.07\", mlperf-5.1, torchtitan, ...; or "
     "a software profile of the catalog or a YAML file",
     sought("framework|library")},
    {"optimizer_cpu_offload", "", field<&Training::optimizer_offload>(), in("training", "offload"),
     "the optimizer's states and its step are on the host", why("not asked for")},

    {"recompute_granularity", "recompute", field<&Training::recompute>(), kRecompute,
     "what backward computes again",
     sought("recompute|checkpointing|checkpoint_activations|activation_checkpointing|"
            "gradient_checkpointing|activation_recomputation"),
     megatron("recompute_activations=selective|checkpoint_activations=full|"
              "activations_checkpoint_granularity|checkpoint_activations_granularity"),
     core(), nemo("activations_checkpoint_granularity")},
    {"recompute_method", "", field<&Training::recompute_method>(), kRecompute,
     "full: a checkpoint every --recompute-num-layers layers, or that many layers of every chunk",
     megatron("activations_checkpoint_method"), core(), nemo("activations_checkpoint_method")},
    {"recompute_num_layers", "", field<&Training::recompute_layers>(1, 100'000), kRecompute,
     "see --recompute-method", why("all layers; uniform: a checkpoint a layer"),
     megatron("activations_checkpoint_num_layers|checkpoint_num_layers"), core(),
     nemo("activations_checkpoint_num_layers")},
    {"recompute_stage_layers", "", field<&Training::recompute_stage_layers>(), kRecompute,
     "full, block: layers computed again in every stage, chunk by chunk: 12,10,8,6",
     why("not given")},
    {"recompute_modules", "",
     field<&Training::recompute_modules>(
         0, 0, "core_attn|moe_act|layernorm|mla_up_proj|mlp|moe|shared_experts|op"),
     kRecompute,
     "selective: what is computed again; op: all but attention and every second matrix product "
     "(torchtitan)",
     why("not given"), core()},
    {"cpu_offloading_num_layers", "", field<&Training::offloaded_layers>(1, 100'000),
     in("recomputation", "offload"),
     "first layers whose activations wait in the host's memory for their backward, which is taken "
     "to cost no time; with --pp 1 and --recompute none",
     why("none")},

    {"overlap_grad_reduce", "", field<&Training::overlap_grad_reduce>(),
     in("overlap", "overlap_gradients"), "gradients are reduced during backward", habit()},
    {"overlap_param_gather", "", field<&Training::overlap_param_gather>(),
     in("overlap", "overlap_parameters"), "parameters are gathered during forward", habit()},
    {"tp_comm_overlap", "", field<&Training::overlap_tp>(), in("overlap", "overlap_tensor"),
     "tensor parallelism's transfers run beside its GEMMs", why("not asked for")},
    {"overlap_p2p", "", field<&Training::overlap_p2p>(), kTransfers,
     "pipeline transfers run beside compute", habit(),
     also("overlap_p2p_comm|overlap_p2p_communication"),
     megatron("no_overlap_p2p_communication=false")},
    {"batch_p2p_sync", "", field<&Training::batch_p2p_sync>(), kTransfers,
     "the device is synchronised after every pipeline transfer (NeMo 1)", why("Megatron-LM's"),
     habit(), nemo()},
    {"scatter_gather_tensors_in_pipeline", "", field<&Training::scatter_gather_p2p>(), kTransfers,
     "without --sequence-parallel: a pipeline transfer is divided over --tp and gathered behind",
     why("Megatron-Core's"), habit()},
    {"ddp_bucket_size", "", field<&Training::bucket_elements>(1, 1e12), in("overlap", "buckets"),
     "elements of a gradient bucket", why("Megatron-LM's max(40 M, 1 M x dp)")},

    {"precision", "", field<&Training::precision>(), kPrecision, "number format of the matrix work",
     sought("dtype|data_type|mixed_precision")},
    {"bf16", "", unkept(kSwitch), kPrecision, "as --precision bf16"},
    {"fp16", "", unkept(kSwitch), kPrecision, "as --precision fp16"},
    {"fp8", "", unkept(kSwitch), kPrecision, "as --precision fp8",
     megatron("fp8_hybrid=true|fp8_e4m3=true"), nemo()},
    {"fp4", "", unkept(kSwitch), kPrecision, "as --precision nvfp4"},
    {"fp8_recipe", "", field<&Training::fp8_recipe>(), kPrecision, "how FP8 is scaled"},
    {"fp8_param_gather", "", field<&Training::fp8_parameters>(), kPrecision,
     "parameters are kept in FP8, or FP4 with --fp4; gathered in FP8 where one scale a tensor "
     "allows it, else in 16 bit",
     why("parameters in 16 bit"), habit()},
    {"fp8_attention", "", field<&Training::fp8_attention>(), kPrecision,
     "the attention core multiplies in FP8 as well", why("the attention core in 16 bit"),
     also("fp8_dpa|fp8_dot_product_attention"), core("fp8_dot_product_attention")},
    {"grad_reduce_in_bf16", "", told(kSwitch, reduction_text), kPrecision,
     "gradients are kept and reduced in 16 bit", habit(),
     megatron("accumulate_allreduce_grads_in_fp32=false")},

    {"master_weights", "", field<&Training::master_weights>(), kPrecision,
     "the optimizer keeps trained parameters in FP32; without, all is in 16 bit (pure BF16)",
     why("in FP32"), sought("pure_bf16|bf16_true|main_params_dtype")},
    {"optimizer_moments", "", field<&Training::moments>(), kPrecision,
     "what Adam's two moments are kept in",
     sought("optim_bits|exp_avg_dtype|optimizer_dtype|adam8bit")},
    {"moe_token_dispatcher_type", "", told(kChoice, dispatcher_text, kDispatcherWords), kExperts,
     "how tokens reach their experts", habit(), core(), nemo()},
    {"moe_flex_dispatcher_backend", "", told(kChoice, flex_backend_text, kFlexBackendWords),
     kExperts, "flex: whose kernels send a token once to each rank or node that needs it",
     megatron("moe_enable_deepep=deepep"), core()},
    {"overlap_moe_expert_parallel_comm", "", field<&Training::overlap_expert_parallel>(), kExperts,
     "tokens travel to experts beside another micro batch's compute", why("not asked for")},
    {"moe_grouped_gemm", "", field<&Training::moe_grouped_gemm>(), kExperts,
     "a rank's experts run as one grouped GEMM", why("grouped GEMM"), habit(), core(), nemo()},
    {"moe_expert_capacity_factor", "", field<&Training::moe_capacity_factor>(0, 1000), kExperts,
     "tokens an expert may take, padded to it; 0: dropless", why("dropless"),
     also("moe_train_capacity_factor"), core(), nemo()},
    {"moe_shared_expert_overlap", "", field<&Training::moe_shared_overlap>(), kExperts,
     "the shared expert runs beside the dispatch", why("not asked for"), core()},
    {"moe_routing", "", told(kText, expert_routing_text), kExperts,
     "how tokens choose experts: even, zipf:1.2, hot-expert:8, hot-rank:2, rotating-rank:2, "
     "bursts:3, w0 to w7, or as counted: file:counts.csv (docs/guide/hot-experts.md)",
     sought("load_balancing|expert_load|imbalance")},
    {"moe_expert_placement", "", field<&Training::moe_placement>(), kExperts,
     "which rank holds which expert: in order, or so that ranks get as even a load as can be",
     why("in order")},

    {"attention_backend", "", field<&Training::attention>(), kKernels,
     "flash attention (of a generation), or one kernel an operation", why("flash attention"),
     habit(),
     megatron("use_flash_attn=fused|use_flash_attn_v1=fused|use_flash_attn_v2=fused|use_flash_attn_"
              "triton=fused|use_flash_attn_builder=fused")},
    {"cross_entropy_loss_fusion", "", field<&Training::fused_cross_entropy>(), kKernels,
     "one kernel for the loss", why("fused"), habit(), core(), nemo()},
    {"linear_cross_entropy_fusion", "", field<&Training::linear_cross_entropy>(), kKernels,
     "the loss multiplies by the vocabulary's matrix piece by piece: logits are never whole "
     "(Liger)",
     why("not asked for")},
    {"gradient_accumulation_fusion", "", field<&Training::grad_accumulation_fusion>(), kKernels,
     "weight gradients accumulate inside their GEMM", habit(),
     megatron("no_gradient_accumulation_fusion=false"), core(), nemo()},
    {"apply_rope_fusion", "", field<&Training::fused_rope>(), kKernels,
     "one kernel for rotary positions", why("fused"), habit(), megatron("no_rope_fusion=false"),
     core(), nemo()},
    {"cuda_graphs", "", field<&Training::cuda_graphs>(), kGraphs, "kernels are launched as a graph",
     habit(), megatron("enable_cuda_graph=true|external_cuda_graph=true"),
     core("enable_cuda_graph|external_cuda_graph"), nemo("enable_cuda_graph")},
    {"cuda_graph_scope", "",
     field<&Training::cuda_graph_scope>(
         0, 0, "full_iteration|attn|mlp|moe|moe_router|moe_preprocess|mamba"),
     kGraphs, "what a graph holds; by default everything", why("not given"), core()},
    {"fuse", "", field<&Training::fuse>(0, 0, "ag-gemm|gemm-rs|a2a-gemm"), kKernels,
     "communication inside the kernels of products, tile by tile: a what-if that no framework's "
     "own words say",
     why("kernels of their own")},

    {"mode", "", field<&Training::mode>(), kTask, "what the job does"},
    {"lora", "", field<&Training::lora_rank>(1, 65'536), kTask, "fine-tune adapters of this rank",
     why("no adapters"), also("lora_rank")},
    {"lora_targets", "", field<&Training::lora_targets>(0, 0, "qkv|proj|fc1|fc2"), kTask,
     "matrices that have adapters; by default all four", why("not given")},
    {"quantize", "", field<&Training::quantize>(), kTask,
     "LoRA's frozen weights in 4 bit (QLoRA), unpacked before every product; nf4-dq: their scales "
     "in 8 bit",
     why("as they multiply"),
     sought("quantization|qlora|load_in_4bit|bnb_4bit_quant_type|quantization_bit")},
    {"generate_tokens", "", field<&Training::generate_tokens>(1, kMostTokens), kTask,
     "decode: tokens generated after the prompt"},

    {"power_cap", "", measure<&Conditions::power_cap_w>(10, 5000, "W"), kLimits,
     "power limit of every GPU, instead of the default one", why("the GPU's own"),
     sought("power_limit|tdp")},
    {"lock_clock", "", measure<&Conditions::lock_clock_hz>(1e7, 1e10, "MHz"), kLimits,
     "highest clock of every GPU, rounded down to one it has", why("not locked"),
     sought("clock|sm_clock|gpu_clock|frequency")},
    {"clocks", "", field<&Conditions::constant_clocks>(0, 0, "governed|constant"), kLimits,
     "clocks follow power and heat, or stay at the GPU's sustained one: no power, no heat",
     why("the governor decides")},
    {"inlet_c", "", inlet(), kCooling, "temperature of the air or water that enters every node",
     why("the cooling's own"),
     sought("ambient|ambient_temperature|room_temperature|inlet_temperature")},
    {"cooling", "", field<&Conditions::cooling>(), kCooling,
     "instead of what the node is built with"},
    {"fan", "", told(kText, field<&Conditions::fan>().text, "auto"), kCooling,
     "speed of fans or pumps in %, instead of the controller's"},
    {"seed", "", field<&Conditions::seed>(0, 1e15), in("conditions", "silicon"),
     "GPUs differ as chips of one kind do, drawn by this number; 0: all nominal",
     why("every GPU nominal")},
    {"operand_activity", "", field<&Conditions::operand_activity>(0, 1),
     in("conditions", "operands"), "operands' values: 0 all zero, 1 random data or trained weights",
     why("random data or trained weights")},
    {"duration", "", measure<&Conditions::duration_s>(1e-3, 2.592e6, "s"), kTime,
     "time from a cold start, instead of the steady state: 10min",
     why("straight to the steady state")},
    {"measured_step", "", field<&Conditions::measured_step>(1, 1e6), kTime,
     "power and heat of this step of a run from a cold start: 11 is the one behind ten of warm-up",
     why("straight to the steady state")},
    {"steady", "", unkept(kSwitch), kTime,
     "straight to the steady state; on without --duration and --measured-step"},
    {"start_c", "", measure<&Conditions::start_c>(1, 120, "C"), kTime,
     "with --duration or --measured-step: every GPU's temperature at the start, instead of the "
     "idle one",
     why("as idle")},
    {"run_phases", "", unkept(kText), kTime,
     "mean power of a whole run beside the step's: "
     "steps=1000,eval-every=100,eval-from=100,eval-batches=10,eval-pause=2s,pause=1min; length=2h "
     "in place of steps"},
    {"sensor", "", field<&Conditions::sensor>(), kTime,
     "telemetry as the vendor's sensors show it (window, board's gain, whole degrees), or as it "
     "is",
     why("nvml")},
    {"shuffle", "", field<&Training::sequence_seed>(0, 1e9), in("conditions", "sequence"),
     "which documents are drawn: the seed of the data's shuffle", why("1")},
    {"cluster_cap", "", measure<&Conditions::cluster_cap_w>(1, 1e11, "W"), kLimits,
     "limit of the cluster's power, held by equal power caps: 2.5MW", why("none")},
    {"pue", "", field<&Conditions::pue>(1, 5), in("conditions", "node_power"),
     "power of the building over power of its machines", why("the building is left out")},
    {"power_smoothing", "", unkept(kText), kLimits,
     "GPUs hold a floor and limit ramps: floor=0.8,up=50W/s,down=50W/s,hysteresis=2s"},
    {"override", "", unkept(kWords), in("conditions", "faults"),
     "one node or GPU that differs, as often as needed: node3.gpu5.power_cap=400W, "
     "node2.inlet=35C; "
     "power_cap, lock_clock, speed, power_brake, inlet, fan, blocked_inlet, resistance, leakage, "
     "link, nic",
     also("overrides")},
});

std::string normal(std::string_view word) {
  while (word.starts_with('-')) word.remove_prefix(1);
  std::string text(word);
  for (char& c : text)
    c = c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

template <class Is>
const SettingInfo* first_that(Is is) {
  const auto it = std::ranges::find_if(kSettingTable, is);
  return it == kSettingTable.end() ? nullptr : &*it;
}

}  // namespace

std::vector<std::string> SettingInfo::names(std::string_view list) const {
  std::vector<std::string> all = base::split(list, '|');
  for (std::string& one : all)
    if (one == kOwnName) one = name;
  return list.empty() ? std::vector<std::string>() : all;
}

std::span<const SettingInfo> setting_table() { return kSettingTable; }

const SettingInfo* find_setting(std::string_view word) {
  const std::string name = normal(word);
  if (name.empty()) return nullptr;
  return first_that([&](const SettingInfo& info) {
    return info.name == name || info.short_name == name || index_of(info.also, name) >= 0;
  });
}

const SettingInfo* setting_also_called(std::string_view word) {
  const std::string name = normal(word);
  return first_that([&](const SettingInfo& info) { return index_of(info.sought, name) >= 0; });
}

std::string setting_value(std::string_view name, const Job& job) {
  const SettingInfo* info = find_setting(name);
  return info == nullptr || info->text == nullptr ? "" : info->text(*info, job);
}

}  // namespace ergometer::spec

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "spec/settings.h"

namespace ergometer::spec {
namespace {

using enum SettingKind;

constexpr double kMostTokens = 134'217'728;
constexpr double kMostSamples = 1e9;

constexpr std::string_view kJob = "job";
constexpr std::string_view kParallel = "parallelism";
constexpr std::string_view kTraining = "training";
constexpr std::string_view kRecompute = "recomputation";
constexpr std::string_view kOverlap = "overlap";
constexpr std::string_view kPrecision = "precision";
constexpr std::string_view kMoe = "experts";
constexpr std::string_view kKernel = "kernels";
constexpr std::string_view kTask = "task";
constexpr std::string_view kConditions = "conditions";

constexpr std::array kSettingTable = std::to_array<SettingInfo>({
    {"model", "", kText, 0, 0, "", kJob, "catalog name, config.json, or a folder that holds one"},
    {"cluster", "", kText, 0, 0, "", kJob,
     "catalog name of a cluster or node kind, or a YAML file"},
    {"gpus", "", kInteger, 1, kMostRanks, "", kJob, "GPUs of the job (on MI250: dies)"},
    {"num_layers", "", kInteger, 1, 100'000, "", kJob,
     "decoder layers, instead of the model's own number"},
    {"mtp_num_layers", "", kInteger, 0, 64, "", kJob,
     "multi-token-prediction modules, instead of the model's own number; 0: none"},

    {"tensor_model_parallel_size", "tp", kInteger, 1, kMostRanks, "", kParallel,
     "ranks that share every matrix"},
    {"pipeline_model_parallel_size", "pp", kInteger, 1, kMostRanks, "", kParallel,
     "pipeline stages"},
    {"virtual_pipeline_model_parallel_size", "vpp", kInteger, 1, 100'000, "", kParallel,
     "model chunks of every stage"},
    {"num_layers_per_virtual_pipeline_stage", "", kInteger, 1, 100'000, "", kParallel,
     "layers of one model chunk, instead of --vpp"},
    {"context_parallel_size", "cp", kInteger, 1, kMostRanks, "", kParallel,
     "ranks that share every sequence"},
    {"expert_model_parallel_size", "ep", kInteger, 1, kMostRanks, "", kParallel,
     "ranks that share the experts"},
    {"expert_tensor_parallel_size", "etp", kInteger, 1, kMostRanks, "", kParallel,
     "ranks that share one expert's matrices; by default as --tp"},
    {"data_parallel_size", "dp", kInteger, 1, kMostRanks, "", kParallel,
     "replicas; what is left when not given"},
    {"sequence_parallel", "sp", kSwitch, 0, 0, "", kParallel,
     "norms and dropout on slices of the sequence; on with --tp > 1"},
    {"cp_comm_type", "", kChoice, 0, 0, "p2p|all_gather|a2a", kParallel,
     "how context parallelism exchanges keys and values"},
    {"schedule", "", kChoice, 0, 0, "1f1b|interleaved|gpipe|zb-h1", kParallel, "pipeline schedule"},
    {"microbatch_group_size_per_virtual_pipeline_stage", "", kInteger, 1, kMostSamples, "",
     kParallel, "micro batches that run before the next chunk; by default --pp"},
    {"decoder_first_pipeline_num_layers", "", kInteger, 1, 100'000, "", kParallel,
     "layers of the first stage"},
    {"decoder_last_pipeline_num_layers", "", kInteger, 1, 100'000, "", kParallel,
     "layers of the last stage"},
    {"account_for_embedding_in_pipeline_split", "", kSwitch, 0, 0, "", kParallel,
     "the embedding counts as a layer"},
    {"account_for_loss_in_pipeline_split", "", kSwitch, 0, 0, "", kParallel,
     "the loss counts as a layer"},
    {"stage_layers", "", kList, 0, 0, "", kParallel,
     "layers of every stage, chunk by chunk: 13,11,13,11"},
    {"pipeline_model_parallel_layout", "", kText, 0, 0, "", kParallel,
     "Megatron's layout: \"Et*4|(t*4|)*14tmL\""},
    {"rank_map", "", kText, 0, 0, "", kParallel,
     "the GPU of every rank, counted node by node: 0-3,8-11,4-7,12-15, or a file with that"},
    {"zero", "", kInteger, 0, 3, "", kParallel,
     "sharded over data parallelism: 0 nothing, 1 optimizer, 2 gradients too, 3 parameters too"},
    {"fsdp", "", kSwitch, 0, 0, "", kParallel, "fully sharded data parallelism (PyTorch FSDP)"},
    {"fsdp_shard_size", "", kInteger, 1, kMostRanks, "", kParallel,
     "hybrid shard: ranks that hold one copy"},
    {"allow_tp_across_nodes", "", kSwitch, 0, 0, "", kParallel,
     "let --tp leave the node's fast links in searches and rank maps"},

    {"micro_batch_size", "mbs", kInteger, 1, 1'048'576, "", kTraining,
     "sequences a replica handles at a time"},
    {"global_batch_size", "gbs", kInteger, 1, kMostSamples, "", kTraining, "sequences of one step"},
    {"gradient_accumulation_steps", "ga", kInteger, 1, kMostSamples, "", kTraining,
     "micro batches of every replica in one step, instead of --gbs"},
    {"seq_length", "seq", kInteger, 1, kMostTokens, "", kTraining,
     "tokens of a sequence (inference: of the prompt)"},
    {"packed_mean_length", "", kInteger, 1, kMostTokens, "", kTraining,
     "mean length of the documents packed into a sequence, which attend to themselves alone; not "
     "given: one document fills it"},
    {"make_vocab_size_divisible_by", "", kInteger, 1, 1'000'000, "", kTraining,
     "pads the vocabulary to a multiple of this times --tp"},
    {"dropout", "", kReal, 0, 1, "", kTraining,
     "probability that a hidden value is dropped, instead of the model's own"},
    {"flops", "", kChoice, 0, 0, "causal|full", kTraining,
     "model FLOPs count half of the attention square, or all"},
    {"framework", "", kChoice, 0, 0, "megatron|fsdp|nanotron", kTraining,
     "whose memory and launch habits are modelled"},
    {"software", "", kText, 0, 0, "", kTraining,
     "framework and release, whose defaults hold: \"nemo 25.07\", mlperf-5.1, torchtitan, ...; or "
     "a "
     "software profile of the catalog or a YAML file"},
    {"optimizer_cpu_offload", "", kSwitch, 0, 0, "", kTraining,
     "the optimizer's states and its step are on the host"},

    {"recompute_granularity", "recompute", kChoice, 0, 0, "none|selective|full", kRecompute,
     "what backward computes again"},
    {"recompute_method", "", kChoice, 0, 0, "uniform|block", kRecompute,
     "full: a checkpoint every --recompute-num-layers layers, or that many layers of every chunk"},
    {"recompute_num_layers", "", kInteger, 1, 100'000, "", kRecompute, "see --recompute-method"},
    {"recompute_stage_layers", "", kList, 0, 0, "", kRecompute,
     "full, block: layers computed again in every stage, chunk by chunk: 12,10,8,6"},
    {"recompute_modules", "", kList, 0, 0,
     "core_attn|moe_act|layernorm|mla_up_proj|mlp|moe|shared_experts|op", kRecompute,
     "selective: what is computed again; op: all but attention and every second matrix product "
     "(torchtitan)"},
    {"cpu_offloading_num_layers", "", kInteger, 1, 100'000, "", kRecompute,
     "first layers whose activations wait in the host's memory for their backward, which is taken "
     "to cost no time; with --pp 1 and --recompute none"},

    {"overlap_grad_reduce", "", kSwitch, 0, 0, "", kOverlap,
     "gradients are reduced during backward"},
    {"overlap_param_gather", "", kSwitch, 0, 0, "", kOverlap,
     "parameters are gathered during forward"},
    {"tp_comm_overlap", "", kSwitch, 0, 0, "", kOverlap,
     "tensor parallelism's transfers run beside its GEMMs"},
    {"overlap_p2p", "", kSwitch, 0, 0, "", kOverlap, "pipeline transfers run beside compute"},
    {"batch_p2p_sync", "", kSwitch, 0, 0, "", kOverlap,
     "the device is synchronised after every pipeline transfer (NeMo 1)"},
    {"scatter_gather_tensors_in_pipeline", "", kSwitch, 0, 0, "", kOverlap,
     "without --sequence-parallel: a pipeline transfer is divided over --tp and gathered behind"},
    {"ddp_bucket_size", "", kReal, 1, 1e12, "", kOverlap, "elements of a gradient bucket"},

    {"precision", "", kChoice, 0, 0, "fp32|fp16|bf16|fp8|nvfp4", kPrecision,
     "number format of the matrix work"},
    {"bf16", "", kSwitch, 0, 0, "", kPrecision, "as --precision bf16"},
    {"fp16", "", kSwitch, 0, 0, "", kPrecision, "as --precision fp16"},
    {"fp8", "", kSwitch, 0, 0, "", kPrecision, "as --precision fp8"},
    {"fp4", "", kSwitch, 0, 0, "", kPrecision, "as --precision nvfp4"},
    {"fp8_recipe", "", kChoice, 0, 0, "delayed|tensorwise|blockwise|mxfp8", kPrecision,
     "how FP8 is scaled"},
    {"fp8_param_gather", "", kSwitch, 0, 0, "", kPrecision,
     "parameters are kept in FP8, or FP4 with --fp4; gathered in FP8 where one scale a tensor "
     "allows it, else in 16 bit"},
    {"fp8_attention", "", kSwitch, 0, 0, "", kPrecision,
     "the attention core multiplies in FP8 as well"},
    {"grad_reduce_in_bf16", "", kSwitch, 0, 0, "", kPrecision,
     "gradients are kept and reduced in 16 bit"},

    {"moe_token_dispatcher_type", "", kChoice, 0, 0, "alltoall|allgather|flex", kMoe,
     "how tokens reach their experts"},
    {"moe_flex_dispatcher_backend", "", kChoice, 0, 0, "deepep|hybridep", kMoe,
     "flex: whose kernels send a token once to each rank or node that needs it"},
    {"overlap_moe_expert_parallel_comm", "", kSwitch, 0, 0, "", kMoe,
     "tokens travel to experts beside another micro batch's compute"},
    {"moe_grouped_gemm", "", kSwitch, 0, 0, "", kMoe, "a rank's experts run as one grouped GEMM"},
    {"moe_expert_capacity_factor", "", kReal, 0, 1000, "", kMoe,
     "tokens an expert may take, padded to it; 0: dropless"},
    {"moe_shared_expert_overlap", "", kSwitch, 0, 0, "", kMoe,
     "the shared expert runs beside the dispatch"},

    {"attention_backend", "", kChoice, 0, 0, "fused|unfused|fa1|fa2|fa3|cudnn", kKernel,
     "flash attention (of a generation), or one kernel an operation"},
    {"cross_entropy_loss_fusion", "", kSwitch, 0, 0, "", kKernel, "one kernel for the loss"},
    {"linear_cross_entropy_fusion", "", kSwitch, 0, 0, "", kKernel,
     "the loss multiplies by the vocabulary's matrix piece by piece: logits are never whole "
     "(Liger)"},
    {"gradient_accumulation_fusion", "", kSwitch, 0, 0, "", kKernel,
     "weight gradients accumulate inside their GEMM"},
    {"apply_rope_fusion", "", kSwitch, 0, 0, "", kKernel, "one kernel for rotary positions"},
    {"cuda_graphs", "", kSwitch, 0, 0, "", kKernel, "kernels are launched as a graph"},
    {"cuda_graph_scope", "", kList, 0, 0,
     "full_iteration|attn|mlp|moe|moe_router|moe_preprocess|mamba", kKernel,
     "what a graph holds; by default everything"},

    {"mode", "", kChoice, 0, 0, "pretrain|lora|prefill|decode", kTask, "what the job does"},
    {"lora", "", kInteger, 1, 65'536, "", kTask, "fine-tune adapters of this rank"},
    {"lora_targets", "", kList, 0, 0, "qkv|proj|fc1|fc2", kTask,
     "matrices that have adapters; by default all four"},
    {"generate_tokens", "", kInteger, 1, kMostTokens, "", kTask,
     "decode: tokens generated after the prompt"},

    {"power_cap", "", kMeasure, 10, 5000, "", kConditions,
     "power limit of every GPU, instead of the default one", "W"},
    {"lock_clock", "", kMeasure, 1e7, 1e10, "", kConditions,
     "highest clock of every GPU, rounded down to one it has", "MHz"},
    {"clocks", "", kChoice, 0, 0, "governed|constant", kConditions,
     "clocks follow power and heat, or stay at the GPU's sustained one: no power, no heat"},
    {"inlet_c", "", kMeasure, -20, 80, "", kConditions,
     "temperature of the air or water that enters every node", "C"},
    {"cooling", "", kChoice, 0, 0, "air|liquid|immersion", kConditions,
     "instead of what the node is built with"},
    {"fan", "", kText, 0, 0, "auto", kConditions,
     "speed of fans or pumps in %, instead of the controller's"},
    {"seed", "", kInteger, 0, 1e15, "", kConditions,
     "GPUs differ as chips of one kind do, drawn by this number; 0: all nominal"},
    {"operand_activity", "", kReal, 0, 1, "", kConditions,
     "operands' values: 0 all zero, 1 random data or trained weights"},
    {"duration", "", kMeasure, 1e-3, 2.592e6, "", kConditions,
     "time from a cold start, instead of the steady state: 10min", "s"},
    {"steady", "", kSwitch, 0, 0, "", kConditions,
     "straight to the steady state; on without --duration"},
    {"start_c", "", kMeasure, 1, 120, "", kConditions,
     "with --duration: every GPU's temperature at the start, instead of the idle one", "C"},
    {"run_phases", "", kText, 0, 0, "", kConditions,
     "mean power of a whole run beside the step's: "
     "steps=1000,eval-every=100,eval-from=100,eval-batches=10,eval-pause=2s,pause=1min; length=2h "
     "in place of steps"},
    {"sensor", "", kChoice, 0, 0, "nvml|none", kConditions,
     "telemetry as the vendor's sensors show it (window, board's gain, whole degrees), or as it "
     "is"},
    {"cluster_cap", "", kMeasure, 1, 1e11, "", kConditions,
     "limit of the cluster's power, held by equal power caps: 2.5MW", "W"},
    {"pue", "", kReal, 1, 5, "", kConditions, "power of the building over power of its machines"},
    {"power_smoothing", "", kText, 0, 0, "", kConditions,
     "GPUs hold a floor and limit ramps: floor=0.8,up=50W/s,down=50W/s,hysteresis=2s"},
    {"override", "", kWords, 0, 0, "", kConditions,
     "one node or GPU that differs, as often as needed: node3.gpu5.power_cap=400W, "
     "node2.inlet=35C; "
     "power_cap, lock_clock, speed, power_brake, inlet, fan, blocked_inlet, resistance, leakage, "
     "link, nic"},
});

std::string normal(std::string_view word) {
  while (word.starts_with('-')) word.remove_prefix(1);
  std::string text(word);
  for (char& c : text)
    c = c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// What other releases and frameworks call a setting of the table.
struct Synonym {
  std::string_view word, name;
};
constexpr std::array kSynonyms = std::to_array<Synonym>({
    {"zero_stage", "zero"},
    {"sequence_length", "seq_length"},
    {"lora_rank", "lora"},
    {"overlap_p2p_comm", "overlap_p2p"},
    {"overlap_p2p_communication", "overlap_p2p"},
    {"decoder_seq_length", "seq_length"},
    {"world_size", "gpus"},
    {"overrides", "override"},
    {"fp8_dpa", "fp8_attention"},
    {"moe_train_capacity_factor", "moe_expert_capacity_factor"},
    {"fp8_dot_product_attention", "fp8_attention"},
});

}  // namespace

std::span<const SettingInfo> setting_table() { return kSettingTable; }

const SettingInfo* find_setting(std::string_view word) {
  std::string name = normal(word);
  for (const Synonym& synonym : kSynonyms)
    if (synonym.word == name) name = synonym.name;
  const auto it =
      std::find_if(kSettingTable.begin(), kSettingTable.end(), [&](const SettingInfo& info) {
        return info.name == name || (!info.short_name.empty() && info.short_name == name);
      });
  return it == kSettingTable.end() ? nullptr : &*it;
}

}  // namespace ergometer::spec

#include "launch/torchtitan.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "spec/stage_division.h"

namespace ergometer::launch {
namespace {

using base::Result;
using spec::Job;
using spec::Training;

/// torchtitan names models by a folder and a flavor of it.
struct Flavor {
  std::string_view model, folder, flavor;
};
constexpr std::array kFlavors = std::to_array<Flavor>({
    {"llama3-8b", "llama3", "8B"},
    {"llama3.1-8b", "llama3", "8B"},
    {"llama3-70b", "llama3", "70B"},
    {"llama3.1-70b", "llama3", "70B"},
    {"llama3.1-405b", "llama3", "405B"},
    {"llama4-scout", "llama4", "17bx16e"},
    {"llama4-maverick", "llama4", "17bx128e"},
    {"deepseek-16b", "deepseek_v3", "16B"},
    {"deepseek-v3", "deepseek_v3", "671B"},
    {"qwen3-0.6b", "qwen3", "0.6B"},
    {"qwen3-1.7b", "qwen3", "1.7B"},
    {"qwen3-4b", "qwen3", "4B"},
    {"qwen3-8b", "qwen3", "8B"},
    {"qwen3-14b", "qwen3", "14B"},
    {"qwen3-32b", "qwen3", "32B"},
});

tl::unexpected<base::Error> torchtitan_cannot(std::string_view what) {
  return base::input_error(fmt::format("torchtitan cannot be told {}", what));
}

Result<Flavor> flavor_of(const spec::Model& model) {
  for (const Flavor& flavor : kFlavors)
    if (flavor.model == model.name) return flavor;
  std::string known;
  for (const Flavor& flavor : kFlavors)
    known += fmt::format("{}{}", known.empty() ? "" : ", ", flavor.model);
  return base::input_error(
      fmt::format("torchtitan has no flavor of the model {}; allowed: {}", model.name, known));
}

std::string_view schedule_word(spec::Schedule schedule) {
  switch (schedule) {
    case spec::Schedule::kOneFOneB: return "1F1B";
    case spec::Schedule::kInterleaved: return "Interleaved1F1B";
    case spec::Schedule::kGpipe: return "GPipe";
    case spec::Schedule::kZbH1: return "InterleavedZeroBubble";
  }
  return "1F1B";
}

std::string parallelism_section(const Job& job) {
  const spec::Parallelism& p = job.parallelism;
  const int64_t shards = p.fsdp ? (p.fsdp_shard_size > 0 ? p.fsdp_shard_size : p.dp) : 1;
  std::string text = fmt::format(
      "\n[parallelism]\n"
      "data_parallel_replicate_degree = {}\n"
      "data_parallel_shard_degree = {}\n"
      "tensor_parallel_degree = {}\n"
      "context_parallel_degree = {}\n"
      "pipeline_parallel_degree = {}\n",
      p.dp / shards, shards, p.tp, p.cp, p.pp);
  text += fmt::format("enable_async_tensor_parallel = {}\n", job.training.overlap_tp);
  if (p.cp > 1)
    text += fmt::format("context_parallel_rotate_method = \"{}\"\n",
                        p.cp_comm == spec::CpComm::kAllGather ? "allgather" : "alltoall");
  if (p.pp > 1) {
    text += fmt::format(
        "pipeline_parallel_schedule = \"{}\"\n"
        "pipeline_parallel_microbatch_size = {}\n",
        schedule_word(p.schedule), job.training.micro_batch);
    // Of its own division, the layers of its longest stages with the ends counted.
    const int64_t layers = job.model.layer_count(), chunks = p.pp * p.vpp;
    if (p.vpp > 1)
      text +=
          fmt::format("pipeline_parallel_layers_per_stage = {}\n",
                      p.stage_layers.empty() ? layers / chunks : (layers + 1 + chunks) / chunks);
  }
  if (job.model.experts.count > 0) text += fmt::format("expert_parallel_degree = {}\n", p.ep);
  return text;
}

/// One rank's share of a step: torchtitan accumulates where a pipeline does not.
std::string training_section(const Job& job, int64_t steps) {
  const Training& t = job.training;
  const int64_t local =
      job.parallelism.pp > 1 ? t.global_batch / job.parallelism.dp : t.micro_batch;
  return fmt::format(
      "\n[training]\n"
      "local_batch_size = {}\n"
      "global_batch_size = {}\n"
      "seq_len = {}\n"
      "steps = {}\n"
      "dataset = \"c4_test\"\n"
      "mixed_precision_param = \"{}\"\n"
      "mixed_precision_reduce = \"{}\"\n",
      local, t.global_batch, t.seq_length, steps,
      t.precision == spec::Precision::kFp32 ? "float32" : "bfloat16",
      t.gradients_fp32 ? "float32" : "bfloat16");
}

std::string recomputation_section(const Training& t, std::vector<std::string>& notes) {
  std::string_view mode = "none";
  if (t.recompute == spec::Recompute::kFull) mode = "full";
  if (t.recompute == spec::Recompute::kSelective) {
    mode = "selective";
    if (t.recompute_modules != std::vector<std::string>{"op"})
      notes.emplace_back("torchtitan's selective recomputation chooses by operator, not by module");
  }
  std::string text = fmt::format("\n[activation_checkpoint]\nmode = \"{}\"\n", mode);
  if (mode == "selective") text += "selective_ac_option = \"op\"\n";
  if (mode == "full" && t.recompute_method == spec::RecomputeMethod::kBlock)
    notes.emplace_back("torchtitan recomputes every layer, not a block of them");
  return text;
}

}  // namespace

Result<void> torchtitan_check(const Job& job) {
  const spec::Parallelism& p = job.parallelism;
  const Training& t = job.training;
  if (t.mode != spec::Mode::kPretrain) return torchtitan_cannot("anything but pre-training");
  if (p.dp > 1 && !p.fsdp && p.zero_stage > 0)
    return torchtitan_cannot("a sharded optimizer without FSDP; take --fsdp or --zero 0");
  // Its own division of layers needs no words.
  if (!p.stage_layers.empty() && p.stage_layers != spec::own_stage_layers(job))
    return torchtitan_cannot("stages of any number of layers");
  if (p.embedding_counts_as_layer || p.loss_counts_as_layer)
    return torchtitan_cannot("what counts as a layer of a stage");
  if (p.first_stage_layers > 0 || p.last_stage_layers > 0)
    return torchtitan_cannot("how many layers the first and last stage have");
  if (t.linear_cross_entropy) return torchtitan_cannot("a loss fused with the head's product");
  if (t.optimizer_offload) return torchtitan_cannot("an optimizer on the host");
  if (t.offloaded_layers > 0) return torchtitan_cannot("activations on the host");
  if (t.fp8_parameters) return torchtitan_cannot("weights kept in FP8");
  if (t.precision == spec::Precision::kFp16) return torchtitan_cannot("FP16");
  if (t.precision == spec::Precision::kNvfp4) return torchtitan_cannot("NVFP4");
  return {};
}

Result<void> torchtitan_check_model(const spec::Model& model) {
  ERGOMETER_TRY(flavor_of(model));
  return {};
}

Result<void> torchtitan_same(const Job& job) {
  const Training& t = job.training;
  if (t.recompute == spec::Recompute::kSelective &&
      t.recompute_modules != std::vector<std::string>{"op"})
    return torchtitan_cannot("what to recompute by module, only by operator or whole layers");
  if (t.recompute == spec::Recompute::kFull && t.recompute_method == spec::RecomputeMethod::kBlock)
    return torchtitan_cannot("to recompute some layers of a stage");
  return {};
}

Result<std::string> torchtitan_toml(const Job& job, int64_t steps,
                                    std::vector<std::string>& notes) {
  ERGOMETER_TRY(torchtitan_check(job));
  ERGOMETER_ASSIGN(const Flavor flavor, flavor_of(job.model));
  std::string text = fmt::format(
      "[model]\nname = \"{}\"\nflavor = \"{}\"\n{}"
      "\n[metrics]\nlog_freq = 1\n"
      "\n[optimizer]\nname = \"AdamW\"\nlr = 1e-4\n",
      flavor.folder, flavor.flavor,
      job.training.precision == spec::Precision::kFp8
          ? "converters = [\"quantize.linear.float8\"]\n"
          : "");
  text += training_section(job, steps) + parallelism_section(job);
  text += recomputation_section(job.training, notes);
  const bool compiles = job.software.name != "torchtitan-eager";
  text += fmt::format("\n[compile]\nenable = {}\n", compiles);
  if (job.training.precision == spec::Precision::kFp8)
    text +=
        "\n[quantize.linear.float8]\nenable_fsdp_float8_all_gather = true\n"
        "precompute_float8_dynamic_scale_for_fsdp = true\n";
  return text;
}

}  // namespace ergometer::launch

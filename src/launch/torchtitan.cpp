#include "launch/torchtitan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>

#include "plan/stages.h"
#include "spec/job/job_words.h"
#include "spec/model/torchtitan_flavors.h"

namespace ergometer::launch {
namespace {

using spec::Job;
using spec::Training;

tl::unexpected<base::Error> torchtitan_cannot(std::string_view what) {
  return input_error("torchtitan cannot be told {}", what);
}

Result<spec::TorchtitanFlavor> flavor_of(const spec::Model& model) {
  std::string known;
  for (const spec::TorchtitanFlavor& flavor : spec::torchtitan_flavors()) {
    if (flavor.model == model.name) return flavor;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", flavor.model);
  }
  return input_error("torchtitan has no flavor of the model {}; allowed: {}", model.name, known);
}

/// Empty: it has none.
std::string_view schedule_word(spec::Schedule schedule) {
  switch (schedule) {
    case spec::Schedule::kOneFOneB: return "1F1B";
    case spec::Schedule::kInterleaved: return "Interleaved1F1B";
    case spec::Schedule::kGpipe: return "GPipe";
    case spec::Schedule::kLoopedBfs: return "LoopedBFS";
    case spec::Schedule::kZbV: return "ZBVZeroBubble";
    case spec::Schedule::kDualPipeV: return "DualPipeV";
    default: return "";
  }
}

/// The modules of every chunk, a line each.
std::string model_parts(const Job& job) {
  const std::vector<int64_t> chunks = plan::layers_per_chunk(job);
  std::string text;
  int64_t layer = 0;
  for (size_t i = 0; i < chunks.size(); ++i) {
    std::vector<std::string> modules;
    if (i == 0) modules.emplace_back("tok_embeddings");
    for (const int64_t end = layer + chunks[i]; layer < end; ++layer)
      modules.push_back(fmt::format("layers.{}", layer));
    if (i + 1 == chunks.size()) modules.insert(modules.end(), {"norm", "output"});
    text += fmt::format("  [\"{}\"],\n", fmt::join(modules, "\", \""));
  }
  return text;
}

std::string parallelism_section(const Job& job) {
  const spec::Parallelism& p = job.parallelism;
  // A copy is sharded over shard degree times context-parallel degree.
  const int64_t shards = !p.fsdp ? 1 : p.fsdp_shard_size > 0 ? p.fsdp_shard_size / p.cp : p.dp;
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
    // Whatever torchtitan's own division is, these are the chunks that were predicted.
    text += fmt::format("module_fqns_per_model_part = [\n{}]\n", model_parts(job));
  }
  if (job.model.experts.count > 0)
    text += fmt::format("expert_parallel_degree = {}\nexpert_tensor_parallel_degree = {}\n", p.ep,
                        p.etp == 0 ? p.tp : p.etp);
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
  const std::string_view mode = to_word(t.recompute);
  if (t.recompute == spec::Recompute::kSelective &&
      t.recompute_modules != std::vector<std::string>{"op"})
    notes.emplace_back("torchtitan's selective recomputation chooses by operator, not by module");
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
  if (p.fsdp_shard_size % p.cp != 0)
    return torchtitan_cannot("copies that are shared by a part of the ranks of one sequence");
  if (p.cp > 1 && !p.fsdp)
    return torchtitan_cannot("context parallelism without FSDP; take --fsdp");
  if (p.schedule == spec::Schedule::kZbH1)
    return torchtitan_cannot("ZB-H1: its schedules without bubbles have several chunks a stage");
  if (schedule_word(p.schedule).empty())
    return torchtitan_cannot(fmt::format("the schedule {}; take zb-v, dualpipe-v or interleaved",
                                         spec::to_word(p.schedule)));
  if (p.trains_apart()) return torchtitan_cannot("stages that train apart");
  if (p.divides_vocabulary()) return torchtitan_cannot("a vocabulary divided over the stages");
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
  const spec::Parallelism& p = job.parallelism;
  if (p.tp > 1 && !p.sequence_parallel)
    return torchtitan_cannot("tensor parallelism without sequence parallelism");
  if (t.overlap_p2p != (p.vpp > 1))
    return torchtitan_cannot("whether transfers between stages hide behind compute");
  if (t.moe_shared_overlap || t.overlap_expert_parallel)
    return torchtitan_cannot("to hide the exchange of experts behind compute");
  if (p.dp > 1 && !t.overlap_grad_reduce)
    return torchtitan_cannot("to reduce gradients behind the backward pass");
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
  ERGOMETER_ASSIGN(const spec::TorchtitanFlavor flavor, flavor_of(job.model));
  std::string text = fmt::format(
      "[model]\nname = \"{}\"\nflavor = \"{}\"\n{}\n[metrics]\nlog_freq = 1\n"
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
    text += fmt::format("\n[quantize.linear.float8]\n{}",
                        job.training.fp8_recipe == spec::Fp8Recipe::kRowwise
                            ? "recipe_name = \"rowwise\"\n"
                            : "enable_fsdp_float8_all_gather = true\n"
                              "precompute_float8_dynamic_scale_for_fsdp = true\n");
  return text;
}

}  // namespace ergometer::launch

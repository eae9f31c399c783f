// The generation of software that a row ran: its profile (catalog/software/) and its FP8 scaling.
#include <algorithm>

#include "base/text.h"
#include "spec/read.h"
#include "validation/job_draft.h"

namespace ergometer::validation {
namespace {

/// The profile of nanotron for the state that its benchmark found the network in: "measured comm in
/// same job: AllReduce 158.65, AllGather 100.2, ...", bus bandwidths over the whole job. In order,
/// a gather is above 195 GB/s on two nodes and falls slower than the number of GPUs grows; out
/// of order it is below both. Below what one NIC of 50 GB/s carries, on few nodes or one, NVLink
/// seems to take no part.
std::string_view nanotron_profile(const JobDraft& draft) {
  constexpr double kGiga = 1e9, kTwoNodes = 195, kTimesGpus = 5000, kOneNic = 43, kFewGpus = 64;
  const double bus = measured_gather(draft) / kGiga, gpus = draft.number("gpus", 1);
  if (bus <= 0) return "nanotron";
  if (bus < kOneNic && gpus <= kFewGpus) return "nanotron-stalled";
  return gpus > 8 && bus < kTwoNodes && bus * gpus < kTimesGpus ? "nanotron-degraded" : "nanotron";
}

/// Rounds before 5.1, whose code runs Llama 2 70B with LoRA on Blackwell a sixth faster; on Hopper,
/// whose kernels were ripe, as fast as before.
bool is_early_mlperf(const JobDraft& draft) {
  const std::string gpu = squashed(draft.cell("gpu"));
  if (contains(gpu, "h100") || contains(gpu, "h200")) return true;
  for (const std::string_view column : {"release", "source"})
    for (const auto& [major, minor] : versions_in(draft.cell(column)))
      if (major < 10) return major < 5 || (major == 5 && minor < 1);
  return false;
}

/// Megatron-LM's functional tests of one GB200 node ran on machines whose data loaders do not keep
/// up: a micro batch takes as long with 4 layers as with 12, with pipelines as without.
bool data_is_slow(const JobDraft& draft) {
  return contains(squashed(draft.cell("gpu")), "gb200") &&
         draft.number("gpus", 1) <= base::parse_number(draft.cell("gpus_per_node")).value_or(4);
}

/// The release of NeMo that a row's release stands for, as `release_number` has it; Megatron-Core's
/// own versions by the releases that hold them. 0: none is named.
int nemo_release(const JobDraft& draft) {
  const std::string_view text = draft.cell("release");
  if (const int release = release_number(text); release > 0) return release;
  for (const auto& [major, minor] : versions_in(text))
    if (major == 0 && minor > 0) return minor >= 16 ? 2604 : minor >= 11 ? 2504 : 2411;
  return 0;
}

/// The named software profile of a row (catalog/software/).
std::string_view software_of(const JobDraft& draft) {
  const auto source = [&](std::string_view part) { return draft.source_has(part); };
  const std::string framework = squashed(draft.cell("framework"));
  const auto framework_has = [&](std::string_view part) { return contains(framework, part); };
  if (source("vTrain")) return source("multi-node") ? "megatron-lm-2021" : "vtrain-megatron";
  if (source("BigScience")) return "megatron-deepspeed-2022";
  if (source("Narayanan")) return "megatron-lm-2021";
  if (source("Korthikanti")) return "megatron-lm-2022";
  if (framework_has("nanotron")) return nanotron_profile(draft);
  if (framework_has("torchtitan"))
    return contains(draft.cell("overlap_notes"), "compile") ? "torchtitan" : "torchtitan-eager";
  if (framework_has("maxtext") || framework_has("jax")) return "maxtext";
  if (framework_has("automodel")) return "automodel";
  if (framework_has("llmfoundry") || framework_has("composer")) return "llm-foundry-2023";
  if (source("Primus") || framework_has("primus") || framework_has("rocm") ||
      contains(squashed(draft.cell("gpu")), "mi3"))
    return "primus";
  if (source("MLPerf")) return is_early_mlperf(draft) ? "mlperf-5.0" : "mlperf";
  if (framework_has("deepspeed"))
    return framework_has("megatron") ? "megatron-deepspeed-2022" : "deepspeed";
  if (source("SimuMax") || framework_has("simumax")) return "megatron-lm-2026";
  const int release = nemo_release(draft);
  if (source("CI golden")) return data_is_slow(draft) ? "megatron-lm-ci-slow" : "megatron-lm-ci";
  if (release >= 2604) return "megatron-core-26";
  if (release >= 2602) return "megatron-core-26.02";
  if (release >= 2504) return "megatron-core-25";
  if (release > 0) return "megatron-core-24";
  const auto year = base::parse_integer(draft.cell("year"));
  if (year && *year >= 2026) return "megatron-core-26";
  if (!year || *year >= 2025) return "megatron-core-25";
  return *year >= 2023 ? "megatron-core-24" : "megatron-lm-2022";
}

/// NVIDIA's recipes scaled FP8 with a delay up to NeMo 25.04 and by the tensor's own range since;
/// their MLPerf submissions kept the delay for Llama 2 and GPT-3.
std::string_view fp8_recipe_of(const JobDraft& draft) {
  if (draft.source_has("MLPerf"))
    return draft.name.key.starts_with("llama3") ? "tensorwise" : "delayed";
  const int release = nemo_release(draft);
  if (release == 0)
    return base::parse_integer(draft.cell("year")).value_or(0) >= 2025 ? "tensorwise" : "delayed";
  return release >= 2507 ? "tensorwise" : "delayed";
}

/// NVIDIA's training recipes for FP8 with one scale a tensor keep the weights themselves in FP8
/// (`fp8_param_gather` of Megatron-Bridge's and NeMo's mixed-precision recipes): gathered at a byte
/// each, and not quantized again behind every gather of FSDP. Megatron-Bridge's for MXFP8 are
/// assumed to do so from 25.09 on, but not with FSDP (bf16_with_mxfp8_mixed, from memory). MLPerf's
/// submissions with LoRA are assumed to do so, whoever submits (FP8_PARAMS of NVIDIA's
/// configurations, from memory): with delayed or per-tensor scales and in NVFP4. Weights of 70
/// billion parameters in 16 bit and their activations would not fit the one GPU that some run on.
///
/// Empty: no; else the reason.
std::string_view keeps_fp8_weights(const JobDraft& draft) {
  const std::string_view recipe = draft.text("fp8_recipe");
  const bool scales_tensors =
      draft.text("precision") == "fp8" && (recipe == "delayed" || recipe == "tensorwise");
  if (draft.source_has("MLPerf"))
    return draft.has("lora") && (scales_tensors || draft.text("precision") == "nvfp4")
               ? "MLPerf submissions with LoRA keep FP8 or FP4 weights (assumed)"
               : "";
  constexpr int kFirstBlocks = 2509;
  const bool blocks = draft.text("precision") == "fp8" && recipe == "mxfp8" &&
                      nemo_release(draft) >= kFirstBlocks && !draft.is_on("fsdp");
  const bool recipes = draft.source_has("NVIDIA") && !draft.has("lora") &&
                       draft.text("software").starts_with("megatron-core");
  if (!recipes || !(scales_tensors || blocks)) return "";
  return blocks ? "NVIDIA's recipes keep FP8 weights (assumed for block scales)"
                : "NVIDIA's recipes keep FP8 weights";
}

/// Latent attention on Blackwell before NeMo 25.07: the cuDNN of those containers (before 9.11)
/// does not train heads that are 192 wide in queries and 128 in values on it, FlashAttention 2
/// neither, and Transformer Engine falls back to products and a softmax of their own (recalled; one
/// series of runs bears it out). Those recipes
/// recompute the attention core, which only such scores need.
bool lacks_latent_kernels(const JobDraft& draft) {
  constexpr int kFirstRelease = 2507;
  const std::string gpu = squashed(draft.cell("gpu"));
  const bool blackwell = contains(gpu, "b200") || contains(gpu, "b300");
  const bool latent = draft.name.key.starts_with("deepseekv") || contains(draft.name.key, "kimi");
  const int release = nemo_release(draft);
  return draft.source_has("NVIDIA") && blackwell && latent && release > 0 &&
         release < kFirstRelease;
}

}  // namespace

double measured_gather(const JobDraft& draft) {
  constexpr double kGiga = 1e9;
  double most = 0;
  for (const std::string_view name : {"AllGather ", "ReduceScatter "}) {
    const std::string_view notes = draft.cell("notes");
    const size_t at = notes.find(name);
    if (at == notes.npos) continue;
    const std::string_view rest = notes.substr(at + name.size());
    most =
        std::max(most, base::parse_number(rest.substr(0, rest.find_first_of(", ;"))).value_or(0));
  }
  return kGiga * most;
}

void fill_software(JobDraft& draft) {
  if (draft.text("precision") == "fp8")
    draft.fill("fp8_recipe", std::string(fp8_recipe_of(draft)),
               "the scaling usual with the release, or the year");
  draft.fill("software", std::string(software_of(draft)), "framework, release and source");
  if (const std::string_view reason = keeps_fp8_weights(draft); !reason.empty())
    draft.fill("fp8_param_gather", "true", reason);
  if (lacks_latent_kernels(draft))
    draft.fill("attention_backend", "unfused", "no fused latent attention on Blackwell yet");
}

}  // namespace ergometer::validation

// The generation of software that a row ran: its profile (catalog/software/) and its FP8 scaling.
#include "base/text.h"
#include "spec/read.h"
#include "validation/job_draft.h"

namespace ergometer::validation {
namespace {

/// nanotron's benchmark tells the bus bandwidth of an all-gather over the whole job: "measured comm
/// in same job: AllReduce 158.65, AllGather 100.2, ...", GB/s. In order it is above 195 on two
/// nodes and falls slower than the number of GPUs grows; out of order it is below both.
bool network_is_degraded(const JobDraft& draft) {
  constexpr std::string_view kName = "AllGather ";
  constexpr double kTwoNodes = 195, kTimesGpus = 5000;
  const std::string_view notes = draft.cell("notes");
  const size_t at = notes.find(kName);
  const double gpus = draft.number("gpus", 1);
  if (at == notes.npos || gpus <= 8) return false;
  const std::string_view rest = notes.substr(at + kName.size());
  const double bus = base::parse_number(rest.substr(0, rest.find_first_of(", ;"))).value_or(0);
  return bus > 0 && bus < kTwoNodes && bus * gpus < kTimesGpus;
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
  if (source("vTrain")) return "vtrain-megatron";
  if (source("BigScience")) return "megatron-deepspeed-2022";
  if (source("Narayanan")) return "megatron-lm-2021";
  if (source("Korthikanti")) return "megatron-lm-2022";
  if (framework_has("nanotron"))
    return network_is_degraded(draft) ? "nanotron-degraded" : "nanotron";
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
  const int release = nemo_release(draft);
  if (release >= 2604 || source("CI golden")) return "megatron-core-26";
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

}  // namespace

void fill_software(JobDraft& draft) {
  if (draft.text("precision") == "fp8")
    draft.fill("fp8_recipe", std::string(fp8_recipe_of(draft)),
               "the scaling usual with the release, or the year");
  draft.fill("software", std::string(software_of(draft)), "framework, release and source");
}

}  // namespace ergometer::validation

// What a user of a row's software would call it, for `software` of the job.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "spec/catalog/read.h"
#include "validation/rows/job_draft.h"
#include "validation/rows/measurement.h"

namespace ergometer::validation {
namespace {

/// The profile of nanotron for the state that its benchmark found the network in: "measured comm in
/// same job: AllReduce 158.65, AllGather 100.2, ...", bus bandwidths over the whole job. In order,
/// a gather is above 195 GB/s on two nodes and falls slower than the number of GPUs grows; out
/// of order it is below both. Below what one NIC of 50 GB/s carries, on few nodes or one, NVLink
/// seems to take no part.
std::string_view nanotron_profile(const JobDraft& draft) {
  constexpr double kTwoNodes = 195, kTimesGpus = 5000, kOneNic = 43, kFewGpus = 64;
  const double bus = measured_gather(draft) / kGiga, gpus = draft.number("gpus", 1);
  if (bus <= 0) return "nanotron";
  if (bus < kOneNic && gpus <= kFewGpus) return "nanotron-stalled";
  return gpus > 8 && bus < kTwoNodes && bus * gpus < kTimesGpus ? "nanotron-degraded" : "nanotron";
}

/// Sources that ran code of their own, by words of their name.
struct OwnCode {
  std::string_view source, software;
};
constexpr OwnCode kOwnCode[] = {
    {"truth, multi-node", "megatron-lm-2021"},
    {"truth, single-node", "vtrain-megatron"},
    {"BigScience", "bigscience"},
    {"Narayanan", "megatron-lm-2021"},
    {"Korthikanti", "megatron-lm-2022"},
    {"SimuMax", "megatron-lm-2026"},
    {"CI golden", "megatron-lm-ci"},
};

/// A round of MLPerf Training: "MLPerf v5.0", of the release or the source.
std::string mlperf_round(const JobDraft& draft) {
  for (const std::string_view column : {"release", "source"})
    for (const auto& [major, minor] : versions_in(draft.cell(column)))
      if (major < 10) return fmt::format("mlperf {}.{}", major, minor);
  return "mlperf";
}

/// NVIDIA's stack by its release, else by the year of the row; early years ran Megatron-LM.
std::string nemo_release(const JobDraft& draft) {
  const std::string_view release = draft.cell("release");
  if (const int number = release_number(release); number > 0)
    return fmt::format("nemo {}.{:02}", number / 100, number % 100);
  for (const auto& [major, minor] : versions_in(release))
    if (major == 0) return fmt::format("nemo {}.{:02}", major, minor);
  const int64_t year = base::parse_integer(draft.cell("year")).value_or(2025);
  if (year >= 2026) return "nemo 26.04";
  if (year >= 2025) return "nemo";
  return year >= 2023 ? "nemo 24.07" : "megatron-lm-2022";
}

/// Empty: the row names no software that the catalog has.
std::string software_of(const JobDraft& draft) {
  for (const OwnCode& own : kOwnCode)
    if (draft.source_has(own.source)) return std::string(own.software);
  const std::string framework = base::squashed(draft.cell("framework"));
  const auto has = [&](std::string_view part) { return contains(framework, part); };
  if (has("nanotron")) return std::string(nanotron_profile(draft));
  if (has("torchtitan") || has("torchtune")) {
    const bool compiled = contains(draft.cell("overlap_notes"), "compile");
    return fmt::format("{} {}", compiled ? "torchtitan" : "torchtitan-eager", draft.cell("year"));
  }
  if (has("maxtext") || has("jax")) return "maxtext";
  if (has("automodel")) return "automodel";
  if (has("llmfoundry") || has("composer")) return "llm-foundry";
  if (draft.source_has("MLPerf")) return mlperf_round(draft);
  if (has("primus") || has("rocm")) return "primus";
  if (has("deepspeed")) return has("megatron") ? "megatron-deepspeed" : "deepspeed";
  const bool nvidia = draft.source_has("NVIDIA") || draft.source_has("Megatron-LM README");
  if (nvidia || has("nemo") || has("bridge")) return nemo_release(draft);
  if (has("megatron") || has("flagscale")) return "megatron-lm";
  if (has("litgpt")) return "litgpt";
  if (has("internevo")) return "internevo";
  if (has("transformers") || has("huggingface")) return "transformers";
  return has("fsdp") ? fmt::format("pytorch-fsdp {}", draft.cell("year")) : "";
}

}  // namespace

double measured_gather(const JobDraft& draft) {
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

void take_software(JobDraft& draft) {
  if (std::string name = software_of(draft); !name.empty())
    draft.say("software", std::move(name), "framework");
}

}  // namespace ergometer::validation

// What a row says in words: number format, sharding, recomputation, overlap.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "validation/rows/job_draft.h"

namespace ergometer::validation {
namespace {

bool is_blackwell(const JobDraft& draft) {
  const std::string gpu = base::squashed(draft.cell("gpu"));
  return contains(gpu, "b200") || contains(gpu, "b300");
}

void take_precision(JobDraft& draft) {
  const std::string_view cell = draft.cell("precision");
  if (cell.empty()) return;
  const PrecisionName name = parse_precision(cell, is_blackwell(draft));
  if (name.precision.empty())
    return draft.refuse(fmt::format(
        "precision: found \"{}\"; allowed: FP32, FP16, BF16, FP8 and its recipes, MXFP8, NVFP4",
        cell));
  draft.say("precision", std::string(name.precision), "precision");
  // Lightning's "bf16-true" and torchtune's BF16 have no copy in 32 bit; weights beside adapters
  // may be "bnb.nf4".
  if (contains(cell, "-true") || contains(cell, "optimizer in BF16"))
    draft.say("master_weights", "false", "precision");
  if (contains(cell, "nf4"))
    draft.say("quantize", contains(cell, "nf4-dq") ? "nf4-dq" : "nf4", "precision");
  if (name.precision != "fp8") return;
  if (!name.fp8_recipe.empty()) draft.say("fp8_recipe", std::string(name.fp8_recipe), "precision");
}

/// The digits in a text, as one number; 0 without any.
int64_t digits_in(std::string_view text) {
  int64_t number = 0;
  for (const char c : text)
    if (c >= '0' && c <= '9' && number < 100'000'000) number = number * 10 + (c - '0');
  return number;
}

/// The number that a text begins with; 0 without one.
int64_t leading_number(std::string_view text) {
  return digits_in(text.substr(0, text.find_first_not_of("0123456789")));
}

/// "FULL_SHARD", "FSDP=128", "FSDP2 64", "ZeRO-1", "ZeRO-1 inside 8 GPUs", "DDP (FSDP=0)". No
/// setting says among how many GPUs an optimizer is sharded: it is over all.
void take_sharding(JobDraft& draft) {
  const std::string_view cell = draft.cell("fsdp_zero");
  const std::string key = base::squashed(cell);
  if (key.empty()) return;
  const auto says = [&](const char* setting, std::string value) {
    draft.say(setting, std::move(value), "fsdp_zero");
  };
  if (contains(key, "zero")) {
    const int64_t stage = leading_number(std::string_view(key).substr(key.find("zero") + 4));
    if (stage > 3)
      return draft.refuse(fmt::format("fsdp_zero: found \"{}\"; allowed: ZeRO-0 to ZeRO-3", cell));
    if (stage == 3) says("fsdp", "true");
    return says("zero", fmt::format("{}", stage));
  }
  if (key.ends_with("fsdp0") || key == "ddp" || key == "fsdpno" || key == "no" || key == "0")
    return says("fsdp", "false");
  if (key == "shardgradop") return says("zero", "2");
  if (draft.number("pipeline_model_parallel_size", 1) > 1)
    return draft.fill("zero", "2",
                      "FSDP with pipeline stages keeps the parameters gathered over a step");
  says("fsdp", "true");
  if (contains(key, "hybrid")) return says("fsdp_shard_size", "8");
  const int64_t size =
      digits_in(key.starts_with("fsdp2") && key.size() > 5 && contains(cell, "FSDP2 ")
                    ? key.substr(5)
                    : key.substr(std::min<size_t>(4, key.size())));
  // A group as large as the job's data parallelism is no hybrid; the job is not known yet.
  const int64_t replicas = draft.number("gpus", 1) /
                           std::max<int64_t>(draft.number("tensor_model_parallel_size", 1), 1) /
                           std::max<int64_t>(draft.number("context_parallel_size", 1), 1) /
                           std::max<int64_t>(draft.number("pipeline_model_parallel_size", 1), 1);
  if (size > 1 && size < replicas) says("fsdp_shard_size", fmt::format("{}", size));
}

void take_switches(JobDraft& draft) {
  const std::string sp = base::squashed(draft.cell("sp"));
  const bool on =
      sp == "yes" || sp == "1" || sp == "true" || sp == "on" || contains(sp, "sequence");
  const bool split = draft.number("tensor_model_parallel_size", 1) > 1;
  if (!sp.empty()) draft.say("sequence_parallel", on && split ? "true" : "false", "sp");
}

void take_recomputation(JobDraft& draft) {
  std::string_view cell = draft.cell("recompute");
  // "activation checkpointing=True, cpu offload=False": only the first is about recomputation.
  if (cell.starts_with("activation checkpointing=")) cell = cell.substr(0, cell.find(','));
  if (cell.empty() || contains(cell, "=False") || cell.starts_with("none") || cell == "None")
    return cell.empty() ? void() : draft.say("recompute_granularity", "none", "recompute");
  const auto say = [&](const char* setting, std::string value) {
    draft.say(setting, std::move(value), "recompute");
  };
  const size_t list = cell.find("modules=[");
  if (list != cell.npos) {
    std::string modules;
    const std::string_view named = cell.substr(list + 9);
    for (const std::string_view module : base::trimmed_parts(named.substr(0, named.find(']')), ' '))
      modules += fmt::format("{}{}", modules.empty() ? "" : ",", module);
    say("recompute_granularity", "selective");
    if (!modules.empty()) say("recompute_modules", modules);
    return;
  }
  if (contains(cell, "selective")) {
    say("recompute_granularity", "selective");
    return;
  }
  // "activation checkpointing with FSDP (litgpt default), none on 1 GPU": what the recipe says too.
  if (contains(cell, "full") || contains(cell, "=True") || cell == "yes" || cell == "Yes")
    say("recompute_granularity", "full");
}

}  // namespace

void take_words(JobDraft& draft) {
  take_precision(draft);
  take_sharding(draft);
  take_switches(draft);
  take_recomputation(draft);
  if (draft.name.token_drop) {
    // As NVIDIA's recipes drop tokens.
    draft.say("moe_expert_capacity_factor", "1", "model");
    draft.say("moe_pad_expert_input_to_capacity", "true", "model");
  }
  if (draft.name.dropless) draft.say("moe_expert_capacity_factor", "0", "model");
}

}  // namespace ergometer::validation

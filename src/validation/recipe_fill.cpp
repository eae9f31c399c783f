// Blanks that the recipe behind a row fills.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "spec/read.h"
#include "validation/job_draft.h"
#include "validation/recipes.h"

namespace ergometer::validation {
namespace {

/// "on when TP>1" is on: what it needs is checked at the end. "only if flagged", "on when ZeRO-0"
/// and "n/a (DP=1)", of a recipe for fewer GPUs, are for the rules of the source to tell.
bool says_on(std::string_view cell) {
  return cell.starts_with("on") && !cell.starts_with("only") && !cell.starts_with("on when ZeRO");
}
bool says_off(std::string_view cell) { return cell.starts_with("off"); }

void fill_switch(JobDraft& draft, std::string_view setting, std::string_view cell,
                 std::string_view reason) {
  if (says_on(cell)) draft.fill(setting, "true", reason);
  if (says_off(cell)) draft.fill(setting, "false", reason);
}

/// "selective: mla_up_proj+mlp", "full block 5 layers", "full", "none".
void fill_recomputation(JobDraft& draft, std::string_view cell, std::string_view reason) {
  if (draft.has("recompute_granularity")) return;
  if (cell.starts_with("none")) return draft.fill("recompute_granularity", "none", reason);
  if (cell.starts_with("full")) {
    draft.fill("recompute_granularity", "full", reason);
    if (!cell.starts_with("full block ")) return;
    const std::string_view rest = cell.substr(11);
    draft.fill("recompute_method", "block", reason);
    return draft.fill("recompute_num_layers", std::string(rest.substr(0, rest.find(' '))), reason);
  }
  constexpr std::string_view kSelective = "selective: ";
  if (!cell.starts_with(kSelective)) return;
  draft.fill("recompute_granularity", "selective", reason);
  std::string modules;
  for (const std::string_view module : alternatives(cell.substr(kSelective.size()), '+'))
    modules += fmt::format("{}{}", modules.empty() ? "" : ",", module);
  draft.fill("recompute_modules", modules, reason);
}

/// "none + CPU activation offload 40 layers"; Megatron-Core does so without pipeline stages only.
void fill_offload(JobDraft& draft, std::string_view cell, std::string_view reason) {
  constexpr std::string_view kOffload = "CPU activation offload ";
  const size_t at = cell.find(kOffload);
  if (at == cell.npos || draft.number("pipeline_model_parallel_size", 1) > 1 ||
      draft.text("recompute_granularity") != "none")
    return;
  const std::string_view rest = cell.substr(at + kOffload.size());
  draft.fill("cpu_offloading_num_layers", std::string(rest.substr(0, rest.find(' '))), reason);
}

void fill_dispatch(JobDraft& draft, std::string_view cell, std::string_view reason) {
  if (cell.empty()) return;
  const size_t slash = cell.find('/');
  const std::string_view first = cell.substr(0, cell.find_first_of(" ;/("));
  if (first == "flex" && slash != cell.npos) {
    const std::string_view kind = cell.substr(slash + 1);
    const std::string backend(kind.substr(0, kind.find_first_of(" ;(")));
    draft.fill("moe_flex_dispatcher_backend", backend, reason);
    draft.fill("moe_token_dispatcher_type", backend, reason);
  }
  draft.fill("moe_token_dispatcher_type",
             first == "deepep" ? "flex"
             : first == "flex" ? "flex"
                               : "alltoall",
             reason);
  if (contains(cell, "EP a2a overlapped")) {
    draft.fill("overlap_moe_expert_parallel_comm", "true", reason);
    draft.fill("delay_wgrad_compute", "true", reason);
  }
}

void fill_graphs(JobDraft& draft, std::string_view cell, std::string_view reason) {
  if (cell.empty()) return;
  constexpr int64_t kAtScale = int64_t{1344} * 8;
  bool off = says_off(cell) || cell.starts_with("only if");
  if (contains(cell, "(v5.x)")) off = !contains(draft.cell("release"), "v5");
  if (contains(cell, "at scale, else off")) off = draft.number("gpus", 1) < kAtScale;
  if (contains(cell, "GB200/B200: on")) off = contains(draft.cell("gpu"), "H100");
  if (!off && contains(cell, ": ") && cell.starts_with("transformer_engine")) {
    std::string scope;
    for (const std::string_view module : alternatives(cell.substr(cell.find(": ") + 2), '+'))
      scope += fmt::format("{}{}", scope.empty() ? "" : ",", module);
    if (!scope.empty()) draft.fill("cuda_graph_scope", scope, reason);
  }
  if (!off && cell.starts_with("full")) draft.fill("cuda_graph_scope", "full_iteration", reason);
  draft.fill("cuda_graphs", off ? "false" : "true", reason);
}

/// Assumed: NVIDIA's recipes of 26.06 that capture MXFP8 experts' whole iteration overlap their
/// transfers, all but one; those of 26.08 name it in some.
void fill_captured_experts(JobDraft& draft) {
  if (draft.text("cuda_graph_scope") != "full_iteration" || draft.text("fp8_recipe") != "mxfp8" ||
      draft.text("moe_flex_dispatcher_backend") != "hybridep" || draft.is_on("fsdp"))
    return;
  draft.fill(
      "overlap_moe_expert_parallel_comm", "true",
      "assumed: most recipes that capture MXFP8 experts' whole iteration overlap their transfers");
}

void fill_sharding(JobDraft& draft, const Recipe& recipe, std::string_view reason) {
  const std::string_view fsdp = recipe.cell("fsdp");
  // With pipeline stages FSDP would gather the parameters for every micro batch: no recipe does.
  const bool stages = draft.number("pipeline_model_parallel_size", 1) > 1;
  const bool shards = fsdp.starts_with("Megatron") || fsdp.starts_with("torch") ||
                      fsdp.starts_with("FSDP2") || fsdp.starts_with("JAX");
  if (shards && !stages && !draft.has("zero")) draft.fill("fsdp", "true", reason);
  if (draft.is_on("fsdp") && fsdp.starts_with("Megatron"))
    draft.fill("framework", "megatron", reason);
  if (draft.is_on("fsdp")) return;
  if (says_on(recipe.cell("dist_opt"))) draft.fill("zero", "1", reason);
  if (says_off(recipe.cell("dist_opt"))) draft.fill("zero", "0", reason);
}

/// The value of "vp=" in the parts of a note; empty if it has none.
std::string noted(const std::vector<std::string_view>& parts, std::string_view key) {
  for (const std::string_view part : parts)
    if (part.starts_with(key)) return std::string(part.substr(key.size()));
  return "";
}

/// The sizes of the note that the row leaves blank: all where the recipe is for as many GPUs, else
/// the virtual stages where the row's stages are the recipe's.
void fill_noted(JobDraft& draft, std::string_view note, std::string_view reason) {
  struct Key {
    std::string_view note, setting;
  };
  constexpr std::array kKeys = std::to_array<Key>({{"tp=", "tensor_model_parallel_size"},
                                                   {"pp=", "pipeline_model_parallel_size"},
                                                   {"cp=", "context_parallel_size"},
                                                   {"vp=", "virtual_pipeline_model_parallel_size"},
                                                   {"ep=", "expert_model_parallel_size"},
                                                   {"etp=", "expert_tensor_parallel_size"},
                                                   {"mbs=", "micro_batch_size"}});
  const auto parts = alternatives(note.substr(0, note.find(';')), ' ');
  const std::string gpus = fmt::format("n={}", draft.text("gpus"));
  if (parts.empty()) return;
  if (parts[0] != gpus) {
    const bool same_stages = noted(parts, "tp=") == draft.text("tensor_model_parallel_size") &&
                             noted(parts, "pp=") == draft.text("pipeline_model_parallel_size");
    const std::string chunks = noted(parts, "vp=");
    if (same_stages && !chunks.empty() && draft.number("pipeline_model_parallel_size", 1) > 1)
      draft.fill("virtual_pipeline_model_parallel_size", chunks, reason);
    return;
  }
  for (const Key& key : kKeys)
    for (const std::string_view part : parts)
      if (part.starts_with(key.note) && part.size() > key.note.size()) {
        const std::string_view size = part.substr(key.note.size());
        draft.fill(key.setting, std::string(size.substr(0, size.find('.'))), reason);
      }
}

void fill_other(JobDraft& draft, const Recipe& recipe, std::string_view reason) {
  const std::string_view other = recipe.cell("other");
  if (contains(other, "bf16 grad reduce") || contains(other, "grads reduced in bf16"))
    draft.fill("grad_reduce_in_bf16", "true", reason);
  const bool fp8 = draft.text("precision") == "fp8";
  if (fp8 && (contains(other, "fp8_params on") || contains(other, "FP8_PARAMS") ||
              contains(other, "FP8 param gather")))
    draft.fill("fp8_param_gather", "true", reason);
  if (contains(other, "precision-aware optimizer"))
    draft.fill("use_precision_aware_optimizer", "true", reason);
  // Transformer Engine's ring attention multiplies in FP8 since 1.8, after round 4.0.
  const bool rings = draft.number("context_parallel_size", 1) > 1;
  if (contains(other, "FP8 attention") && !(rings && contains(draft.cell("release"), "v4.0")))
    draft.fill("fp8_attention", "true", reason);
  const std::string_view drop = recipe.cell("dropless");
  if (!draft.name.dropless && (drop.starts_with("token drop") || drop.starts_with("capacity")) &&
      !draft.source_has("CI golden"))
    draft.fill("moe_expert_capacity_factor", "1", reason);
}

}  // namespace

void fill_from_recipes(JobDraft& draft) {
  const auto recipe = find_recipe(draft);
  if (!recipe) return;
  const std::string reason = fmt::format("recipe: {}", recipe->cell("where"));
  const std::string_view note = recipe->cell("vpp_note");
  fill_recomputation(draft, recipe->cell("recompute"), reason);
  fill_offload(draft, recipe->cell("recompute"), reason);
  fill_noted(draft, note, reason);
  if (contains(note, "p2p overlapped")) draft.fill("overlap_p2p", "true", reason);
  if (contains(note, "not overlapped")) draft.fill("overlap_p2p", "false", reason);
  fill_sharding(draft, *recipe, reason);
  if (recipe->cell("sp") != "off (TP=1)")
    fill_switch(draft, "sequence_parallel", recipe->cell("sp"), reason);
  fill_switch(draft, "tp_comm_overlap", recipe->cell("tp_comm_overlap"), reason);
  fill_switch(draft, "overlap_grad_reduce", recipe->cell("overlap_grad_reduce"), reason);
  fill_switch(draft, "overlap_param_gather", recipe->cell("overlap_param_gather"), reason);
  fill_graphs(draft, recipe->cell("cuda_graphs"), reason);
  fill_dispatch(draft, recipe->cell("moe_dispatcher"), reason);
  fill_captured_experts(draft);
  fill_other(draft, *recipe, reason);
}

}  // namespace ergometer::validation

// A job's open settings from its recipe, and what of them the rest of the job rules out.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "spec/job/job_words.h"
#include "spec/recipe/recipe.h"
#include "spec/settings/setting_names.h"

namespace ergometer::spec {
namespace {

constexpr std::string_view kModules = "recompute_modules";

bool serves(const RecipeDraft& draft) {
  const std::string mode = draft.text("mode");
  return mode == "prefill" || mode == "decode" || draft.has("generate_tokens");
}

/// Overlap needs something to overlap with.
void mend_overlap(RecipeDraft& draft) {
  if (draft.number(kTp, 1) == 1) draft.drop_if_on("sequence_parallel");
  const bool unsplit = draft.number(kTp, 1) == 1 ||
                       (draft.has("sequence_parallel") && !draft.is_on("sequence_parallel"));
  const std::string fused = draft.text("fuse");
  const bool fuses = base::contains(fused, "ag-gemm") || base::contains(fused, "gemm-rs");
  if (unsplit || fuses) draft.drop_if_on("tp_comm_overlap");
  if (draft.is_on("fsdp")) {
    // FSDP gathers and reduces by itself.
    for (const char* name : {"overlap_grad_reduce", "overlap_param_gather", "zero"})
      draft.drop(name);
    return;
  }
  const bool reduces_late = draft.has("overlap_grad_reduce") && !draft.is_on("overlap_grad_reduce");
  if (draft.text("zero") == "0" || reduces_late) draft.drop_if_on("overlap_param_gather");
  if (draft.is_on("overlap_param_gather"))
    draft.fill("overlap_grad_reduce", "true", "goes with overlap_param_gather");
}

/// Chunks that the stages, the schedule or the number of micro batches do not allow.
void mend_pipeline(RecipeDraft& draft) {
  const int64_t pp = draft.number(kPp, 1), vpp = draft.number(kVpp, 1);
  if (pp == 1) {
    for (const std::string_view name : {kVpp, std::string_view("overlap_p2p")}) draft.drop(name);
    draft.drop("batch_p2p_sync");
    return;
  }
  // Chunks that were asked for are interleaved, whatever the schedule of a recipe.
  if (draft.said(kVpp) && vpp > 1) draft.drop("schedule");
  const std::string schedule = draft.text("schedule");
  const int64_t layers = draft.number("num_layers", draft.model().layer_count());
  const int64_t batch = draft.number("global_batch_size", 0);
  const int64_t passes = batch / draft.number("micro_batch_size", 1) / draft.replicas();
  const bool listed = draft.said("stage_layers") || draft.said("pipeline_model_parallel_layout") ||
                      draft.said("num_layers_per_virtual_pipeline_stage");
  const bool uneven = batch > 0 && passes % pp != 0;
  const bool other = !schedule.empty() && schedule != "interleaved";
  if (vpp > 1 && (listed || uneven || other || vpp > (layers + 2) / pp)) draft.drop(kVpp);
  if (draft.said("overlap_p2p") && draft.is_on("overlap_p2p")) draft.drop("batch_p2p_sync");
  if (draft.is_on("batch_p2p_sync")) draft.drop_if_on("overlap_p2p");
}

/// Whether a model has what `module` of `recompute_modules` would compute again.
bool has_module(const Model& model, std::string_view module) {
  if (module == "moe" || module == "moe_act") return model.experts.count > 0;
  if (module == "shared_experts") return model.experts.shared_ffn > 0;
  if (module == "mla_up_proj") return model.attention == AttentionKind::kLatent;
  return index_of(find_setting(kModules)->choices, module) >= 0;
}

/// Modules that the model has not cannot be computed again.
void mend_modules(RecipeDraft& draft) {
  if (draft.said(kModules) || !draft.has(kModules)) return;
  std::string kept;
  for (const std::string& module : base::split(draft.text(kModules), ','))
    if (has_module(draft.model(), module))
      kept += fmt::format("{}{}", kept.empty() ? "" : ",", module);
  const std::string origin = draft.defaults().find(kModules)->origin.text;
  draft.drop(kModules);
  if (!kept.empty()) return draft.fill(kModules, kept, origin);
  if (draft.said("recompute_granularity")) return;
  draft.drop("recompute_granularity");
  draft.fill("recompute_granularity", "none", origin);
}

void mend_recomputation(RecipeDraft& draft) {
  const std::string granularity = draft.text("recompute_granularity");
  if (granularity != "selective") draft.drop(kModules);
  if (granularity != "full")
    for (const char* name : {"recompute_method", "recompute_num_layers"}) draft.drop(name);
  mend_modules(draft);
  const bool recomputes =
      draft.has("recompute_granularity") && draft.text("recompute_granularity") != "none";
  if (recomputes || draft.number(kPp, 1) > 1 ||
      draft.number("cpu_offloading_num_layers", 0) >=
          draft.number("num_layers", draft.model().layer_count()))
    draft.drop("cpu_offloading_num_layers");
}

void mend_precision(RecipeDraft& draft) {
  const std::string precision = draft.text("precision");
  if (precision == "fp8" || precision == "nvfp4") return;
  for (const char* name : {"fp8_param_gather", "fp8_attention", "fp8_recipe"}) draft.drop(name);
}

/// Sizes of expert parallelism that the model or the layout has no room for.
void mend_experts(RecipeDraft& draft) {
  const int64_t experts = draft.model().experts.count;
  if (experts == 0) {
    for (const std::string_view name : {kEp, kEtp, std::string_view("moe_expert_capacity_factor"),
                                        std::string_view("moe_pad_expert_input_to_capacity"),
                                        std::string_view("moe_token_dispatcher_type"),
                                        std::string_view("moe_flex_dispatcher_backend"),
                                        std::string_view("overlap_moe_expert_parallel_comm")})
      draft.drop(name);
    return;
  }
  const int64_t ranks = std::max<int64_t>(1, draft.gpus() / draft.number(kPp, 1));
  const int64_t ep = draft.number(kEp, 1), etp = draft.number(kEtp, draft.number(kTp, 1));
  if (experts % ep != 0 || ep > ranks / etp || ranks % (ep * etp) != 0) draft.drop(kEp);
}

/// Takes back defaults that the rest of the job rules out: a recipe is written for more than one
/// layout.
void mend(RecipeDraft& draft) {
  mend_overlap(draft);
  mend_pipeline(draft);
  mend_recomputation(draft);
  mend_precision(draft);
  mend_experts(draft);
}

/// The least context parallelism, a power of two, that leaves no replica without a sequence.
void split_sequences(RecipeDraft& draft, const std::string& origin) {
  constexpr int64_t kMost = 64;
  const int64_t batch = draft.number("global_batch_size", 0);
  const int64_t replicas = draft.replicas() * draft.number(kCp, 1);
  if (batch == 0 || draft.said(kCp) || draft.replicas() <= batch) return;
  int64_t cp = 1;
  while (cp < kMost && replicas / cp > batch && replicas % (2 * cp) == 0) cp *= 2;
  draft.drop(kCp);
  draft.fill(kCp, fmt::format("{}", cp), origin);
}

void follow(const RecipeChoice& choice, RecipeDraft& draft) {
  if (choice.recipe == nullptr || serves(draft)) return;
  const std::string name = name_of(choice);
  for (const Recipe::Rule& rule : choice.recipe->rules) {
    if (!rule.when.holds(draft)) continue;
    if (rule.workloads) fill_from_workloads(choice.recipe->name, draft);
    if (rule.split_sequences)
      split_sequences(draft, fmt::format("recipe {}: fewer sequences than replicas", name));
    for (const auto& [setting, value] : rule.settings)
      draft.fill(setting, value,
                 fmt::format("recipe {}: {} ({})", name, rule.source, base::to_string(rule.grade)));
  }
}

/// The last of the recipe's profiles whose condition holds.
std::string profile_of(const RecipeChoice& choice, const RecipeDraft& draft) {
  if (!choice.profile.empty() || choice.recipe == nullptr) return choice.profile;
  std::string name;
  for (const Recipe::Profile& it : choice.recipe->profiles)
    if (it.when.holds(draft)) name = it.name;
  return name;
}

}  // namespace

Result<SoftwareDefaults> software_defaults(const Settings& said, const JobParts& parts) {
  RecipeDraft draft(said, parts);
  SoftwareDefaults out;
  ERGOMETER_ASSIGN(out.choice, choose_recipe(said, draft));
  draft.release = out.choice.release;
  follow(out.choice, draft);
  auto profile = read_software(profile_of(out.choice, draft));
  if (!profile) return tl::unexpected(profile.error());
  out.profile = *std::move(profile);
  for (const auto& [setting, value] : out.profile.settings.all())
    draft.fill(setting, value.text, value.origin.text);
  mend(draft);
  out.settings = draft.defaults();
  return out;
}

}  // namespace ergometer::spec

#include "spec/resolve/resolve.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/nearest.h"
#include "spec/catalog/read.h"
#include "spec/job/node_groups.h"
#include "spec/model/model_names.h"
#include "spec/recipe/inferred_recipe.h"
#include "spec/recipe/recipe.h"
#include "spec/resolve/stage_division.h"
#include "spec/settings/assumed_software.h"
#include "spec/settings/in_full.h"
#include "spec/settings/resolve_parts.h"
#include "spec/settings/setting_values.h"

namespace ergometer::spec {
namespace {

/// Readers store what the user wrote under the table's names; anything else slipped past one of
/// them.
Result<void> check_names(const Settings& settings) {
  for (const auto& [name, value] : settings.all()) {
    if (const SettingInfo* info = find_setting(name); info != nullptr && info->name == name)
      continue;
    return input_error("{}: {} is not a setting{}", value.origin.text, name,
                       base::did_you_mean(nearest_setting(name)));
  }
  return {};
}

/// Messages about inline models and clusters name the place that holds them, not a line of the
/// inline text.
template <class T>
Result<T> located(Result<T> result, const Settings::Value& value, std::string_view name) {
  if (result || !value.text.starts_with('{')) return result;
  std::string_view message = result.error().message;
  // What is wrong in a file that the inline text names has a place of its own.
  std::error_code ignored;
  if (std::filesystem::is_regular_file(message.substr(0, message.find(':')), ignored))
    return result;
  const std::string inner = fmt::format("{}:1: ", name);
  if (message.starts_with(inner)) message.remove_prefix(inner.size());
  return input_error("{}: {}.{}", value.origin.text, name, message);
}

/// Weights that are stored in 4 bit are not those that a job in 16 bit holds.
Result<void> check_stored_weights(const Settings& settings) {
  const Settings::Value* model = settings.find("model");
  if (settings.find("quantize") != nullptr || !is_stored_in_4_bit(model->text)) return {};
  std::error_code ignored;
  if (std::filesystem::exists(model->text, ignored)) return {};
  return input_error(
      "{}: model: found {}, whose weights are stored in 4 bit; allowed: --quantize nf4-dq with "
      "--lora RANK, or --model with the model in 16 bit",
      model->origin.text, model->text);
}

/// A model that a line of a user's script or file names may lie elsewhere than here.
Result<Model> replaceable(Result<Model> model, const Settings::Value& value) {
  const bool of_line = value.origin.text.find(':') != value.origin.text.npos;
  const bool is_path = value.text.find('/') != value.text.npos && !value.text.starts_with('{');
  if (model || !of_line || !is_path) return model;
  return input_error("{}: {}; --model says what stands for it", value.origin.text,
                     model.error().message);
}

/// A model with another depth: shortened at the end, or lengthened by its last layer.
void override_layers(SettingReader& read, Model& model) {
  const int64_t layers = read.integer("num_layers", model.layer_count(), "the model's own");
  if (layers != model.layer_count())
    model.layers.resize(static_cast<size_t>(layers), model.layers.back());
}

void read_software_name(SettingReader& read, SoftwareDefaults& defaults, Job& job) {
  SoftwareProfile& profile = defaults.profile;
  read.text("software");
  const RecipeChoice& choice = defaults.choice;
  job.recipe = {name_of(choice), choice.recipe != nullptr ? choice.recipe->title : "",
                choice.source};
  read.derive("software", fmt::format("of recipe {}", job.recipe.name));
  job.training.framework = profile.framework;
  job.software = std::move(profile.software);
}

void take_parts(const Settings& settings, JobParts parts, Job& job) {
  job.model = std::move(parts.model);
  job.cluster = std::move(parts.cluster);
  for (const char* name : {"model", "cluster"})
    if (const Settings::Value* value = settings.find(name)) job.origins[name] = value->origin;
}

Result<Job> fill(const Settings& settings, JobParts parts, bool checked) {
  Job job;
  ERGOMETER_ASSIGN(SoftwareDefaults defaults, software_defaults(settings, parts));
  take_parts(settings, std::move(parts), job);
  SettingReader read(settings, defaults.settings, job.origins);
  read_software_name(read, defaults, job);
  override_layers(read, job.model);
  read.plain_settings(job);
  resolve_mode(read, job);
  resolve_groups(read, job);
  if (checked && !read.error()) check_groups(read, job);
  if (!read.error()) resolve_ranks(read, job);
  if (!read.error()) keep_reached_groups(job);
  if (!read.error()) resolve_training(read, job);
  if (!read.error()) divide_stages(read, job);
  if (!read.error()) divide_batches(read, job);
  if (!read.error()) resolve_conditions(read, job);
  if (checked && !read.error()) check_ranks(read, job);
  if (checked && !read.error()) check_training(read, job);
  if (read.error()) return tl::unexpected(*read.error());
  note_unused(read, job);
  return job;
}

}  // namespace

Result<JobParts> read_job_parts(const Settings& settings) {
  ERGOMETER_TRY(check_names(settings));
  const Settings::Value* model = settings.find("model");
  const Settings::Value* cluster = settings.find("cluster");
  if (model == nullptr)
    return input_error(
        "no model is given; name one of the catalog (`ergometer catalog list`) or a config.json");
  if (cluster == nullptr)
    return input_error(
        "no cluster is given; name one with --cluster (`ergometer catalog list`), or a YAML file");
  ERGOMETER_TRY(check_stored_weights(settings));
  JobParts parts;
  ERGOMETER_ASSIGN(parts.model,
                   replaceable(located(read_model(model->text), *model, "model"), *model));
  ERGOMETER_ASSIGN(parts.cluster, located(read_cluster(cluster->text), *cluster, "cluster"));
  return parts;
}

Result<Job> resolve(const Settings& settings, const JobParts& parts) {
  ERGOMETER_TRY(check_names(settings));
  return fill(settings, parts, true);
}

Result<Job> resolve(const Settings& settings) {
  ERGOMETER_ASSIGN(JobParts parts, read_job_parts(settings));
  return fill(settings, std::move(parts), true);
}

Result<Settings> in_full(const Settings& settings, const Job& job) {
  ERGOMETER_ASSIGN(const JobParts parts, read_job_parts(settings));
  ERGOMETER_ASSIGN(const SoftwareDefaults defaults, software_defaults(settings, parts));
  Settings full = defaults.settings;
  full.erase("framework");
  full.merge(settings);
  full.set("seq_length", std::to_string(job.training.seq_length), {"the job", ""});
  ERGOMETER_ASSIGN(Job read, fill(full, parts, true));
  for (const SettingInfo& setting : setting_table()) {
    const std::string value = setting_value(setting.name, job);
    if (value.empty() || value == setting_value(setting.name, read)) continue;
    Settings said = full;
    said.set(setting.name, value, {"the job", ""});
    // What follows from others is not to be said by itself.
    auto next = fill(said, parts, true);
    if (!next) continue;
    full = std::move(said);
    read = *std::move(next);
  }
  return full;
}

Result<void> keep_assumed_software(const Settings& base, Settings& changed) {
  if (base.find("software") != nullptr || changed.find("software") != nullptr) return {};
  ERGOMETER_ASSIGN(const JobParts of_base, read_job_parts(base));
  ERGOMETER_ASSIGN(const JobParts of_changed, read_job_parts(changed));
  ERGOMETER_ASSIGN(const InferredRecipe ours, infer_recipe(RecipeDraft(base, of_base)));
  ERGOMETER_ASSIGN(const InferredRecipe theirs, infer_recipe(RecipeDraft(changed, of_changed)));
  if (theirs.only || theirs.software == ours.software) return {};
  Settings kept = changed;
  kept.set("software", ours.software, Origin{std::string(kAssumedSoftware), ""});
  if (fill(kept, of_changed, true)) changed = std::move(kept);
  return {};
}

std::vector<std::string> share_assumed_software(const std::vector<Settings*>& jobs) {
  using Kind = std::pair<std::string, std::string>;  // vendor, the framework that is said
  struct Suggested {
    Kind kind;
    InferredRecipe recipe;
  };
  std::vector<std::optional<Suggested>> suggested(jobs.size());
  std::map<Kind, InferredRecipe> shared;
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (jobs[i]->find("software") != nullptr) continue;
    const auto parts = read_job_parts(*jobs[i]);
    if (!parts) continue;
    auto recipe = infer_recipe(RecipeDraft(*jobs[i], *parts));
    if (!recipe) continue;
    const Settings::Value* framework = jobs[i]->find("framework");
    Kind kind{parts->cluster.node.gpu.vendor, framework == nullptr ? "" : framework->text};
    const auto rank = [](const InferredRecipe& it) { return std::pair(it.only, it.row); };
    InferredRecipe& most = shared.try_emplace(kind, *recipe).first->second;
    if (rank(*recipe) > rank(most)) most = *recipe;
    suggested[i] = {std::move(kind), *std::move(recipe)};
  }
  std::vector<std::string> software(jobs.size());
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (!suggested[i]) continue;
    const InferredRecipe& own = suggested[i]->recipe;
    const InferredRecipe& ours = shared.at(suggested[i]->kind);
    software[i] = own.software;
    if (own.only || own.software == ours.software) continue;
    Settings kept = *jobs[i];
    kept.set("software", ours.software, Origin{std::string(kAssumedSoftware), ""});
    if (!resolve(kept)) continue;
    *jobs[i] = std::move(kept);
    software[i] = ours.software;
  }
  return software;
}

Result<Job> read_job(const Settings& settings) {
  ERGOMETER_ASSIGN(JobParts parts, read_job_parts(settings));
  return fill(settings, std::move(parts), false);
}

Result<void> check_job(const Settings& settings, const Job& job) {
  static const Settings kNoProfile;
  std::map<std::string, Origin> origins;
  SettingReader read(settings, kNoProfile, origins);
  check_groups(read, job);
  if (!read.error()) check_ranks(read, job);
  if (!read.error()) check_training(read, job);
  if (!read.error()) check_searched(read, job);
  if (read.error()) return tl::unexpected(*read.error());
  return {};
}

}  // namespace ergometer::spec

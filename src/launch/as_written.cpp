#include "launch/as_written.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>

#include "base/collection.h"
#include "engine/prepared.h"
#include "intake/config/torchtitan.h"
#include "intake/launch_script.h"
#include "launch/megatron.h"
#include "launch/nemo.h"
#include "launch/torchtitan.h"
#include "spec/job/job_words.h"
#include "spec/settings/setting_values.h"

namespace ergometer::launch {
namespace {

using spec::Job;
using spec::Settings;

constexpr int64_t kAnySteps = 1;

Result<Settings> told_megatron(const Job& job) {
  ERGOMETER_TRY(megatron_check(job));
  ERGOMETER_ASSIGN(const Arguments model, megatron_model(job.model));
  std::vector<std::string> ignored;
  return intake::parse_megatron_arguments(
      megatron_text(model) + megatron_text(megatron_layout(job)), "train.sh", ignored);
}

Result<Settings> told_nemo(const Job& job) {
  std::vector<std::string> notes, ignored;
  ERGOMETER_ASSIGN(const std::string yaml, nemo_yaml(job, kAnySteps, notes));
  return spec::parse_nemo(yaml, "nemo.yaml", ignored);
}

Result<Settings> told_torchtitan(const Job& job) {
  std::vector<std::string> notes;
  ERGOMETER_ASSIGN(const std::string toml, torchtitan_toml(job, kAnySteps, notes));
  ERGOMETER_ASSIGN(const intake::Reading reading,
                   intake::parse_torchtitan(toml, "torchtitan.toml"));
  Settings settings = reading.fallbacks;
  settings.merge(reading.defaults);
  settings.merge(reading.settings);
  return settings;
}

Result<Settings> told(Framework framework, const Job& job) {
  switch (framework) {
    case Framework::kMegatron: return told_megatron(job);
    case Framework::kNemo: return told_nemo(job);
    case Framework::kTorchtitan: return told_torchtitan(job);
  }
  return Settings{};
}

/// Whether frameworks' files say it. Model, data, hardware and the order of ranks are others'.
bool is_told(const spec::SettingInfo& setting) {
  constexpr std::array<std::string_view, 6> kGroups = {"parallelism", "recomputation", "overlap",
                                                       "precision",   "experts",       "kernels"};
  constexpr std::array<std::string_view, 5> kOthers = {"moe_routing", "moe_expert_placement",
                                                       "moe_redundant_experts", "rank_map",
                                                       "allow_tp_across_nodes"};
  return base::contains(kGroups, setting.group) && !base::contains(kOthers, setting.name);
}

/// Of what is told, what the files say, or nothing where they leave it to the framework.
Settings with_told(const Settings& said, const Settings& files) {
  Settings settings = said;
  for (const spec::SettingInfo& setting : spec::setting_table()) {
    if (!is_told(setting)) continue;
    settings.erase(setting.name);
    if (const auto* value = files.find(setting.name))
      settings.set(setting.name, value->text, value->origin);
  }
  return settings;
}

void keep_kernel(const Job& job, const Job& back, const Settings& said, Settings& settings) {
  constexpr std::string_view kAttention = "attention_backend";
  if (!spec::is_fused(job.training.attention) || !spec::is_fused(back.training.attention)) return;
  settings.erase(kAttention);
  if (const auto* value = said.find(kAttention))
    settings.set(kAttention, value->text, value->origin);
}

bool near(double a, double b) {
  constexpr double kEqual = 1e-9;
  return std::abs(a - b) <= kEqual * std::abs(b);
}

/// Settings may differ in what makes no difference: overlaps of what is not sent.
Result<bool> predicted_alike(const Job& a, const Job& b) {
  ERGOMETER_ASSIGN(const engine::Estimate x, engine::estimate(a));
  ERGOMETER_ASSIGN(const engine::Estimate y, engine::estimate(b));
  return near(x.performance.step_time_s, y.performance.step_time_s) &&
         near(x.memory.peak_bytes, y.memory.peak_bytes);
}

void note_changes(Framework framework, const Job& job, const Job& back,
                  std::vector<std::string>& notes) {
  for (const spec::SettingInfo& setting : spec::setting_table()) {
    if (!is_told(setting)) continue;
    const std::string before = spec::setting_value(setting.name, job);
    const std::string after = spec::setting_value(setting.name, back);
    if (before == after || after.empty()) continue;
    notes.push_back(fmt::format("{} runs it with {} {}, not {}, and so it is predicted",
                                to_word(framework), setting.name, after, before));
  }
}

}  // namespace

Result<Settings> as_written(Framework framework, const Settings& said, const Job& job,
                            std::vector<std::string>& notes) {
  ERGOMETER_ASSIGN(const Settings files, told(framework, job));
  Settings settings = with_told(said, files);
  ERGOMETER_ASSIGN(Job back, spec::resolve(settings));
  keep_kernel(job, back, said, settings);
  ERGOMETER_ASSIGN(back, spec::resolve(settings));
  ERGOMETER_ASSIGN(const bool alike, predicted_alike(job, back));
  if (alike) return said;
  note_changes(framework, job, back, notes);
  return settings;
}

}  // namespace ergometer::launch

#include "compare/pair.h"

#include <fmt/format.h>

#include <algorithm>

#include "spec/recipe/inferred_recipe.h"
#include "spec/settings/setting_values.h"

namespace ergometer::compare {
namespace {

using spec::Settings;

constexpr std::string_view kGpus = "gpus";

/// Settings that say the same as another one, or nothing about time and energy.
void leave_out(Settings& settings) {
  for (const char* name : {"data_parallel_size", "flops", "cluster"}) settings.erase(name);
}

/// bf16, fp16, fp8 and fp4 are ways to write `precision`.
void spell_out_precision(const spec::Job& job, Settings& settings) {
  bool given = false;
  for (const char* name : {"bf16", "fp16", "fp8", "fp4", "precision"}) {
    given = given || settings.find(name) != nullptr;
    settings.erase(name);
  }
  if (given) settings.set("precision", spec::setting_value("precision", job), {"", ""});
}

std::string text_in(const Settings& settings, std::string_view name) {
  const Settings::Value* value = settings.find(name);
  return value == nullptr ? "" : value->text;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// What is said of a setting: what the user wrote, or what follows when nothing is written; of a
/// file's whole text the line that names it.
std::string words(std::string_view name, const spec::Job& job, const Settings& settings) {
  if (name == "model") return job.model.name;
  if (name == "software")
    return job.recipe.source == "inferred" ? job.recipe.name + " (assumed)" : job.software.name;
  std::string value = spec::setting_value(name, job), written = text_in(settings, name);
  const spec::SettingInfo* info = spec::find_setting(name);
  const bool measure = info != nullptr && info->kind == spec::SettingKind::kMeasure;
  if (measure || value.empty()) return written.empty() ? "not given" : first_line(written);
  return first_line(value);
}

Difference difference_in(std::string_view name, const spec::Job& a, const Settings& of_a,
                         const spec::Job& b, const Settings& of_b) {
  return {std::string(name), words(name, a, of_a), words(name, b, of_b)};
}

/// Whether the two jobs mean the same by a setting that at least one of them gives.
bool agree(std::string_view name, const spec::Job& a, const Settings& of_a, const spec::Job& b,
           const Settings& of_b) {
  if (text_in(of_a, name) == text_in(of_b, name)) return true;
  const std::string value = spec::setting_value(name, a);
  return !value.empty() && value == spec::setting_value(name, b);
}

bool same_settings(const spec::Job& x, const spec::Job& y) {
  return std::ranges::all_of(spec::setting_table(), [&](const spec::SettingInfo& info) {
    return info.name == "software" ||
           spec::setting_value(info.name, x) == spec::setting_value(info.name, y);
  });
}

bool is_of_recipe(std::string_view setting, const spec::Job& job) {
  const auto found = job.origins.find(std::string(setting));
  return found != job.origins.end() && found->second.text.starts_with("recipe ");
}

void take_settings(const Factor& factor, const Settings& from, Settings& to) {
  for (const std::string_view name : factor.settings) {
    to.erase(name);
    if (const Settings::Value* value = from.find(name)) to.set(name, value->text, value->origin);
  }
}

}  // namespace

Result<JobPair> JobPair::make(const Settings& a, const Settings& b) {
  JobPair pair;
  pair.settings_a_ = a;
  pair.settings_b_ = b;
  ERGOMETER_ASSIGN(pair.parts_a_, spec::read_job_parts(a));
  ERGOMETER_ASSIGN(pair.parts_b_, spec::read_job_parts(b));
  ERGOMETER_ASSIGN(pair.a_, spec::resolve(a, pair.parts_a_));
  ERGOMETER_ASSIGN(pair.b_, spec::resolve(b, pair.parts_b_));
  pair.parts_a_.cluster.nodes = pair.parts_b_.cluster.nodes = 0;
  pair.say_software();
  pair.say_recipe();
  pair.align();
  pair.find_factors();
  return pair;
}

/// Software that nobody named is said: jobs between the two would infer others, and what these
/// change would look like the work of the settings that suggested them.
void JobPair::say_software() {
  for (const auto& [settings, job] : {std::pair(&settings_a_, &a_), std::pair(&settings_b_, &b_)})
    if (settings->find("software") == nullptr)
      settings->set("software", job->recipe.name,
                    spec::Origin{std::string(spec::kAssumedSoftware), ""});
}

/// What one recipe asks for on the one GPU and not on the other is said, where the jobs then stay
/// what they are: it would look like the work of the GPU's compute rate.
void JobPair::say_recipe() {
  if (text_in(settings_a_, "software") != text_in(settings_b_, "software") ||
      parts_a_.cluster.node.gpu.name == parts_b_.cluster.node.gpu.name)
    return;
  // All that the recipe says, for each setting that is given switches off the rules that say it.
  Settings said_a = settings_a_, said_b = settings_b_;
  for (const spec::SettingInfo& info : spec::setting_table()) {
    if (settings_a_.find(info.name) != nullptr || settings_b_.find(info.name) != nullptr) continue;
    if (!is_of_recipe(info.name, a_) && !is_of_recipe(info.name, b_)) continue;
    const std::string of_a = spec::setting_value(info.name, a_);
    const std::string of_b = spec::setting_value(info.name, b_);
    if (of_a.empty() || of_b.empty()) continue;
    said_a.set(info.name, of_a, spec::Origin{"recipe", ""});
    said_b.set(info.name, of_b, spec::Origin{"recipe", ""});
  }
  const auto as_a = spec::resolve(said_a, parts_a_), as_b = spec::resolve(said_b, parts_b_);
  if (!as_a || !as_b || !same_settings(*as_a, a_) || !same_settings(*as_b, b_)) return;
  settings_a_ = std::move(said_a);
  settings_b_ = std::move(said_b);
}

void JobPair::align() {
  for (const auto& [settings, job] : {std::pair(&settings_a_, &a_), std::pair(&settings_b_, &b_)}) {
    leave_out(*settings);
    spell_out_precision(*job, *settings);
    const Settings::Value* gpus = settings->find(kGpus);
    settings->set(kGpus, fmt::format("{}", job->gpus),
                  gpus == nullptr ? spec::Origin{"", ""} : gpus->origin);
  }
  for (const spec::SettingInfo& info : spec::setting_table()) {
    const Settings::Value *x = settings_a_.find(info.name), *y = settings_b_.find(info.name);
    if ((x == nullptr && y == nullptr) || !agree(info.name, a_, settings_a_, b_, settings_b_))
      continue;
    // The same text on both sides, whichever side is called A.
    const bool first = y == nullptr || (x != nullptr && x->text <= y->text);
    const Settings::Value chosen = first ? *x : *y;
    settings_a_.set(info.name, chosen.text, chosen.origin);
    settings_b_.set(info.name, chosen.text, chosen.origin);
  }
}

void JobPair::find_factors() {
  for (const Factor& factor : factors()) {
    std::vector<Difference> found;
    for (const std::string_view name : factor.settings)
      if (text_in(settings_a_, name) != text_in(settings_b_, name))
        found.push_back(difference_in(name, a_, settings_a_, b_, settings_b_));
    for (Difference& difference : cluster_differences(factor, parts_a_.cluster, parts_b_.cluster))
      found.push_back(std::move(difference));
    if (found.empty()) continue;
    present_.push_back(&factor);
    differences_.push_back(std::move(found));
  }
}

std::vector<Difference> JobPair::derived() const {
  std::vector<Difference> derived;
  for (const spec::SettingInfo& info : spec::setting_table()) {
    if (settings_a_.find(info.name) != nullptr || settings_b_.find(info.name) != nullptr) continue;
    const Difference it = difference_in(info.name, a_, settings_a_, b_, settings_b_);
    if (it.a != it.b) derived.push_back(it);
  }
  return derived;
}

Result<spec::Job> JobPair::job(Coalition coalition) const {
  Settings settings = settings_a_;
  spec::JobParts parts = parts_a_;
  for (size_t i = 0; i < present_.size(); ++i) {
    if ((coalition >> i & 1) == 0) continue;
    take_settings(*present_[i], settings_b_, settings);
    take_from(*present_[i], parts_b_.cluster, parts.cluster);
    if (present_[i]->id == "model") parts.model = parts_b_.model;
  }
  if (const std::string fault = fault_of(parts.cluster); !fault.empty()) return input_error(fault);
  return spec::resolve(settings, parts);
}

}  // namespace ergometer::compare

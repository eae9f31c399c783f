#include "cli/job_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "intake/launch_script.h"

namespace ergometer::cli {
namespace {

std::string dashed(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

std::string value_name(const spec::SettingInfo& setting) {
  using enum spec::SettingKind;
  if (setting.kind == kChoice) return std::string(setting.choices);
  if (setting.kind == kInteger) return "N";
  if (setting.kind == kReal) return "X";
  if (setting.kind == kList) return "LIST";
  if (setting.kind == kMeasure) return std::string(setting.unit);
  if (setting.kind == kWords) return "TARGET=VALUE";
  if (setting.name == "fan") return "auto|%";
  return setting.name == "cluster" ? "CLUSTER" : "TEXT";
}

/// The settings that are options; the model is the command's word.
Flag setting_flag(const spec::SettingInfo& setting) {
  Flag flag;
  flag.name = dashed(setting.name);
  flag.short_name = dashed(setting.short_name);
  flag.takes =
      setting.kind == spec::SettingKind::kSwitch ? Flag::Takes::kSwitch : Flag::Takes::kValue;
  flag.value = value_name(setting);
  flag.group = setting.group;
  flag.help = setting.help;
  flag.choices = base::split(setting.choices, '|');
  flag.repeats = setting.kind == spec::SettingKind::kWords;
  return flag;
}

base::Result<void> add_file(spec::Settings& settings, base::Result<spec::Settings> read,
                            const std::vector<std::string>& ignored, const std::string& path,
                            const Console& console) {
  if (!read) return tl::unexpected(std::move(read).error());
  settings.merge(*read);
  if (!ignored.empty())
    console.note(fmt::format("{}: no effect on a simulation: {}", path, fmt::join(ignored, ", ")));
  return {};
}

}  // namespace

bool is_job_file(const std::string& word) {
  return word.ends_with(".yaml") || word.ends_with(".yml");
}

base::Result<spec::Settings> gather_settings(const Arguments& arguments, const Console& console) {
  spec::Settings settings;
  std::vector<std::string> ignored;
  if (const std::string path = arguments.value("nemo"); arguments.has("nemo"))
    ERGOMETER_TRY(add_file(settings, spec::read_nemo(path, ignored), ignored, path, console));
  ignored.clear();
  if (const std::string path = arguments.value("megatron-args"); arguments.has("megatron-args"))
    ERGOMETER_TRY(
        add_file(settings, intake::read_megatron_arguments(path, ignored), ignored, path, console));
  if (!arguments.words.empty()) {
    const std::string& word = arguments.words.front();
    if (is_job_file(word)) {
      ERGOMETER_TRY(add_file(settings, spec::read_job_file(word), {}, word, console));
    } else {
      settings.set("model", word, {"the command line", "MODEL"});
    }
  }
  spec::Settings options;
  for (const spec::SettingInfo& setting : spec::setting_table()) {
    const std::string name = dashed(setting.name);
    if (setting.name != "model" && arguments.has(name))
      options.set(setting.name, arguments.value(name), {arguments.written.at(name), ""});
  }
  settings.merge(options);
  return settings;
}

std::vector<Flag> setting_flags() {
  std::vector<Flag> flags;
  for (const spec::SettingInfo& setting : spec::setting_table())
    if (setting.name != "model") flags.push_back(setting_flag(setting));
  const auto add = [&](const char* name, const char* help) {
    flags.push_back({name, "", Flag::Takes::kValue, "FILE", "job", help, {}, false});
  };
  add("megatron-args", "Megatron-LM's arguments: a launch script or an argument file");
  add("nemo", "a NeMo YAML file");
  return flags;
}

bool names_job(const Arguments& arguments) {
  return !arguments.words.empty() || arguments.has("nemo") || arguments.has("megatron-args");
}

}  // namespace ergometer::cli

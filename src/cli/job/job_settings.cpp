#include "cli/job/job_settings.h"

#include <fmt/ranges.h>

#include "base/shell.h"
#include "base/text.h"
#include "cli/job/script_run.h"
#include "cli/job/user_files.h"
#include "spec/job/adjustments.h"

namespace ergometer::cli {
namespace {

std::string value_name(const spec::SettingInfo& setting) {
  using enum spec::SettingKind;
  if (setting.kind == kChoice) return std::string(setting.choices);
  if (setting.kind == kInteger) return "N";
  if (setting.kind == kReal) return "X";
  if (setting.kind == kList) return "LIST";
  if (setting.kind == kMeasure) return std::string(setting.unit);
  if (setting.kind == kWords) return "TARGET=VALUE";
  if (setting.name == "fan") return "auto|%";
  if (setting.name == "model") return "MODEL";
  return setting.name == "cluster" ? "CLUSTER" : "TEXT";
}

Flag setting_flag(const spec::SettingInfo& setting) {
  Flag flag;
  flag.name = base::dashed(setting.name);
  flag.short_name = base::dashed(setting.short_name);
  flag.takes =
      setting.kind == spec::SettingKind::kSwitch ? Flag::Takes::kSwitch : Flag::Takes::kValue;
  flag.value = value_name(setting);
  flag.group = setting.group;
  flag.help = setting.help;
  flag.choices = base::split(setting.choices, '|');
  flag.repeats = setting.kind == spec::SettingKind::kWords;
  return flag;
}

void tell(const spec::Job& job, const std::string& name, const Console& console) {
  const std::string before = name.empty() ? "" : name + ": ";
  if (!job.model.unknown_keys.empty())
    console.note("{}{}: keys without a meaning here: {}", before, job.model.name,
                 fmt::join(job.model.unknown_keys, ", "));
  for (const std::string& reason : spec::adjustments(job)) console.note(before + reason);
}

}  // namespace

Result<spec::Job> resolve_job(const spec::Settings& settings, const Console& console) {
  auto job = spec::resolve(settings);
  if (job) tell(*job, "", console);
  return job;
}

void tell_job(const spec::Settings& settings, const std::string& name, const Console& console) {
  if (const auto job = spec::resolve(settings)) tell(*job, name, console);
}

Result<spec::Settings> gather_settings(const Arguments& arguments, const Console& console) {
  if (!arguments.command.empty() && !arguments.has("megatron-run"))
    return input_error("\"{}\" behind -- is a command, which --megatron-run runs",
                       arguments.command.front());
  ERGOMETER_ASSIGN(const intake::ScriptContext context, script_context(arguments));
  UserFiles files(console, context);
  if (arguments.has("nemo")) ERGOMETER_TRY(files.add_nemo(arguments.value("nemo")));
  if (arguments.has("megatron-args"))
    ERGOMETER_TRY(files.add_script(arguments.value("megatron-args")));
  if (arguments.has("megatron-run")) ERGOMETER_TRY(files.add_run(arguments));
  ERGOMETER_ASSIGN(spec::Settings options, settings_of_words(arguments, files));
  for (const spec::SettingInfo& setting : spec::setting_table()) {
    const std::string name = base::dashed(setting.name);
    if (arguments.has(name))
      options.set(setting.name, arguments.value(name), {arguments.written.at(name), ""});
  }
  // --settings shows what is there.
  if (!arguments.has("settings")) return files.settings(options);
  spec::Settings settings = files.settings_so_far(options);
  files.tell(settings);
  for (const auto& [setting, why] : files.open(settings))
    console.note("{} is open: {}", setting == "gpus" ? "the number of GPUs" : base::dashed(setting),
                 why);
  return settings;
}

std::vector<Flag> setting_flags() {
  std::vector<Flag> flags;
  for (const spec::SettingInfo& setting : spec::setting_table())
    flags.push_back(setting_flag(setting));
  flags.push_back(option("megatron-args", "FILE", "job",
                         "Megatron-LM's arguments: a launch script or an argument file"));
  flags.push_back(option("nemo", "FILE", "job", "a NeMo YAML file"));
  add_script_flags(flags);
  add_run_flag(flags);
  return flags;
}

std::string job_command(const Arguments& arguments) {
  std::string command = "ergometer simulate";
  const auto add = [&](const std::string& word) { command += ' ' + base::shell_quoted(word); };
  for (const std::string& word : arguments.words) add(word);
  for (const Flag& flag : setting_flags()) {
    if (!arguments.has(flag.name)) continue;
    const std::string value = arguments.value(flag.name);
    const bool takes_value = flag.takes == Flag::Takes::kValue;
    const bool off = flag.takes == Flag::Takes::kSwitch && value == "false";
    add(off ? "--no-" + flag.name : arguments.written.at(flag.name));
    if (takes_value) add(value);
  }
  if (!arguments.command.empty()) add("--");
  for (const std::string& word : arguments.command) add(word);
  return command;
}

bool names_job(const Arguments& arguments) {
  return !arguments.words.empty() || arguments.has("model") || arguments.has("nemo") ||
         arguments.has("megatron-args") || arguments.has("megatron-run");
}

}  // namespace ergometer::cli

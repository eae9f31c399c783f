#include "cli/search/search_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/collection.h"
#include "base/nearest.h"
#include "base/text.h"
#include "cli/job/script_run.h"
#include "cli/job/user_files.h"
#include "search/space/axes.h"
#include "search/space/space.h"

namespace ergometer::cli {
namespace {

Result<const spec::SettingInfo*> setting_named(const std::string& name) {
  if (const spec::SettingInfo* info = spec::find_setting(name)) return info;
  return input_error("--fix: '{}' is not a setting{}", name,
                     base::did_you_mean(spec::nearest_setting(name)));
}

/// A setting of the job file's layout becomes a given one.
Result<void> keep(const std::string& name, SearchSettings& search) {
  ERGOMETER_ASSIGN(const spec::SettingInfo* const info, setting_named(name));
  if (const auto* value = search.layout.find(info->name)) {
    search.given.set(info->name, value->text, value->origin);
    return {};
  }
  return input_error("--fix: '{}' is not KEY=VALUE, like tp=8, nor in a job file given as MODEL",
                     name);
}

/// The settings behind a recomputation as the search's own table calls it (`recompute_word`): "-",
/// "block 4", "core_attn+layernorm". Any other word is left to the setting itself.
std::vector<std::pair<std::string_view, std::string>> recomputation_of(const std::string& word) {
  const std::string_view modules = spec::find_setting(search::kModules)->choices;
  constexpr std::string_view kBlock = "block ";
  if (word == "-") return {{search::kRecompute, "none"}};
  if (word.starts_with(kBlock) && base::parse_integer(word.substr(kBlock.size())))
    return {{search::kRecompute, "full"},
            {search::kMethod, "block"},
            {search::kDepth, word.substr(kBlock.size())}};
  std::string list = word;
  std::ranges::replace(list, '+', ',');
  const std::vector<std::string> known = base::split(modules, '|'), parts = base::split(list, ',');
  const bool all_known = std::ranges::all_of(
      parts, [&](const std::string& part) { return base::contains(known, part); });
  if (!all_known) return {{search::kRecompute, word}};
  return {{search::kRecompute, "selective"}, {search::kModules, list}};
}

/// "tp=8,recompute_modules=core_attn,mlp": a word without "=" goes on with the value before it. A
/// setting's name alone, and any word before the first "=", stays as the job file has it.
Result<void> add_fixed(const std::string& text, SearchSettings& search) {
  spec::Settings& settings = search.given;
  std::string name, value;
  const auto set = [&]() -> Result<void> {
    if (name.empty()) return {};
    ERGOMETER_ASSIGN(const spec::SettingInfo* const info, setting_named(name));
    std::vector<std::pair<std::string_view, std::string>> said = {{info->name, value}};
    if (info->name == search::kRecompute) said = recomputation_of(value);
    spec::Settings one;
    for (const auto& [key, words] : said)
      one.set(key, words, {fmt::format("--fix {}", name), std::string(name)});
    settings.merge(one);
    return {};
  };
  for (const std::string& part : base::split(text, ',')) {
    const size_t equals = part.find('=');
    if (equals == std::string::npos && (name.empty() || spec::find_setting(part) != nullptr)) {
      ERGOMETER_TRY(set());
      name.clear();
      ERGOMETER_TRY(keep(part, search));
      continue;
    }
    if (equals == std::string::npos) {
      value += ',' + part;
      continue;
    }
    ERGOMETER_TRY(set());
    if (equals == 0)
      return input_error("--fix: found \"{}\", a value without a setting's name", part);
    name = part.substr(0, equals);
    value = part.substr(equals + 1);
  }
  return set();
}

/// Options that a search takes beside --fix.
void add_options(const Arguments& arguments, spec::Settings& settings) {
  for (const char* name : {"cluster", "global-batch-size", "seq-length", "software"}) {
    const spec::SettingInfo* info = spec::find_setting(name);
    if (arguments.has(name))
      settings.set(info->name, arguments.value(name), {arguments.written.at(name), ""});
  }
}

}  // namespace

Result<SearchSettings> search_settings(const Arguments& arguments, const Console& console) {
  SearchSettings search;
  ERGOMETER_ASSIGN(const intake::ScriptContext context, script_context(arguments));
  UserFiles files(console, context);
  if (arguments.has("megatron-run")) ERGOMETER_TRY(files.add_run(arguments));
  ERGOMETER_ASSIGN(spec::Settings named, settings_of_words(arguments, files));
  if (arguments.words.empty() && named.find("model") == nullptr && !arguments.has("megatron-run"))
    return input_error(
        "search: MODEL is missing; usage: ergometer search MODEL|FILE... --cluster CLUSTER --gpus "
        "N --gbs B");
  add_options(arguments, named);
  ERGOMETER_ASSIGN(const spec::Settings all, files.settings(named));
  for (const auto& [name, value] : all.all())
    (search::is_of_layout(name) ? search.layout : search.given).set(name, value.text, value.origin);
  if (arguments.has("fix")) ERGOMETER_TRY(add_fixed(arguments.value("fix"), search));
  if (search.given.find("global_batch_size") == nullptr)
    return input_error("search: --gbs is missing: what batch are the layouts to divide?");
  return search;
}

}  // namespace ergometer::cli

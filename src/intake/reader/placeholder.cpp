#include "intake/reader/placeholder.h"

#include <fmt/format.h>

#include "base/text.h"
#include "spec/settings/settings.h"

namespace ergometer::intake {

bool is_placeholder(std::string_view text) {
  constexpr size_t kShortest = 2;
  if (text.size() < kShortest) return false;
  const auto begins_name = [](char c) { return c == '{' || c == '(' || base::is_letter(c); };
  const bool is_variable = text[0] == '$' && begins_name(text[1]);
  return is_variable || base::contains(text, "${") || base::contains(text, "{{") || text == "???" ||
         (text.front() == '<' && text.back() == '>');
}

std::string with_values(std::string text,
                        const std::map<std::string, std::string, std::less<>>& environment) {
  for (const auto& [name, value] : environment) {
    if (text == "$" + name) return value;
    const std::string reference = "${" + name + "}";
    if (const size_t at = text.find(reference); at != text.npos)
      text.replace(at, reference.size(), value);
  }
  return text;
}

std::string placeholder_says(std::string_view from, std::string_view key, std::string_view text,
                             std::string_view setting, ByEnvironment by_environment) {
  const spec::SettingInfo* info = spec::find_setting(setting);
  const std::string_view option =
      info == nullptr || info->short_name.empty() ? setting : info->short_name;
  // "${{...}}" is no variable.
  const bool is_variable = base::contains(text, "$") && !base::contains(text, "{{");
  return fmt::format(
      "{}: {}: what \"{}\" stands for is not known here; give --{}, {}write the value in its "
      "place{}",
      from, key, text.substr(0, 60), base::dashed(option),
      is_variable && by_environment == ByEnvironment::kYes ? "" : "or ",
      is_variable && by_environment == ByEnvironment::kYes ? ", or set variables with --env" : "");
}

void leave_open(Reading& reading, std::string_view setting, const spec::Origin& from,
                std::string_view text, ByEnvironment by_environment) {
  reading.open[std::string(setting)] =
      placeholder_says(from.text, from.key, text, setting, by_environment);
}

void open_placeholders(Reading& reading) {
  const spec::Settings all = reading.settings;
  for (const auto& [name, value] : all.all()) {
    if (!is_placeholder(value.text)) continue;
    reading.settings.erase(name);
    leave_open(reading, name, value.origin, value.text);
  }
}

}  // namespace ergometer::intake

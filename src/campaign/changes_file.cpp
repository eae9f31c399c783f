#include "campaign/changes_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "spec/job/measure_range.h"
#include "spec/job/overrides.h"
#include "spec/yaml/yaml_map.h"

namespace ergometer::campaign {
namespace {

using spec::YamlMap;

constexpr size_t kMostChanges = 64;  // of each the job is optimized anew
constexpr std::string_view kOverride = "override";

double time_of_change(YamlMap& map, std::string_view key) {
  const auto seconds = spec::MeasureRange{"s", 0, kLongestReplanS}.read(map.text(key));
  if (!seconds) map.refuse(key, seconds.error().message);
  return seconds.value_or(0);
}

/// "inlet_c 35; override node1.fan=50%": what a change without a name is called.
std::string said_by(const spec::Settings& settings) {
  std::string text;
  for (const auto& [name, value] : settings.all())
    if (!value.text.empty())
      text += fmt::format("{}{} {}", text.empty() ? "" : "; ", name, value.text);
  return text;
}

Change read_change(YamlMap& map, const std::string& file) {
  constexpr std::string_view kOwn[] = {"at", "until", "name"};
  map.allow({"at", "until", "name", "inlet_c", "fan", "power_cap", "lock_clock", "cluster_cap",
             "power_smoothing", kOverride});
  map.require("at");
  Change change;
  change.line = map.line_of("at");
  change.at_s = time_of_change(map, "at");
  change.until_s = map.has("until") ? time_of_change(map, "until") : INFINITY;
  if (map.has("until") && change.until_s <= change.at_s)
    map.refuse("until", "found \"{}\"; allowed: a time behind `at`, {}", map.text("until"),
               map.text("at"));
  change.settings = spec::read_settings(map, file, kOwn);
  if (said_by(change.settings).empty())
    map.refuse("at", "nothing changes; say inlet_c, fan, power_cap, cluster_cap or override");
  change.name = map.text("name");
  if (change.name.empty()) change.name = said_by(change.settings);
  return change;
}

/// Overrides of both; where both say the same thing of the same place, `over`.
std::string merged_overrides(const std::string& text, const std::string& over) {
  std::string merged;
  for (const std::string& one : base::split(text, ',')) {
    const auto before = spec::parse_override(base::trimmed(one));
    bool stays = true;
    for (const std::string& other : base::split(over, ','))
      if (const auto after = spec::parse_override(base::trimmed(other)); before && after)
        stays = stays && !before->same_target(*after);
    if (stays) merged += one + ',';
  }
  return merged + over;
}

void lay_over(spec::Settings& settings, const spec::Settings& change) {
  const spec::Settings::Value* before = settings.find(kOverride);
  const std::string overrides = before == nullptr ? "" : before->text;
  settings.merge(change);
  if (const spec::Settings::Value* over = change.find(kOverride);
      over != nullptr && !overrides.empty())
    settings.set(kOverride, merged_overrides(overrides, over->text), over->origin);
}

}  // namespace

Result<std::vector<Change>> parse_changes(const std::string& text, const std::string& file) {
  ERGOMETER_ASSIGN(YamlMap top, YamlMap::parse(text, file));
  top.allow({"changes"});
  top.require("changes");
  std::vector<Change> changes;
  for (YamlMap& map : top.maps("changes")) changes.push_back(read_change(map, file));
  if (top.error()) return tl::unexpected(*top.error());
  if (changes.empty() || changes.size() > kMostChanges)
    return input_error("{}: changes: found {} changes; allowed: from 1 to {}", file, changes.size(),
                       kMostChanges);
  std::ranges::stable_sort(changes, {}, &Change::at_s);
  return changes;
}

Result<std::vector<Stretch>> stretches_of(const spec::Settings& job,
                                          const std::vector<Change>& changes, double length_s,
                                          const std::string& file) {
  std::set<double> times = {0, length_s};
  for (const Change& change : changes) {
    if (change.at_s >= length_s)
      return input_error("{}:{}: at: found {}; allowed: before the end of the run, {}", file,
                         change.line, base::format_seconds(change.at_s),
                         base::format_seconds(length_s));
    times.insert(change.at_s);
    if (change.until_s < length_s) times.insert(change.until_s);
  }
  std::vector<Stretch> stretches;
  for (auto from = times.begin(), to = std::next(from); to != times.end(); ++from, ++to) {
    Stretch& stretch = stretches.emplace_back(Stretch{*from, *to, {}, {}, job});
    for (const Change& change : changes) {
      if (change.at_s > stretch.from_s || change.until_s <= stretch.from_s) continue;
      stretch.changes.push_back(change.name);
      stretch.where = fmt::format("{}:{}", file, change.line);
      lay_over(stretch.settings, change.settings);
    }
  }
  return stretches;
}

}  // namespace ergometer::campaign

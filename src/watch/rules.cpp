#include "watch/rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/collection.h"
#include "base/file.h"
#include "base/json_writer.h"
#include "base/nearest.h"
#include "base/text.h"
#include "run/event_reasons.h"
#include "spec/yaml/yaml_map.h"
#include "watch/alerts.h"
#include "watch/standard_rules_data.h"

namespace ergometer::watch {
namespace {

constexpr size_t kLargestRules = 1 << 20, kMostRules = 256, kMostWords = 64, kMostText = 1024;
constexpr double kNs = 1e9, kLongest_s = 86400, kDefaultWindow_s = 60;
const std::vector<std::string> kKinds = {"gpu", "node", "switch", "meter", "cpu", "port"};
const std::vector<std::string> kTakes = {"mean", "highest", "lowest", "increase"};
const std::vector<std::string> kPers = {"device", "node", "job"};
const std::vector<std::string> kStepMetrics = {"step_time_s", "tokens_per_s_per_gpu"};

/// "30 s", "2 min"; nanoseconds.
int64_t read_time(spec::YamlMap& map, const char* key, double fallback_s, double shortest_s) {
  if (!map.has(key)) return static_cast<int64_t>(fallback_s * kNs);
  const std::string text = map.text(key);
  const auto measure = base::parse_measure(text);
  const bool fits = measure && (measure->unit == "s" || measure->unit.empty()) &&
                    measure->value >= shortest_s && measure->value <= kLongest_s;
  if (!fits)
    map.refuse(key, "found \"{}\"; allowed: a time from {:.0f} s to 1 day, such as 30 s or 2 min",
               text, shortest_s);
  return fits ? static_cast<int64_t>(measure->value * kNs) : 0;
}

/// A number in the metric's unit, which may stand behind it.
std::optional<double> read_bound(spec::YamlMap& map, const char* key, std::string_view unit) {
  if (!map.has(key)) return std::nullopt;
  const std::string text = map.text(key);
  if (const auto number = base::parse_number(text)) return *number;
  const auto measure = base::parse_measure(text);
  if (measure && measure->unit == unit) return measure->value;
  map.refuse(key, "found \"{}\"; allowed: a number{}{}", text, unit.empty() ? "" : " in ", unit);
  return 0;
}

void read_metric(spec::YamlMap& map, Rule& rule) {
  rule.reading = run::metric_of(rule.metric);
  const bool of_steps = base::contains(kStepMetrics, rule.metric);
  if (!rule.reading && !of_steps) {
    std::vector<std::string> known = kStepMetrics;
    for (int m = 0; m < static_cast<int>(run::Metric::kCount); ++m)
      known.emplace_back(run::metric_info(static_cast<run::Metric>(m)).name);
    map.refuse("metric",
               "found \"{}\"; allowed: a column of readings "
               "(docs/run-file.md), step_time_s or tokens_per_s_per_gpu{}",
               rule.metric, base::did_you_mean(rule.metric, known));
  }
  const bool counts = rule.reading && (run::metric_info(*rule.reading).counter ||
                                       *rule.reading == run::Metric::kXid);
  rule.of = static_cast<run::DeviceKind>(map.choice("of", kKinds, 0));
  rule.per = static_cast<Rule::Per>(map.choice("per", kPers, 0));
  rule.take = static_cast<Rule::Take>(map.choice("take", kTakes, counts ? 3 : 0));
  rule.window_ns = read_time(map, "window", kDefaultWindow_s, 1);
  rule.above = read_bound(map, "above", unit_of(rule));
  rule.below = read_bound(map, "below", unit_of(rule));
  if (rule.above.has_value() == rule.below.has_value())
    map.refuse("metric", "found no bound, or two; allowed: above or below, one of them");
  if (!of_steps) return;
  rule.per = Rule::Per::kJob;
  for (const char* key : {"of", "per"})
    if (map.has(key)) map.refuse(key, "goes with readings of devices; steps are the job's");
}

/// Of all findings that a job may have (docs/push-format.md) one fits at least.
void check_finding(spec::YamlMap& map, const std::string& finding) {
  std::vector<std::string> kinds = {"errors", "near_limit", "slower",
                                    "silent", "clock_jump", "lost"};
  for (const char* quantity : {"step_time_s", "mean_w_per_gpu", "max_gpu_c"})
    kinds.push_back(fmt::format("outside.{}", quantity));
  // What a GPU is held back by; other reasons are no findings.
  for (const run::EventReasonName& reason : run::kEventReasons)
    if (reason.name.starts_with("hw_") || reason.name.starts_with("sw_"))
      kinds.push_back(fmt::format("throttled.{}", reason.name));
  for (const std::string& kind : kinds)
    if (matches(finding, kind)) return;
  map.refuse("finding", "found \"{}\"; allowed: {}, where * stands for any text{}", finding,
             fmt::join(kinds, ", "), base::did_you_mean(finding, kinds));
}

/// A list of words, or a text that is one program; no shell reads it.
std::vector<std::string> read_command(spec::YamlMap& map) {
  std::vector<std::string> words;
  for (const auto& element : map.elements("command")) words.push_back(element.text);
  if (words.size() == 1 && words[0].find(' ') != std::string::npos)
    map.refuse("command",
               "found \"{}\"; allowed: a list of words, [program, argument]; a shell "
               "only where it says so: [sh, -c, \"...\"]",
               words[0]);
  if (words.empty() || words[0].empty() || words.size() > kMostWords)
    map.refuse("command", "found {} words; allowed: 1 to {}", words.size(), kMostWords);
  return words;
}

Action read_action(spec::YamlMap map) {
  map.allow({"webhook", "webhook-file", "token-file", "command", "file"});
  Action action;
  int kinds = 0;
  for (const auto& [key, kind] : {std::pair("webhook", Action::Kind::kWebhook),
                                  {"webhook-file", Action::Kind::kWebhook},
                                  {"command", Action::Kind::kCommand},
                                  {"file", Action::Kind::kFile}}) {
    if (!map.has(key)) continue;
    action.kind = kind;
    ++kinds;
  }
  if (kinds != 1)
    map.refuse("", "found {} actions; allowed: one of webhook, webhook-file, command and file",
               kinds);
  if (map.has("command")) action.command = read_command(map);
  action.target = map.text(map.has("file") ? "file" : "webhook");
  action.url_file = map.text("webhook-file");
  action.token_file = map.text("token-file");
  if (!action.token_file.empty() && action.kind != Action::Kind::kWebhook)
    map.refuse("token-file", "goes with a webhook");
  const std::string& url = action.target;
  if (map.has("webhook") && !url.starts_with("https://") && !url.starts_with("http://"))
    map.refuse("webhook",
               "found \"{}\"; allowed: an address like https://host/path; "
               "one that is secret stands in a webhook-file",
               url);
  if (map.has("file") && action.target.empty())
    map.refuse("file", "found nothing; allowed: a path");
  return action;
}

Rule read_rule(spec::YamlMap map, const Action& otherwise) {
  map.allow({"name", "severity", "text", "finding", "metric", "of", "per", "take", "above", "below",
             "window", "for", "action"});
  map.require("name");
  Rule rule;
  rule.name = map.text("name");
  rule.severity = map.text("severity", "warning");
  rule.text = map.text("text");
  rule.finding = map.text("finding");
  rule.metric = map.text("metric");
  for (const std::string* text : {&rule.name, &rule.severity, &rule.text, &rule.finding})
    if (text->size() > kMostText) map.refuse("name", "is too long");
  if (rule.name.empty()) map.refuse("name", "found nothing; allowed: a name of its own");
  if (rule.finding.empty() == rule.metric.empty())
    map.refuse("name", "found neither a finding nor a metric, or both; allowed: one of them");
  if (!rule.metric.empty()) read_metric(map, rule);
  if (!rule.finding.empty() && rule.metric.empty()) check_finding(map, rule.finding);
  if (!rule.finding.empty())
    for (const char* key : {"of", "per", "take", "above", "below", "window"})
      if (map.has(key)) map.refuse(key, "goes with a metric");
  rule.for_ns = read_time(map, "for", 0, 0);
  auto action = map.map("action");
  if (map.has("action") && !action)
    map.refuse("action",
               "found no mapping; allowed: {file: alerts.jsonl}, {command: [...]} or "
               "{webhook: URL}");
  rule.action = action ? read_action(*std::move(action)) : otherwise;
  return rule;
}

/// A rule of the same name takes the place of the one before.
void add_rule(std::vector<Rule>& rules, Rule rule) {
  const auto same = std::ranges::find(rules, rule.name, &Rule::name);
  same == rules.end() ? rules.push_back(std::move(rule)) : void(*same = std::move(rule));
}

/// "90 s", "5 min"
std::string time_text(int64_t ns) {
  constexpr int64_t kMinute = 60'000'000'000;
  if (ns > 0 && ns % kMinute == 0) return fmt::format("{} min", ns / kMinute);
  return fmt::format("{:g} s", static_cast<double>(ns) / kNs);
}

std::string action_text(const Action& action) {
  switch (action.kind) {
    case Action::Kind::kWebhook:
      return fmt::format("a POST to {}", action.url_file.empty()
                                             ? action.target
                                             : fmt::format("the address in {}", action.url_file));
    case Action::Kind::kCommand: return fmt::format("the command {}", action.command.front());
    case Action::Kind::kFile: return fmt::format("a line into {}", action.target);
    default: return "it stands on the page and in the Run";
  }
}

std::string condition_text(const Rule& rule) {
  if (!rule.finding.empty()) return fmt::format("there is a finding {}", rule.finding);
  const std::string_view unit = unit_of(rule);
  const char* const kind = kKinds[static_cast<size_t>(rule.of)].c_str();
  const bool one = rule.per == Rule::Per::kDevice ||
                   (rule.per == Rule::Per::kNode && rule.of == run::DeviceKind::kNode);
  const std::string whose = !rule.reading ? " of the job's steps"
                            : one
                                ? fmt::format(" of a {}", kind)
                                : fmt::format(", added up over the {}s of {},", kind,
                                              rule.per == Rule::Per::kNode ? "a node" : "the job");
  const std::string take = rule.take == Rule::Take::kMean      ? "the mean of"
                           : rule.take == Rule::Take::kHighest ? "the highest"
                           : rule.take == Rule::Take::kLowest  ? "the lowest"
                                                               : "the increase of";
  return fmt::format("{} {}{} over {} is {} {}{}{}", take, rule.metric, whose,
                     time_text(rule.window_ns), rule.above ? "above" : "below",
                     base::shortest(rule.above ? *rule.above : *rule.below),
                     unit.empty() ? "" : " ", unit);
}

}  // namespace

std::string_view unit_of(const Rule& rule) {
  if (!rule.reading) return rule.metric == "step_time_s" ? "s" : "";
  const std::string_view unit = run::metric_info(*rule.reading).unit;
  return unit == "1" ? "" : unit;
}

Result<std::vector<Rule>> parse_rules(std::string_view text, const std::string& file) {
  ERGOMETER_ASSIGN(spec::YamlMap top, spec::YamlMap::parse(text, file));
  top.allow({"standard", "action", "rules"});
  const bool standard = top.choice("standard", {"false", "true"}, 0) == 1;
  Action otherwise;
  if (auto action = top.map("action")) otherwise = read_action(*std::move(action));
  std::vector<Rule> rules;
  if (standard) {
    ERGOMETER_ASSIGN(rules, read_rules(kStandardRules));
    for (Rule& rule : rules) rule.action = otherwise;
  }
  std::vector<std::string> names;
  for (spec::YamlMap& map : top.maps("rules")) {
    Rule rule = read_rule(map, otherwise);
    if (base::contains(names, rule.name))
      map.refuse("name", "found \"{}\" a second time; allowed: once", rule.name);
    names.push_back(rule.name);
    add_rule(rules, std::move(rule));
  }
  if (top.error()) return tl::unexpected(*top.error());
  if (rules.empty())
    return input_error("{}: rules: found none; allowed: 1 to {}", file, kMostRules);
  if (rules.size() > kMostRules)
    return input_error("{}: rules: found {}; allowed: at most {}", file, rules.size(), kMostRules);
  return rules;
}

Result<std::vector<Rule>> read_rules(const std::string& path) {
  if (path == kStandardRules)
    return parse_rules({ergometer_standard_rules, static_cast<size_t>(ergometer_standard_rules_end -
                                                                      ergometer_standard_rules)},
                       "standard rules");
  ERGOMETER_ASSIGN(const std::string text, base::read_file(path, kLargestRules));
  return parse_rules(text, path);
}

std::string meaning(const Rule& rule) {
  return fmt::format("{} ({}): {}{}; then: {}", rule.name, rule.severity, condition_text(rule),
                     rule.for_ns > 0 ? fmt::format(" for {}", time_text(rule.for_ns)) : "",
                     action_text(rule.action));
}

}  // namespace ergometer::watch

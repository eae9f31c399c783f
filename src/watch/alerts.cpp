#include "watch/alerts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/json_writer.h"

namespace ergometer::watch {
namespace {

constexpr int64_t kParts = 10;

std::optional<double> reading(const DeviceNow& device, const Rule& rule) {
  return *rule.reading == run::Metric::kPower ? device.power_w() : device.of(*rule.reading);
}

std::string subject(const DeviceNow& device, Rule::Per per) {
  if (per == Rule::Per::kDevice) return device.label();
  return per == Rule::Per::kNode ? std::string(device.node) : std::string();
}

/// An XID is the number of a message: another one is one more.
double increase(run::Metric metric, double before, double now) {
  if (metric == run::Metric::kXid) return now != before && now != 0 ? 1 : 0;
  return std::max(0.0, now - before);
}

std::string held_text(const Rule& rule, double value) {
  if (!rule.text.empty()) return rule.text;
  const std::string_view unit = unit_of(rule);
  return fmt::format("{} {} {:.6g}{}{}, {} {:.6g}", rule.metric,
                     rule.take == Rule::Take::kIncrease ? "grew by" : "is", value,
                     unit.empty() ? "" : " ", unit, rule.above ? "above" : "below",
                     rule.above ? *rule.above : *rule.below);
}

}  // namespace

bool matches(std::string_view pattern, std::string_view kind) {
  const size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == kind;
  const std::string_view tail = pattern.substr(star + 1);
  return kind.size() >= star + tail.size() && kind.starts_with(pattern.substr(0, star)) &&
         kind.ends_with(tail);
}

void Window::add(int64_t time_ns, int64_t window_ns, double value) {
  const int64_t number = time_ns / std::max<int64_t>(window_ns / kParts, 1);
  // Behind a window without readings another begins.
  if (!parts_.empty() && parts_.back().number + kParts < number) parts_.clear();
  if (parts_.empty()) first_ns_ = time_ns;
  if (parts_.empty() || parts_.back().number != number)
    parts_.push_back({number, 0, 0, value, value});
  if (parts_.size() > kParts + 1) parts_.pop_front();
  Part& part = parts_.back();
  part.sum += value;
  ++part.count;
  part.highest = std::max(part.highest, value);
  part.lowest = std::min(part.lowest, value);
}

std::optional<double> Window::take(Rule::Take how, int64_t time_ns, int64_t window_ns) const {
  const int64_t first = time_ns / std::max<int64_t>(window_ns / kParts, 1) - kParts;
  Part all;
  for (const Part& part : parts_) {
    if (part.number <= first) continue;
    all.highest = all.count == 0 ? part.highest : std::max(all.highest, part.highest);
    all.lowest = all.count == 0 ? part.lowest : std::min(all.lowest, part.lowest);
    all.sum += part.sum;
    all.count += part.count;
  }
  if (all.count == 0) return std::nullopt;
  if (how == Rule::Take::kIncrease) return all.sum;
  if (time_ns - first_ns_ < window_ns) return std::nullopt;
  if (how == Rule::Take::kMean) return all.sum / all.count;
  return how == Rule::Take::kHighest ? all.highest : all.lowest;
}

void Alerts::replace(const std::vector<Rule>& rules, int64_t time_ns) {
  std::vector<Track> before = std::exchange(tracks_, {});
  for (const Rule& rule : rules) {
    const auto same = std::ranges::find(before, rule, &Track::rule);
    if (same == before.end()) {
      tracks_.push_back({rule, {}, {}, {}, 0});
    } else {
      tracks_.push_back(std::move(*same));
      before.erase(same);
    }
  }
  for (Track& gone : before)
    for (auto& [of, alert] : gone.open) resolve(gone, std::move(alert), time_ns);
}

void Alerts::resume(std::vector<Alert> open, int64_t time_ns) {
  constexpr int64_t kSettleNs = 10'000'000'000;
  for (Alert& alert : open) {
    const auto track = std::ranges::find_if(
        tracks_, [&](const Track& one) { return one.rule.name == alert.rule; });
    if (track == tracks_.end()) {
      alert.resolved_ns = time_ns;
      changes_.push_back({std::move(alert), {}});
      continue;
    }
    track->open_until_ns = time_ns + track->rule.window_ns + kSettleNs;
    track->open.emplace(alert.subject, std::move(alert));
  }
}

Alerts::Holds Alerts::holds_finding(const Rule& rule, const JobNow& now) {
  for (const FindingNow& finding : now.findings)
    if (matches(rule.finding, finding.kind))
      return {{std::string(),
               {0, rule.text.empty()
                       ? finding.text + (finding.where.empty()
                                             ? ""
                                             : fmt::format(": {}", fmt::join(finding.where, ", ")))
                       : rule.text}}};
  return {};
}

/// What each subject's devices read, added up; of counters by how much they grew since the last
/// look.
std::map<std::string, double> Alerts::readings(Track& track, const JobNow& now) {
  std::map<std::string, double> sums;
  std::set<std::string_view> nodes;
  const Rule& rule = track.rule;
  for (const DeviceNow& device : now.devices) {
    if (device.kind != rule.of) continue;
    auto value = reading(device, rule);
    // Several controllers may read one node: the first counts.
    if (!value || (rule.of == run::DeviceKind::kNode && !nodes.insert(device.node).second))
      continue;
    if (rule.take == Rule::Take::kIncrease) {
      const auto [before, first] = track.counts.emplace(device.label(), *value);
      value = increase(*rule.reading, std::exchange(before->second, *value), *value);
    }
    sums[subject(device, rule.per)] += *value;
  }
  return sums;
}

Alerts::Holds Alerts::holds(Track& track, const JobNow& now) {
  const Rule& rule = track.rule;
  if (!rule.finding.empty()) return holds_finding(rule, now);
  if (rule.reading) {
    for (const auto& [of, value] : readings(track, now))
      track.windows[of].add(now.time_ns, rule.window_ns, value);
  } else {
    for (const run::TrainingStep& step : now.steps) {
      const double value = rule.metric == "step_time_s" ? step.seconds : step.tokens_per_s_per_gpu;
      if (value > 0) track.windows[""].add(now.time_ns, rule.window_ns, value);
    }
  }
  Holds held;
  for (const auto& [of, window] : track.windows) {
    const auto value = window.take(rule.take, now.time_ns, rule.window_ns);
    if (value && (rule.above ? *value > *rule.above : *value < *rule.below))
      held[of] = {*value, held_text(rule, *value)};
  }
  return held;
}

void Alerts::resolve(const Track& track, Alert alert, int64_t time_ns) {
  alert.resolved_ns = time_ns;
  changes_.push_back({alert, alert.firing_ns > 0 ? track.rule.action : Action{}});
  if (alert.firing_ns == 0) return;
  resolved_.push_back(std::move(alert));
  if (resolved_.size() > kMostResolved) resolved_.pop_front();
}

void Alerts::advance(Track& track, const Holds& holds, int64_t time_ns) {
  for (auto at = track.open.begin(); at != track.open.end();) {
    const bool over = holds.count(at->first) == 0 && time_ns >= track.open_until_ns;
    if (over) resolve(track, std::move(at->second), time_ns);
    at = over ? track.open.erase(at) : std::next(at);
  }
  for (const auto& [of, held] : holds) {
    const auto [at, began] = track.open.try_emplace(of);
    if (began && track.open.size() > kMostOpen) return void(track.open.erase(at));
    Alert& alert = at->second;
    if (began) alert = {track.rule.name, track.rule.severity, of, {}, 0, time_ns, 0, 0};
    alert.value = held.value;
    alert.text = held.text;
    const bool fires = alert.firing_ns == 0 && time_ns - alert.pending_ns >= track.rule.for_ns;
    if (fires) alert.firing_ns = time_ns;
    if (fires || began) changes_.push_back({alert, fires ? track.rule.action : Action{}});
  }
}

std::vector<Alerts::Change> Alerts::look(const JobNow& now) {
  for (Track& track : tracks_) advance(track, holds(track, now), now.time_ns);
  return std::exchange(changes_, {});
}

std::vector<Alert> Alerts::shown(int64_t time_ns) const {
  std::vector<Alert> all;
  for (const bool firing : {true, false})
    for (const Track& track : tracks_)
      for (const auto& [of, alert] : track.open)
        if ((alert.firing_ns > 0) == firing) all.push_back(alert);
  for (auto at = resolved_.rbegin(); at != resolved_.rend(); ++at)
    if (time_ns - at->resolved_ns < kShownNs) all.push_back(*at);
  return all;
}

std::string alert_json(const Alert& alert, const std::string& job, int64_t time_ns) {
  constexpr int64_t kMs = 1'000'000;
  base::JsonWriter json;
  json.begin_object(base::kOneLine).member("alert", alert.rule).member("state", alert.state());
  json.member("severity", alert.severity).member("job", job).member("subject", alert.subject);
  json.member("text", alert.told()).member("value", alert.value);
  json.member("since_ms", alert.pending_ns / kMs).member("time_ms", time_ns / kMs).end_object();
  return json.take();
}

}  // namespace ergometer::watch

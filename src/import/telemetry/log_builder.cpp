#include "import/telemetry/log_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <tuple>

#include "base/collection.h"
#include "base/file.h"
#include "base/text.h"
#include "import/telemetry/join_devices.h"

namespace ergometer::importer {
namespace {

/// Text with its numbers padded, so that "node10" comes behind "node9".
std::string natural(const std::string& text) {
  std::string key;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    if (end == at) {
      key += text[at++];
      continue;
    }
    constexpr size_t kWidth = 20;
    key.append(end - at < kWidth ? kWidth - (end - at) : 0, '0');
    key.append(text, at, end - at);
    at = end;
  }
  return key;
}

auto order_of(const run::Device& d) {
  return std::make_tuple(d.kind, natural(d.host), d.index, d.uuid, natural(d.file));
}

}  // namespace

void LogBuilder::begin_file(std::string name) {
  file_ = std::move(name);
  reasons_.clear();
}

size_t LogBuilder::device_number(run::DeviceKind kind, const std::string& host,
                                 const std::string& id) {
  const std::string key = fmt::format("{}\n{}\n{}", run::kind_name(kind), host, id);
  const auto [at, is_new] = devices_.emplace(key, log_.devices.size());
  if (is_new) {
    run::Device device;
    device.kind = kind;
    device.host = host;
    device.file = file_;
    log_.devices.push_back(std::move(device));
  }
  return at->second;
}

size_t LogBuilder::gpu_number(int64_t index) {
  const size_t number = device_number(run::DeviceKind::kGpu, file_, fmt::format("{} 0", index));
  device_at(number).index = index;
  return number;
}

run::Device& LogBuilder::device(run::DeviceKind kind, const std::string& host,
                                const std::string& id) {
  return log_.devices[device_number(kind, host, id)];
}

void LogBuilder::add(size_t device, run::Metric metric, int64_t time_ns, double value,
                     bool partial) {
  const run::MetricInfo& info = run::metric_info(metric);
  if (std::isnan(value)) return drop(fmt::format("{}: not a number", info.name));
  if (!info.reads(value))
    return drop(fmt::format("{}: outside what a sensor reads ({} to {} {})", info.name, info.lowest,
                            info.highest, info.unit));
  std::vector<run::Series>& all = log_.devices[device].series;
  auto at = std::ranges::find_if(all, [&](const auto& s) { return s.metric == metric; });
  if (at == all.end()) {
    all.push_back({metric, partial, {}});
    at = all.end() - 1;
  }
  at->samples.push_back({time_ns, value});
}

void LogBuilder::add_log(run::DeviceLog log) {
  const auto append = [](auto& to, auto& from) {
    std::move(from.begin(), from.end(), std::back_inserter(to));
  };
  append(log_.devices, log.devices);
  append(log_.training, log.training);
  append(log_.power_limits, log.power_limits);
  append(log_.gauges, log.gauges);
  append(log_.collectives, log.collectives);
  append(log_.dropped, log.dropped);
  for (std::string& text : log.notes) note(std::move(text));
  log_.source = std::move(log.source);
}

void LogBuilder::drop(std::string_view reason, int64_t count) {
  if (count == 0) return;
  const auto found = reasons_.find(reason);
  if (found != reasons_.end()) {
    log_.dropped[found->second].count += count;
    return;
  }
  reasons_.emplace(reason, log_.dropped.size());
  log_.dropped.push_back({file_, std::string(reason), count});
}

void LogBuilder::note(std::string text) {
  auto& notes = log_.notes;
  if (!base::contains(notes, text)) notes.push_back(std::move(text));
}

/// One jump is a clock that was set back, as in autumn, or a file behind its successor.
void LogBuilder::note_jump(const run::Device& device, const run::Series& series) {
  constexpr int64_t kSecond = 1'000'000'000, kJitter = 10 * kSecond;
  int64_t jumps = 0, back_ns = 0;
  for (size_t i = 1; i < series.samples.size(); ++i) {
    const int64_t by = series.samples[i - 1].time_ns - series.samples[i].time_ns;
    if (by > 0) ++jumps;
    back_ns = std::max(back_ns, by);
  }
  if (jumps != 1 || back_ns < kJitter) return;
  note(
      "{}: times jump back once, by {} s: a clock that was set back, or a recording behind a later "
      "one; where both hold readings of a time, they are mixed and the time counts once",
      device.file, base::format_count(back_ns / kSecond));
}

void LogBuilder::sort_samples() {
  const auto earlier = [](const run::Sample& a, const run::Sample& b) {
    return a.time_ns < b.time_ns;
  };
  for (run::Device& device : log_.devices) {
    for (run::Series& series : device.series) {
      if (std::ranges::is_sorted(series.samples, earlier)) continue;
      note_jump(device, series);
      std::ranges::stable_sort(series.samples, earlier);
      note("{}: readings of {} are not in order of time; they are sorted", device.file,
           run::metric_info(series.metric).name);
    }
    std::ranges::sort(device.series,
                      [](const auto& a, const auto& b) { return a.metric < b.metric; });
  }
}

void LogBuilder::number_ranks() {
  std::set<int64_t> taken;
  std::set<std::string> hosts;
  bool indexed = true;
  for (const run::Device& d : log_.devices) {
    if (d.kind != run::DeviceKind::kGpu) continue;
    hosts.insert(d.host);
    indexed = indexed && d.index >= 0 && d.rank < 0;
    if (d.rank >= 0) taken.insert(d.rank);
  }
  int64_t next = 0;
  for (run::Device& d : log_.devices) {
    if (d.kind != run::DeviceKind::kGpu || d.rank >= 0) continue;
    if (indexed && hosts.size() == 1) {
      d.rank = d.index;
      continue;
    }
    while (taken.count(next) > 0) ++next;
    taken.insert(next);
    d.rank = next;
  }
}

void LogBuilder::set_links(size_t device, run::Metric metric, int64_t links) {
  for (run::Series& series : log_.devices[device].series)
    if (series.metric == metric) series.links = links;
}

Result<std::string> LogBuilder::text_beside(const std::string& path) const {
  constexpr size_t kMostBytes = 4096;
  const auto at = beside_.find(path);
  return at == beside_.end() ? base::read_file(path, kMostBytes) : at->second;
}

void LogBuilder::note_twin(std::string_view text) {
  const auto [at, is_new] =
      seen_.emplace(std::make_pair(text.size(), std::hash<std::string_view>{}(text)), file_);
  if (!is_new)
    twins_.push_back(fmt::format("{} is equal to {}: one recording, not two", file_, at->second));
}

run::DeviceLog LogBuilder::finish() {
  parts_.finish(*this);
  parts_ = {};
  for (std::string& text : turn_notes(turns_)) note(std::move(text));
  turns_.clear();
  for (std::string& text : twins_) note(std::move(text));
  sort_samples();
  for (std::string& text : join_gpus(log_.devices)) note(std::move(text));
  std::ranges::stable_sort(log_.devices,
                           [](const auto& a, const auto& b) { return order_of(a) < order_of(b); });
  number_ranks();
  std::ranges::stable_sort(log_.devices, [](const auto& a, const auto& b) {
    return std::tie(a.kind, a.rank) < std::tie(b.kind, b.rank);
  });
  devices_.clear();
  return std::move(log_);
}

}  // namespace ergometer::importer

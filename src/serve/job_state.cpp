#include "serve/job_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "record/snapshot.h"
#include "run/event_reasons.h"

namespace ergometer::serve {
namespace {

using run::DeviceKind;
using run::Metric;

constexpr double kNs = 1e-9;
/// What happened at one moment is shown for so long.
constexpr int64_t kShownNs = int64_t{600} * 1'000'000'000;
constexpr double kJump_s = 0.5;     ///< beyond what a clock that is steered moves by in a second
constexpr double kSlower = 0.95;    ///< of the median clock, as the rules for Prometheus have it
constexpr double kAtWork = 50;      ///< percent of time with a kernel on the GPU
constexpr double kNearLimit_k = 3;  ///< degrees before a GPU slows itself down
constexpr size_t kNamed = 5;

/// GPUs of live nodes that a condition holds for.
struct Found {
  int64_t count = 0;
  std::vector<std::string> where;

  void add(std::string name) {
    if (++count <= static_cast<int64_t>(kNamed)) where.push_back(std::move(name));
  }
};

std::string gpu_label(const NodeState& node, const DeviceState& device) {
  return fmt::format("{} GPU {}", node.name, device.index);
}

std::string counted(int64_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

bool at_work(const DeviceState& gpu) {
  return gpu.has(Metric::kSmClock) && gpu.has(Metric::kGpuUtilization) &&
         gpu.of(Metric::kGpuUtilization) >= kAtWork;
}

bool is_bad_reason(std::string_view name) {
  return name.starts_with("hw_") || name == "sw_thermal_slowdown";
}

/// Looks at all nodes as they are at one time.
class Look {
 public:
  Look(const std::vector<NodeState>& nodes, const std::vector<DeviceState>& devices, int64_t now_ns)
      : nodes_(nodes), devices_(devices), now_ns_(now_ns) {}

  std::vector<LiveFinding> all() {
    errors();
    throttled();
    near_limit();
    slower();
    nodes_that("silent", "bad", "node is silent", "nodes are silent", [&](const NodeState& node) {
      return node.presence(now_ns_) == NodeState::Presence::kSilent;
    });
    nodes_that("clock_jump", "fair", "node's clock was set", "nodes' clocks were set",
               [&](const NodeState& node) {
                 return node.jumped_ns > 0 && now_ns_ - node.jumped_ns < kShownNs;
               });
    nodes_that("lost", "fair", "node's batches are lost in part", "nodes' batches are lost in part",
               [](const NodeState& node) { return node.lost > 0; });
    return std::move(found_);
  }

 private:
  void each_gpu(const std::function<void(const NodeState&, const DeviceState&)>& look) const {
    for (const NodeState& node : nodes_) {
      if (node.presence(now_ns_) != NodeState::Presence::kLive) continue;
      for (const size_t number : node.devices)
        if (devices_[number].kind == DeviceKind::kGpu) look(node, devices_[number]);
    }
  }

  void put(std::string kind, const char* grade, std::string text, const Found& found) {
    found_.push_back({std::move(kind), grade, std::move(text), 0, found.where});
  }

  void errors() {
    Found found;
    for (const NodeState& node : nodes_)
      for (const size_t number : node.devices) {
        const DeviceState& device = devices_[number];
        if (device.failed_ns == 0 || now_ns_ - device.failed_ns > kShownNs) continue;
        const std::string index = device.index < 0 ? "" : fmt::format(" {}", device.index);
        found.add(fmt::format("{} {}{} ({})", node.name, run::kind_name(device.kind), index,
                              run::metric_info(device.failed).name));
      }
    if (found.count == 0) return;
    put("errors", "bad",
        fmt::format("{} errors in the last ten minutes",
                    counted(found.count, "device counted", "devices counted")),
        found);
  }

  void near_limit() {
    Found found;
    each_gpu([&](const NodeState& node, const DeviceState& gpu) {
      if (gpu.has(Metric::kTemperatureMargin) && gpu.of(Metric::kTemperatureMargin) <= kNearLimit_k)
        found.add(gpu_label(node, gpu));
    });
    if (found.count == 0) return;
    put("near_limit", "fair",
        fmt::format("{} within {:.0f} K of slowing down for heat",
                    counted(found.count, "GPU is", "GPUs are"), kNearLimit_k),
        found);
  }

  void throttled() {
    for (const run::EventReasonName& reason : run::kEventReasons) {
      const bool bad = is_bad_reason(reason.name);
      if (!bad && reason.name != "sw_power_cap") continue;
      Found found;
      each_gpu([&](const NodeState& node, const DeviceState& gpu) {
        if ((static_cast<int64_t>(gpu.of(Metric::kEventReasons)) & reason.bit) != 0)
          found.add(gpu_label(node, gpu));
      });
      if (found.count == 0) continue;
      put(fmt::format("throttled.{}", reason.name), bad ? "bad" : "fair",
          fmt::format("{} held back by {}", counted(found.count, "GPU is", "GPUs are"),
                      reason.name),
          found);
    }
  }

  /// Of the GPUs at work, by name: who is behind the median clock.
  void slower() {
    std::map<std::string, std::vector<double>> clocks;
    each_gpu([&](const NodeState&, const DeviceState& gpu) {
      if (at_work(gpu)) clocks[gpu.name].push_back(gpu.of(Metric::kSmClock));
    });
    for (auto& [name, of_kind] : clocks)
      std::nth_element(of_kind.begin(),
                       of_kind.begin() + static_cast<std::ptrdiff_t>(of_kind.size() / 2),
                       of_kind.end());
    Found found;
    each_gpu([&](const NodeState& node, const DeviceState& gpu) {
      if (!at_work(gpu)) return;
      const std::vector<double>& of_kind = clocks[gpu.name];
      if (gpu.of(Metric::kSmClock) < kSlower * of_kind[of_kind.size() / 2])
        found.add(gpu_label(node, gpu));
    });
    if (found.count == 0) return;
    put("slower", "bad",
        fmt::format("{} at work with a clock 5 % or more below the median of its kind",
                    counted(found.count, "GPU is", "GPUs are")),
        found);
  }

  void nodes_that(const char* kind, const char* grade, const char* one, const char* many,
                  const std::function<bool(const NodeState&)>& holds) {
    Found found;
    for (const NodeState& node : nodes_)
      if (holds(node)) found.add(node.name);
    if (found.count > 0) put(kind, grade, counted(found.count, one, many), found);
  }

  const std::vector<NodeState>& nodes_;
  const std::vector<DeviceState>& devices_;
  int64_t now_ns_;
  std::vector<LiveFinding> found_;
};

bool counts_errors(Metric metric) {
  return metric == Metric::kEccUncorrected || metric == Metric::kXid ||
         metric == Metric::kNvlinkErrors || metric == Metric::kNetErrors;
}

/// A counter's change a second; 0 where it went back.
double rate(double before, int64_t before_ns, double now, int64_t now_ns) {
  if (before_ns == 0 || now_ns <= before_ns || now < before) return 0;
  return (now - before) / (static_cast<double>(now_ns - before_ns) * kNs);
}

}  // namespace

double DeviceState::power_w() const {
  for (const Metric metric : {Metric::kInstantPower, Metric::kPower, Metric::kAveragePower})
    if (has(metric)) return of(metric);
  return -1;
}

void DeviceState::set(Metric metric, const run::Sample& sample, int64_t now_ns) {
  const auto at = static_cast<size_t>(metric);
  // An XID is a number of a message, and smaller ones are no better.
  const bool more = metric == Metric::kXid ? sample.value != values[at] && sample.value != 0
                                           : sample.value > values[at];
  if (counts_errors(metric) && times_ns[at] != 0 && more) {
    failed = metric;
    failed_ns = now_ns;
  }
  if (metric == Metric::kNetSent)
    sent_rate = rate(values[at], times_ns[at], sample.value, sample.time_ns);
  if (metric == Metric::kNetReceived)
    received_rate = rate(values[at], times_ns[at], sample.value, sample.time_ns);
  values[at] = sample.value;
  times_ns[at] = sample.time_ns;
}

NodeState::Presence NodeState::presence(int64_t now_ns) const {
  if (ended) return Presence::kEnded;
  return now_ns - heard_ns > JobState::kSilentAfterNs ? Presence::kSilent : Presence::kLive;
}

JobState::JobState(const JobRun& run) {
  for (const run::Device& device : run.devices()) place(devices_.size(), device);
  for (const auto& [id, row] : run.recorders()) {
    NodeState& of = node(row.host);
    if (row.time_ns < of.heard_ns) continue;
    of.recorder = id;
    of.heard_ns = row.time_ns;
    of.ended = row.ended;
    of.sequence = row.sequence;
    of.lost = row.lost;
    heard_ns_ = std::max(heard_ns_, row.time_ns);
  }
}

NodeState& JobState::node(const std::string& name) {
  const auto [at, added] = node_numbers_.emplace(name, nodes_.size());
  if (added) nodes_.emplace_back().name = name;
  return nodes_[at->second];
}

void JobState::place(size_t number, const run::Device& device) {
  if (number < devices_.size()) return;
  devices_.resize(number + 1);
  devices_[number].kind = device.kind;
  devices_[number].index = device.index;
  devices_[number].name = device.name;
  node(device.host).devices.push_back(number);
}

/// The clock that no one sets says how far the other should have come.
void JobState::look_at_clock(NodeState& node, const run::ClockReading& clock, int64_t now_ns) {
  const auto offset = [](const run::ClockReading& c) { return c.time_ns - c.monotonic_ns; };
  // A recorder that began anew may be another boot's.
  if (node.clock.monotonic_ns > 0 && clock.monotonic_ns >= node.clock.monotonic_ns) {
    const double moved = static_cast<double>(offset(clock) - offset(node.clock)) * kNs;
    if (std::abs(moved) > kJump_s) {
      node.jump_s = moved;
      node.jumped_ns = now_ns;
    }
  }
  node.clock = clock;
}

void JobState::hear(const Push& push, const std::vector<size_t>& numbers, int64_t now_ns) {
  for (size_t i = 0; i < numbers.size(); ++i) place(numbers[i], push.devices[i]);
  NodeState& of = node(push.host);
  if (of.recorder != push.recorder) {
    of.recorder = push.recorder;
    of.sequence = of.lost = 0;
    of.clock = {};
    of.step_ns = 0;
    last_step_ = -1;
  }
  of.heard_ns = heard_ns_ = now_ns;
  of.ended = !push.batches.empty() && push.batches.back().end;
  for (const PushBatch& batch : push.batches) {
    if (batch.sequence <= of.sequence) continue;
    of.lost += batch.lost_behind(of.sequence);
    of.sequence = batch.sequence;
    look_at_clock(of, batch.clock, now_ns);
    for (const PushReading& reading : batch.readings)
      devices_[numbers[reading.device]].set(reading.metric, reading.sample, now_ns);
    if (batch.steps.empty()) continue;
    add_steps(batch.steps);
    of.step = batch.steps.back();
    of.step_ns = now_ns;
  }
}

/// Several nodes may tell of the same steps.
void JobState::add_steps(const std::vector<run::TrainingStep>& steps) {
  for (const run::TrainingStep& step : steps) {
    if (step.number <= last_step_ || new_steps_.size() >= kMostSteps) continue;
    last_step_ = step.number;
    new_steps_.push_back(step);
  }
}

watch::JobNow JobState::look(int64_t now_ns) {
  watch::JobNow now{now_ns, {}, std::exchange(new_steps_, {}), {}};
  for (const NodeState& node : nodes_) {
    if (node.presence(now_ns) != NodeState::Presence::kLive) continue;
    for (const size_t number : node.devices) {
      const DeviceState& device = devices_[number];
      now.devices.push_back({device.kind, node.name, device.index, device.values, device.times_ns});
    }
  }
  return now;
}

const NodeState* JobState::stepping(int64_t now_ns) const {
  const NodeState* found = nullptr;
  for (const NodeState& node : nodes_) {
    if (node.step_ns == 0 || node.presence(now_ns) != NodeState::Presence::kLive ||
        !record::is_news(node.step, node.step_ns, now_ns))
      continue;
    if (found == nullptr || node.step.number > found->step.number) found = &node;
  }
  return found;
}

std::vector<LiveFinding> JobState::findings(int64_t now_ns) {
  std::vector<LiveFinding> found = Look(nodes_, devices_, now_ns).all();
  std::map<std::string, int64_t> since;
  for (LiveFinding& finding : found) {
    const auto before = since_.find(finding.kind);
    finding.since_ns = before == since_.end() ? now_ns : before->second;
    since[finding.kind] = finding.since_ns;
  }
  since_ = std::move(since);
  return found;
}

HistoryRow JobState::total(int64_t now_ns) const {
  HistoryRow row;
  row.time_ns = now_ns;
  if (const NodeState* node = stepping(now_ns)) row.step_s = node->step.seconds;
  for (const NodeState& node : nodes_) {
    if (node.presence(now_ns) != NodeState::Presence::kLive) continue;
    ++row.nodes;
    for (const size_t number : node.devices) {
      const DeviceState& device = devices_[number];
      if (device.kind != DeviceKind::kGpu) continue;
      ++row.gpus;
      row.power_w += std::max(0.0, device.power_w());
      if (device.has(Metric::kGpuTemperature))
        row.hottest_c = std::max(row.hottest_c, device.of(Metric::kGpuTemperature));
    }
  }
  return row;
}

int64_t JobState::gpus() const {
  return std::count_if(devices_.begin(), devices_.end(),
                       [](const DeviceState& device) { return device.kind == DeviceKind::kGpu; });
}

}  // namespace ergometer::serve

#include "serve/job_state.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/collection.h"
#include "record/snapshot.h"

namespace ergometer::serve {
namespace {

using run::DeviceKind;
using run::Metric;

constexpr double kNs = 1e-9;
constexpr double kJump_s = 0.5;  ///< beyond what a clock that is steered moves by in a second

/// A counter's change a second; 0 where it went back.
double rate(double before, int64_t before_ns, double now, int64_t now_ns) {
  if (before_ns == 0 || now_ns <= before_ns || now < before) return 0;
  return (now - before) / (static_cast<double>(now_ns - before_ns) * kNs);
}

}  // namespace

void DeviceState::set(Metric metric, const run::Sample& sample) {
  const auto at = static_cast<size_t>(metric);
  if (metric == Metric::kNetSent)
    sent_rate = rate(values[at], times_ns[at], sample.value, sample.time_ns);
  if (metric == Metric::kNetReceived)
    received_rate = rate(values[at], times_ns[at], sample.value, sample.time_ns);
  values[at] = sample.value;
  times_ns[at] = sample.time_ns;
}

void DeviceState::forget() {
  times_ns.fill(0);
  sent_rate = received_rate = 0;
  heard_ns = 0;
}

NodeState::Presence NodeState::presence(int64_t now_ns) const {
  if (ended) return Presence::kEnded;
  return now_ns - heard_ns > JobState::kSilentAfterNs ? Presence::kSilent : Presence::kLive;
}

JobState::JobState(const JobRun& run) {
  for (const run::Device& device : run.devices()) place(devices_.size(), device, {}, 0);
  for (const auto& [id, row] : run.recorders()) {
    NodeState& of = node(row.host);
    recorders_[{row.host, id}].sequence = row.sequence;
    if (row.time_ns < of.heard_ns) continue;
    of.recorder = id;
    of.heard_ns = row.time_ns;
    of.ended = row.ended;
    of.lost = row.lost;
    heard_ns_ = std::max(heard_ns_, row.time_ns);
  }
  // Nodes that another recorder tells of are as it is.
  const bool all_ended = std::ranges::all_of(
      run.recorders(), [](const auto& recorder) { return recorder.second.ended; });
  for (NodeState& of : nodes_) {
    if (!of.recorder.empty()) continue;
    of.heard_ns = heard_ns_;
    of.ended = all_ended;
  }
}

NodeState& JobState::node(const std::string& name) {
  const auto [at, added] = node_numbers_.emplace(name, nodes_.size());
  if (added) nodes_.emplace_back().name = name;
  return nodes_[at->second];
}

/// A board takes the place of one that was exchanged for it: that is silent. One that is heard too
/// is another: containers on one host number their GPUs from 0 each.
void JobState::place(size_t number, const run::Device& device, std::span<const size_t> told,
                     int64_t now_ns) {
  if (number >= devices_.size()) {
    devices_.resize(number + 1);
    devices_[number].kind = device.kind;
    devices_[number].index = device.index;
    devices_[number].name = device.name;
    devices_[number].uuid = device.uuid;
  }
  std::vector<size_t>& placed = node(device.host).devices;
  if (base::contains(placed, number)) return;
  const auto exchanged = std::ranges::find_if(placed, [&](size_t other) {
    const DeviceState& before = devices_[other];
    return before.kind == device.kind && before.index == device.index && device.index >= 0 &&
           (!run::told_by_name(device.kind) || before.name == device.name) &&
           (before.heard_ns == 0 || now_ns - before.heard_ns > kSilentAfterNs) &&
           !base::contains(told, other);
  });
  if (exchanged == placed.end()) {
    placed.push_back(number);
    return;
  }
  devices_[*exchanged].forget();  // should it be put back
  *exchanged = number;
}

/// The clock that no one sets says how far the other should have come.
void JobState::look_at_clock(NodeState& node, run::ClockReading& before,
                             const run::ClockReading& clock, int64_t now_ns) {
  const auto offset = [](const run::ClockReading& c) { return c.time_ns - c.monotonic_ns; };
  // A recorder that began anew may be another boot's.
  if (before.monotonic_ns > 0 && clock.monotonic_ns >= before.monotonic_ns) {
    const double moved = static_cast<double>(offset(clock) - offset(before)) * kNs;
    if (std::abs(moved) > kJump_s) {
      node.jump_s = moved;
      node.jumped_ns = now_ns;
    }
  }
  before = clock;
}

void JobState::hear(const Push& push, const std::vector<size_t>& numbers, int64_t now_ns) {
  for (size_t i = 0; i < numbers.size(); ++i) place(numbers[i], push.devices[i], numbers, now_ns);
  NodeState& of = node(push.host);
  // A node may have several, each with numbers of its own; a new one may begin the training anew.
  const auto [known, is_new] = recorders_.try_emplace({push.host, push.recorder});
  Recorder& recorder = known->second;
  of.recorder = push.recorder;
  if (is_new) {
    of.lost = of.step_ns = 0;
    last_step_ = -1;
  }
  heard_ns_ = now_ns;
  const bool ended = !push.batches.empty() && push.batches.back().end;
  const auto heard = [&](NodeState& node) {
    node.heard_ns = now_ns;
    node.ended = ended;
  };
  heard(of);
  for (const run::Device& device : push.devices)
    if (device.host != push.host) heard(node(device.host));
  for (const PushBatch& batch : push.batches) {
    if (batch.sequence <= recorder.sequence) continue;
    of.lost += batch.lost_behind(recorder.sequence);
    recorder.sequence = batch.sequence;
    look_at_clock(of, recorder.clock, batch.clock, now_ns);
    for (const PushReading& reading : batch.readings) {
      DeviceState& device = devices_[numbers[reading.device]];
      device.set(reading.metric, reading.sample);
      device.heard_ns = now_ns;
    }
    if (batch.steps.empty()) continue;
    // A training that goes on from a checkpoint counts back, and the first node to say so says it
    // for all; ranks that print a line late do so by one.
    for (const run::TrainingStep& step : batch.steps) {
      if (step.number + 1 < recorder.step && last_step_ >= recorder.step)
        last_step_ = step.number - 1;
      recorder.step = step.number;
      add_step(step);
    }
    of.step = batch.steps.back();
    of.step_ns = now_ns;
  }
}

/// Several nodes may tell of the same steps.
void JobState::add_step(const run::TrainingStep& step) {
  if (step.number <= last_step_ || new_steps_.size() >= kMostSteps) return;
  last_step_ = step.number;
  new_steps_.push_back(step);
}

void JobState::forget_silent_devices(int64_t now_ns) {
  for (const NodeState& node : nodes_) {
    if (node.presence(now_ns) != NodeState::Presence::kLive) continue;
    for (const size_t number : node.devices)
      if (now_ns - devices_[number].heard_ns > watch::kDeviceSilentNs) devices_[number].forget();
  }
}

watch::JobNow JobState::look(int64_t now_ns) {
  forget_silent_devices(now_ns);
  watch::JobNow now{now_ns, {}, std::exchange(new_steps_, {}), {}};
  for (const NodeState& node : nodes_) {
    if (node.presence(now_ns) != NodeState::Presence::kLive) continue;
    for (const size_t number : node.devices) now.devices.push_back(devices_[number].now(node.name));
  }
  find(now);
  return now;
}

/// What is to be looked at, of devices and of nodes.
void JobState::find(watch::JobNow& now) {
  now.findings = findings_.look(now);
  const auto nodes_that = [&](const char* kind, const char* grade, const char* one,
                              const char* many, const auto& holds) {
    watch::Concerned found;
    for (const NodeState& node : nodes_)
      if (holds(node)) found.add(node.name);
    if (found.count > 0)
      now.findings.push_back({kind, grade, found.counted(one, many), found.where});
  };
  nodes_that("silent", "bad", "node is silent", "nodes are silent", [&](const NodeState& node) {
    return node.presence(now.time_ns) == NodeState::Presence::kSilent;
  });
  nodes_that("clock_jump", "fair", "node's clock was set", "nodes' clocks were set",
             [&](const NodeState& node) {
               return node.jumped_ns > 0 &&
                      now.time_ns - node.jumped_ns < watch::FindingsNow::kShownNs;
             });
  nodes_that("lost", "fair", "node's batches are lost in part", "nodes' batches are lost in part",
             [](const NodeState& node) { return node.lost > 0; });
  std::map<std::string, int64_t> since;
  for (watch::FindingNow& finding : now.findings) {
    const auto before = since_.find(finding.kind);
    finding.since_ns = before == since_.end() ? now.time_ns : before->second;
    since[finding.kind] = finding.since_ns;
  }
  since_ = std::move(since);
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
      if (const Metric metric = device.temperature_metric(); device.has(metric))
        row.hottest_c = std::max(row.hottest_c, device.of(metric));
    }
  }
  return row;
}

bool JobState::live(int64_t now_ns) const {
  return std::ranges::any_of(nodes_, [&](const NodeState& node) {
    return node.presence(now_ns) == NodeState::Presence::kLive;
  });
}

int64_t JobState::gpus() const {
  int64_t gpus = 0;
  for (const NodeState& node : nodes_)
    gpus += std::ranges::count(node.devices, DeviceKind::kGpu,
                               [&](size_t number) { return devices_[number].kind; });
  return gpus;
}

}  // namespace ergometer::serve

// Power, clocks, cooling and faults: what surrounds the job.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/collection.h"
#include "spec/job/job_words.h"
#include "spec/job/measure_range.h"
#include "spec/job/node_groups.h"
#include "spec/job/overrides.h"
#include "spec/job/run_phases.h"
#include "spec/resolve/resolve.h"

namespace ergometer::spec {
namespace {

constexpr std::string_view kCap = "power_cap";
constexpr std::string_view kLock = "lock_clock";

/// Settings that mean nothing to a GPU whose power nobody knows, or whose clocks are held constant.
constexpr std::array<std::string_view, 13> kNeedPower = {
    "power_cap",     "lock_clock",  "inlet_c",         "cooling", "fan",    "steady",    "duration",
    "measured_step", "cluster_cap", "power_smoothing", "start_c", "sensor", "run_phases"};

bool needs_power(OverrideKind kind) {
  return kind != OverrideKind::kSpeed && kind != OverrideKind::kLink && kind != OverrideKind::kNic;
}

/// What the job's GPU allows; nothing is known of an inline GPU that does not say.
MeasureRange cap_range(const Gpu& gpu) {
  return {"W", gpu.parameters.value_or("power_cap_min", 10),
          gpu.parameters.value_or("power_cap_max", 5000)};
}
MeasureRange lock_range(const Gpu& gpu) {
  return {"MHz", gpu.parameters.value_or("clock_min", 1e7),
          gpu.parameters.value_or("clock_max", 1e10)};
}

/// The highest clock of the GPU's lattice that is not above `hz`.
double on_lattice(const Gpu& gpu, double hz) {
  const double step = gpu.parameters.value_or("clock_step", 0);
  const double lowest = gpu.parameters.value_or("clock_min", 0);
  if (step <= 0 || hz < lowest) return hz;
  // A clock that is written as a multiple of the step must not lose one to rounding.
  return lowest + std::floor((hz - lowest) / step + 1e-6) * step;
}

/// Every kind of GPU that the job has.
template <class Each>
void for_each_gpu(const Job& job, const Each& each) {
  for (size_t group = 0; group < group_count(job.cluster); ++group)
    each(node_of_group(job.cluster, group).gpu);
}

void check_range(SettingReader& read, const Job& job, std::string_view name, double value,
                 MeasureRange (*range_of)(const Gpu&)) {
  if (!read.given(name)) return;
  for_each_gpu(job, [&](const Gpu& gpu) {
    const MeasureRange range = range_of(gpu);
    if (value < range.min || value > range.max)
      read.refuse("{}: {} allows {}", read.said(name), gpu.name, range.allowed());
  });
}

void read_clocks(SettingReader& read, Job& job) {
  Conditions& c = job.conditions;
  const Gpu& gpu = job.cluster.node.gpu;
  check_range(read, job, kCap, c.power_cap_w, cap_range);
  const double asked = c.lock_clock_hz;
  check_range(read, job, kLock, asked, lock_range);
  c.lock_clock_hz = on_lattice(gpu, asked);
  if (c.lock_clock_hz < asked - 1)
    job.origins[std::string(kLock)].text +=
        fmt::format(", {:g} MHz rounded down to the GPU's clocks", asked / 1e6);
}

void read_fan(SettingReader& read, Conditions& c) {
  const std::string text = read.text("fan");
  if (text.empty() || text == "auto") return read.derive("fan", "the node's controller");
  const auto share = MeasureRange{"%", 0.01, 1}.read(text);
  if (share)
    c.fan = *share;
  else
    read.refuse("{}: {}, or auto", read.where("fan"), share.error().message);
}

/// Ways to cool the node that its file knows.
std::vector<std::string_view> known_ways(const Node& node) {
  std::vector<std::string_view> ways;
  for (const Cooling cooling : {Cooling::kAir, Cooling::kLiquid, Cooling::kImmersion})
    if (const std::string_view way = to_word(cooling);
        node.parameters.has(fmt::format("cooling.{}.die_capacity", way)))
      ways.push_back(way);
  return ways;
}

void read_cooling(SettingReader& read, Job& job) {
  Conditions& c = job.conditions;
  const Node& node = job.cluster.node;
  c.cooling = read.choice("cooling", node.cooling, "as built");
  const std::vector<std::string_view> ways = known_ways(node);
  if (read.given("cooling") && !ways.empty() && !base::contains(ways, to_word(c.cooling)))
    read.refuse("{}: {} is cooled by {}", read.said("cooling"), node.name, fmt::join(ways, " or "));
  c.has_inlet = read.given("inlet_c");
  read_fan(read, c);
}

void read_time(SettingReader& read, Conditions& c) {
  const auto contradict = [&](std::string_view one, std::string_view other) {
    read.refuse("{} contradicts {}; leave one out", read.said(one), read.said(other));
  };
  const std::string_view from_cold = c.duration_s > 0 ? "duration" : "measured_step";
  if (c.duration_s > 0 && c.measured_step > 0) contradict("measured_step", "duration");
  const bool steady = read.flag("steady", c.is_steady(), "without --duration and --measured-step");
  if (read.given("steady") && steady && !c.is_steady()) contradict("steady", from_cold);
  if (read.given("steady") && !steady && c.is_steady())
    read.refuse("{} needs --duration or --measured-step", read.said("steady"));
  if (read.given("start_c") && c.is_steady())
    read.refuse("{} needs --duration or --measured-step: the steady state has no start",
                read.said("start_c"));
  if (read.given("run_phases") && !c.is_steady()) contradict("run_phases", from_cold);
}

void read_run_phases(SettingReader& read, Job& job) {
  constexpr std::string_view kName = "run_phases";
  const std::string text = read.text(kName);
  if (text.empty()) return;
  auto phases = parse_run_phases(text);
  if (!phases) return read.refuse("{}: {}", read.where(kName), phases.error().message);
  if (!job.trains())
    return read.refuse("{}: the phases are those of a training run", read.said(kName));
  job.conditions.run = *phases;
}

void read_smoothing(SettingReader& read, Conditions& c) {
  const std::string smoothing = read.text("power_smoothing");
  if (smoothing.empty()) return;
  const auto parsed = parse_power_smoothing(smoothing, c);
  if (!parsed) read.refuse("{}: {}", read.where("power_smoothing"), parsed.error().message);
}

/// GPUs of the job on a node: the last one may be filled in part.
int64_t gpus_on(const Job& job, int64_t node) {
  const int64_t per_node = job.cluster.node.gpus;
  return node < 0 ? std::min(per_node, job.gpus) : std::min(per_node, job.gpus - node * per_node);
}

/// What a GPU does not allow of a cap or a lock; empty: it does.
std::string beyond(const Override& o, const Gpu& gpu) {
  const bool caps = o.kind == OverrideKind::kPowerCap, locks = o.kind == OverrideKind::kLockClock;
  const MeasureRange range = caps ? cap_range(gpu) : lock_range(gpu);
  if ((caps || locks) && (o.value < range.min || o.value > range.max))
    return fmt::format("{} allows {}", gpu.name, range.allowed());
  return {};
}

/// What is wrong with an override in this job; empty: nothing.
std::string fault_of(const Job& job, const Override& o) {
  if (o.node >= job.nodes())
    return fmt::format("the job has {}", job.nodes() == 1
                                             ? "node0 alone"
                                             : fmt::format("node0 to node{}", job.nodes() - 1));
  const int64_t gpus = gpus_on(job, o.node);
  if (o.gpu >= gpus)
    return fmt::format("{} has gpu0 to gpu{} in this job",
                       o.node < 0 ? "a node" : fmt::format("node{}", o.node), gpus - 1);
  if (o.node >= 0) return beyond(o, node_at(job.cluster, o.node).gpu);
  std::string fault;
  for_each_gpu(job, [&](const Gpu& gpu) {
    if (fault.empty()) fault = beyond(o, gpu);
  });
  return fault;
}

void read_override(SettingReader& read, Job& job, const std::string& text) {
  auto parsed = parse_override(text);
  if (!parsed) return read.refuse("{}: {}", read.where("override"), parsed.error().message);
  if (const std::string fault = fault_of(job, *parsed); !fault.empty())
    return read.refuse("{}: \"{}\": {}", read.where("override"), text, fault);
  for (const Override& other : job.conditions.overrides)
    if (other.same_target(*parsed))
      return read.refuse("{}: \"{}\" contradicts \"{}\"; leave one out", read.where("override"),
                         text, other.text);
  if (parsed->kind == OverrideKind::kLockClock)
    parsed->value =
        on_lattice(node_at(job.cluster, std::max<int64_t>(0, parsed->node)).gpu, parsed->value);
  job.conditions.overrides.push_back(*std::move(parsed));
}

/// A setting that would change nothing is a mistake to tell, not one to swallow.
void refuse_without_power(SettingReader& read, const Job& job, std::string_view why) {
  for (const std::string_view name : kNeedPower)
    if (read.given(name)) return read.refuse("{} {}", read.said(name), why);
  for (const Override& o : job.conditions.overrides)
    if (needs_power(o.kind)) return read.refuse("{} {} {}", read.where("override"), o.text, why);
}

/// What is known of clusters of one kind alone.
void refuse_on_unlike_nodes(SettingReader& read, const Job& job) {
  if (!is_mixed(job.cluster)) return;
  if (read.given("cooling"))
    read.refuse("{}: unlike nodes are each cooled as built; `cooling` in their files says how",
                read.said("cooling"));
  for (const Override& o : job.conditions.overrides)
    if (o.kind == OverrideKind::kLink || o.kind == OverrideKind::kNic)
      read.refuse("{} {}: slower links are known of nodes of one kind alone",
                  read.where("override"), o.text);
}

/// Settings of power that a kind of the job's nodes lacks the data for.
void refuse_unknown_power(SettingReader& read, const Job& job) {
  for (size_t group = 0; group < group_count(job.cluster); ++group) {
    const Node& node = node_of_group(job.cluster, group);
    if (!node.gpu.parameters.has("power.constant"))
      return refuse_without_power(
          read, job,
          fmt::format("has no effect: nothing is known of the power of {}", node.gpu.name));
    if (known_ways(node).empty())
      return refuse_without_power(
          read, job,
          fmt::format("has no effect: nothing is known of the cooling of {}", node.name));
  }
}

}  // namespace

void resolve_conditions(SettingReader& read, Job& job) {
  Conditions& c = job.conditions;
  read_clocks(read, job);
  read_cooling(read, job);
  read_time(read, c);
  read_run_phases(read, job);
  read_smoothing(read, c);
  for (const std::string& text : read.words("override")) read_override(read, job, text);
  // What is said of a GPU comes before what is said of its node, in whatever order.
  std::ranges::stable_sort(c.overrides, {},
                           [](const Override& it) { return std::pair(it.gpu >= 0, it.node >= 0); });
  refuse_on_unlike_nodes(read, job);
  if (c.constant_clocks)
    refuse_without_power(read, job, "contradicts --clocks constant; leave one out");
  else
    refuse_unknown_power(read, job);
}

}  // namespace ergometer::spec

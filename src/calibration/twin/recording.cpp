#include "calibration/twin/recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/telemetry/telemetry.h"
#include "analysis/work/kernel_class.h"
#include "calibration/twin/sampling.h"

namespace ergometer::calibration::twin {
namespace {

constexpr double kTracedStepNoise = 0.03;  ///< a profiler's own cost (assumed)
constexpr double kLeastStepNoise = 0.005;  ///< what a job's days differ by (assumed)
constexpr double kNano = 1e-9;

/// PyTorch's optimizers mark their step, whoever profiles it.
int64_t optimizer_steps(const run::RankTrace& trace) {
  return std::ranges::count_if(trace.ranges, [&](const run::Range& range) {
    return !range.gpu && trace.names[range.name].starts_with("Optimizer.step#");
  });
}

double optimizer_s(const run::RankTrace& trace) {
  double seconds = 0;
  analysis::KernelClasses classes(trace);
  for (const run::GpuEvent& event : trace.events)
    if (event.kind != run::GpuClass::kCommunication && classes.of(event) == "optimizer")
      seconds += kNano * static_cast<double>(event.duration_ns);
  return seconds;
}

/// Of a trace without marks all is of `steps` steps, from its first kernel to its last.
Values share_of(const compare::Measured& whole, const std::vector<run::RankTrace>& ranks,
                int64_t steps) {
  Values values = values_of(whole);
  for (const run::RankTrace& rank : ranks)
    values["memory"] += optimizer_s(rank) / static_cast<double>(ranks.size());
  for (auto& [name, value] : values)
    if (name != "idle") value /= static_cast<double>(steps);
  return values;
}

Result<void> add_trace(const std::vector<run::RankTrace>& ranks, int64_t steps,
                       const std::string& name, Recording& recording) {
  ERGOMETER_ASSIGN(const compare::Measured traced, compare::measure(ranks, {}, name));
  if (!(traced.performance.step_time_s > 0))
    return input_error("{}: the trace's kernels take no time", name);
  recording.traced = true;
  recording.durations = durations_of(ranks);
  recording.noises["step"] = kTracedStepNoise;
  if (traced.steps_marked) {
    recording.values = values_of(traced);
    return {};
  }
  if (steps == 0) steps = optimizer_steps(ranks.front());
  if (steps == 0)
    return input_error(
        "{}: the trace marks neither steps (torch.profiler's step()) nor an optimizer's; "
        "--trace-steps N says how many it holds",
        name);
  if (const int64_t most = std::ssize(ranks.front().events); steps > most)
    return input_error(
        "{}: the trace of a rank holds {} kernels; --trace-steps N is at most as many, found {}",
        name, most, steps);
  recording.values = share_of(traced, ranks, steps);
  recording.notes.push_back(fmt::format("the trace marks no steps: it is taken for {}", steps));
  return {};
}

/// The median's error, where a fifth of the steps lie beyond the percentiles that the log has.
void add_steps(const analysis::LoggedSteps& logged, Recording& recording) {
  constexpr double kWidth = 2.563;  // of a normal distribution, 10th to 90th percentile
  recording.values["step"] = logged.median_s;
  recording.steps = logged.steps;
  const double spread = (std::log(logged.high_s) - std::log(logged.low_s)) / kWidth;
  const auto half = static_cast<double>(std::max<int64_t>(1, logged.steps / 2));
  recording.noises["step"] = std::hypot(kLeastStepNoise, spread / std::sqrt(half));
}

/// The longest stretch in which the GPU says that it runs nothing, without its first seconds, in
/// which sensors still average over what was before.
std::pair<int64_t, int64_t> longest_rest(const run::Device& gpu) {
  constexpr int64_t kSettling = 3'000'000'000, kShortest = 2'000'000'000;
  std::pair<int64_t, int64_t> longest = {0, 0};
  const run::Series* use = gpu.find(run::Metric::kGpuUtilization);
  if (use == nullptr) return longest;
  int64_t start = -1;
  for (const run::Sample& sample : use->samples) {
    if (sample.value > 0) start = -1;
    if (sample.value > 0) continue;
    if (start < 0) start = sample.time_ns;
    if (sample.time_ns - start - kSettling > std::max(kShortest, longest.second - longest.first))
      longest = {start + kSettling, sample.time_ns};
  }
  return longest;
}

/// A context holds clocks at their highest; without one the GPU draws less than a job ever sees.
void add_rest(const run::DeviceLog& log, double clock_mhz, Recording& recording) {
  for (const run::Device& device : log.devices) {
    if (device.kind != run::DeviceKind::kGpu) continue;
    const auto [start, end] = longest_rest(device);
    if (end == 0) continue;
    const auto told = analysis::analyze_telemetry(run::readings_within(log, start, end));
    const auto& heat = told.thermal;
    if (!told.power.known || !heat.known || heat.mean_clock_mhz.value_or(0) < clock_mhz) continue;
    recording.values["rest power"] = told.power.mean_w_per_gpu;
    recording.values["rest die"] = heat.mean_gpu_c;
    return;
  }
}

/// Heat that had not settled is an error of both means.
void add_unsettled(const Settled& settled, Recording& recording) {
  constexpr double kNone = 0.5;  // K: half of a sensor's degree
  // Of the power: a tenth of it leaks, a third more every 10 K (assumed).
  constexpr double kPowerOfHeat = 0.003;
  if (settled.off_k < kNone) return;
  for (const Quantity& quantity : quantities()) {
    const std::string_view name = quantity.name;
    if (name == "power" || name == "die")
      recording.noises[quantity.name] =
          std::hypot(quantity.noise, settled.off_k * (name == "power" ? kPowerOfHeat : 1));
  }
  recording.notes.push_back(
      settled.short_of.empty()
          ? fmt::format("temperatures had not settled, by about {:.0f} K: that much less sure is "
                        "what they tell; record for longer",
                        std::max(1.0, settled.off_k))
          : settled.short_of);
}

void add_telemetry(const run::DeviceLog& log, const analysis::LoggedSteps& logged,
                   Recording& recording) {
  const bool timed = logged.end_ns > 0;
  const Settled settled =
      timed ? Settled{run::readings_within(log, logged.start_ns, logged.end_ns), 1, 0, ""}
            : settled_part(at_work(log));
  const auto told = analysis::analyze_telemetry(settled.log);
  if (told.power.known) recording.values["power"] = told.power.mean_w_per_gpu;
  if (told.thermal.known) recording.values["die"] = told.thermal.mean_gpu_c;
  if (timed) add_rest(log, told.thermal.mean_clock_mhz.value_or(0), recording);
  if (timed || (!told.power.known && !told.thermal.known)) return;
  if (log.source != "simulated")
    recording.notes.push_back(fmt::format(
        "power and temperature are means of {} GPUs drew power: no training log says when steps "
        "ran",
        settled.part == 1   ? "all the time that"
        : settled.part == 2 ? "the last half of the time that"
                            : "the last quarter of the time that"));
  add_unsettled(settled, recording);
}

}  // namespace

const std::vector<Quantity>& quantities() {
  static const std::vector<Quantity> kQuantities = {
      {"step", "s", kLeastStepNoise}, {"gemm", "s", 0.02},       {"attention", "s", 0.02},
      {"memory", "s", 0.02},          {"all_reduce", "s", 0.05}, {"all_gather", "s", 0.05},
      {"reduce_scatter", "s", 0.05},  {"all_to_all", "s", 0.05}, {"send_recv", "s", 0.05},
      {"idle", "", 0.01, true},       {"power", "W", 0.02},      {"die", "C", 1, true},
      {"rest power", "W", 0.02},      {"rest die", "C", 1, true}};
  return kQuantities;
}

double noise_of(const Recording& recording, const Quantity& quantity) {
  const auto own = recording.noises.find(quantity.name);
  return own == recording.noises.end() ? quantity.noise : own->second;
}

Values values_of(const compare::Measured& measured) {
  Values values;
  const run::Performance& p = measured.performance;
  values["step"] = p.step_time_s;
  for (const auto& [name, kernels] : measured.compute)
    values[name == "gemm" || name == "attention" ? name : "memory"] += kernels.seconds;
  if (measured.ranks > 0) {
    values["memory"] += p.breakdown_s.optimizer;
    values["idle"] = p.breakdown_s.idle / p.step_time_s;
  }
  for (const auto& [name, kernels] : measured.collectives)
    values[name.substr(std::string_view("exposed_").size())] = kernels.seconds;
  for (const compare::Quantity& fact : measured.facts) {
    if (fact.name == "mean_w_per_gpu") values["power"] = fact.a;
    if (fact.name == "mean_gpu_c") values["die"] = fact.a;
  }
  return values;
}

Result<Recording> recording_of(const std::vector<run::RankTrace>& ranks, const run::DeviceLog& log,
                               const std::string& name, int64_t trace_steps) {
  Recording recording;
  if (!ranks.empty()) ERGOMETER_TRY(add_trace(ranks, trace_steps, name, recording));
  const analysis::LoggedSteps logged = analysis::logged_steps(log);
  if (logged.steps > 0) add_steps(logged, recording);
  add_telemetry(log, logged, recording);
  if (recording.values.contains("step")) return recording;
  return input_error(
      "{}: tells neither how long a step takes nor which kernels it has; allowed: a recording with "
      "a training log (record --step-log), a profiler's trace, or a simulated Run",
      name);
}

}  // namespace ergometer::calibration::twin

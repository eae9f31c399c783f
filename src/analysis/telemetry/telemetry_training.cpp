#include <algorithm>
#include <cmath>
#include <span>

#include "analysis/math/sum.h"
#include "analysis/telemetry/telemetry.h"
#include "base/collection.h"

namespace ergometer::analysis {
namespace {

using run::Metric;

constexpr double kNanoseconds = 1e9;  ///< of a second

bool belongs(const run::Device& device, const run::DeviceLog& log,
             const run::TrainingLog& training) {
  return log.training.size() == 1 || device.job == training.job;
}

/// Readings between two points of time, mean; nothing where there are none.
std::optional<double> mean_reading(const run::Series& series, int64_t from, int64_t to) {
  double sum = 0;
  int64_t count = 0;
  for (const run::Sample& sample : series.samples) {
    if (sample.time_ns < from || sample.time_ns > to) continue;
    sum += sample.value;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / static_cast<double>(count);
}

void add_node(const run::Device& node, const run::TrainingLog& training, const run::Phase& run,
              TrainingReport& report) {
  const run::Series& power = *node.find(Metric::kPower);
  const double efficiency = node.conversion_efficiency;
  const auto mean = mean_reading(power, run.start_ns, run.end_ns);
  if (!mean) return;
  ++report.nodes;
  const double length = seconds(run.end_ns - run.start_ns);
  report.node_energy_j += energy_j(power.samples, run.start_ns, run.end_ns) / efficiency;
  report.mean_times_time_j += *mean * length / efficiency;
  const TimeSpan whole{run.start_ns, run.end_ns};
  const double unread_s = length - length_s(without(whole, gaps_in(power.samples)));
  const int64_t covered = std::min(run.end_ns, power.samples.back().time_ns) -
                          std::max(run.start_ns, power.samples.front().time_ns);
  report.covered_fraction += std::max(0.0, seconds(covered) - unread_s) / length;
  double joules = 0, time = 0;
  for (const run::Phase& phase : training.phases) {
    if (phase.name != "block") continue;
    joules += energy_j(power.samples, phase.start_ns, phase.end_ns) / efficiency;
    time += seconds(phase.end_ns - phase.start_ns);
  }
  if (time > 0) report.training_node_w += joules / time;
  for (const run::Sample& sample : power.samples)
    if (sample.time_ns >= run.start_ns && sample.time_ns <= run.end_ns)
      report.peak_node_w = std::max(report.peak_node_w, sample.value / efficiency);
}

void finish(const run::TrainingLog& training, TrainingReport& report) {
  if (report.nodes > 0) {
    const auto nodes = static_cast<double>(report.nodes);
    report.covered_fraction /= nodes;
    report.training_node_w /= nodes;
    report.mean_node_w = report.node_energy_j / nodes / report.run_s;
    report.disagreement_pct =
        100 * std::abs(report.node_energy_j - report.mean_times_time_j) / report.node_energy_j;
  }
  std::vector<double> rates = training.samples_per_s;
  report.samples_per_s = percentile(rates, 0.5);
  if (report.samples_per_s > 0)
    report.energy_per_sample_j =
        report.training_node_w * static_cast<double>(report.nodes) / report.samples_per_s;
}

/// The usual distance of two lines' numbers; a program that was started again counts back.
int64_t steps_a_line(const std::vector<run::TrainingStep>& steps) {
  constexpr double kMost = 1e9;  // a file says any number
  std::vector<double> distances;
  for (size_t i = 1; i < steps.size(); ++i)
    if (steps[i].number > steps[i - 1].number)
      distances.push_back(static_cast<double>(steps[i].number) -
                          static_cast<double>(steps[i - 1].number));
  return std::llround(std::clamp(percentile(distances, 0.5), 1.0, kMost));
}

void find_slowest(std::span<const run::TrainingStep> steps, LoggedSteps& result) {
  if (steps.size() > 1) steps = steps.subspan(1);
  const auto slowest = std::ranges::max_element(steps, {}, &run::TrainingStep::seconds);
  result.slowest_s = slowest->seconds;
  result.slowest_step = slowest->number;
  std::vector<double> all = base::mapped(steps, &run::TrainingStep::seconds);
  result.p95_s = percentile(all, 0.95);
}

/// From the first to the last, where the log says when.
void find_span(std::span<const run::TrainingStep> steps, LoggedSteps& result) {
  const run::TrainingStep &first = steps.front(), &last = steps.back();
  const auto lines = static_cast<double>(result.steps_a_line);
  const double took_ns = first.seconds * lines * kNanoseconds;
  constexpr double kLongest_ns = 1e18;
  if (first.end_ns <= 0 || !(took_ns < kLongest_ns)) return;
  const int64_t start = first.end_ns - std::llround(took_ns);
  if (last.end_ns <= start) return;
  result.start_ns = start;
  result.end_ns = last.end_ns;
}

}  // namespace

LoggedSteps logged_steps(const run::TrainingLog& training) {
  LoggedSteps result;
  if (training.steps.empty()) return result;
  result.steps_a_line = steps_a_line(training.steps);
  result.steps = static_cast<int64_t>(training.steps.size()) * result.steps_a_line;
  find_slowest(training.steps, result);
  const auto half = std::span(training.steps).subspan(training.steps.size() / 2);
  find_span(half, result);
  std::vector<double> late = base::mapped(half, &run::TrainingStep::seconds), rates;
  for (const run::TrainingStep& step : half)
    if (step.tokens_per_s_per_gpu > 0) rates.push_back(step.tokens_per_s_per_gpu);
  std::ranges::sort(late);
  result.median_s = (late[(late.size() - 1) / 2] + late[late.size() / 2]) / 2;
  result.low_s = percentile(late, 0.1);
  result.high_s = percentile(late, 0.9);
  result.tokens_per_s_per_gpu = percentile(rates, 0.5);
  return result;
}

LoggedSteps logged_steps(const run::DeviceLog& log) {
  LoggedSteps most;
  for (const run::TrainingLog& training : log.training)
    if (LoggedSteps logged = logged_steps(training); logged.steps > most.steps) most = logged;
  return most;
}

TrainingReport report_training(const run::DeviceLog& log, const std::vector<DeviceReport>& devices,
                               const run::TrainingLog& training) {
  TrainingReport report;
  report.file = training.file;
  report.benchmark = training.benchmark;
  report.platform = training.platform;
  report.logged = logged_steps(training);
  const auto run =
      std::ranges::find_if(training.phases, [](const run::Phase& p) { return p.name == "run"; });
  if (run == training.phases.end() || run->end_ns <= run->start_ns) return report;
  report.run_s = seconds(run->end_ns - run->start_ns);
  std::vector<run::MeasuredEnergy> nodes;
  for (size_t i = 0; i < log.devices.size(); ++i) {
    const run::Device& device = log.devices[i];
    if (!belongs(device, log, training)) continue;
    if (device.kind == run::DeviceKind::kNode && device.find(Metric::kPower) != nullptr) {
      const double before_j = report.node_energy_j;
      add_node(device, training, *run, report);
      if (devices[i].error.stated)
        nodes.push_back({report.node_energy_j - before_j, devices[i].error});
    }
    if (device.kind == run::DeviceKind::kSwitch)
      report.interconnect_energy_j += device.stated_power_w * report.run_s;
  }
  report.error = run::error_of_sum(nodes);
  finish(training, report);
  return report;
}

}  // namespace ergometer::analysis

#include "analysis/energy/kernel_energy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/energy/power_problem.h"
#include "analysis/energy/power_windows.h"
#include "analysis/energy/traced_devices.h"
#include "analysis/energy/work_shares.h"
#include "analysis/math/least_squares.h"
#include "analysis/math/sum.h"
#include "analysis/telemetry/energy_error.h"
#include "analysis/telemetry/telemetry_updates.h"
#include "analysis/telemetry/time_gaps.h"
#include "analysis/trace/phases.h"
#include "analysis/trace/step_breakdown.h"
#include "base/text.h"

namespace ergometer::analysis {
namespace {

constexpr size_t kFewestSpare = 10;  ///< windows more than classes
std::vector<PowerWindow> within(std::vector<PowerWindow> windows, int64_t start_ns,
                                int64_t end_ns) {
  std::erase_if(windows, [&](const PowerWindow& window) {
    return window.start_ns < start_ns || window.end_ns > end_ns;
  });
  return windows;
}

/// Windows of which none overlaps the one before.
std::vector<PowerWindow> thinned(const std::vector<PowerWindow>& windows) {
  std::vector<PowerWindow> kept;
  for (const PowerWindow& window : windows)
    if (kept.empty() || window.start_ns >= kept.back().end_ns) kept.push_back(window);
  return kept;
}

/// The window length and lag by which the readings follow the work best. Another one than the first
/// must be better by a twentieth: noise always finds one that is a little better.
void choose_window(const PowerWindows& power, const WorkShares& work, int64_t start_ns,
                   int64_t end_ns, RankEnergy& energy) {
  constexpr int kLags = 20;
  constexpr double kBetter = 0.95;
  double best = std::numeric_limits<double>::infinity();
  const std::vector<double> lengths =
      power.lengths_s.empty() ? std::vector{power.period_s} : power.lengths_s;
  energy.window_s = lengths.front();
  for (const double length : lengths) {
    for (int step = 0; step <= kLags; ++step) {
      const double lag = 0.1 * step * power.period_s;
      const auto windows = within(power.windows(length, lag), start_ns, end_ns);
      if (windows.size() < kFewestUpdates) continue;
      const PowerProblem problem = separable(work, windows);
      if (windows.size() < problem.groups.size() + kFewestSpare) continue;
      const double rms = fit_non_negative(problem.fractions, problem.watts).residual_rms;
      if (rms >= kBetter * best && std::isfinite(best)) continue;
      best = rms;
      energy.window_s = length;
      energy.lag_s = lag;
    }
  }
}

std::string name_of(const std::vector<size_t>& group, const WorkShares& work) {
  std::string name;
  for (const size_t c : group) name += (name.empty() ? "" : " + ") + work.names()[c];
  return name;
}

void sort_energy_rows(std::vector<EnergyRow>& rows) {
  std::ranges::stable_sort(rows, std::ranges::greater{}, &EnergyRow::joules);
}

/// A phase draws what its classes draw.
std::vector<EnergyRow> by_phase(const Matrix& times, const std::vector<double>& watts,
                                const std::vector<double>& errors) {
  std::vector<EnergyRow> rows;
  for (size_t phase = 0; phase <= kPhases; ++phase) {
    EnergyRow row;
    row.name = phase == kPhases ? "idle" : to_word(static_cast<Phase>(phase));
    for (size_t c = 0; c < times.rows; ++c) {
      row.seconds += times.at(c, phase);
      row.joules += times.at(c, phase) * watts[c];
      row.joules_error += times.at(c, phase) * errors[c];
    }
    if (row.seconds <= 0) continue;
    row.watts = row.joules / row.seconds;
    row.watts_error = row.joules_error / row.seconds;
    rows.push_back(std::move(row));
  }
  sort_energy_rows(rows);
  return rows;
}

void state_watts(const PowerProblem& problem, const WorkShares& work, int64_t start_ns,
                 int64_t end_ns, RankEnergy& energy) {
  const NonNegativeFit fit = fit_non_negative(problem.fractions, problem.watts);
  energy.residual_rms_w = fit.residual_rms;
  const Matrix times = work.seconds_between(start_ns, end_ns);
  std::vector<double> watts(times.rows), errors(times.rows);
  for (size_t g = 0; g < problem.groups.size(); ++g) {
    EnergyRow row;
    row.name = name_of(problem.groups[g], work);
    row.watts = fit.x[g];
    row.watts_error = fit.error[g];
    for (const size_t c : problem.groups[g]) {
      watts[c] = row.watts;
      errors[c] = row.watts_error;
      for (size_t phase = 0; phase <= kPhases; ++phase) row.seconds += times.at(c, phase);
    }
    row.joules = row.watts * row.seconds;
    row.joules_error = row.watts_error * row.seconds;
    energy.classes.push_back(std::move(row));
  }
  sort_energy_rows(energy.classes);
  energy.phases = by_phase(times, watts, errors);
  energy.residual_j = energy.measured_j;
  for (const EnergyRow& row : energy.classes) energy.residual_j -= row.joules;
}

/// A reading is a mean over its window, so it stands for the window's middle.
int64_t later_ns(const RankEnergy& energy) {
  return std::llround((energy.lag_s + energy.window_s / 2) * 1e9);
}

/// Joules between two times of the trace's clock.
double joules_between(const PowerWindows& power, const RankEnergy& energy, int64_t start_ns,
                      int64_t end_ns) {
  if (!power.lengths_s.empty()) {
    const int64_t later = later_ns(energy);
    return energy_j(power.updates, start_ns + later, end_ns + later);
  }
  double joules = 0;
  for (const PowerWindow& window : power.windows(0, energy.lag_s)) {
    const int64_t common = std::min(window.end_ns, end_ns) - std::max(window.start_ns, start_ns);
    if (common > 0) joules += window.watts * seconds(common);
  }
  return joules;
}

/// Of `seconds_long` within a stretch of the trace's clock. Windows of a counter that begin and end
/// at its changes see everything; steps begin and end between them.
double unseen_in(const run::Device& device, const PowerWindows& power, const RankEnergy& energy,
                 TimeSpan within, double seconds_long, bool at_changes) {
  const int64_t later = later_ns(energy);
  if (!power.lengths_s.empty())
    return unseen_between_readings(device, {power.metric, power.updates, power.period_s},
                                   {within.from_ns + later, within.to_ns + later}, seconds_long);
  if (at_changes) return 0;
  return run::unseen({}, {.duration_s = seconds_long, .counter_s = power.period_s});
}

void add_steps(const run::RankTrace& trace, const run::Device& device, const PowerWindows& power,
               RankEnergy& energy) {
  const int64_t first = power.updates.front().time_ns, last = power.updates.back().time_ns;
  double joules = 0;
  int64_t steps_ns = 0;
  TimeSpan span{INT64_MAX, INT64_MIN};
  const std::vector<TimeSpan> gaps = gaps_in(power.updates);
  for (const StepStretch& step : step_stretches(trace)) {
    if (step.start_ns < first || step.end_ns > last || step.end_ns <= step.start_ns ||
        recorded_s({step.start_ns, step.end_ns}, gaps) < seconds(step.end_ns - step.start_ns))
      continue;
    energy.steps += step.steps;
    steps_ns += step.end_ns - step.start_ns;
    span = {std::min(span.from_ns, step.start_ns), std::max(span.to_ns, step.end_ns)};
    joules += joules_between(power, energy, step.start_ns, step.end_ns);
  }
  // A mean over few windows is more of what came before and after than of the steps.
  constexpr double kFewestStepWindows = 5;
  if (seconds(steps_ns) < kFewestStepWindows * energy.window_s) energy.steps = 0;
  if (energy.steps == 0) return;
  energy.step_j = joules / static_cast<double>(energy.steps);
  energy.step_error.unseen = unseen_in(device, power, energy, span, seconds(steps_ns), false);
}

std::string not_at_the_same_time(int64_t trace_start_ns, const PowerWindows& power) {
  const double apart = seconds(trace_start_ns) - seconds(power.updates.front().time_ns);
  return fmt::format(
      "the telemetry was not read while the trace was taken: it begins {} {} the trace; clocks of "
      "different zones are whole quarters of an hour apart",
      base::format_seconds(std::abs(apart)), apart < 0 ? "after" : "before");
}

void analyze_rank(const run::RankTrace& trace, const Attribution& attribution,
                  const run::Device& device, RankEnergy& energy) {
  PowerWindows power = power_windows(device);
  energy.metric = power.metric;
  energy.period_s = power.period_s;
  if (power.metric.empty()) {
    energy.refused = "its telemetry has no readings of power or energy, or hardly any";
    return;
  }
  if (trace.events.empty()) {
    energy.refused = "the trace has no GPU events";
    return;
  }
  int64_t start = INT64_MAX, end = INT64_MIN;
  for (const run::GpuEvent& event : trace.events) {
    start = std::min(start, event.start_ns);
    end = std::max(end, event.end_ns());
  }
  for (run::Sample& update : power.updates) update.time_ns -= trace.base_time_ns;
  if (power.updates.back().time_ns <= start || power.updates.front().time_ns >= end) {
    energy.refused = not_at_the_same_time(start, power);
    return;
  }
  const WorkShares work(trace, phases_of(trace, attribution));
  choose_window(power, work, start, end, energy);
  add_steps(trace, device, power, energy);
  const std::vector<PowerWindow> windows =
      thinned(within(power.windows(energy.window_s, energy.lag_s), start, end));
  energy.windows = static_cast<int64_t>(windows.size());
  if (!windows.empty()) {
    const int64_t from = windows.front().start_ns, until = windows.back().end_ns;
    energy.covered_s = seconds(until - from);
    energy.measured_j = joules_between(power, energy, from, until);
    energy.mean_w = energy.measured_j / energy.covered_s;
    energy.error.unseen = unseen_in(device, power, energy, {from, until}, energy.covered_s, true);
  }
  if (windows.size() < kFewestUpdates) {
    energy.refused = fmt::format(
        "the trace covers {} updates of the sensor, one every {}; {} are needed to tell kernels "
        "apart: profile longer",
        windows.size(), base::format_seconds(power.period_s), kFewestUpdates);
    return;
  }
  energy.shapes = power_by_shape(trace, attribution, windows);
  const PowerProblem problem = separable(work, windows);
  if (problem.groups.size() == 1 && problem.groups.front().size() > 1) {
    energy.refused =
        "every update of the sensor saw the same mix of kernels, so their watts cannot be told "
        "apart: vary the work, or read a faster sensor (instant power, energy counter)";
    return;
  }
  if (windows.size() < problem.groups.size() + kFewestSpare) {
    energy.refused = fmt::format("{} updates of the sensor are too few for {} classes of kernels",
                                 windows.size(), problem.groups.size());
    return;
  }
  state_watts(problem, work, windows.front().start_ns, windows.back().end_ns, energy);
}

std::string title_of(const run::Device& device) {
  std::string title = device.host;
  for (const std::string& part : {device.uuid, device.file})
    if (!part.empty() && part.find(title) != 0) title += (title.empty() ? "" : " ") + part;
  return title;
}

}  // namespace

run::EnergyError error_by_fit(const RankEnergy& rank, double value, double standard_error) {
  run::EnergyError error = rank.gain();
  error.stated = error.stated && value > 0;
  if (error.stated) error.unseen = standard_error / value;
  return error;
}

std::vector<RankEnergy> kernel_energy(const std::vector<run::RankTrace>& ranks,
                                      const std::vector<Attribution>& attributions,
                                      const run::DeviceLog& log) {
  const TracedDevices devices(log);
  std::vector<RankEnergy> energies;
  for (size_t i = 0; i < ranks.size(); ++i) {
    RankEnergy energy;
    energy.rank = ranks[i].rank;
    const run::Device* device = devices.of(ranks[i], ranks.size(), energy.matched_by);
    if (device == nullptr) {
      energy.refused = "no GPU of the telemetry has this rank or device";
    } else {
      energy.device = title_of(*device);
      energy.number = static_cast<size_t>(device - log.devices.data());
      analyze_rank(ranks[i], attributions[i], *device, energy);
    }
    energies.push_back(std::move(energy));
  }
  return energies;
}

}  // namespace ergometer::analysis

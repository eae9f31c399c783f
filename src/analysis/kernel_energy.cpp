#include "analysis/kernel_energy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "analysis/kernel_class.h"
#include "analysis/least_squares.h"
#include "analysis/power_windows.h"
#include "analysis/telemetry_updates.h"
#include "analysis/timeline.h"
#include "base/text.h"

namespace ergometer::analysis {
namespace {

constexpr size_t kFewestSpare = 10;  ///< windows more than classes
constexpr double kMostInflation = 100, kSmallShare = 0.01, kAlone = 0.95;
constexpr int64_t kFewestShapeWindows = 3;
constexpr std::string_view kIdle = "idle", kBeside = "communication beside other work";
constexpr size_t kPhases = static_cast<size_t>(Phase::kCount);

double seconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }

/// A class of work in a phase, with its share of a stretch of time.
struct Share {
  size_t work = 0, phase = 0;
  double weight = 0;
};

/// What runs when on one GPU, as shares of classes and phases.
class Work {
 public:
  Work(const run::RankTrace& trace, const std::vector<PhaseOfEvent>& phases)
      : names_{std::string(kIdle), std::string(kBeside)} {
    std::map<std::string_view, size_t> numbers;
    std::vector<uint32_t> labels;
    for (size_t i = 0; i < trace.events.size(); ++i) {
      const run::GpuEvent& event = trace.events[i];
      const std::string_view name = kernel_class(trace.names[event.name], event.kind);
      const auto [number, is_new] = numbers.emplace(name, names_.size());
      if (is_new) {
        names_.emplace_back(name);
        communicates_.push_back(event.kind == run::GpuClass::kCommunication);
      }
      labels.push_back(
          static_cast<uint32_t>((number->second * kPhases) + static_cast<size_t>(phases[i].phase)));
    }
    timeline_ = label_time(trace.events, labels);
    for (const std::vector<uint32_t>& set : timeline_.sets) shares_.push_back(shares_of(set));
  }

  const Timeline& timeline() const { return timeline_; }
  const std::vector<Share>& shares(uint32_t set) const { return shares_[set]; }
  const std::vector<std::string>& names() const { return names_; }

  /// Seconds of every class (rows) and phase (columns; the last is idle) between two times.
  Matrix seconds_between(int64_t start_ns, int64_t end_ns) const {
    Matrix sums(names_.size(), kPhases + 1);
    size_t from = 0;
    for_each_between(timeline_, from, start_ns, end_ns, [&](uint32_t set, int64_t ns) {
      for (const Share& s : shares_[set]) sums.at(s.work, s.phase) += s.weight * seconds(ns);
    });
    return sums;
  }

 private:
  std::vector<Share> shares_of(const std::vector<uint32_t>& set) const {
    if (set.empty()) return {{0, kPhases, 1}};
    std::map<size_t, size_t> classes;
    bool communication = false, other = false;
    for (const uint32_t label : set) {
      ++classes[label / kPhases];
      (communicates_[label / kPhases - 2] ? communication : other) = true;
    }
    const bool beside = communication && other;
    std::vector<Share> shares;
    for (const uint32_t label : set) {
      const size_t work = label / kPhases;
      const auto of_class = static_cast<double>(classes[work] * classes.size());
      shares.push_back({beside ? 1 : work, label % kPhases, 1 / of_class});
    }
    return shares;
  }

  std::vector<std::string> names_;  ///< idle, beside, then classes in order of appearance
  std::vector<bool> communicates_;  ///< of those behind the first two
  Timeline timeline_;
  std::vector<std::vector<Share>> shares_;  ///< of every set of the timeline
};

/// Classes that are told from each other, and the windows they are told by.
struct Problem {
  std::vector<std::vector<size_t>> groups;  ///< of classes
  Matrix fractions{0, 0};                   ///< a row a window, a column a group
  std::vector<double> watts;
};

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

/// The classes' share of every window.
Matrix fractions_of(const Work& work, const std::vector<PowerWindow>& windows) {
  Matrix fractions(windows.size(), work.names().size());
  size_t from = 0;
  for (size_t i = 0; i < windows.size(); ++i) {
    const double length = static_cast<double>(windows[i].end_ns - windows[i].start_ns);
    for_each_between(work.timeline(), from, windows[i].start_ns, windows[i].end_ns,
                     [&](uint32_t set, int64_t ns) {
                       for (const Share& s : work.shares(set))
                         fractions.at(i, s.work) += s.weight * static_cast<double>(ns) / length;
                     });
  }
  return fractions;
}

Matrix grouped(const Matrix& fractions, const std::vector<std::vector<size_t>>& groups) {
  Matrix sums(fractions.rows, groups.size());
  for (size_t row = 0; row < fractions.rows; ++row)
    for (size_t g = 0; g < groups.size(); ++g)
      for (const size_t c : groups[g]) sums.at(row, g) += fractions.at(row, c);
  return sums;
}

double mean_of_column(const Matrix& a, size_t column) {
  double sum = 0;
  for (size_t row = 0; row < a.rows; ++row) sum += a.at(row, column);
  return a.rows > 0 ? sum / static_cast<double>(a.rows) : 0;
}

/// Each class alone, but those too small to be seen as one group.
std::vector<std::vector<size_t>> first_groups(const Matrix& fractions) {
  std::vector<std::vector<size_t>> groups;
  std::vector<size_t> small;
  for (size_t c = 0; c < fractions.columns; ++c) {
    const double share = mean_of_column(fractions, c);
    if (share >= kSmallShare) {
      groups.push_back({c});
    } else if (share > 0) {
      small.push_back(c);
    }
  }
  if (!small.empty()) groups.push_back(small);
  return groups;
}

double cosine(const Matrix& a, size_t i, size_t j) {
  double product = 0, ii = 0, jj = 0;
  for (size_t row = 0; row < a.rows; ++row) {
    product += a.at(row, i) * a.at(row, j);
    ii += a.at(row, i) * a.at(row, i);
    jj += a.at(row, j) * a.at(row, j);
  }
  return ii > 0 && jj > 0 ? product / std::sqrt(ii * jj) : 0;
}

/// Joins the group that is most nearly made up of others with the one most like it, until all can
/// be told apart.
Problem separable(const Work& work, const std::vector<PowerWindow>& windows) {
  const Matrix fractions = fractions_of(work, windows);
  Problem problem;
  problem.groups = first_groups(fractions);
  for (const PowerWindow& window : windows) problem.watts.push_back(window.watts);
  for (;;) {
    problem.fractions = grouped(fractions, problem.groups);
    if (problem.groups.size() < 2) return problem;
    const std::vector<double> inflation = variance_inflation(problem.fractions);
    const auto worst = std::max_element(inflation.begin(), inflation.end());
    if (*worst <= kMostInflation) return problem;
    const auto joined = static_cast<size_t>(worst - inflation.begin());
    size_t partner = joined == 0 ? 1 : 0;
    for (size_t g = 0; g < problem.groups.size(); ++g)
      if (g != joined &&
          cosine(problem.fractions, joined, g) > cosine(problem.fractions, joined, partner))
        partner = g;
    auto& into = problem.groups[std::min(joined, partner)];
    auto& from = problem.groups[std::max(joined, partner)];
    into.insert(into.end(), from.begin(), from.end());
    problem.groups.erase(problem.groups.begin() +
                         static_cast<std::ptrdiff_t>(std::max(joined, partner)));
  }
}

/// The window length and lag by which the readings follow the work best. Another one than the first
/// must be better by a twentieth: noise always finds one that is a little better.
void choose_window(const PowerWindows& power, const Work& work, int64_t start_ns, int64_t end_ns,
                   RankEnergy& energy) {
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
      const Problem problem = separable(work, windows);
      if (windows.size() < problem.groups.size() + kFewestSpare) continue;
      const double rms = fit_non_negative(problem.fractions, problem.watts).residual_rms;
      if (rms >= kBetter * best && std::isfinite(best)) continue;
      best = rms;
      energy.window_s = length;
      energy.lag_s = lag;
    }
  }
}

std::string name_of(const std::vector<size_t>& group, const Work& work) {
  std::string name;
  for (const size_t c : group) name += (name.empty() ? "" : " + ") + work.names()[c];
  return name;
}

void sort_rows(std::vector<EnergyRow>& rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const EnergyRow& a, const EnergyRow& b) { return a.joules > b.joules; });
}

/// A phase draws what its classes draw.
std::vector<EnergyRow> by_phase(const Matrix& times, const std::vector<double>& watts,
                                const std::vector<double>& errors) {
  std::vector<EnergyRow> rows;
  for (size_t phase = 0; phase <= kPhases; ++phase) {
    EnergyRow row;
    row.name = phase == kPhases ? kIdle : to_word(static_cast<Phase>(phase));
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
  sort_rows(rows);
  return rows;
}

void state_watts(const Problem& problem, const Work& work, int64_t start_ns, int64_t end_ns,
                 RankEnergy& energy) {
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
  sort_rows(energy.classes);
  energy.phases = by_phase(times, watts, errors);
  energy.residual_j = energy.measured_j;
  for (const EnergyRow& row : energy.classes) energy.residual_j -= row.joules;
}

/// Readings whose window held one operator on one shape and next to nothing else.
std::vector<ShapePower> by_shape(const run::RankTrace& trace, const Attribution& attribution,
                                 const std::vector<PowerWindow>& windows) {
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> numbers;
  std::vector<uint32_t> labels;
  for (size_t i = 0; i < trace.events.size(); ++i) {
    const uint32_t op = attribution.operators[i];
    const auto key = op == Attribution::kNone
                         ? std::pair(run::GpuEvent::kNone, run::GpuEvent::kNone)
                         : std::pair(trace.operators[op].name, trace.operators[op].shapes);
    labels.push_back(numbers.emplace(key, static_cast<uint32_t>(numbers.size())).first->second);
  }
  const Timeline timeline = label_time(trace.events, labels);
  std::map<uint32_t, std::vector<double>> readings;
  size_t from = 0;
  for (const PowerWindow& window : windows) {
    std::map<uint32_t, int64_t> alone;
    for_each_between(timeline, from, window.start_ns, window.end_ns, [&](uint32_t set, int64_t ns) {
      if (timeline.sets[set].size() == 1) alone[timeline.sets[set].front()] += ns;
    });
    for (const auto& [label, ns] : alone)
      if (static_cast<double>(ns) >= kAlone * static_cast<double>(window.end_ns - window.start_ns))
        readings[label].push_back(window.watts);
  }
  std::vector<ShapePower> rows;
  for (const auto& [key, label] : numbers) {
    const std::vector<double>& watts = readings[label];
    if (key.first == run::GpuEvent::kNone ||
        static_cast<int64_t>(watts.size()) < kFewestShapeWindows)
      continue;
    double sum = 0, squares = 0;
    for (const double w : watts) sum += w;
    const auto count = static_cast<double>(watts.size());
    for (const double w : watts) squares += (w - sum / count) * (w - sum / count);
    rows.push_back({trace.names[key.first],
                    key.second == run::GpuEvent::kNone ? "" : trace.names[key.second],
                    static_cast<int64_t>(watts.size()), sum / count,
                    std::sqrt(squares / (count - 1) / count)});
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const ShapePower& a, const ShapePower& b) { return a.windows > b.windows; });
  return rows;
}

/// Joules between two times of the trace's clock. A reading is a mean over its window, so it stands
/// for the window's middle.
double joules_between(const PowerWindows& power, const RankEnergy& energy, int64_t start_ns,
                      int64_t end_ns) {
  if (!power.lengths_s.empty()) {
    const int64_t later = std::llround((energy.lag_s + energy.window_s / 2) * 1e9);
    return energy_j(power.updates, start_ns + later, end_ns + later);
  }
  double joules = 0;
  for (const PowerWindow& window : power.windows(0, energy.lag_s)) {
    const int64_t common = std::min(window.end_ns, end_ns) - std::max(window.start_ns, start_ns);
    if (common > 0) joules += window.watts * seconds(common);
  }
  return joules;
}

void add_steps(const run::RankTrace& trace, const PowerWindows& power, RankEnergy& energy) {
  const int64_t first = power.updates.front().time_ns, last = power.updates.back().time_ns;
  double joules = 0;
  int64_t steps_ns = 0;
  for (const run::StepMark& step : trace.steps) {
    if (step.start_ns < first || step.end_ns > last || step.end_ns <= step.start_ns) continue;
    ++energy.steps;
    steps_ns += step.end_ns - step.start_ns;
    joules += joules_between(power, energy, step.start_ns, step.end_ns);
  }
  // A mean over few windows is more of what came before and after than of the steps.
  constexpr double kFewestStepWindows = 5;
  if (seconds(steps_ns) < kFewestStepWindows * energy.window_s) energy.steps = 0;
  if (energy.steps > 0) energy.step_j = joules / static_cast<double>(energy.steps);
}

std::string not_at_the_same_time(int64_t trace_start_ns, const PowerWindows& power) {
  const double apart = seconds(trace_start_ns) - seconds(power.updates.front().time_ns);
  return fmt::format(
      "the telemetry was not read while the trace was taken: it begins {} {} the trace; clocks of "
      "different zones are whole quarters of an hour apart",
      base::format_seconds(std::abs(apart)), apart < 0 ? "after" : "before");
}

void analyze_rank(const run::RankTrace& trace, const Attribution& attribution, PowerWindows power,
                  RankEnergy& energy) {
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
  const Work work(trace, phases_of(trace, attribution));
  choose_window(power, work, start, end, energy);
  add_steps(trace, power, energy);
  const std::vector<PowerWindow> windows =
      thinned(within(power.windows(energy.window_s, energy.lag_s), start, end));
  energy.windows = static_cast<int64_t>(windows.size());
  if (!windows.empty()) {
    const int64_t from = windows.front().start_ns, until = windows.back().end_ns;
    energy.covered_s = seconds(until - from);
    energy.measured_j = joules_between(power, energy, from, until);
    energy.mean_w = energy.measured_j / energy.covered_s;
  }
  if (windows.size() < kFewestUpdates) {
    energy.refused = fmt::format(
        "the trace covers {} updates of the sensor, one every {}; {} are needed to tell kernels "
        "apart: profile longer",
        windows.size(), base::format_seconds(power.period_s), kFewestUpdates);
    return;
  }
  energy.shapes = by_shape(trace, attribution, windows);
  const Problem problem = separable(work, windows);
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

/// The device of the trace's events, if they name one.
int64_t device_of(const run::RankTrace& trace) {
  return trace.events.empty() ? -1 : trace.events.front().device;
}

class Devices {
 public:
  explicit Devices(const run::DeviceLog& log) {
    std::set<std::string> hosts;
    for (const run::Device& device : log.devices) {
      if (device.kind != run::DeviceKind::kGpu || device.series.empty()) continue;
      gpus_.push_back(&device);
      hosts.insert(device.host);
    }
    one_host_ = hosts.size() == 1;
  }

  const run::Device* of(const run::RankTrace& trace, size_t traces, std::string& how) const {
    const auto only = [&](auto&& matches) -> const run::Device* {
      const run::Device* found = nullptr;
      for (const run::Device* gpu : gpus_) {
        if (!matches(*gpu)) continue;
        if (found != nullptr) return nullptr;
        found = gpu;
      }
      return found;
    };
    if (traces == 1 && gpus_.size() == 1) {
      how = "only one of each";
      return gpus_.front();
    }
    how = "rank";
    if (const auto* gpu = only([&](const auto& g) { return g.rank >= 0 && g.rank == trace.rank; }))
      return gpu;
    how = "device index";
    const int64_t device = device_of(trace);
    if (one_host_ && device >= 0)
      if (const auto* gpu = only([&](const auto& g) { return g.index == device; })) return gpu;
    how.clear();
    return nullptr;
  }

 private:
  std::vector<const run::Device*> gpus_;
  bool one_host_ = false;
};

std::string title_of(const run::Device& device) {
  std::string title = device.host;
  for (const std::string& part : {device.uuid, device.file})
    if (!part.empty() && part.find(title) != 0) title += (title.empty() ? "" : " ") + part;
  return title;
}

}  // namespace

std::vector<RankEnergy> kernel_energy(const std::vector<run::RankTrace>& ranks,
                                      const std::vector<Attribution>& attributions,
                                      const run::DeviceLog& log) {
  const Devices devices(log);
  std::vector<RankEnergy> energies;
  for (size_t i = 0; i < ranks.size(); ++i) {
    RankEnergy energy;
    energy.rank = ranks[i].rank;
    const run::Device* device = devices.of(ranks[i], ranks.size(), energy.matched_by);
    if (device == nullptr) {
      energy.refused = "no GPU of the telemetry has this rank or device";
    } else {
      energy.device = title_of(*device);
      analyze_rank(ranks[i], attributions[i], power_windows(*device), energy);
    }
    energies.push_back(std::move(energy));
  }
  return energies;
}

}  // namespace ergometer::analysis

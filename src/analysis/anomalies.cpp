#include "analysis/anomalies.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <span>

#include "analysis/level_changes.h"
#include "analysis/telemetry_updates.h"

namespace ergometer::analysis {
namespace {

using run::Metric;

/// What is looked at over time, and the change that is worth acting on.
struct Watched {
  Metric metric;
  double fraction, least;  ///< of the level, and in the metric's unit
};
constexpr std::array kWatched = std::to_array<Watched>({
    {Metric::kSmClock, 0.02, 10},
    {Metric::kMemoryClock, 0.02, 10},
    {Metric::kGpuTemperature, 0, 3},
    {Metric::kMemoryTemperature, 0, 3},
    {Metric::kInstantPower, 0.05, 5},
    {Metric::kPower, 0.05, 5},
});
constexpr double kStepFraction = 0.02;
constexpr size_t kFewestSteps = 20;

double median_of(std::vector<double> values) { return percentile(values, 0.5); }

double robust_deviation(std::vector<double> values) {
  const double middle = median_of(values);
  for (double& value : values) value = std::abs(value - middle);
  return 1.4826 * median_of(std::move(values));
}

// --- steps

std::vector<double> seconds_of(const std::vector<StepTime>& steps) {
  std::vector<double> seconds;
  for (const StepTime& step : steps) seconds.push_back(step.seconds);
  return seconds;
}

/// Median over ranks, step by step.
std::vector<StepTime> job_steps(const std::vector<std::vector<StepTime>>& ranks) {
  std::map<int64_t, std::vector<double>> by_number;
  for (const std::vector<StepTime>& rank : ranks)
    for (const StepTime& step : rank) by_number[step.number].push_back(step.seconds);
  std::vector<StepTime> job;
  for (auto& [number, seconds] : by_number) job.push_back({number, median_of(std::move(seconds))});
  return job;
}

void add_shifts(const std::vector<StepTime>& steps, int64_t rank, Anomalies& found) {
  const std::vector<double> seconds = seconds_of(steps);
  ++found.series;
  for (const LevelChange& change :
       level_changes(seconds, {.least_move = kStepFraction * median_of(seconds)}))
    found.shifts.push_back({.what = "step_time_s",
                            .rank = rank,
                            .host = "",
                            .step = steps[change.at].number,
                            .before = change.before,
                            .after = change.after});
}

/// The distance at which most spikes follow each other; 0: none.
double period_of(const std::vector<size_t>& spikes) {
  constexpr size_t kFewest = 3;
  constexpr double kMost = 0.8, kTolerance = 0.05;
  if (spikes.size() < kFewest) return 0;
  std::vector<double> gaps;
  for (size_t i = 1; i < spikes.size(); ++i)
    gaps.push_back(static_cast<double>(spikes[i] - spikes[i - 1]));
  const double typical = median_of(gaps);
  const auto alike = static_cast<double>(std::count_if(gaps.begin(), gaps.end(), [&](double gap) {
    return std::abs(gap - typical) <= std::max(1.0, kTolerance * typical);
  }));
  return typical > 1 && alike >= kMost * static_cast<double>(gaps.size()) ? typical : 0;
}

void add_spikes(const std::vector<StepTime>& steps, int64_t rank, Anomalies& found) {
  constexpr size_t kReach = 5;
  constexpr double kFar = 5, kTenth = 0.1;
  const std::vector<double> seconds = seconds_of(steps);
  const double noise = neighbour_noise(seconds);
  std::vector<size_t> spikes;
  double extra = 0;
  for (size_t i = 0; i < seconds.size(); ++i) {
    const size_t from = i < kReach ? 0 : i - kReach, to = std::min(seconds.size(), i + kReach + 1);
    const double middle = median_of({seconds.begin() + static_cast<std::ptrdiff_t>(from),
                                     seconds.begin() + static_cast<std::ptrdiff_t>(to)});
    if (seconds[i] - middle <= std::max(kFar * noise, kTenth * middle)) continue;
    spikes.push_back(i);
    extra += seconds[i] - middle;
  }
  if (spikes.empty()) return;
  found.spikes.push_back({.rank = rank,
                          .count = static_cast<int64_t>(spikes.size()),
                          .steps = static_cast<int64_t>(steps.size()),
                          .every_steps = period_of(spikes),
                          .extra_s = extra / static_cast<double>(spikes.size()),
                          .cost_per_step_s = extra / static_cast<double>(steps.size())});
}

void look_at_steps(const std::vector<run::RankTrace>& ranks, Anomalies& found) {
  std::vector<std::vector<StepTime>> all;
  for (const run::RankTrace& trace : ranks) all.push_back(step_seconds(trace));
  const std::vector<StepTime> job = job_steps(all);
  if (job.size() < kFewestSteps) return;
  add_shifts(job, -1, found);
  add_spikes(job, -1, found);
  if (ranks.size() < 2) return;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (all[i].size() < kFewestSteps) continue;
    // A rank's own: what is left beside the job's.
    std::map<int64_t, double> of_job;
    for (const StepTime& step : job) of_job[step.number] = step.seconds;
    std::vector<StepTime> own = all[i];
    const double typical = median_of(seconds_of(job));
    for (StepTime& step : own) step.seconds += typical - of_job[step.number];
    add_shifts(own, ranks[i].rank, found);
  }
}

// --- readings

constexpr size_t kBins = 240;

/// Mean levels in bins of equal time.
struct Binned {
  int64_t start_ns = 0, bin_ns = 0;
  std::vector<double> values;
  int64_t time_of(size_t bin) const { return start_ns + static_cast<int64_t>(bin) * bin_ns; }
};

std::optional<Binned> binned(std::span<const run::Sample> samples, int64_t from, int64_t to) {
  constexpr size_t kFewestReadings = 40;
  if (samples.size() < kFewestReadings || to <= from) return std::nullopt;
  // A bin holds two readings or more, or neighbours would share one.
  const size_t bins = std::min(kBins, samples.size() / 2);
  Binned series{from, (to - from) / static_cast<int64_t>(bins), {}};
  if (series.bin_ns <= 0) return std::nullopt;
  const double seconds = static_cast<double>(series.bin_ns) * 1e-9;
  for (size_t i = 0; i < bins; ++i)
    series.values.push_back(energy_j(samples, series.time_of(i), series.time_of(i + 1)) / seconds);
  return series;
}

double worth(const Watched& watched, double level) {
  return std::max(watched.fraction * std::abs(level), watched.least);
}

std::string name_of(const Watched& watched) { return run::metric_info(watched.metric).name; }

void look_at_device(const run::Device& device, Anomalies& found) {
  for (const Watched& watched : kWatched) {
    const run::Series* series = device.find(watched.metric);
    // Changes of power are the telemetry report's (`power_changes`).
    if (series == nullptr || series->samples.empty() ||
        run::metric_info(watched.metric).unit[0] == 'W')
      continue;
    const auto levels =
        binned(series->samples, series->samples.front().time_ns, series->samples.back().time_ns);
    if (!levels) continue;
    ++found.series;
    for (const LevelChange& change :
         level_changes(levels->values, {.least_move = worth(watched, median_of(levels->values))}))
      found.shifts.push_back({.what = name_of(watched),
                              .rank = device.rank,
                              .host = device.host,
                              .time_ns = levels->time_of(change.at),
                              .before = change.before,
                              .after = change.after});
  }
}

/// GPUs of one kind with readings of one metric over a common time.
struct Peers {
  std::vector<const run::Device*> devices;
  std::vector<Binned> series;
};

std::optional<Peers> peers_of(const std::vector<const run::Device*>& devices, Metric metric) {
  Peers peers;
  int64_t from = INT64_MIN, to = INT64_MAX;
  for (const run::Device* device : devices) {
    const run::Series* series = device->find(metric);
    if (series == nullptr || series->samples.empty()) continue;
    peers.devices.push_back(device);
    from = std::max(from, series->samples.front().time_ns);
    to = std::min(to, series->samples.back().time_ns);
  }
  constexpr size_t kFewestPeers = 4;
  if (peers.devices.size() < kFewestPeers || to <= from) return std::nullopt;
  size_t bins = kBins;
  for (const run::Device* device : peers.devices) {
    const auto one = binned(device->find(metric)->samples, from, to);
    if (!one) return std::nullopt;
    bins = std::min(bins, one->values.size());
    peers.series.push_back(*one);
  }
  for (const Binned& one : peers.series)
    if (one.values.size() != bins) return std::nullopt;
  return peers;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

void look_for_outliers(const Peers& peers, const Watched& watched, Anomalies& found) {
  constexpr double kFar = 3.5;  // Iglewicz and Hoaglin's limit for robust z
  std::vector<double> means;
  for (const Binned& one : peers.series) means.push_back(mean(one.values));
  const double middle = median_of(means), deviation = robust_deviation(means);
  for (size_t i = 0; i < means.size(); ++i)
    if (std::abs(means[i] - middle) > std::max(kFar * deviation, worth(watched, middle)))
      found.deviations.push_back({.kind = PeerDeviation::Kind::kOutlier,
                                  .what = name_of(watched),
                                  .rank = peers.devices[i]->rank,
                                  .host = peers.devices[i]->host,
                                  .own = means[i],
                                  .peers = middle});
}

void look_for_drift(const Peers& peers, const Watched& watched, Anomalies& found) {
  const size_t bins = peers.series.front().values.size();
  std::vector<double> middle(bins);
  for (size_t bin = 0; bin < bins; ++bin) {
    std::vector<double> values;
    for (const Binned& one : peers.series) values.push_back(one.values[bin]);
    middle[bin] = median_of(std::move(values));
  }
  for (size_t i = 0; i < peers.series.size(); ++i) {
    std::vector<double> distance = peers.series[i].values;
    for (size_t bin = 0; bin < bins; ++bin) distance[bin] -= middle[bin];
    const double least = worth(watched, median_of(middle));
    ++found.series;
    const auto changes = level_changes(distance, {.least_move = least});
    if (changes.empty() || std::abs(changes.back().after - changes.front().before) < least)
      continue;
    const size_t at = changes.back().at;
    const std::vector<double> own(peers.series[i].values.begin() + static_cast<std::ptrdiff_t>(at),
                                  peers.series[i].values.end()),
        others(middle.begin() + static_cast<std::ptrdiff_t>(at), middle.end());
    found.deviations.push_back({.kind = PeerDeviation::Kind::kDrift,
                                .what = name_of(watched),
                                .rank = peers.devices[i]->rank,
                                .host = peers.devices[i]->host,
                                .own = mean(own),
                                .peers = mean(others),
                                .moved = changes.back().after - changes.front().before,
                                .time_ns = peers.series[i].time_of(changes.front().at)});
  }
}

}  // namespace

std::vector<StepTime> step_seconds(const run::RankTrace& trace) {
  std::vector<StepTime> steps;
  for (size_t i = 0; i < trace.steps.size(); ++i) {
    const run::StepMark& step = trace.steps[i];
    const bool followed = i + 1 < trace.steps.size() &&
                          trace.steps[i + 1].number == step.number + 1 &&
                          trace.steps[i + 1].start_ns > step.start_ns;
    const int64_t end = followed ? trace.steps[i + 1].start_ns : step.end_ns;
    if (end > step.start_ns)
      steps.push_back({step.number, static_cast<double>(end - step.start_ns) * 1e-9});
  }
  return steps;
}

Anomalies find_anomalies(const std::vector<run::RankTrace>& ranks, const run::DeviceLog& log) {
  Anomalies found;
  look_at_steps(ranks, found);
  std::map<std::string, std::vector<const run::Device*>> by_name;
  for (const run::Device& device : log.devices) {
    if (device.kind != run::DeviceKind::kGpu) continue;
    look_at_device(device, found);
    by_name[device.name].push_back(&device);
  }
  for (const auto& [name, devices] : by_name) {
    for (const Watched& watched : kWatched) {
      const auto peers = peers_of(devices, watched.metric);
      if (!peers) continue;
      look_for_outliers(*peers, watched, found);
      look_for_drift(*peers, watched, found);
    }
  }
  return found;
}

}  // namespace ergometer::analysis

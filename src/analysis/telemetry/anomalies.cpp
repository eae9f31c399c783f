#include "analysis/telemetry/anomalies.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <span>

#include "analysis/math/level_changes.h"
#include "analysis/telemetry/gpu_names.h"
#include "analysis/telemetry/telemetry_updates.h"
#include "base/collection.h"
#include "run/device_temperature.h"

namespace ergometer::analysis {
namespace {

using run::Metric;

/// What is looked at over time, and the change that is worth acting on.
struct Watched {
  Metric metric;
  double fraction, least;  ///< of the level, and in the metric's unit
  /// Which way from its peers a GPU is worth a word: hotter, slower; 0: either.
  int worse = 0;
};
constexpr std::array kWatched = std::to_array<Watched>({
    {Metric::kSmClock, 0.02, 10, -1},
    {Metric::kMemoryClock, 0.02, 10, -1},
    {Metric::kGpuTemperature, 0, 3, 1},
    {Metric::kHotspotTemperature, 0, 3, 1},
    {Metric::kMemoryTemperature, 0, 3, 1},
    {Metric::kInstantPower, 0.05, 5},
    {Metric::kPower, 0.05, 5},
});
constexpr double kStepFraction = 0.02;
constexpr size_t kFewestSteps = 20;

// Of an even number of values the mean of the middle two: half of all GPUs sit behind the others.
using base::middle_median;

double robust_deviation(std::vector<double> values) {
  const double middle = middle_median(values);
  for (double& value : values) value = std::abs(value - middle);
  return 1.4826 * middle_median(std::move(values));
}

// --- steps

/// A step of the job: from the first rank's start to the next step's, or to its last end.
struct StepTime {
  int64_t number = 0;
  double seconds = 0;
};

std::vector<double> seconds_of(const std::vector<StepTime>& steps) {
  return base::mapped(steps, &StepTime::seconds);
}

/// Median over ranks, step by step.
std::vector<StepTime> job_steps(const std::vector<std::vector<StepTime>>& ranks) {
  std::map<int64_t, std::vector<double>> by_number;
  for (const std::vector<StepTime>& rank : ranks)
    for (const StepTime& step : rank) by_number[step.number].push_back(step.seconds);
  std::vector<StepTime> job;
  for (auto& [number, seconds] : by_number)
    job.push_back({number, middle_median(std::move(seconds))});
  return job;
}

void add_shifts(const std::vector<StepTime>& steps, int64_t rank, Anomalies& found) {
  const std::vector<double> seconds = seconds_of(steps);
  ++found.series;
  for (const LevelChange& change :
       level_changes(seconds, {.least_move = kStepFraction * middle_median(seconds)}))
    found.shifts.push_back({.what = "step_time_s",
                            .rank = rank,
                            .host = "",
                            .gpu = "",
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
  const double typical = middle_median(gaps);
  const auto alike = static_cast<double>(std::ranges::count_if(gaps, [&](double gap) {
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
    const double middle = middle_median({seconds.begin() + static_cast<std::ptrdiff_t>(from),
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

/// Of one trace, by its marks.
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

void look_at_steps(const std::vector<run::RankTrace>& ranks, Anomalies& found) {
  const std::vector<std::vector<StepTime>> all = base::mapped(ranks, step_seconds);
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
    const double typical = middle_median(seconds_of(job));
    for (StepTime& step : own) step.seconds += typical - of_job[step.number];
    add_shifts(own, ranks[i].rank, found);
  }
}

// --- readings

constexpr size_t kBins = 240, kFewestReadings = 40;

/// Mean levels in bins of equal time.
struct Binned {
  int64_t start_ns = 0, bin_ns = 0;
  std::vector<double> values;
  int64_t time_of(size_t bin) const { return start_ns + static_cast<int64_t>(bin) * bin_ns; }
};

Binned binned(std::span<const run::Sample> samples, int64_t from, int64_t to, size_t bins) {
  Binned series{from, (to - from) / static_cast<int64_t>(bins), {}};
  const double seconds = static_cast<double>(series.bin_ns) * 1e-9;
  for (size_t i = 0; i < bins; ++i)
    series.values.push_back(energy_j(samples, series.time_of(i), series.time_of(i + 1)) / seconds);
  return series;
}

double worth(const Watched& watched, double level) {
  return std::max(watched.fraction * std::abs(level), watched.least);
}

std::string name_of(const Watched& watched) { return run::metric_info(watched.metric).name; }

/// A GPU's temperature is watched once: at its hottest place only where nothing reads its edge.
const run::Series* watched_series(const run::Device& device, Metric metric) {
  const bool twice = metric == Metric::kHotspotTemperature &&
                     run::temperature_metric(device) == Metric::kGpuTemperature;
  return twice ? nullptr : device.find(metric);
}

void look_at_device(const run::Device& device, const GpuNames& names, Anomalies& found) {
  for (const Watched& watched : kWatched) {
    const run::Series* series = watched_series(device, watched.metric);
    // Changes of power are the telemetry report's (`power_changes`).
    if (series == nullptr || series->samples.size() < kFewestReadings ||
        run::metric_info(watched.metric).unit[0] == 'W')
      continue;
    ++found.series;
    double level = 0;
    for (const run::Sample& sample : series->samples)
      level += sample.value / static_cast<double>(series->samples.size());
    for (const ChangePoint& change :
         reading_changes(series->samples, {.least_move = worth(watched, level)}))
      found.shifts.push_back({.what = name_of(watched),
                              .rank = device.rank,
                              .host = device.host,
                              .gpu = names.of(device),
                              .time_ns = change.time_ns,
                              .before = change.before,
                              .after = change.after});
  }
}

/// GPUs of one kind with readings of one metric over a common time.
struct Peers {
  std::vector<const run::Device*> devices;
  std::vector<Binned> series;
};

/// The time that most GPUs were read in: one that came late or fell silent must not take the time
/// from the others.
std::pair<int64_t, int64_t> time_of_most(const std::vector<const run::Device*>& devices,
                                         Metric metric) {
  constexpr double kMostOf = 0.75;
  std::vector<double> starts, ends;
  const int64_t origin = devices.front()->find(metric)->samples.front().time_ns;
  for (const run::Device* device : devices) {
    const auto& samples = device->find(metric)->samples;
    starts.push_back(static_cast<double>(samples.front().time_ns - origin));
    ends.push_back(static_cast<double>(samples.back().time_ns - origin));
  }
  return {origin + static_cast<int64_t>(percentile(starts, kMostOf)),
          origin + static_cast<int64_t>(percentile(ends, 1 - kMostOf))};
}

std::optional<Peers> peers_of(const std::vector<const run::Device*>& all, Metric metric) {
  constexpr size_t kFewestPeers = 4;
  std::vector<const run::Device*> devices;
  for (const run::Device* device : all) {
    const run::Series* series = watched_series(*device, metric);
    if (series != nullptr && series->samples.size() >= kFewestReadings) devices.push_back(device);
  }
  if (devices.size() < kFewestPeers) return std::nullopt;
  const auto [from, to] = time_of_most(devices, metric);
  Peers peers;
  size_t fewest = 2 * kBins;
  for (const run::Device* device : devices) {
    const auto& samples = device->find(metric)->samples;
    const int64_t slack = (samples.back().time_ns - samples.front().time_ns) /
                          static_cast<int64_t>(samples.size()) * 2;
    if (samples.front().time_ns - from > slack || to - samples.back().time_ns > slack) continue;
    peers.devices.push_back(device);
    fewest = std::min(fewest, samples.size());
  }
  // A bin holds two readings or more, or neighbours would share one.
  const size_t bins = fewest / 2;
  if (peers.devices.size() < kFewestPeers || to - from < static_cast<int64_t>(bins))
    return std::nullopt;
  for (const run::Device* device : peers.devices)
    peers.series.push_back(binned(device->find(metric)->samples, from, to, bins));
  return peers;
}

void look_for_outliers(const Peers& peers, const Watched& watched, const GpuNames& names,
                       Anomalies& found) {
  constexpr double kFar = 3.5;  // Iglewicz and Hoaglin's limit for robust z
  const std::vector<double> means =
      base::mapped(peers.series, [](const Binned& one) { return base::mean(one.values); });
  const double middle = middle_median(means), deviation = robust_deviation(means);
  const double far = std::max(kFar * deviation, worth(watched, middle));
  for (size_t i = 0; i < means.size(); ++i)
    if (std::abs(means[i] - middle) > far && watched.worse * (means[i] - middle) >= 0)
      found.deviations.push_back({.kind = PeerDeviation::Kind::kOutlier,
                                  .what = name_of(watched),
                                  .rank = peers.devices[i]->rank,
                                  .host = peers.devices[i]->host,
                                  .host_label = names.host_of(*peers.devices[i]),
                                  .gpu = names.of(*peers.devices[i]),
                                  .own = means[i],
                                  .peers = middle});
}

/// The median of all but one of some values in order.
double median_without(const std::vector<double>& sorted, double own) {
  const auto at = static_cast<size_t>(std::ranges::lower_bound(sorted, own) - sorted.begin());
  const auto other = [&](size_t i) { return sorted[i < at ? i : i + 1]; };
  const size_t count = sorted.size() - 1;
  return 0.5 * (other((count - 1) / 2) + other(count / 2));
}

/// Of every GPU how the others move, bin by bin: the median of their distances from their own
/// medians, so that it does not matter which of them is warmer by nature. It is one by one, so that
/// the half of the GPUs that moves is held against the half that does not.
std::vector<std::vector<double>> moves_of_others(const Peers& peers) {
  const size_t bins = peers.series.front().values.size();
  std::vector<double> levels, sorted(peers.series.size());
  for (const Binned& one : peers.series) levels.push_back(middle_median(one.values));
  std::vector<std::vector<double>> moves(peers.series.size(), std::vector<double>(bins));
  const auto move = [&](size_t gpu, size_t bin) {
    return peers.series[gpu].values[bin] - levels[gpu];
  };
  for (size_t bin = 0; bin < bins; ++bin) {
    for (size_t i = 0; i < sorted.size(); ++i) sorted[i] = move(i, bin);
    std::ranges::sort(sorted);
    for (size_t i = 0; i < moves.size(); ++i) moves[i][bin] = median_without(sorted, move(i, bin));
  }
  return moves;
}

/// How far a GPU goes along when the others move: who sits behind them in the air warms up further,
/// at the same time and in the same way, which is the rise of its row and no drift. 1 where it does
/// not move as they do, and never more or less than rows differ by.
double goes_along(std::span<const double> own, std::span<const double> rest, double least) {
  constexpr double kMostOfRows = 2;  // rear over front of what is above the inlet: to 1.7
  constexpr double kAlike = 0.9;     // share of its moves that theirs explain
  const auto [low, high] = std::ranges::minmax(rest);
  if (high - low < least) return 1;
  const double own_mean = base::mean(own), rest_mean = base::mean(rest);
  double together = 0, of_own = 0, of_rest = 0;
  for (size_t bin = 0; bin < own.size(); ++bin) {
    const double mine = own[bin] - own_mean, theirs = rest[bin] - rest_mean;
    together += mine * theirs;
    of_own += mine * mine;
    of_rest += theirs * theirs;
  }
  if (together < 0 || together * together <= kAlike * of_own * of_rest) return 1;
  return std::clamp(together / of_rest, 1 / kMostOfRows, kMostOfRows);
}

/// The median of the others' means from a bin on.
double level_of_others(const Peers& peers, size_t gpu, size_t bin) {
  std::vector<double> means;
  for (size_t i = 0; i < peers.series.size(); ++i)
    if (i != gpu) means.push_back(base::mean(std::span(peers.series[i].values).subspan(bin)));
  return middle_median(std::move(means));
}

/// When a GPU's own readings made the largest of the moves that its distance shows.
int64_t time_of_move(const run::Device& device, Metric metric, const Binned& series,
                     const std::vector<LevelChange>& changes) {
  const auto move = [](const LevelChange& c) { return std::abs(c.after - c.before); };
  const auto largest = std::ranges::max_element(
      changes, [&](const auto& a, const auto& b) { return move(a) < move(b); });
  const size_t bin = largest->at, begin = largest == changes.begin() ? 0 : (largest - 1)->at,
               end = largest + 1 == changes.end() ? series.values.size() : (largest + 1)->at;
  const std::span<const double> own = series.values;
  const double before = base::mean(own.subspan(begin, bin - begin)),
               after = base::mean(own.subspan(bin, end - bin));
  const auto& samples = device.find(metric)->samples;
  const int64_t around = series.time_of(bin), reach = 2 * series.bin_ns;
  const auto behind = [&](int64_t distance_ns) {
    return std::partition_point(samples.begin(), samples.end(), [&](const run::Sample& s) {
      return s.time_ns - around < distance_ns;
    });
  };
  const auto from = behind(-reach), to = behind(reach);
  const auto first = from + static_cast<std::ptrdiff_t>(first_behind({from, to}, before, after));
  return first == samples.end() ? samples.back().time_ns : first->time_ns;
}

/// Who moved and who stayed: a distance that grows is the drift of the GPU whose own level moved
/// further than the others' did.
void look_for_drift(const Peers& peers, const Watched& watched, const GpuNames& names,
                    Anomalies& found) {
  const std::vector<std::vector<double>> others = moves_of_others(peers);
  for (size_t i = 0; i < peers.series.size(); ++i) {
    const std::span<const double> own = peers.series[i].values, rest = others[i];
    const double least = worth(watched, middle_median(peers.series[i].values));
    // What warms a GPU further than its peers is the air of the row in front.
    const bool heat = name_of(watched).ends_with("temperature");
    const double along = heat ? goes_along(own, rest, least) : 1;
    std::vector<double> distance(own.begin(), own.end());
    for (size_t bin = 0; bin < own.size(); ++bin) distance[bin] -= along * rest[bin];
    ++found.series;
    const auto changes = level_changes(distance, {.least_move = least});
    if (changes.empty()) continue;
    const double moved = changes.back().after - changes.front().before;
    const size_t first = changes.front().at, last = changes.back().at;
    const double before = base::mean(own.first(first)), after = base::mean(own.subspan(last));
    const double rest_moved =
        along * (base::mean(rest.subspan(last)) - base::mean(rest.first(first)));
    if (std::abs(moved) < least || std::abs(after - before) < least ||
        std::abs(after - before) < std::abs(rest_moved))
      continue;
    found.deviations.push_back(
        {.kind = PeerDeviation::Kind::kDrift,
         .what = name_of(watched),
         .rank = peers.devices[i]->rank,
         .host = peers.devices[i]->host,
         .host_label = names.host_of(*peers.devices[i]),
         .gpu = names.of(*peers.devices[i]),
         .own = after,
         .peers = level_of_others(peers, i, last),
         .moved = moved,
         .time_ns = time_of_move(*peers.devices[i], watched.metric, peers.series[i], changes)});
  }
}

}  // namespace

Anomalies find_anomalies(const std::vector<run::RankTrace>& ranks, const run::DeviceLog& log) {
  Anomalies found;
  look_at_steps(ranks, found);
  const GpuNames names(log, !ranks.empty());
  std::map<std::string, std::vector<const run::Device*>> by_name;
  for (const run::Device& device : log.devices) {
    if (device.kind != run::DeviceKind::kGpu) continue;
    look_at_device(device, names, found);
    by_name[device.name].push_back(&device);
  }
  for (const auto& [name, devices] : by_name) {
    for (const Watched& watched : kWatched) {
      const auto peers = peers_of(devices, watched.metric);
      if (!peers) continue;
      look_for_outliers(*peers, watched, names, found);
      look_for_drift(*peers, watched, names, found);
    }
  }
  return found;
}

}  // namespace ergometer::analysis

#include "campaign/keeping.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/collection.h"
#include "base/exponential.h"
#include "base/text.h"

namespace ergometer::campaign {
namespace {

/// Intervals that are played, over the best: a third of an octave apart around it.
constexpr int kSteps = 9;
/// Rare failures need many plays; where even these have next to none, plays tell nothing.
constexpr double kFewestPlays = 4, kMostPlays = 25'000, kPlayedFailures = 5e4,
                 kTellingFailures = 200;
constexpr double kTooLong = 2;    ///< such mean wall times are not played
constexpr double kAlike = 1.001;  ///< mean wall times that are as good as the least
constexpr uint64_t kSeed = 1;

double storage_bytes_per_s(const Training& training, const Ask& ask) {
  const double given = ask.checkpointing.storage_bytes_per_s;
  return given > 0 ? given : kAssumedNodeStorage * static_cast<double>(training.job.nodes());
}

double read_or_write_s(const Training& training, const Ask& ask) {
  return training.checkpoint_bytes / storage_bytes_per_s(training, ask);
}

double factor_at(int step) { return base::power(2, static_cast<double>(step) / 3); }

/// As many equal intervals as the run's work has room for, one at least.
int64_t interval_count(double work_s, double interval_s) {
  return std::max<int64_t>(1, std::llround(work_s / interval_s));
}

/// What the closed form expects of an interval.
Times expected(const Kept& kept, double work_s, double interval_s, const Outages& outages) {
  const int64_t count = interval_count(work_s, interval_s);
  return expected_times(rhythm_of(kept, work_s, count), static_cast<double>(count), outages);
}

/// Whether the run comes to an end, and one that can be played, where failures are as frequent as
/// they may be.
Result<void> check_endures(const Kept& kept, double work_s, const Outages& outages, double spread) {
  constexpr double kMostTimes = 100, kMostFailures = 1e6;
  Outages worst = outages;
  worst.per_s *= spread;
  const Times times = expected(kept, work_s, kept.interval_s, worst);
  if (times.total() <= kMostTimes * work_s && times.failures <= kMostFailures) return {};
  return input_error(
      "the job is interrupted every {} ({} at worst) and takes {} to write a checkpoint: that "
      "leaves no time to train; allowed: a run of at most {:g} times its work and {:g} failures",
      base::format_seconds(1 / outages.per_s), base::format_seconds(1 / worst.per_s),
      base::format_seconds(kept.stop_s + kept.write_s), kMostTimes, kMostFailures);
}

/// Wall times of the same failures' draws with one interval.
std::vector<double> play_interval(const Kept& kept, double work_s, double interval_s,
                                  const Outages& outages, const Spares& spares, int64_t plays) {
  const int64_t count = interval_count(work_s, interval_s);
  const Rhythm rhythm = rhythm_of(kept, work_s, count);
  std::vector<double> wall_s;
  for (int64_t i = 0; i < plays; ++i) {
    const base::Random random(kSeed, static_cast<uint64_t>(i), "checkpoint interval");
    wall_s.push_back(play_campaign(rhythm, count, outages, spares, random).total());
  }
  return wall_s;
}

double sum_of(const std::vector<double>& numbers) { return base::sum(numbers); }

Estimate simulated_interval(const Kept& kept, double work_s, const Outages& outages,
                            const Spares& spares) {
  std::vector<double> intervals;
  std::vector<std::vector<double>> walls;
  const Times best_times = expected(kept, work_s, kept.best_s, outages);
  const auto plays = static_cast<int64_t>(
      std::clamp(kPlayedFailures / best_times.failures, kFewestPlays, kMostPlays));
  if (best_times.failures * static_cast<double>(plays) < kTellingFailures) return {};
  for (int step = -kSteps; step <= kSteps; ++step) {
    const double interval_s = kept.best_s * factor_at(step);
    if (interval_s + kept.stop_s < kept.write_s || interval_s > work_s) continue;
    if (expected(kept, work_s, interval_s, outages).total() > kTooLong * best_times.total())
      continue;
    intervals.push_back(interval_s);
    walls.push_back(play_interval(kept, work_s, interval_s, outages, spares, plays));
  }
  if (walls.empty()) return {};
  const auto best = std::ranges::min_element(
      walls, [](const auto& a, const auto& b) { return sum_of(a) < sum_of(b); });
  const auto at = static_cast<size_t>(best - walls.begin());
  const double most_s = sum_of(*best) * kAlike;
  size_t low = at, high = at;
  while (low > 0 && sum_of(walls[low - 1]) <= most_s) --low;
  while (high + 1 < walls.size() && sum_of(walls[high + 1]) <= most_s) ++high;
  return {intervals[at], intervals[low], intervals[high]};
}

double longest_step_s(const Training& training) {
  double seconds = 0;
  for (const PlayedPhase& phase : training.phases) seconds = std::max(seconds, phase.step_s);
  return seconds;
}

/// Bytes, and how long training stands for them.
Kept sized(const Training& training, const Checkpointing& asked, double write_s) {
  Kept kept;
  kept.bytes = training.checkpoint_bytes;
  kept.stop_s = write_s;
  if (!asked.hidden) return kept;
  const double each =
      asked.snapshot_bytes_per_s > 0 ? asked.snapshot_bytes_per_s : kAssumedSnapshot;
  kept.stop_s = kept.bytes / static_cast<double>(training.job.gpus) / each;
  kept.write_s = write_s;
  return kept;
}

Result<double> taken_interval(const Checkpointing& asked, const Kept& kept, double step_s) {
  if (!asked.is_given()) return kept.best_s;
  const double given_s = asked.every_s > 0 ? asked.every_s : asked.every_steps * step_s;
  if (given_s + kept.stop_s >= kept.write_s) return given_s;
  return input_error("--checkpoint-every: found {}; allowed: at least {}, which writing one takes",
                     base::format_seconds(given_s),
                     base::format_seconds(kept.write_s - kept.stop_s));
}

}  // namespace

Outages outages_of(const Training& training, const Ask& ask) {
  Outages outages;
  outages.per_s = ask.failures.per_gpu_hour * static_cast<double>(training.job.gpus) / kHourS;
  outages.kinds = ask.failures.kinds;
  for (FailureKind& kind : outages.kinds) kind.restart_s += read_or_write_s(training, ask);
  return outages;
}

Rhythm rhythm_of(const Kept& kept, double work_s, int64_t intervals) {
  return {work_s / static_cast<double>(intervals), kept.stop_s, kept.write_s};
}

Result<Kept> keep_checkpoints(const Training& training, const Ask& ask, double work_s) {
  const Outages outages = outages_of(training, ask);
  Kept kept = sized(training, ask.checkpointing, read_or_write_s(training, ask));
  const bool fails = outages.per_s > 0;
  // No checkpoint is written within a step.
  const double step_s = std::min(longest_step_s(training), work_s);
  kept.best_s = work_s;
  if (fails) {
    const double mtbf_s = 1 / outages.per_s;
    kept.best_s = std::clamp(best_interval_s(kept.stop_s, kept.write_s, mtbf_s), step_s, work_s);
    kept.young_s = young_interval_s(kept.stop_s, mtbf_s);
    kept.daly_s = daly_interval_s(kept.stop_s, mtbf_s);
  }
  ERGOMETER_ASSIGN(const double interval_s, taken_interval(ask.checkpointing, kept, step_s));
  kept.given = ask.checkpointing.is_given();
  kept.asked_s = interval_s;
  kept.count = static_cast<double>(interval_count(work_s, std::clamp(interval_s, step_s, work_s)));
  kept.interval_s = work_s / kept.count;
  if (!fails) return kept;
  ERGOMETER_TRY(check_endures(kept, work_s, outages, ask.failures.spread));
  kept.simulated_s = simulated_interval(kept, work_s, outages, ask.spares);
  return kept;
}

}  // namespace ergometer::campaign

// What the GPU draws, from seconds of steady load.
#include <cmath>

#include "base/collection.h"
#include "calibration/device_fit.h"

namespace ergometer::calibration {
namespace {

/// The sensors need this long behind a change of load, cap or clock; then seconds are averaged.
constexpr double kSettleS = 1.5, kSecond = 1;

/// One second: what was seen, averaged, as one sample.
struct Second {
  RecordedSample mean;
  bool held = false;
};

class Seconds {
 public:
  explicit Seconds(const DeviceRecord& record) : record_(record) {}

  std::vector<Second> take() {
    for (const RecordedSample& sample : record_.samples) add(sample);
    return std::move(seconds_);
  }

 private:
  void add(const RecordedSample& sample) {
    const bool changed = count_ < 0 || sample.phase != last_.phase ||
                         !(sample.load == last_.load) ||
                         record_.held(sample) != record_.held(last_);
    const bool load_changed =
        changed && (count_ < 0 || sample.phase != last_.phase || !(sample.load == last_.load));
    if (load_changed) steady_from_s_ = sample.seen.time_s + kSettleS;
    if (changed) count_ = 0;
    last_ = sample;
    if (sample.seen.time_s < steady_from_s_) return;
    gather(sample);
  }
  void gather(const RecordedSample& sample) {
    if (count_ == 0) {
      sum_ = sample;
      begin_s_ = sample.seen.time_s;
    } else {
      DeviceSample& sum = sum_.seen;
      sum.instant_w += sample.seen.instant_w;
      sum.die_c += sample.seen.die_c;
      sum.clock_hz += sample.seen.clock_hz;
      sum.flops_per_s += sample.seen.flops_per_s;
      sum.cache_bytes_per_s += sample.seen.cache_bytes_per_s;
      sum.memory_bytes_per_s += sample.seen.memory_bytes_per_s;
    }
    ++count_;
    if (sample.seen.time_s - begin_s_ < kSecond) return;
    const double n = count_;
    DeviceSample& mean = sum_.seen;
    for (double* value : {&mean.instant_w, &mean.die_c, &mean.clock_hz, &mean.flops_per_s,
                          &mean.cache_bytes_per_s, &mean.memory_bytes_per_s})
      *value /= n;
    if (mean.instant_w > 0) seconds_.push_back({sum_, record_.held(sample)});
    count_ = 0;
  }

  const DeviceRecord& record_;
  std::vector<Second> seconds_;
  RecordedSample last_, sum_;
  int count_ = -1;
  double steady_from_s_ = 0, begin_s_ = 0;
};

/// Relative: predicted / seen - 1.
double error_of(const DeviceModel& model, const Second& second) {
  return power_of(model, second.mean).total_w / second.mean.seen.instant_w - 1;
}

DeviceScore score(const DeviceModel& model, const std::vector<Second>& seconds) {
  DeviceScore result;
  for (const Second& second : seconds) result.add(second.held, std::abs(error_of(model, second)));
  result.finish();
  return result;
}

}  // namespace

Result<void> fit_power(const DeviceRecord& record, DeviceFit& result) {
  const std::vector<Second> seconds = Seconds(record).take();
  const DeviceModel prior = result.model;
  Problem problem;
  constexpr double kNoise = 0.01;
  problem.noise = kNoise;
  problem.bounds = bounds_of(power_knobs(), prior);
  size_t fitted = 0;
  for (const Second& second : seconds) {
    problem.weights.push_back(second.held ? 0 : 1);
    fitted += second.held ? 0 : 1;
  }
  if (fitted < power_knobs().size())
    return input_error("the record has too little steady load to fit power to");
  problem.residuals = [&](std::span<const double> x) {
    const DeviceModel model = moved(prior, power_knobs(), x);
    return base::mapped(seconds, [&](const Second& second) { return error_of(model, second); });
  };
  problem.linearise = [&](std::span<const double> x) {
    return linearise_by_differences(problem, x);
  };
  constexpr int kIterations = 40;
  const Fit found = fit(problem, std::vector<double>(power_knobs().size(), 0), kIterations);
  const std::vector<double> x = settle_numbers(problem, found, power_knobs(), prior, result.power);
  result.model = moved(prior, power_knobs(), x);
  result.power_error = score(result.model, seconds);
  return {};
}

}  // namespace ergometer::calibration

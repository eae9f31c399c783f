// How the GPU warms, from the whole record: the network is driven by the fitted power.
#include <cmath>

#include "calibration/device_fit.h"

namespace ergometer::calibration {
namespace {

/// Temperatures are compared every so many samples; sensors give whole degrees, rounded down.
constexpr size_t kEvery = 10;
constexpr double kHalfDegree = 0.5;

struct Drive {
  double dt_s = 0, die_w = 0, memory_w = 0;
};

std::vector<Drive> drive_of(const DeviceRecord& record, const DeviceModel& model) {
  std::vector<Drive> drive;
  drive.reserve(record.samples.size());
  double last_s = 0;
  // Whole milliseconds, so that the network's steps repeat and are worked out once.
  constexpr double kTick = 1e-3;
  for (const RecordedSample& sample : record.samples) {
    const SamplePower power = power_of(model, sample);
    const double dt_s = std::round((sample.seen.time_s - last_s) / kTick) * kTick;
    last_s += dt_s;
    drive.push_back({dt_s, power.total_w - power.memory_w, power.memory_w});
  }
  return drive;
}

struct Temperatures {
  std::vector<double> die_c, memory_c;  ///< of every `kEvery`-th sample
};

/// From the state that the first sample's power settles at: a record begins at rest.
Temperatures predict(const physics::CoolingParameters& cooling, const std::vector<Drive>& drive) {
  physics::Heat heat(cooling, node_of_one_gpu(), 1, {});
  if (!drive.empty())
    heat.settle(std::span(&drive.front().die_w, 1), std::span(&drive.front().memory_w, 1));
  Temperatures result;
  for (size_t i = 0; i < drive.size(); ++i) {
    if (drive[i].dt_s > 0)
      heat.advance(drive[i].dt_s, std::span(&drive[i].die_w, 1), std::span(&drive[i].memory_w, 1));
    if (i % kEvery != 0) continue;
    result.die_c.push_back(heat.die_c()[0]);
    result.memory_c.push_back(heat.memory_c()[0]);
  }
  return result;
}

/// What the sensors said of the compared samples, die and then memory.
struct Seen {
  std::vector<double> celsius;
  std::vector<double> weights;  ///< 0: held back, or not reported
  std::vector<bool> reported;
};

Seen seen_of(const DeviceRecord& record) {
  Seen seen;
  const auto add = [&](double DeviceSample::* field) {
    for (size_t i = 0; i < record.samples.size(); i += kEvery) {
      const RecordedSample& sample = record.samples[i];
      const double celsius = sample.seen.*field;
      seen.reported.push_back(celsius > 0);
      seen.celsius.push_back(celsius + kHalfDegree);
      seen.weights.push_back(celsius > 0 && !record.held(sample) ? 1 : 0);
    }
  };
  add(&DeviceSample::die_c);
  add(&DeviceSample::memory_c);
  return seen;
}

std::vector<double> residuals_of(const Temperatures& predicted, const Seen& seen) {
  std::vector<double> residuals(predicted.die_c);
  residuals.insert(residuals.end(), predicted.memory_c.begin(), predicted.memory_c.end());
  for (size_t i = 0; i < residuals.size(); ++i) residuals[i] -= seen.celsius[i];
  return residuals;
}

DeviceScore score(const std::vector<double>& residuals, const Seen& seen, size_t begin,
                  size_t end) {
  DeviceScore result;
  for (size_t i = begin; i < end; ++i) {
    if (seen.reported[i]) result.add(seen.weights[i] == 0, std::abs(residuals[i]));
  }
  result.finish();
  return result;
}

}  // namespace

void fit_heat(const DeviceRecord& record, DeviceFit& result) {
  const DeviceModel prior = result.model;
  const std::vector<Drive> drive = drive_of(record, prior);
  const Seen seen = seen_of(record);
  Problem problem;
  problem.noise = kHalfDegree;
  problem.bounds = bounds_of(heat_knobs(), prior);
  problem.weights = seen.weights;
  problem.residuals = [&](std::span<const double> x) {
    return residuals_of(predict(moved(prior, heat_knobs(), x).cooling, drive), seen);
  };
  problem.linearise = [&](std::span<const double> x) {
    return linearise_by_differences(problem, x);
  };
  constexpr int kIterations = 20;
  const Fit found = fit(problem, std::vector<double>(heat_knobs().size(), 0), kIterations);
  const std::vector<double> x = settle_numbers(problem, found, heat_knobs(), prior, result.heat);
  result.model = moved(prior, heat_knobs(), x);
  const std::vector<double> residuals = problem.residuals(x);
  const size_t half = residuals.size() / 2;
  result.die_error_c = score(residuals, seen, 0, half);
  result.memory_error_c = score(residuals, seen, half, residuals.size());
}

}  // namespace ergometer::calibration

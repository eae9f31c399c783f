#include "physics/sensor.h"

#include <cmath>

#include "base/check.h"

namespace ergometer::physics {
namespace {

PowerSensor sensor(double period_s, double window_s) {
  PowerSensor result;  // where none is known
  if (period_s <= 0) return result;
  result.period_s = period_s;
  result.window_s = window_s;
  return result;
}

/// The energy up to a time that only grows from call to call, J.
class Meter {
 public:
  explicit Meter(std::span<const PowerPiece> series) : series_(series) {}

  double up_to(double time_s) {
    while (piece_ + 1 < series_.size() && series_[piece_ + 1].start_s <= time_s) {
      before_j_ += series_[piece_].watts * (series_[piece_ + 1].start_s - series_[piece_].start_s);
      ++piece_;
    }
    return before_j_ + series_[piece_].watts * (time_s - series_[piece_].start_s);
  }

 private:
  std::span<const PowerPiece> series_;
  size_t piece_ = 0;
  double before_j_ = 0;  ///< from the series' start to the piece's
};

double rounded(double value, double quantum) {
  return quantum > 0 ? std::floor(value / quantum + 0.5) * quantum : value;
}

}  // namespace

PowerSensor instant_sensor(const GpuPower& gpu) {
  return sensor(gpu.reading_period_s, gpu.reading_instant_s);
}

PowerSensor average_sensor(const GpuPower& gpu) {
  return sensor(gpu.reading_period_s, gpu.reading_average_s);
}

// Reading k, at t = start + phase + k period, in W, rounded to the quantum:
//   gain (integral of P from t - window to t) / window + offset
// Each end of the integral has a meter of its own, so that a series is gone through twice in all.
std::vector<Reading> read_sensor(const PowerSensor& sensor, std::span<const PowerPiece> series,
                                 double end_s) {
  ERGOMETER_CHECK(sensor.period_s > 0 && sensor.window_s > 0, "a sensor that reads");
  std::vector<Reading> readings;
  if (series.empty()) return readings;
  Meter from(series), to(series);
  const double first_s = series.front().start_s + sensor.phase_s;
  for (int64_t k = 0;; ++k) {
    const double time_s = first_s + static_cast<double>(k) * sensor.period_s;
    if (time_s > end_s) return readings;
    const double mean_w =
        (to.up_to(time_s) - from.up_to(time_s - sensor.window_s)) / sensor.window_s;
    readings.push_back({time_s, rounded(sensor.gain * mean_w + sensor.offset_w, sensor.quantum_w)});
  }
}

double reported_c(double die_c) { return std::floor(die_c); }

}  // namespace ergometer::physics

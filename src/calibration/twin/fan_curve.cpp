#include "calibration/twin/fan_curve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "base/collection.h"

namespace ergometer::calibration::twin {
namespace {

constexpr double kOfFull = 0.01;   ///< readings are percent
constexpr double kLevel = 0.02;    ///< of full speed: levels are told apart from here on (assumed)
constexpr double kLeastRange = 5;  ///< K
constexpr size_t kLeastReadings = 20;

struct FanPoint {
  double hottest_c = 0, speed = 0;
};

/// The hottest of a host's GPUs over time, by their latest readings.
class Hottest {
 public:
  explicit Hottest(const run::DeviceLog& log, const std::string& host) {
    for (const run::Device& device : log.devices)
      if (device.kind == run::DeviceKind::kGpu && device.host == host)
        if (const run::Series* heat = device.find(run::Metric::kGpuTemperature))
          gpus_.push_back(&heat->samples);
  }
  /// Below zero where none was read.
  double at(int64_t time_ns) const {
    double hottest = -1;
    for (const std::vector<run::Sample>* samples : gpus_) {
      const auto behind = std::ranges::upper_bound(*samples, time_ns, {}, &run::Sample::time_ns);
      if (behind != samples->begin()) hottest = std::max(hottest, std::prev(behind)->value);
    }
    return hottest;
  }

 private:
  std::vector<const std::vector<run::Sample>*> gpus_;
};

std::vector<FanPoint> points_of(const run::DeviceLog& log, run::DeviceKind kind) {
  std::vector<FanPoint> points;
  for (const run::Device& device : log.devices) {
    const run::Series* fan = device.kind == kind ? device.find(run::Metric::kFan) : nullptr;
    if (fan == nullptr) continue;
    const Hottest hottest(log, device.host);
    for (const run::Sample& sample : fan->samples)
      if (const double c = hottest.at(sample.time_ns); c > 0)
        points.push_back({c, kOfFull * sample.value});
  }
  return points;
}

/// y = a + b (x - middle of x), with the errors of both.
struct FanLine {
  double middle = 0, a = 0, b = 0, a_error = 0, b_error = 0;
  double at(double speed) const { return middle + (speed - a) / b; }
  double error_at(double speed) const { return std::hypot(a_error, b_error * (speed - a) / b) / b; }
};

FanLine line_through(const std::vector<FanPoint>& points) {
  const auto n = static_cast<double>(points.size());
  FanLine line;
  line.middle = base::sum(points, &FanPoint::hottest_c) / n;
  line.a = base::sum(points, &FanPoint::speed) / n;
  double xx = 0, xy = 0, rest = 0;
  for (const FanPoint& p : points) {
    xx += std::pow(p.hottest_c - line.middle, 2);
    xy += (p.hottest_c - line.middle) * (p.speed - line.a);
  }
  line.b = xy / xx;
  for (const FanPoint& p : points)
    rest += std::pow(p.speed - line.a - line.b * (p.hottest_c - line.middle), 2);
  // Readings follow each other: of a controller's level all but one tell nothing new.
  const double sigma = std::max(kLevel / 2, std::sqrt(rest / std::max(1.0, n - 2)));
  std::map<int64_t, int64_t> degrees;
  for (const FanPoint& p : points) ++degrees[std::llround(p.hottest_c)];
  const double told = std::max<double>(2, static_cast<double>(degrees.size()));
  line.a_error = sigma / std::sqrt(told);
  line.b_error = sigma / std::sqrt(xx * told / n);
  return line;
}

}  // namespace

FanReadings fan_curve(const run::DeviceLog& log) {
  std::vector<FanPoint> points = points_of(log, run::DeviceKind::kNode);
  if (points.empty()) points = points_of(log, run::DeviceKind::kGpu);
  const bool turns = std::ranges::any_of(log.devices, [](const run::Device& device) {
    return device.find(run::Metric::kFanSpeed) != nullptr;
  });
  if (points.size() < kLeastReadings)
    return {{},
            turns ? "fans were read in turns a minute, whose full speed is not known"
                  : "no speed of fans was recorded"};
  const double lowest = std::ranges::min_element(points, {}, &FanPoint::speed)->speed;
  std::vector<FanPoint> rising;
  double low_c = std::numeric_limits<double>::max(), high_c = 0;
  size_t at_lowest = 0;
  for (const FanPoint& p : points) {
    at_lowest += p.speed < lowest + kLevel;
    if (p.speed < lowest + kLevel || p.speed > 1 - kLevel) continue;
    rising.push_back(p);
    low_c = std::min(low_c, p.hottest_c);
    high_c = std::max(high_c, p.hottest_c);
  }
  if (rising.size() < kLeastReadings || high_c - low_c < kLeastRange)
    return {{}, "temperatures moved too little for the fans to show how they follow"};
  const FanLine line = line_through(rising);
  constexpr double kSure = 3;  // errors of the slope
  if (!(line.b > kSure * line.b_error)) return {{}, "the fans do not follow the hottest GPU"};
  if (at_lowest < kLeastReadings)
    return {{}, "no reading shows the fans at rest, below which they do not fall"};
  return {FanCurve{lowest, kLevel / 2, line.at(lowest), line.error_at(lowest), line.at(1),
                   line.error_at(1)},
          ""};
}

}  // namespace ergometer::calibration::twin

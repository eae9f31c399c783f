#include "watch/against_prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "base/collection.h"
#include "run/event_reasons.h"
#include "run/sensor_error.h"
#include "watch/power_error.h"

namespace ergometer::watch {
namespace {

using run::DeviceKind;
using run::Metric;

constexpr size_t kFewestSteps = 3;   ///< that a median is of
constexpr size_t kMostSteps = 4096;  ///< that are kept
constexpr double kSlower = 0.95, kAtWork = 50, kHalf = 0.5;

constexpr std::array kLinkErrors = {Metric::kNvlinkErrors, Metric::kNetErrors,
                                    Metric::kPcieReplays};

/// Reasons that say that a GPU could go faster.
bool holds_back(std::string_view reason) {
  return reason.starts_with("hw_") || reason.starts_with("sw_");
}

/// The mean of what was read; negative: nothing was.
class Mean {
 public:
  void add(std::optional<double> value) {
    if (!value) return;
    sum_ += *value;
    ++count_;
  }
  double get() const { return count_ > 0 ? sum_ / static_cast<double>(count_) : -1; }

 private:
  double sum_ = 0;
  int64_t count_ = 0;
};

/// Of the GPUs at work the one with the lowest clock, where that is 5 % or more below the median.
std::string slow_gpu(const std::vector<DeviceNow>& devices) {
  std::vector<double> clocks;
  const DeviceNow* slowest = nullptr;
  for (const DeviceNow& device : devices) {
    const auto clock = device.of(Metric::kSmClock);
    if (device.kind != DeviceKind::kGpu || !clock ||
        device.of(Metric::kGpuUtilization).value_or(0) < kAtWork)
      continue;
    clocks.push_back(*clock);
    if (slowest == nullptr || *clock < *slowest->of(Metric::kSmClock)) slowest = &device;
  }
  if (slowest == nullptr || *slowest->of(Metric::kSmClock) >= kSlower * base::upper_median(clocks))
    return {};
  return slowest->label();
}

std::vector<double> held_back(const std::vector<DeviceNow>& devices) {
  std::vector<double> counts(run::kEventReasons.size());
  double gpus = 0;
  for (const DeviceNow& device : devices) {
    if (device.kind != DeviceKind::kGpu) continue;
    ++gpus;
    const auto bits = static_cast<int64_t>(device.of(Metric::kEventReasons).value_or(0));
    for (size_t i = 0; i < counts.size(); ++i)
      if ((bits & run::kEventReasons[i].bit) != 0) ++counts[i];
  }
  for (double& count : counts) count /= std::max(gpus, 1.0);
  return counts;
}

}  // namespace

AgainstPrediction::AgainstPrediction(run::Prediction prediction)
    : prediction_(std::move(prediction)) {
  for (const run::Predicted& predicted : prediction_.quantities)
    quantities_.push_back({predicted, {}, 0, {}, 0});
}

void AgainstPrediction::look_at_links(const JobNow& now, Point& point) {
  const bool first = link_counts_.size() != now.devices.size() * kLinkErrors.size();
  if (first) link_counts_.assign(now.devices.size() * kLinkErrors.size(), 0);
  for (size_t i = 0; i < link_counts_.size(); ++i) {
    const DeviceNow& device = now.devices[i / kLinkErrors.size()];
    const Metric metric = kLinkErrors[i % kLinkErrors.size()];
    const double count = device.of(metric).value_or(0);
    if (!first && count > link_counts_[i])
      point.link_device = fmt::format("{} ({})", device.label(), run::metric_info(metric).name);
    link_counts_[i] = count;
  }
}

AgainstPrediction::Point AgainstPrediction::point_of(const JobNow& now) {
  Point point{.time_ns = now.time_ns};
  Mean power, clock, use, cpu;
  PowerError power_error;
  for (const DeviceNow& device : now.devices) {
    if (device.kind == DeviceKind::kNode || device.kind == DeviceKind::kCpu)
      cpu.add(device.of(Metric::kCpuUtilization));
    if (device.kind != DeviceKind::kGpu) continue;
    power.add(device.power_w());
    power_error.add(device);
    clock.add(device.of(Metric::kSmClock));
    use.add(device.of(Metric::kGpuUtilization));
    if (const auto celsius = device.temperature_c())
      point.hottest_c = std::max(point.hottest_c, *celsius);
  }
  point.power_w = power.get();
  point.power_error = power_error.relative();
  point.window_s = power_error.window_s();
  point.clock_mhz = clock.get();
  point.use_percent = use.get();
  point.cpu_percent = cpu.get();
  point.held_back = held_back(now.devices);
  point.slow_gpu = slow_gpu(now.devices);
  look_at_links(now, point);
  return point;
}

void AgainstPrediction::add_steps(const JobNow& now) {
  for (const run::TrainingStep& step : now.steps) steps_.push_back({now.time_ns, step});
  steps_heard_ += static_cast<int64_t>(now.steps.size());
  while (steps_.size() > kMostSteps ||
         (steps_.size() > kFewestSteps && steps_.front().heard_ns <= now.time_ns - kWindowNs))
    steps_.pop_front();
}

bool AgainstPrediction::is_warm(int64_t now_ns) const {
  return steps_heard_ > 0 ? steps_heard_ >= kWarmUpSteps : now_ns - started_ns_ >= kWarmUpNs;
}

std::optional<double> AgainstPrediction::mean(double Point::* of) const {
  Mean mean;
  for (const Point& point : points_)
    if (point.*of >= 0) mean.add(point.*of);
  return mean.get() < 0 ? std::nullopt : std::optional(mean.get());
}

/// Of the window's mean: gains as of the last look that read power, and what happened between the
/// looks, by how far the GPUs' mean differs from one to the next (run/sensor_error.h).
double AgainstPrediction::power_error() const {
  const Point *first = nullptr, *last = nullptr;
  double squares = 0, looks = 0;
  for (const Point& point : points_) {
    if (point.power_w < 0) continue;
    if (last != nullptr) squares += std::pow(point.power_w - last->power_w, 2);
    if (first == nullptr) first = &point;
    last = &point;
    ++looks;
  }
  const double mean_w = mean(&Point::power_w).value_or(0);
  if (last == nullptr) return 0;
  if (looks < 2 || !(mean_w > 0)) return last->power_error;
  const double span_s =
      static_cast<double>(last->time_ns - first->time_ns) / static_cast<double>(kSecondNs);
  const double between = run::unseen({.window_s = last->window_s},
                                     {.count = looks,
                                      .interval_s = span_s / (looks - 1),
                                      .scatter = std::sqrt(squares / (2 * (looks - 1))) / mean_w});
  return std::hypot(last->power_error, run::EnergyError{.unseen = between}.relative());
}

std::optional<double> AgainstPrediction::median_step() const {
  std::vector<double> seconds;
  for (const Step& step : steps_) seconds.push_back(step.step.seconds);
  return seconds.size() < kFewestSteps ? std::nullopt
                                       : std::optional(base::upper_median(std::move(seconds)));
}

double AgainstPrediction::tokens_per_step() const {
  Mean tokens;
  for (const Step& step : steps_)
    if (step.step.tokens_per_s_per_gpu > 0)
      tokens.add(step.step.tokens_per_s_per_gpu * step.step.seconds);
  return std::max(0.0, tokens.get());
}

std::optional<double> AgainstPrediction::measured(const std::string& name) const {
  if (name == "step_time_s") return median_step();
  if (name == "mean_w_per_gpu") return mean(&Point::power_w);
  if (name == "mean_clock_mhz") return mean(&Point::clock_mhz);
  if (name == "max_gpu_c") {
    double hottest = -1;
    for (const Point& point : points_) hottest = std::max(hottest, point.hottest_c);
    return hottest < 0 ? std::nullopt : std::optional(hottest);
  }
  if (name != "tokens_per_s_per_gpu") return std::nullopt;
  Mean rate;
  for (const Step& step : steps_)
    if (step.step.tokens_per_s_per_gpu > 0) rate.add(step.step.tokens_per_s_per_gpu);
  return rate.get() < 0 ? std::nullopt : std::optional(rate.get());
}

void AgainstPrediction::judge(Quantity& quantity, int64_t now_ns) {
  const bool early = warm_ns_ == 0 || now_ns - warm_ns_ < kWindowNs;
  quantity.measured = measured(quantity.predicted.name);
  quantity.error = quantity.predicted.name == "mean_w_per_gpu" ? power_error() : 0;
  quantity.place.reset();
  if (quantity.measured && !early)
    quantity.place = run::place_of(quantity.predicted, *quantity.measured, quantity.error);
  if (quantity.place != run::Place::kAbove && quantity.place != run::Place::kBelow)
    quantity.outside_since_ns = 0;
  else if (quantity.outside_since_ns == 0)
    quantity.outside_since_ns = now_ns;
}

void AgainstPrediction::add_findings(JobNow& now) const {
  for (const Quantity& quantity : quantities_)
    if (quantity.stays_outside(now.time_ns))
      now.findings.push_back({"outside." + quantity.predicted.name,
                              "bad",
                              text_of(quantity),
                              {},
                              quantity.outside_since_ns});
}

Evidence AgainstPrediction::evidence(const Quantity& quantity) const {
  const run::Predicted& p = quantity.predicted;
  Evidence e{.quantity = p.name, .measured = *quantity.measured, .low = p.low, .high = p.high};
  e.use_percent = mean(&Point::use_percent).value_or(-1);
  e.use_before_percent = use_inside_;
  e.cpu_percent = mean(&Point::cpu_percent).value_or(-1);
  e.clock_mhz = mean(&Point::clock_mhz).value_or(0);
  if (const auto* clock = prediction_.find("mean_clock_mhz")) e.predicted_clock_mhz = clock->value;
  e.tokens_per_step = tokens_per_step();
  const auto *rate = prediction_.find("tokens_per_s_per_gpu"),
             *step = prediction_.find("step_time_s");
  if (rate != nullptr && step != nullptr) e.predicted_tokens_per_step = rate->value * step->value;
  double busiest = 0;
  for (const Point& point : points_) busiest = std::max(busiest, point.use_percent);
  std::map<std::string, int64_t> slow;
  const double share = 1 / static_cast<double>(points_.size());
  for (const Point& point : points_) {
    if (point.use_percent >= 0 && point.use_percent < kHalf * busiest) e.dips += share;
    for (size_t i = 0; i < point.held_back.size(); ++i)
      if (point.held_back[i] > 0 && holds_back(run::kEventReasons[i].name))
        e.held_back[std::string(run::kEventReasons[i].name)] += share * point.held_back[i];
    if (!point.link_device.empty()) e.link_errors = point.link_device;
    if (!point.slow_gpu.empty() && static_cast<double>(++slow[point.slow_gpu]) * share >= kHalf)
      e.slow_gpu = point.slow_gpu;
  }
  return e;
}

std::string AgainstPrediction::text_of(const Quantity& quantity) const {
  const run::Predicted& p = quantity.predicted;
  if (deviation_ && deviation_->quantity == p.name) return deviation_->text;
  const auto text = [&](double value) { return run::predicted_text(value, p.unit); };
  return fmt::format("{} is {}, predicted {} to {}", run::predicted_label(p.name),
                     text(*quantity.measured), text(p.low), text(p.high));
}

void AgainstPrediction::name(const Quantity& quantity) {
  const Cause cause = likely_cause(evidence(quantity));
  deviation_ = {quantity.predicted.name, text_of(quantity) + ": " + cause.text, cause,
                quantity.outside_since_ns};
}

void AgainstPrediction::look(const JobNow& now) {
  if (started_ns_ == 0) started_ns_ = now.time_ns;
  add_steps(now);
  points_.push_back(point_of(now));
  while (points_.front().time_ns <= now.time_ns - kWindowNs) points_.pop_front();
  if (warm_ns_ == 0 && is_warm(now.time_ns)) warm_ns_ = now.time_ns;
  const Quantity* first = nullptr;
  bool outside = false;
  for (Quantity& quantity : quantities_) {
    judge(quantity, now.time_ns);
    outside = outside || quantity.outside_since_ns > 0;
    if (quantity.stays_outside(now.time_ns) &&
        (first == nullptr || quantity.outside_since_ns < first->outside_since_ns))
      first = &quantity;
  }
  if (!outside) use_inside_ = mean(&Point::use_percent).value_or(-1);
  if (first != nullptr && !deviation_) name(*first);
}

}  // namespace ergometer::watch

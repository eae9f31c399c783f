#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "run/file/prediction.h"
#include "watch/causes.h"
#include "watch/job_now.h"

namespace ergometer::watch {

/// A running job beside its prediction: means, medians and highest values of the last minute, once
/// a minute behind the warm-up is whole. The warm-up is the first five steps; where no log tells of
/// steps, the first five minutes.
class AgainstPrediction {
 public:
  static constexpr int64_t kSecondNs = 1'000'000'000;
  static constexpr int64_t kWindowNs = 60 * kSecondNs, kWarmUpNs = 300 * kSecondNs;
  static constexpr int64_t kWarmUpSteps = 5;

  struct Quantity {
    run::Predicted predicted;
    std::optional<double> measured;
    double error = 0;                 ///< of its sensors: half a 90 % interval, relative
    std::optional<run::Place> place;  ///< none yet: it is too early, or nothing is measured
    int64_t outside_since_ns = 0;     ///< 0: it is not outside
    /// For a whole window.
    bool stays_outside(int64_t now_ns) const {
      return outside_since_ns > 0 && now_ns - outside_since_ns >= kWindowNs;
    }
  };
  struct Deviation {
    std::string quantity;
    std::string text;  ///< "step time is 2.1 s, predicted 1.9 s to 2 s: throttling: ..."
    Cause cause;
    int64_t since_ns = 0;
  };

  explicit AgainstPrediction(run::Prediction prediction);

  void look(const JobNow& now);
  /// What stays outside: findings "outside.step_time_s" and so on.
  void add_findings(JobNow& now) const;
  const run::Prediction& prediction() const { return prediction_; }
  const std::vector<Quantity>& quantities() const { return quantities_; }
  /// What left its interval first and stayed outside for a window, with the likely cause; named
  /// once.
  const std::optional<Deviation>& deviation() const { return deviation_; }
  /// "step time is 2.1 s, predicted 1.9 s to 2 s"; of the one that is named with its cause.
  std::string text_of(const Quantity& quantity) const;

 private:
  /// All GPUs at one look. Negative: not read.
  struct Point {
    int64_t time_ns = 0;
    double power_w = -1, clock_mhz = -1, hottest_c = -1, use_percent = -1, cpu_percent = -1;
    std::vector<double> held_back = {};  ///< share of the GPUs, by reason
    std::string slow_gpu = {};
    std::string link_device = {};  ///< whose counter of errors grew
    double power_error = 0;        ///< of `power_w`, relative: of the boards' gains
    double window_s = 0;           ///< of the sensor of power that sees least
  };

  Point point_of(const JobNow& now);
  void look_at_links(const JobNow& now, Point& point);
  void add_steps(const JobNow& now);
  bool is_warm(int64_t now_ns) const;
  std::optional<double> measured(const std::string& name) const;
  std::optional<double> mean(double Point::* of) const;
  double power_error() const;
  std::optional<double> median_step() const;
  double tokens_per_step() const;
  void judge(Quantity& quantity, int64_t now_ns);
  Evidence evidence(const Quantity& quantity) const;
  void name(const Quantity& quantity);

  run::Prediction prediction_;
  std::vector<Quantity> quantities_;
  std::optional<Deviation> deviation_;
  std::deque<Point> points_;
  struct Step {
    int64_t heard_ns = 0;
    run::TrainingStep step;
  };
  std::deque<Step> steps_;
  std::vector<double> link_counts_;  ///< by device and kind of error
  int64_t steps_heard_ = 0, started_ns_ = 0, warm_ns_ = 0;
  double use_inside_ = -1;  ///< of GPUs when nothing was outside
};

}  // namespace ergometer::watch

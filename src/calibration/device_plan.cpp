#include "calibration/device_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/collection.h"
#include "calibration/device_record.h"

namespace ergometer::calibration {
namespace {

constexpr DeviceLoad kMatrix{DeviceWork::kMatrix, false};

/// The plan on its way; phases are held back in turn where asked for.
class Plan {
 public:
  /// The fit sees the first half.
  void halved(std::string name, double seconds, const DeviceLoad& load, double lock_hz = 0) {
    phases_.push_back({std::move(name), seconds, load, 0, 0, lock_hz, seconds / 2});
  }
  /// The fit sees every second one of the sweep, its ends among them.
  void swept(PlanPhase phase, size_t index) {
    phase.fitted_s = index % 2 == 0 ? phase.duration_s : 0;
    phases_.push_back(std::move(phase));
  }
  std::vector<PlanPhase> take() { return std::move(phases_); }

 private:
  std::vector<PlanPhase> phases_;
};

void add_waves(Plan& plan) {
  struct Wave {
    double period_s, duration_s;
  };
  constexpr Wave kWaves[] = {{0.1, 4}, {0.2, 4}, {0.5, 6}, {1, 8},
                             {2, 10},  {5, 15},  {10, 20}, {30, 60}};
  size_t index = 0;
  for (const Wave& wave : kWaves)
    plan.swept({fmt::format("wave {:g} s", wave.period_s), wave.duration_s, kMatrix, wave.period_s,
                0, 0, 0},
               index++);
}

/// Seven caps, whole watts.
void add_caps(Plan& plan, const DeviceLimits& limits) {
  constexpr size_t kSteps = 7;
  constexpr double kSeconds = 10;
  for (size_t i = 0; i < kSteps; ++i) {
    const double share = static_cast<double>(i) / (kSteps - 1);
    const double cap =
        std::round(limits.lowest_cap_w + share * (limits.highest_cap_w - limits.lowest_cap_w));
    plan.swept({fmt::format("cap {:.0f} W", cap), kSeconds, kMatrix, 0, cap, 0, 0}, i);
  }
}

/// Seven clocks from 30 % of the highest, whole MHz; the driver rounds to its lattice.
void add_clocks(Plan& plan, const DeviceLimits& limits) {
  constexpr size_t kSteps = 7;
  constexpr double kSeconds = 10, kLowest = 0.3;
  for (size_t i = 0; i < kSteps; ++i) {
    const double share = kLowest + (1 - kLowest) * static_cast<double>(i) / (kSteps - 1);
    const double clock = std::max(limits.lowest_clock_hz,
                                  std::round(share * limits.highest_clock_hz / kMega) * kMega);
    plan.swept({fmt::format("clock {:.0f} MHz", clock / kMega), kSeconds, kMatrix, 0, 0, clock, 0},
               i);
  }
}

}  // namespace

std::vector<PlanPhase> measuring_plan(const DeviceLimits& limits) {
  constexpr double kRest = 30, kStep = 60, kCopy = 12, kData = 16, kMiddle = 0.6;
  const double middle_hz = std::round(kMiddle * limits.highest_clock_hz / kMega) * kMega;
  Plan plan;
  plan.halved("rest", kRest, {});
  plan.halved("matrix products", kStep, kMatrix);
  plan.halved("rest after load", kRest + 10, {});
  add_waves(plan);
  add_caps(plan, limits);
  add_clocks(plan, limits);
  plan.halved("copies", kCopy, {DeviceWork::kCopy, false});
  plan.halved("copies at a middle clock", kCopy, {DeviceWork::kCopy, false}, middle_hz);
  plan.halved("random operands", kData, kMatrix, middle_hz);
  plan.halved("zero operands", kData, {DeviceWork::kMatrix, true}, middle_hz);
  plan.halved("rest at the end", kRest, {});
  return plan.take();
}

double duration_s(const std::vector<PlanPhase>& plan) {
  return base::sum(plan, &PlanPhase::duration_s);
}

std::string to_text(const std::vector<PlanPhase>& plan) {
  std::string out = fmt::format("{:>7}  {:>6}  {:<23}  {}\n", "at", "for", "phase", "fit sees");
  double at = 0;
  for (const PlanPhase& phase : plan) {
    const std::string seen = phase.fitted_s >= phase.duration_s ? "all"
                             : phase.fitted_s <= 0              ? "nothing"
                                                   : fmt::format("first {:g} s", phase.fitted_s);
    out +=
        fmt::format("{:>5.0f} s  {:>4.0f} s  {:<23}  {}\n", at, phase.duration_s, phase.name, seen);
    at += phase.duration_s;
  }
  return out + fmt::format("{:>5.0f} s in all\n", at);
}

}  // namespace ergometer::calibration

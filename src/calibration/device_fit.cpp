#include "calibration/device_fit.h"

#include <cmath>

#include "calibration/calibrate.h"

namespace ergometer::calibration {

Linearised linearise_by_differences(const Problem& problem, std::span<const double> x) {
  constexpr double kStep = 1e-3;
  Linearised result;
  result.x.assign(x.begin(), x.end());
  result.residuals = problem.residuals(x);
  result.slopes.resize(result.residuals.size());
  for (size_t j = 0; j < x.size(); ++j) {
    if (problem.bounds[j].lower == problem.bounds[j].upper) continue;
    std::vector<double> beside(x.begin(), x.end());
    const double step = x[j] + kStep <= problem.bounds[j].upper ? kStep : -kStep;
    beside[j] += step;
    const std::vector<double> residuals = problem.residuals(beside);
    for (size_t i = 0; i < residuals.size(); ++i)
      if (problem.weights[i] > 0)
        result.slopes[i].push_back({j, (residuals[i] - result.residuals[i]) / step});
  }
  return result;
}

std::vector<double> settle_numbers(const Problem& problem, const Fit& fit,
                                   std::span<const DeviceKnob> knobs, DeviceModel prior,
                                   std::vector<DeviceNumber>& numbers) {
  const std::vector<double> errors =
      standard_errors(problem, linearise_by_differences(problem, fit.x));
  std::vector<double> x = fit.x;
  for (size_t j = 0; j < knobs.size(); ++j) {
    DeviceNumber number;
    number.knob = knobs[j];
    number.prior = knobs[j].of(prior);
    number.standard_error = errors[j];
    number.kept = problem.bounds[j].lower == problem.bounds[j].upper ||
                  errors[j] > kUndetermined * problem.bounds[j].sigma;
    if (number.kept) x[j] = 0;
    constexpr double kNear = 1e-3;
    number.at_bound = !number.kept && (x[j] < problem.bounds[j].lower + kNear ||
                                       x[j] > problem.bounds[j].upper - kNear);
    number.value = number.prior * std::exp(x[j]);
    numbers.push_back(number);
  }
  return x;
}

Result<DeviceFit> fit_device(const DeviceRecord& record, const DeviceModel& prior) {
  DeviceFit result;
  result.model = prior;
  ERGOMETER_TRY(fit_power(record, result));
  fit_heat(record, result);
  return result;
}

}  // namespace ergometer::calibration

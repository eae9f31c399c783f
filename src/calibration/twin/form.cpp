#include "calibration/twin/form.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "analysis/work/kernel_class.h"
#include "spec/cluster/parameter_table.h"

namespace ergometer::calibration::twin {
namespace {

constexpr int kShares = 19;  ///< 5 % to 95 %

/// The durations at which these shares of their sum are reached.
std::vector<double> quantiles(const std::vector<double>& sorted) {
  const double all = std::accumulate(sorted.begin(), sorted.end(), 0.0);
  std::vector<double> found;
  double sum = 0;
  for (const double duration : sorted) {
    sum += duration;
    while (found.size() < kShares &&
           sum >= all * static_cast<double>(found.size() + 1) / (kShares + 1))
      found.push_back(duration);
  }
  return found;
}

// Assumed: libraries' kernels lose to shapes by a quarter more or less than the catalog's do;
// weight gradients are products as others.
constexpr std::array kFormNumbers =
    std::to_array<FormNumber>({{"gemm", "gemm.k_ramp", 0.25},
                               {"gemm", "gemm.wgrad", 0.03},
                               {"gemm", "gemm.quantization", 0.25},
                               {"gemm", "gemm.tile_step", 0.25},
                               {"attention", "attention.length_ramp", 0.25},
                               {"attention", "attention.fixed", 0.25},
                               {"memory", "memory.ramp", 0.25}});

}  // namespace

std::span<const FormNumber> form_numbers() { return kFormNumbers; }

void move_form(spec::Cluster& cluster, const FormNumber& number, double by) {
  base::ParameterSet& gpu = cluster.node.gpu.parameters;
  const base::Parameter* found = gpu.find(number.parameter);
  const auto info =
      std::ranges::find(spec::parameter_table(), number.parameter, &spec::ParameterInfo::name);
  if (found == nullptr || info == spec::parameter_table().end()) return;
  base::Parameter moved = *found;
  moved.value = std::clamp(moved.value * std::exp(by), info->min, info->max);
  gpu.set(std::string(number.parameter), std::move(moved));
}

double form_share(double scatter, double expected) {
  constexpr double kOwn = 0.01, kMost = 3;
  return std::min(kMost, (scatter + kOwn) / (expected + kOwn));
}

Durations durations_of(const std::vector<run::RankTrace>& ranks) {
  constexpr double kSecondsOfNs = 1e-9;
  Durations durations;
  for (const run::RankTrace& rank : ranks) {
    analysis::KernelClasses classes(rank);
    for (const run::GpuEvent& event : rank.events) {
      if (event.kind == run::GpuClass::kCommunication || event.duration_ns <= 0) continue;
      const std::string_view kind = classes.of(event);
      const bool own = kind == "gemm" || kind == "attention";
      durations[own ? std::string(kind) : "memory"].push_back(
          kSecondsOfNs * static_cast<double>(event.duration_ns));
    }
  }
  for (auto& [name, of_class] : durations) std::sort(of_class.begin(), of_class.end());
  return durations;
}

double scatter_of(const std::vector<double>& recorded, const std::vector<double>& predicted) {
  const std::vector<double> a = quantiles(recorded), b = quantiles(predicted);
  if (a.size() != kShares || b.size() != kShares) return 0;
  double sum = 0, squares = 0;
  for (size_t i = 0; i < kShares; ++i) {
    const double ratio = std::log(a[i] / b[i]);
    sum += ratio;
    squares += ratio * ratio;
  }
  const double mean = sum / kShares;
  return std::sqrt(std::max(0.0, squares / kShares - mean * mean));
}

double form_deviation(const Durations& recorded, const Durations& predicted,
                      const std::map<std::string, double, std::less<>>& shares) {
  double variance = 0;
  for (const auto& [name, share] : shares) {
    const auto a = recorded.find(name), b = predicted.find(name);
    if (a == recorded.end() || b == predicted.end()) continue;
    const double off = share * scatter_of(a->second, b->second);
    variance += off * off;
  }
  return std::sqrt(variance);
}

}  // namespace ergometer::calibration::twin

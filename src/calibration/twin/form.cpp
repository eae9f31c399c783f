#include "calibration/twin/form.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/work/kernel_class.h"

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

}  // namespace

Durations durations_of(const std::vector<run::RankTrace>& ranks) {
  constexpr double kSecondsOfNs = 1e-9;
  Durations durations;
  for (const run::RankTrace& rank : ranks)
    for (const run::GpuEvent& event : rank.events) {
      if (event.kind == run::GpuClass::kCommunication || event.duration_ns <= 0) continue;
      const std::string_view kind = analysis::kernel_class(rank.names[event.name], event.kind);
      const bool own = kind == "gemm" || kind == "attention";
      durations[own ? std::string(kind) : "memory"].push_back(
          kSecondsOfNs * static_cast<double>(event.duration_ns));
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

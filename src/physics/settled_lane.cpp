#include "physics/settled_lane.h"

#include "base/exponential.h"

namespace ergometer::physics {

SettledLane::SettledLane(const CoolingParameters& cooling, const Lane& lane)
    : cooling_(cooling),
      lane_(lane),
      out_(static_cast<int>(lane.gpus.size()), static_cast<int>(lane.gpus.size())),
      system_(out_),
      sinks_(lane.gpus.size()),
      places_(lane.gpus.size() * HeatNetwork::kPlaces) {}

void SettledLane::set_up(double flow) {
  const double resistance =
      cooling_.sink_k_per_w + cooling_.film_k_per_w * base::power(1 / flow, cooling_.flow_exponent);
  const double preheat = cooling_.preheat_k_per_w / flow;
  for (int i = 0; i < out_.rows; ++i) {
    const auto k = static_cast<size_t>(i);
    for (int s = 0; s < out_.columns; ++s) {
      double coolant = 0;
      for (int j = 0; j < i; ++j)
        if (lane_.upstream[k][static_cast<size_t>(j)]) coolant += preheat * out_.at(j, s);
      out_.at(i, s) = ((s == i ? 1 : 0) - coolant) / resistance;
      system_.at(i, s) = out_.at(i, s);
    }
    if (const int twin = lane_.twin[k]; twin >= 0) {
      system_.at(i, i) += cooling_.twin_w_per_k;
      system_.at(i, twin) -= cooling_.twin_w_per_k;
    }
  }
}

/// Gauss' elimination. Without pivoting: a sink's own heat flows make the diagonal dominate, and
/// what it does to GPUs behind it stands below.
void SettledLane::eliminate() {
  const int n = system_.rows;
  for (int k = 0; k < n; ++k)
    for (int i = k + 1; i < n; ++i) {
      double& factor = system_.at(i, k);
      factor /= system_.at(k, k);
      if (factor == 0) continue;
      for (int j = k + 1; j < n; ++j) system_.at(i, j) -= factor * system_.at(k, j);
    }
}

void SettledLane::solve_sinks() {
  const int n = system_.rows;
  for (int k = 0; k < n; ++k)
    for (int i = k + 1; i < n; ++i)
      if (const double factor = system_.at(i, k); factor != 0)
        sinks_[static_cast<size_t>(i)] -= factor * sinks_[static_cast<size_t>(k)];
  for (int i = n - 1; i >= 0; --i) {
    double& sink = sinks_[static_cast<size_t>(i)];
    for (int j = i + 1; j < n; ++j) sink -= system_.at(i, j) * sinks_[static_cast<size_t>(j)];
    sink /= system_.at(i, i);
  }
}

void SettledLane::solve(double flow, std::span<const double> die_resistance,
                        std::span<const double> die_w, std::span<const double> memory_w) {
  if (flow != flow_) {
    set_up(flow);
    eliminate();
    flow_ = flow;
  }
  for (size_t i = 0; i < sinks_.size(); ++i) sinks_[i] = die_w[i] + memory_w[i];
  solve_sinks();
  for (size_t i = 0; i < sinks_.size(); ++i) {
    double* place = &places_[i * HeatNetwork::kPlaces];
    place[HeatNetwork::kSink] = sinks_[i];
    place[HeatNetwork::kSpreader] =
        sinks_[i] + cooling_.spreader_k_per_w * (die_w[i] + memory_w[i]);
    place[HeatNetwork::kDie] =
        place[HeatNetwork::kSpreader] + cooling_.die_k_per_w * die_resistance[i] * die_w[i];
    place[HeatNetwork::kMemory] =
        place[HeatNetwork::kSpreader] + cooling_.memory_k_per_w * memory_w[i];
  }
}

}  // namespace ergometer::physics

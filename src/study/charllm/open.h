#pragma once

#include <string>
#include <vector>

#include "study/charllm/evidence.h"
#include "study/charllm/points.h"

/// Numbers behind the open questions, for findings and figures alike.
namespace ergometer::study::charllm {

/// Share of the best throughput from which a link counts as fast enough.
inline constexpr double kKneeShare = 0.95;

/// A job over the rates of `kNicGbps`.
struct Saturation {
  std::vector<double> share_of_best, nic_use, nvlink_use;
  int knee_gbps = 0;
};
Saturation saturation(Basis& basis, const NicJob& job);

/// What unequal boards and the network add to a layout's step, as shares of it.
struct Waits {
  double step_s = 0, stragglers = 0, network = 0;
};
Waits waits(Basis& basis, const std::string& layout);

/// What uneven stages gain in tokens per second, in %, at each of `kSpeeds` of the hot GPUs.
/// `name`: "gpt3", "llama3".
std::vector<double> split_gains(Basis& basis, const std::string& name);
/// How much slower hot GPUs are, in %, where the gains reach a level; NaN when they do not.
double slowness_for(const std::vector<double>& gains, double level);

}  // namespace ergometer::study::charllm

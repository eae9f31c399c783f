#include "study/charllm/attribution.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>

namespace ergometer::study::charllm {
namespace {

constexpr unsigned kFactors = 4, kSubsets = 1u << kFactors;

/// Weight of a subset of size s among the orders of n: s! (n - s - 1)! / n!.
double weight(int size) {
  constexpr std::array<double, kFactors> kWeights = {1.0 / 4, 1.0 / 12, 1.0 / 12, 1.0 / 4};
  return kWeights[static_cast<size_t>(size)];
}

}  // namespace

Attribution attribute(Basis& basis, const Pair& pair, const std::string& value) {
  const std::string family = std::string("h200-") + pair.name;
  const auto log_of = [&](const std::string& id) { return std::log(basis(family, id).at(value)); };
  std::array<double, kSubsets> logs{};
  for (unsigned bits = 0; bits < kSubsets; ++bits) logs[bits] = log_of(fmt::format("{:04b}", bits));
  Attribution result;
  result.log_whole = log_of("h200-real") - log_of("h100-real");
  for (unsigned factor = 0; factor < kFactors; ++factor) {
    const unsigned bit = 1u << factor;
    double part = 0;
    for (unsigned bits = 0; bits < kSubsets; ++bits)
      if ((bits & bit) == 0) part += weight(std::popcount(bits)) * (logs[bits | bit] - logs[bits]);
    result.parts.push_back({kPairFactors[factor], part});
  }
  result.parts.push_back({"inter-node network", result.log_whole - (logs[kSubsets - 1] - logs[0])});
  result.log_whole_half_nvlink = log_of("h200-half-nvlink") - log_of("h100-half-nvlink");
  return result;
}

}  // namespace ergometer::study::charllm

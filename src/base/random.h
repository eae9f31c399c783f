#pragma once

#include <cstdint>
#include <string_view>

namespace ergometer::base {

/// Random numbers that depend on nothing but their key: the n-th draw of (seed, entity, purpose) is
/// the same on every machine, compiler, thread and in every order of asking. One generator a use:
///
///     const Random jitter(job_seed, rank, "kernel jitter");
///     double factor = 1 + 0.02 * jitter.normal(step);
///
/// Counter-based: SplitMix64's output function (Steele, Lea, Flood 2014) over a key and the
/// counter. Not for cryptography.
class Random {
 public:
  constexpr Random(uint64_t seed, uint64_t entity, std::string_view purpose)
      : key_(mix(mix(mix(seed) + entity) + hash(purpose))) {}

  constexpr uint64_t bits(uint64_t n) const { return mix(key_ + (n + 1) * kGamma); }
  /// In [0, 1), a multiple of 2^-53.
  constexpr double uniform(uint64_t n) const {
    return static_cast<double>(bits(n) >> 11) * 0x1p-53;
  }
  /// In [low, high).
  constexpr double uniform(uint64_t n, double low, double high) const {
    return low + (high - low) * uniform(n);
  }
  /// In 0 .. count-1; `count` is at least 1 and far below 2^53.
  constexpr int64_t below(uint64_t n, int64_t count) const {
    return static_cast<int64_t>(uniform(n) * static_cast<double>(count));
  }
  /// Mean 0, standard deviation 1; one draw a counter, within +-8.3.
  double normal(uint64_t n) const;

 private:
  static constexpr uint64_t kGamma = 0x9E3779B97F4A7C15;  // 2^64 divided by the golden ratio

  static constexpr uint64_t mix(uint64_t z) {
    z += kGamma;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  /// FNV-1a, 64 bits.
  static constexpr uint64_t hash(std::string_view text) {
    uint64_t hash = 0xCBF29CE484222325;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
    return hash;
  }

  uint64_t key_;
};

/// Where the standard normal distribution function reaches `probability`, 0 < probability < 1;
/// relative error about 1e-15. Made of + - * / and sqrt alone, hence the same bits everywhere.
double normal_quantile(double probability);

}  // namespace ergometer::base

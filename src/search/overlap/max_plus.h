#pragma once

#include <algorithm>
#include <limits>

namespace ergometer::search {

/// What a stretch of a program does to a rank's two clocks: `t`, when the compute stream is free,
/// and `h`, when the host may launch the next kernel.
///
///   t' = max(t + tt, h + th),   h' = max(t + ht, h + hh)
///
/// Any run of kernels, collectives in line and streams that it waits for itself is of this form,
/// exactly; one such run behind another is the product of the two in max-plus algebra.
struct MaxPlus {
  static constexpr double kNever = -std::numeric_limits<double>::infinity();
  double tt = 0, th = kNever, ht = kNever, hh = 0;

  void apply(double& t, double& h) const {
    const double free_s = std::max(t + tt, h + th);
    h = std::max(t + ht, h + hh);
    t = free_s;
  }
};

/// `first`, then `second`.
inline MaxPlus then(const MaxPlus& first, const MaxPlus& second) {
  return {.tt = std::max(first.tt + second.tt, first.ht + second.th),
          .th = std::max(first.th + second.tt, first.hh + second.th),
          .ht = std::max(first.tt + second.ht, first.ht + second.hh),
          .hh = std::max(first.th + second.ht, first.hh + second.hh)};
}

/// `times` of them in a row, by squaring.
inline MaxPlus repeat(MaxPlus one, long times) {
  MaxPlus all;
  for (; times > 0; times /= 2) {
    if (times % 2 == 1) all = then(all, one);
    one = then(one, one);
  }
  return all;
}

/// The same work with `gpu_s` seconds more for the GPU and `host_s` more for the host, spread over
/// all of it: a GPU that waits for its host has that time to lose.
inline MaxPlus lengthened(MaxPlus work, double gpu_s, double host_s = 0) {
  work.th += std::max(work.tt + gpu_s, work.hh + host_s) - std::max(work.tt, work.hh);
  work.tt += gpu_s;
  work.hh += host_s;
  return work;
}

}  // namespace ergometer::search

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "search/overlap/max_plus.h"

namespace ergometer::search {

/// As `DataLane`, with two streams beside the compute stream: data parallelism's collectives and
/// exchanges between experts. Whatever is at work at a moment proceeds together, each at the pace
/// that the others leave it:
///
///   compute: 1 / (1 + sum of (slow - 1) of the lanes at work),
///   a lane:  1 / (slows beside compute x shared beside the other lane),
///
/// less so where compute waits for its host for a part of its time.
class TwoLanes {
 public:
  enum Lane : size_t { kData, kExperts };
  /// What compute and a lane do to each other.
  struct Beside {
    double slow = 1, slows = 1;
  };

  /// `shared`: how much longer a lane's collectives take beside the other lane's. `host_s`: when
  /// the host begins; never, so that nothing but a pass's own synchronisations waits for it.
  explicit TwoLanes(std::array<double, 2> shared, double host_s = 0)
      : shared_(shared), host_s_(host_s) {}

  double issue(Lane lane, double alone_s) { return issued_s_[lane] += alone_s; }
  double issue(double alone_s) { return issue(kData, alone_s); }
  void compute(double alone_s, std::array<Beside, 2> beside) {
    const std::array<Beside, 2> all = beside;
    alone_s /= busy_;
    while (alone_s > 0) {
      double pace = 1;
      for (size_t lane = 0; lane < 2; ++lane)
        if (busy(lane)) pace += all[lane].slow - 1;
      pace *= busy_;
      for (size_t lane = 0; lane < 2; ++lane)
        beside[lane].slows = 1 + std::min(1.0, pace) * (all[lane].slows - 1);
      pace = std::max(1.0, pace);
      double interval_s = alone_s * pace;
      for (size_t lane = 0; lane < 2; ++lane)
        if (busy(lane)) interval_s = std::min(interval_s, left_s(lane) * slower(lane, beside));
      alone_s = interval_s < alone_s * pace ? alone_s - interval_s / pace : 0;
      advance(interval_s, beside);
    }
  }
  /// A pass, of which `kernels` computes `pass.tt` in all and issues what is beside it.
  template <class Kernels>
  void run(const MaxPlus& pass, Kernels kernels) {
    const double begin_s = now_s_, alone_s = std::max(pass.tt, host_s_ + pass.th - now_s_);
    if (alone_s <= 0) return;
    busy_ = pass.tt / alone_s;
    kernels();
    busy_ = 1;
    const double lost_s = now_s_ - begin_s - alone_s;
    host_s_ = std::max(begin_s + lost_s + pass.ht, host_s_ + pass.hh);
  }
  /// When a pass would end that begins now and meets nothing.
  double alone_until_s(const MaxPlus& pass) const {
    return std::max(now_s_ + pass.tt, host_s_ + pass.th);
  }
  /// Between buffers, which the host launches with the collective.
  void copy(double seconds, double slow, double slows) { compute(seconds, {{{slow, slows}, {}}}); }
  /// The host launches something else.
  void launch(double host_s) { host_s_ += host_s; }
  /// The compute stream waits for what was issued on a lane up to `mark`.
  void wait(Lane lane, double mark) {
    constexpr std::array<Beside, 2> kIdle{};
    while (done_s_[lane] < mark && busy(lane)) {
      double interval_s = (mark - done_s_[lane]) * slower(lane, kIdle);
      const size_t other = 1 - lane;
      bool last = true;
      if (busy(other) && left_s(other) * slower(other, kIdle) < interval_s) {
        interval_s = left_s(other) * slower(other, kIdle);
        last = false;
      }
      advance(interval_s, kIdle);
      if (last) done_s_[lane] = std::max(done_s_[lane], mark);
    }
  }
  void wait(double mark) { wait(kData, mark); }
  void wait_for_all(Lane lane) { wait(lane, issued_s_[lane]); }
  double now_s() const { return now_s_; }
  double left_s(size_t lane = kData) const {
    return std::max(0.0, issued_s_[lane] - done_s_[lane]);
  }

 private:
  bool busy(size_t lane) const { return issued_s_[lane] > done_s_[lane]; }
  double slower(size_t lane, const std::array<Beside, 2>& beside) const {
    return beside[lane].slows * (busy(1 - lane) ? shared_[lane] : 1);
  }
  void advance(double interval_s, const std::array<Beside, 2>& beside) {
    now_s_ += interval_s;
    std::array<double, 2> done = done_s_;
    for (size_t lane = 0; lane < 2; ++lane) {
      if (!busy(lane)) continue;
      const double needs_s = left_s(lane) * slower(lane, beside);
      done[lane] =
          needs_s <= interval_s ? issued_s_[lane] : done[lane] + interval_s / slower(lane, beside);
    }
    done_s_ = done;
  }

  std::array<double, 2> shared_;
  double now_s_ = 0, host_s_ = 0;
  double busy_ = 1;  ///< share of its time for which compute does not wait for its host
  std::array<double, 2> issued_s_{}, done_s_{};
};

}  // namespace ergometer::search

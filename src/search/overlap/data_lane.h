#pragma once

#include <algorithm>

#include "search/overlap/max_plus.h"

namespace ergometer::search {

/// A rank's compute stream and host and, beside them, its stream of data-parallel collectives: one
/// collective after the other, in order of issue. While both are at work each is slower than alone,
/// by the factors of the engine's contention.
class DataLane {
 public:
  /// A collective that may start now. Returns a mark to wait for.
  double issue(double alone_s) { return issued_s_ += alone_s; }
  /// Work that takes `alone_s` alone, and `beside_s` beside a collective, which then takes
  /// `collective` times as long.
  void compute(double alone_s, double beside_s, double collective) {
    const double meets_s = left_s() * collective;
    if (meets_s <= 0) {
      now_s_ += alone_s;
    } else if (beside_s <= meets_s) {
      done_s_ += beside_s / collective;
      now_s_ += beside_s;
    } else {
      done_s_ = issued_s_;
      now_s_ += meets_s + alone_s * (1 - meets_s / beside_s);
    }
  }
  /// A pass, and what it is beside collectives from its begin to its end, that take `collective`
  /// times as long beside its kernels. While it waits for its host they lose nothing.
  void run(const MaxPlus& pass, const MaxPlus& beside, double collective) {
    const double begin_s = now_s_, alone_s = std::max(pass.tt, host_s_ + pass.th - begin_s);
    if (alone_s <= 0) return;
    const double beside_s = std::max(beside.tt, host_s_ + beside.th - begin_s);
    if (beside_s > beside.tt) collective = 1 + beside.tt / beside_s * (collective - 1);
    compute(alone_s, std::max(alone_s, beside_s), collective);
    const double lost_s = now_s_ - begin_s - alone_s;
    host_s_ = std::max(begin_s + lost_s + pass.ht, host_s_ + pass.hh);
  }
  /// Between buffers, which the host launches with the collective.
  void copy(double seconds, double slow, double slows) { compute(seconds, seconds * slow, slows); }
  /// The host launches something else.
  void launch(double host_s) { host_s_ += host_s; }
  /// The compute stream waits for the collective of `mark`.
  void wait(double mark) {
    const double waits_s = std::max(0.0, mark - done_s_);
    now_s_ += waits_s;
    done_s_ += waits_s;
  }
  double now_s() const { return now_s_; }
  double left_s() const { return std::max(0.0, issued_s_ - done_s_); }

 private:
  double now_s_ = 0, host_s_ = 0, issued_s_ = 0, done_s_ = 0;
};

}  // namespace ergometer::search

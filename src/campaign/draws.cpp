#include "campaign/draws.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <vector>

#include "base/exponential.h"

namespace ergometer::campaign {
namespace {

/// Spare nodes, and when those under repair come back.
class Pool {
 public:
  explicit Pool(const Spares& spares) : limited_(spares.has_value()), free_(spares.value_or(0)) {}

  /// Takes a node at `now_s`, whose broken one comes back `repair_s` later; how long it waits.
  double take(double now_s, double repair_s) {
    if (!limited_) return 0;
    for (; !back_s_.empty() && back_s_.top() <= now_s; back_s_.pop()) ++free_;
    back_s_.push(now_s + repair_s);
    if (free_ > 0) {
      --free_;
      return 0;
    }
    const double waits_s = back_s_.top() - now_s;
    back_s_.pop();
    return waits_s;
  }

 private:
  bool limited_;
  int64_t free_;
  std::priority_queue<double, std::vector<double>, std::greater<>> back_s_;  ///< the next first
};

class Player {
 public:
  Player(const Outages& outages, const Spares& spares, const base::Random& random)
      : outages_(outages), pool_(spares), random_(random) {}

  Times play(const Rhythm& rhythm, int64_t intervals) {
    const double cycle_s = rhythm.cycle_s();
    for (auto left = static_cast<double>(intervals);;) {
      const double failure_s = until_failure_s();
      if (failure_s >= left * cycle_s + rhythm.write_s) {
        keep(rhythm, left);
        times_.checkpoints += rhythm.write_s;
        return times_;
      }
      const double written = std::max(0.0, std::floor((failure_s - rhythm.write_s) / cycle_s));
      keep(rhythm, written);
      times_.lost += failure_s - written * cycle_s;
      left -= written;
      stand();
    }
  }

 private:
  double until_failure_s() {
    if (outages_.per_s <= 0) return std::numeric_limits<double>::infinity();
    return -base::logarithm(1 - random_.uniform(draw_++)) / outages_.per_s;
  }

  const FailureKind& kind() {
    double at = random_.uniform(draw_++);
    for (const FailureKind& each : outages_.kinds)
      if ((at -= each.share) < 0) return each;
    return outages_.kinds.back();
  }

  void keep(const Rhythm& rhythm, double intervals) {
    times_.work += intervals * rhythm.work_s;
    times_.checkpoints += intervals * rhythm.stop_s;
  }

  /// Until training goes on.
  void stand() {
    for (;;) {
      ++times_.failures;
      const FailureKind& failed = kind();
      times_.detection += failed.detection_s;
      if (failed.takes_node()) times_.waiting += pool_.take(times_.total(), failed.repair_s);
      const double next_s = until_failure_s();
      times_.restart += std::min(next_s, failed.restart_s);
      if (next_s >= failed.restart_s) return;
    }
  }

  const Outages& outages_;
  Pool pool_;
  const base::Random& random_;
  uint64_t draw_ = 0;
  Times times_;
};

}  // namespace

Times play_campaign(const Rhythm& rhythm, int64_t intervals, const Outages& outages,
                    const Spares& spares, const base::Random& random) {
  return Player(outages, spares, random).play(rhythm, intervals);
}

}  // namespace ergometer::campaign

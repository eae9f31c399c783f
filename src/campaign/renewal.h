#pragma once

#include <vector>

#include "campaign/failures.h"

namespace ergometer::campaign {

/// How a run keeps its state: after every `work_s` of work training stands for `stop_s`, and the
/// checkpoint can be read `write_s` later (0: training stands until it is written).
struct Rhythm {
  double work_s = 0, stop_s = 0, write_s = 0;
  double cycle_s() const { return work_s + stop_s; }
};

/// What interrupts the whole job: in every second with probability `per_s`, whatever was before.
struct Outages {
  double per_s = 0;
  std::vector<FailureKind> kinds;  ///< `restart_s` with the reading of the checkpoint
};

/// Where a run's wall time goes, seconds.
struct Times {
  double work = 0;         ///< that counts
  double checkpoints = 0;  ///< training stands for them; at the end the last one is written
  double lost = 0;         ///< work and checkpoints behind the last one that could be read
  double detection = 0, restart = 0;
  double waiting = 0;   ///< for a repaired node, when no spare is left
  double failures = 0;  ///< a number, no time
  double total() const { return work + checkpoints + lost + detection + restart + waiting; }
};
Times& operator+=(Times& sum, const Times& other);
Times operator*(const Times& times, double factor);

/// Expected times of `intervals` equal intervals, spare nodes never running out. Failures are
/// exponential with rate l = 1 / M; one during a restart begins another.
///
/// A failure at time F behind a restart leaves floor((F - w) / x) new checkpoints of a cycle x, if
/// F >= w. The number of failures K(n) until n of them are written satisfies
///   K(n) = P(F < n x + w) + sum over k < n of P(k are left) K(n - k),
/// which n (e^(l x) - 1) e^(l w) + e^(l w) - 1 solves. Each costs 1 / l of training on average and
/// the down time. With w = 0 and one kind this is Daly's M e^(R / M) (e^(x / M) - 1) an interval
/// (Future Generation Computer Systems 22, 2006).
Times expected_times(const Rhythm& rhythm, double intervals, const Outages& outages);

/// The work between checkpoints with the least expected time: z - 1 + e^(-z - a) = 0 with
/// z = work / M and a = stop / M, that is M (1 + W(-e^(-1 - a))) with Lambert's W. At least the
/// time that a hidden write takes. Without failures infinite.
/// Worked: stop 60 s, M = 10,000 s: 1,056 s; Young sqrt(2 x 60 x 10,000) = 1,095 s.
double best_interval_s(double stop_s, double write_s, double mtbf_s);
/// Young 1974: sqrt(2 stop M).
double young_interval_s(double stop_s, double mtbf_s);
/// Daly 2006: sqrt(2 stop M) (1 + sqrt(stop / 2 M) / 3 + stop / 18 M) - stop, where stop < 2 M;
/// else M.
double daly_interval_s(double stop_s, double mtbf_s);

}  // namespace ergometer::campaign

#include "campaign/renewal.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/exponential.h"

namespace ergometer::campaign {
namespace {

/// What one failure costs on average until training goes on, with those during restarts.
struct Down {
  double detection_s = 0, restart_s = 0, failures = 0;
};

Down mean_down(const Outages& outages) {
  double detection_s = 0, restart_s = 0, through = 0;
  for (const FailureKind& kind : outages.kinds) {
    const double survives = base::exponential(-outages.per_s * kind.restart_s);
    detection_s += kind.share * kind.detection_s;
    restart_s += kind.share * (1 - survives) / outages.per_s;
    through += kind.share * survives;
  }
  return {detection_s / through, restart_s / through, 1 / through};
}

/// e^x - 1, also of small x.
double growth(double x) {
  constexpr double kSmall = 1e-4;
  return x < kSmall ? x * (1 + x / 2 * (1 + x / 3)) : base::exponential(x) - 1;
}

}  // namespace

Times& operator+=(Times& sum, const Times& other) {
  sum.work += other.work;
  sum.checkpoints += other.checkpoints;
  sum.lost += other.lost;
  sum.detection += other.detection;
  sum.restart += other.restart;
  sum.waiting += other.waiting;
  sum.failures += other.failures;
  return sum;
}

Times operator*(const Times& t, double f) {
  return {t.work * f,    t.checkpoints * f, t.lost * f,    t.detection * f,
          t.restart * f, t.waiting * f,     t.failures * f};
}

Times expected_times(const Rhythm& rhythm, double intervals, const Outages& outages) {
  Times times;
  times.work = intervals * rhythm.work_s;
  times.checkpoints = intervals * rhythm.stop_s + rhythm.write_s;
  if (outages.per_s <= 0) return times;
  const double cycle = growth(outages.per_s * rhythm.cycle_s());
  const double write = growth(outages.per_s * rhythm.write_s);
  const double failures = intervals * cycle * (1 + write) + write;
  const Down down = mean_down(outages);
  times.lost = std::max(0.0, failures / outages.per_s - times.work - times.checkpoints);
  times.detection = failures * down.detection_s;
  times.restart = failures * down.restart_s;
  times.failures = failures * down.failures;
  return times;
}

double best_interval_s(double stop_s, double write_s, double mtbf_s) {
  if (!std::isfinite(mtbf_s)) return std::numeric_limits<double>::infinity();
  const double a = stop_s / mtbf_s;
  double z = 1;  // right of the root, from where Newton's steps only go left
  for (int step = 0; step < 64; ++step) {
    const double left = base::exponential(-z - a);
    const double next = z - (z - 1 + left) / (1 - left);
    if (!(next < z)) break;
    z = next;
  }
  return std::max({z * mtbf_s, write_s - stop_s, 0.0});
}

double young_interval_s(double stop_s, double mtbf_s) { return std::sqrt(2 * stop_s * mtbf_s); }

double daly_interval_s(double stop_s, double mtbf_s) {
  if (stop_s >= 2 * mtbf_s) return mtbf_s;
  const double ratio = stop_s / (2 * mtbf_s);
  return young_interval_s(stop_s, mtbf_s) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - stop_s;
}

}  // namespace ergometer::campaign

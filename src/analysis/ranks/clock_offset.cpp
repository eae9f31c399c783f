#include "analysis/ranks/clock_offset.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/collection.h"

namespace ergometer::analysis {
namespace {

constexpr double kPpm = 1e6;

/// a - b; nothing where it does not fit, as in a damaged file.
std::optional<int64_t> difference(int64_t a, int64_t b) {
  int64_t result = 0;
  if (__builtin_sub_overflow(a, b, &result)) return std::nullopt;
  return result;
}

/// Stays where two times can be subtracted, whatever a damaged file holds.
int64_t plus(int64_t a, int64_t b) {
  constexpr int64_t kFarthest = 4'000'000'000'000'000'000;  // 126 years
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) sum = b > 0 ? kFarthest : -kFarthest;
  return std::clamp(sum, -kFarthest, kFarthest);
}

int64_t whole(double value) {
  constexpr double kMost = 9e18;
  return std::llround(std::clamp(value, -kMost, kMost));
}

/// The one with the tightest bound in each of so many windows of equal time.
std::vector<ClockDifference> tightest(const std::vector<ClockDifference>& all) {
  constexpr int64_t kWindows = 32;
  const int64_t first = all.front().own_ns;
  const double length =
      static_cast<double>(difference(all.back().own_ns, first).value_or(0)) / kWindows;
  std::vector<ClockDifference> kept;
  int64_t last_window = -1;
  for (const ClockDifference& d : all) {
    const double at = length > 0 ? static_cast<double>(d.own_ns - first) / length : 0;
    const int64_t window = std::min(kWindows - 1, static_cast<int64_t>(at));
    if (window != last_window) {
      kept.push_back(d);
      last_window = window;
    } else if (d.bound_ns < kept.back().bound_ns) {
      kept.back() = d;
    }
  }
  return kept;
}

/// A line through points, robustly: the median of all slopes (Theil and Sen).
struct Line {
  double slope = 0, height = 0;  ///< height at the first point
};
Line median_line(const std::vector<ClockDifference>& points) {
  std::vector<double> slopes, heights;
  const int64_t first = points.front().own_ns;
  const auto x = [&](const ClockDifference& d) { return static_cast<double>(d.own_ns - first); };
  for (size_t i = 0; i < points.size(); ++i)
    for (size_t j = i + 1; j < points.size(); ++j)
      if (x(points[j]) > x(points[i]))
        slopes.push_back((points[j].offset_ns - points[i].offset_ns) /
                         (x(points[j]) - x(points[i])));
  Line line;
  if (!slopes.empty()) line.slope = base::upper_median(slopes);
  for (const ClockDifference& d : points) heights.push_back(d.offset_ns - line.slope * x(d));
  line.height = base::upper_median(heights);
  return line;
}

/// What contradicts the line that most agree on goes.
void leave_out_strangers(std::vector<ClockDifference>& points) {
  constexpr size_t kFewest = 4;
  constexpr double kFar = 5;
  if (points.size() < kFewest) return;
  const Line line = median_line(points);
  const int64_t first = points.front().own_ns;
  const std::vector<double> distances = base::mapped(points, [&](const ClockDifference& d) {
    return std::abs(d.offset_ns - line.height - line.slope * static_cast<double>(d.own_ns - first));
  });
  const double typical = base::upper_median(distances);
  size_t i = 0;
  std::erase_if(points, [&](const ClockDifference& d) {
    return distances[i++] > kFar * (typical + d.bound_ns);
  });
}

/// Sums of the weighted least squares: times from the weighted mean time on.
struct Fit {
  double weight = 0, mean_x = 0, spread = 0;  ///< spread: sum of w x^2
  double offset = 0, slope = 0;
};

double weight_of(const ClockDifference& d) {
  const double bound = std::max(d.bound_ns, 1.0);
  return 1 / (bound * bound);
}

Fit least_squares(const std::vector<ClockDifference>& points, int64_t zero_ns) {
  Fit fit;
  for (const ClockDifference& d : points) {
    fit.weight += weight_of(d);
    fit.mean_x += weight_of(d) * static_cast<double>(d.own_ns - zero_ns);
    fit.offset += weight_of(d) * d.offset_ns;
  }
  fit.mean_x /= fit.weight;
  fit.offset /= fit.weight;
  double product = 0;
  for (const ClockDifference& d : points) {
    const double x = static_cast<double>(d.own_ns - zero_ns) - fit.mean_x;
    fit.spread += weight_of(d) * x * x;
    product += weight_of(d) * x * d.offset_ns;
  }
  if (fit.spread > 0) fit.slope = product / fit.spread;
  return fit;
}

/// sum |h_i(x)| bound_i, x from the weighted mean time on.
double bound_at(const std::vector<ClockDifference>& points, const Fit& fit, int64_t zero_ns,
                double x) {
  double bound = 0;
  for (const ClockDifference& d : points) {
    const double xi = static_cast<double>(d.own_ns - zero_ns) - fit.mean_x;
    const double slope_part = fit.spread > 0 ? x * xi / fit.spread : 0;
    bound += std::abs(weight_of(d) * (1 / fit.weight + slope_part)) * d.bound_ns;
  }
  return bound;
}

void state_uncertainty(const std::vector<ClockDifference>& points, const Fit& fit, int64_t zero_ns,
                       ClockModel& model) {
  for (const ClockDifference& d : points) {
    const double x = static_cast<double>(d.own_ns - zero_ns) - fit.mean_x;
    const double distance = std::abs(d.offset_ns - fit.offset - fit.slope * x);
    model.uncertainty_ns = std::max(model.uncertainty_ns, distance);
    if (fit.spread > 0)
      model.drift_uncertainty_ppm += std::abs(weight_of(d) * x / fit.spread) * d.bound_ns * kPpm;
  }
  for (const ClockDifference* end : {&points.front(), &points.back()}) {
    const double x = static_cast<double>(end->own_ns - zero_ns) - fit.mean_x;
    model.uncertainty_ns = std::max(model.uncertainty_ns, bound_at(points, fit, zero_ns, x));
  }
}

}  // namespace

int64_t ClockModel::offset_at(int64_t own_ns) const {
  const double since = static_cast<double>(difference(own_ns, at_ns).value_or(0));
  return whole(offset_ns + drift_ppm / kPpm * since);
}

std::optional<ClockModel> fit_clock(std::vector<ClockDifference> differences) {
  if (differences.empty()) return std::nullopt;
  std::ranges::stable_sort(differences,
                           [](const auto& a, const auto& b) { return a.own_ns < b.own_ns; });
  if (!difference(differences.back().own_ns, differences.front().own_ns)) return std::nullopt;
  std::vector<ClockDifference> points = tightest(differences);
  leave_out_strangers(points);
  const int64_t zero = points.front().own_ns;
  const Fit fit = least_squares(points, zero);
  ClockModel model;
  model.at_ns = plus(zero, whole(fit.mean_x));
  model.offset_ns = fit.offset;
  model.drift_ppm = fit.slope * kPpm;
  model.samples = static_cast<int64_t>(points.size());
  state_uncertainty(points, fit, zero, model);
  return model;
}

std::optional<ClockModel> clock_from_probes(std::span<const run::ClockProbe> probes) {
  std::vector<ClockDifference> differences;
  for (const run::ClockProbe& probe : probes) {
    const auto there = difference(probe.peer_received_ns, probe.sent_ns);
    const auto back = difference(probe.peer_sent_ns, probe.received_ns);
    const auto away = difference(probe.received_ns, probe.sent_ns);
    const auto held = difference(probe.peer_sent_ns, probe.peer_received_ns);
    if (!there || !back || !away || !held || *held < 0 || *away < *held) continue;
    const double round_trip = static_cast<double>(*away - *held);
    differences.push_back({probe.sent_ns + *away / 2,
                           0.5 * static_cast<double>(*there) + 0.5 * static_cast<double>(*back),
                           0.5 * round_trip});
  }
  return fit_clock(std::move(differences));
}

namespace {

/// All ranks have to give before any can end.
bool ends_together(CollectiveKind kind) {
  return kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kAllGather ||
         kind == CollectiveKind::kReduceScatter || kind == CollectiveKind::kAllToAll ||
         kind == CollectiveKind::kBarrier;
}

/// Differences of a rank's clock to another's, by the two traces' positions: to, from.
using Differences = std::map<std::pair<size_t, size_t>, std::vector<ClockDifference>>;

/// How far the ends of one collective may lie apart. NCCL moves data through buffers cut into 8
/// steps (NCCL_STEPS), so ranks of a ring end within about an eighth of the transfer; assumed, and
/// never below 20 us. Not beyond the shortest kernel: see the header.
double end_bound_ns(int64_t shortest_ns) {
  constexpr int64_t kSteps = 8, kLeast = 20'000;
  return static_cast<double>(
      std::max<int64_t>(1, std::min(shortest_ns, std::max(kLeast, shortest_ns / kSteps))));
}

void add_differences(const std::vector<run::RankTrace>& ranks, const std::vector<int64_t>& base,
                     const CollectiveInstance& one, Differences& all) {
  const auto event = [&](const CollectiveCall& call) -> const run::GpuEvent& {
    return ranks[call.trace].events[call.event];
  };
  int64_t shortest = std::numeric_limits<int64_t>::max();
  for (const CollectiveCall& call : one.calls)
    shortest = std::min(shortest, event(call).duration_ns);
  const CollectiveCall& to = one.calls.front();
  const int64_t to_end = plus(event(to).end_ns(), base[to.trace]);
  for (const CollectiveCall& call : one.calls) {
    if (call.trace == to.trace) continue;
    const int64_t end = plus(event(call).end_ns(), base[call.trace]);
    if (const auto offset = difference(to_end, end))
      all[{to.trace, call.trace}].push_back(
          {end, static_cast<double>(*offset), end_bound_ns(shortest)});
  }
}

struct Tie {
  size_t to = 0, from = 0;
  ClockModel model;  ///< of `from`, `to` the reference
};

/// The same two clocks the other way round.
ClockModel reversed(const ClockModel& model) {
  ClockModel other = model;
  other.at_ns = plus(model.at_ns, whole(model.offset_ns));
  other.offset_ns = -model.offset_ns;
  other.drift_ppm = -model.drift_ppm;
  return other;
}

/// From a clock to a second one, and from there to the reference.
ClockModel chained(const ClockModel& first, const ClockModel& second) {
  ClockModel both = first;
  both.offset_ns +=
      static_cast<double>(second.offset_at(plus(first.at_ns, whole(first.offset_ns))));
  both.drift_ppm += second.drift_ppm;
  both.uncertainty_ns += second.uncertainty_ns;
  both.drift_uncertainty_ppm += second.drift_uncertainty_ppm;
  both.samples = std::min(first.samples, second.samples);
  return both;
}

/// Reaches every rank over the ties that are the surest on the way (Prim).
void reach_all(const std::vector<Tie>& ties, ClockTable& table) {
  for (;;) {
    const Tie* best = nullptr;
    bool turned = false;
    double least = std::numeric_limits<double>::infinity();
    for (const Tie& tie : ties) {
      const bool to = table.ranks[tie.to].known, from = table.ranks[tie.from].known;
      if (to == from) continue;
      const double sum =
          tie.model.uncertainty_ns + table.ranks[to ? tie.to : tie.from].model.uncertainty_ns;
      if (sum < least) {
        best = &tie;
        turned = from;
        least = sum;
      }
    }
    if (best == nullptr) return;
    RankClock& next = table.ranks[turned ? best->to : best->from];
    const RankClock& via = table.ranks[turned ? best->from : best->to];
    next.model = chained(turned ? reversed(best->model) : best->model, via.model);
    next.known = true;
  }
}

/// An offset that is no larger than its uncertainty is none.
bool is_significant(const ClockModel& model, const run::RankTrace& trace, int64_t base) {
  if (trace.events.empty()) return false;
  const int64_t first = plus(trace.events.front().start_ns, base),
                last = plus(trace.events.back().end_ns(), base);
  const double largest = std::max(std::abs(static_cast<double>(model.offset_at(first))),
                                  std::abs(static_cast<double>(model.offset_at(last))));
  return largest > model.uncertainty_ns;
}

}  // namespace

int64_t ClockTable::common_ns(size_t trace, int64_t own_ns) const {
  const int64_t based = plus(own_ns, base_ns[trace]);
  const RankClock& clock = ranks[trace];
  return clock.applied ? plus(based, clock.model.offset_at(based)) : based;
}

ClockTable align_clocks(const std::vector<run::RankTrace>& ranks,
                        const MatchedCollectives& collectives) {
  ClockTable table;
  int64_t earliest = std::numeric_limits<int64_t>::max();
  for (const run::RankTrace& trace : ranks) earliest = std::min(earliest, trace.base_time_ns);
  for (const run::RankTrace& trace : ranks) {
    table.base_ns.push_back(difference(trace.base_time_ns, earliest).value_or(0));
    table.ranks.emplace_back().rank = trace.rank;
  }
  if (ranks.empty()) return table;
  Differences differences;
  for (const CollectiveInstance& one : collectives.instances)
    if (ends_together(one.kind)) add_differences(ranks, table.base_ns, one, differences);
  std::vector<Tie> ties;
  for (auto& [pair, of_pair] : differences)
    if (const auto model = fit_clock(std::move(of_pair)))
      ties.push_back({pair.first, pair.second, *model});
  table.reference = ranks.front().rank;
  table.ranks.front().known = true;
  reach_all(ties, table);
  for (size_t i = 0; i < ranks.size(); ++i) {
    RankClock& clock = table.ranks[i];
    if (!clock.known) continue;
    table.worst_uncertainty_ns =
        std::max(table.worst_uncertainty_ns, whole(clock.model.uncertainty_ns));
    clock.applied = is_significant(clock.model, ranks[i], table.base_ns[i]);
  }
  return table;
}

}  // namespace ergometer::analysis

#include "engine/time/kernels.h"

#include <algorithm>

#include "base/widths.h"

namespace ergometer::engine::kernels {
namespace {

/// So many ranks' group maxima are kept at a time: 2 KiB, in the first-level cache.
constexpr int64_t kChunk = 256;
/// Fewer elements than this are no vectors' work.
constexpr int64_t kFew = 16;

inline double larger(double a, double b) { return a > b ? a : b; }
inline double smaller(double a, double b) { return a < b ? a : b; }

ERGOMETER_WIDTHS void compute_same_host(double* __restrict t, const double* __restrict x, int64_t n,
                                        double fixed, double clocked, double host_fixed,
                                        double host_clocked) {
  for (int64_t i = 0; i < n; ++i)
    t[i] = larger(t[i] + (fixed + clocked * x[i]), host_fixed + host_clocked * x[i]);
}

ERGOMETER_WIDTHS void compute_own_host(double* __restrict t, const double* __restrict x,
                                       const double* __restrict since, int64_t n, double fixed,
                                       double clocked, double host_fixed, double host_clocked) {
  for (int64_t i = 0; i < n; ++i)
    t[i] = larger(t[i] + (fixed + clocked * x[i]), since[i] + (host_fixed + host_clocked * x[i]));
}

ERGOMETER_WIDTHS void raise_to(double* __restrict t, int64_t n, double floor) {
  for (int64_t i = 0; i < n; ++i) t[i] = larger(t[i], floor);
}

ERGOMETER_WIDTHS void raise_to_shifted(double* __restrict t, const double* __restrict since,
                                       int64_t n, double offset) {
  for (int64_t i = 0; i < n; ++i) t[i] = larger(t[i], since[i] + offset);
}

/// Waits for the host and raises the group's latest start.
ERGOMETER_WIDTHS void start_same_host(double* __restrict t, double* __restrict latest, int64_t n,
                                      double host) {
  for (int64_t i = 0; i < n; ++i) {
    const double start = larger(t[i], host);
    t[i] = start;
    latest[i] = larger(latest[i], start);
  }
}

ERGOMETER_WIDTHS void start_own_host(double* __restrict t, double* __restrict latest,
                                     const double* __restrict since, int64_t n, double offset) {
  for (int64_t i = 0; i < n; ++i) {
    const double start = larger(t[i], since[i] + offset);
    t[i] = start;
    latest[i] = larger(latest[i], start);
  }
}

ERGOMETER_WIDTHS void finish(double* __restrict t, const double* __restrict latest,
                             const double* __restrict x, int64_t n, double fixed, double clocked) {
  for (int64_t i = 0; i < n; ++i) t[i] = latest[i] + (fixed + clocked * x[i]);
}

ERGOMETER_WIDTHS void finish_charged(double* __restrict t, const double* __restrict latest,
                                     const double* __restrict x, double* __restrict charged,
                                     int64_t n, double fixed, double clocked) {
  for (int64_t i = 0; i < n; ++i) {
    const double end = latest[i] + (fixed + clocked * x[i]);
    charged[i] += end - t[i];
    t[i] = end;
  }
}

ERGOMETER_WIDTHS void finish_all(double* __restrict t, double latest, const double* __restrict x,
                                 int64_t n, double fixed, double clocked) {
  for (int64_t i = 0; i < n; ++i) t[i] = latest + (fixed + clocked * x[i]);
}

ERGOMETER_WIDTHS void finish_all_charged(double* __restrict t, double latest,
                                         const double* __restrict x, double* __restrict charged,
                                         int64_t n, double fixed, double clocked) {
  for (int64_t i = 0; i < n; ++i) {
    const double end = latest + (fixed + clocked * x[i]);
    charged[i] += end - t[i];
    t[i] = end;
  }
}

ERGOMETER_WIDTHS void wait_whole(double* __restrict t, const double* __restrict other,
                                 double* __restrict charged, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const double end = larger(t[i], other[i]);
    charged[i] += end - t[i];
    t[i] = end;
  }
}

ERGOMETER_WIDTHS void wait_limited(double* __restrict t, const double* __restrict other,
                                   const double* __restrict x, double* __restrict charged,
                                   int64_t n, double fixed, double clocked) {
  for (int64_t i = 0; i < n; ++i) {
    const double end = larger(t[i], other[i]);
    charged[i] += smaller(end - t[i], fixed + clocked * x[i]);
    t[i] = end;
  }
}

ERGOMETER_WIDTHS void add(double* __restrict t, const double* __restrict x, int64_t n, double fixed,
                          double clocked) {
  for (int64_t i = 0; i < n; ++i) t[i] += fixed + clocked * x[i];
}

ERGOMETER_WIDTHS void add_times(double* __restrict t, const double* __restrict x,
                                const double* __restrict factor, int64_t n, double fixed,
                                double clocked) {
  for (int64_t i = 0; i < n; ++i) t[i] += factor[i] * (fixed + clocked * x[i]);
}

ERGOMETER_WIDTHS double largest_of(const double* __restrict t, int64_t n) {
  constexpr int64_t kLanes = 8;  // eight running maxima: the order does not matter to a maximum
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] = larger(lanes[lane], t[i + lane]);
  for (; i < n; ++i) lanes[0] = larger(lanes[0], t[i]);
  for (int64_t lane = 1; lane < kLanes; ++lane) lanes[0] = larger(lanes[0], lanes[lane]);
  return lanes[0];
}

/// A group whose member g stands at `at(g)`, too few or too scattered for vectors.
template <class At>
inline void one_group(double* t, const double* x, int64_t size, const ClockedTime& duration,
                      double* charged, const At& at) {
  double latest = 0;
  for (int64_t g = 0; g < size; ++g) latest = larger(latest, t[at(g)]);
  for (int64_t g = 0; g < size; ++g) {
    const double end = latest + duration.at(x[at(g)]);
    if (charged != nullptr) charged[at(g)] += end - t[at(g)];
    t[at(g)] = end;
  }
}

/// A group of adjacent elements; the shape of data-parallel groups, rare.
void adjacent_group(double* t, const double* x, int64_t n, const ClockedTime& duration,
                    double* charged) {
  if (n < kFew) return one_group(t, x, n, duration, charged, [](int64_t g) { return g; });
  const double latest = largest_of(t, n);
  if (charged == nullptr) return finish_all(t, latest, x, n, duration.fixed_s, duration.clocked_s);
  finish_all_charged(t, latest, x, charged, n, duration.fixed_s, duration.clocked_s);
}

/// `n` groups side by side, member g of each at `stride * g`.
void side_by_side(double* t, const double* x, int64_t n, int64_t size, int64_t stride,
                  const ClockedTime& duration, const HostTime& host, double* charged) {
  double latest[kChunk];
  std::fill_n(latest, n, 0.0);
  for (int64_t g = 0; g < size; ++g) {
    const int64_t at = g * stride;
    if (host.since == nullptr)
      start_same_host(t + at, latest, n, host.offset_s);
    else
      start_own_host(t + at, latest, host.since + at, n, host.offset_s);
  }
  for (int64_t g = 0; g < size; ++g) {
    const int64_t at = g * stride;
    if (charged == nullptr)
      finish(t + at, latest, x + at, n, duration.fixed_s, duration.clocked_s);
    else
      finish_charged(t + at, latest, x + at, charged + at, n, duration.fixed_s, duration.clocked_s);
  }
}

void gathered(double* t, const double* x, const GroupShape& shape, const ClockedTime& duration,
              double* charged) {
  for (size_t first = 0; first < shape.gather.size(); first += static_cast<size_t>(shape.size)) {
    const int32_t* members = shape.gather.data() + first;
    one_group(t, x, shape.size, duration, charged, [&](int64_t g) { return members[g]; });
  }
}

}  // namespace

void compute(double* t, const double* inverse_clock, int64_t n, const ClockedTime& duration,
             const ClockedTime& after_host, const HostTime& host) {
  const double host_fixed = host.offset_s + after_host.fixed_s;
  if (host.since == nullptr)
    return compute_same_host(t, inverse_clock, n, duration.fixed_s, duration.clocked_s, host_fixed,
                             after_host.clocked_s);
  compute_own_host(t, inverse_clock, host.since, n, duration.fixed_s, duration.clocked_s,
                   host_fixed, after_host.clocked_s);
}

void compute_loaded(double* t, const double* inverse_clock, const double* less, int64_t n,
                    const ClockedTime& duration, const ClockedTime& per_load, const HostTime& host,
                    double* charged) {
  wait_for_host(t, n, host);
  add(t, inverse_clock, n, duration.fixed_s, duration.clocked_s);
  add_times(t, inverse_clock, less, n, per_load.fixed_s, per_load.clocked_s);
  if (charged != nullptr)
    add_times(charged, inverse_clock, less, n, per_load.fixed_s, per_load.clocked_s);
}

void wait_for_host(double* t, int64_t n, const HostTime& host) {
  if (host.since == nullptr) return raise_to(t, n, host.offset_s);
  raise_to_shifted(t, host.since, n, host.offset_s);
}

ERGOMETER_WIDTHS void wait_for(double* __restrict t, const double* __restrict other, int64_t n) {
  for (int64_t i = 0; i < n; ++i) t[i] = larger(t[i], other[i]);
}

void wait_charged(double* t, const double* other, const double* inverse_clock, int64_t n,
                  double* charged, bool limited, const ClockedTime& limit) {
  if (!limited) return wait_whole(t, other, charged, n);
  wait_limited(t, other, inverse_clock, charged, n, limit.fixed_s, limit.clocked_s);
}

void spend(double* t, const double* inverse_clock, int64_t n, const ClockedTime& duration,
           double* charged) {
  add(t, inverse_clock, n, duration.fixed_s, duration.clocked_s);
  if (charged != nullptr) add(charged, inverse_clock, n, duration.fixed_s, duration.clocked_s);
}

void spend_own(double* t, const double* inverse_clock, int64_t n, const OwnDurations& durations,
               double* charged) {
  const double *fixed = durations.fixed_s.data(), *clocked = durations.clocked_s.data();
  for (int64_t i = 0; i < n; ++i) t[i] += fixed[i] + clocked[i] * inverse_clock[i];
  if (charged == nullptr) return;
  for (int64_t i = 0; i < n; ++i) charged[i] += fixed[i] + clocked[i] * inverse_clock[i];
}

void wait_charged_own(double* t, const double* other, const double* inverse_clock, int64_t n,
                      double* charged, const OwnDurations& limits) {
  for (int64_t i = 0; i < n; ++i) {
    const double end = larger(t[i], other[i]);
    const auto at = static_cast<size_t>(i);
    charged[i] += smaller(end - t[i], limits.fixed_s[at] + limits.clocked_s[at] * inverse_clock[i]);
    t[i] = end;
  }
}

void collective(double* t, const double* inverse_clock, const GroupShape& shape,
                const ClockedTime& duration, const HostTime& host, double* charged) {
  const int64_t ranks = shape.outer * shape.size * shape.inner;
  if (!shape.gather.empty()) {
    wait_for_host(t, ranks, host);
    return gathered(t, inverse_clock, shape, duration, charged);
  }
  if (ranks < kFew) {
    wait_for_host(t, ranks, host);
    for (int64_t o = 0; o < shape.outer; ++o)
      for (int64_t i = 0; i < shape.inner; ++i) {
        const int64_t first = o * shape.size * shape.inner + i;
        one_group(t, inverse_clock, shape.size, duration, charged,
                  [&](int64_t g) { return first + g * shape.inner; });
      }
    return;
  }
  if (shape.inner == 1) {
    wait_for_host(t, ranks, host);
    for (int64_t first = 0; first < ranks; first += shape.size)
      adjacent_group(t + first, inverse_clock + first, shape.size, duration,
                     charged == nullptr ? nullptr : charged + first);
    return;
  }
  for (int64_t o = 0; o < shape.outer; ++o) {
    for (int64_t i = 0; i < shape.inner; i += kChunk) {
      const int64_t first = o * shape.size * shape.inner + i;
      const HostTime here{host.since == nullptr ? nullptr : host.since + first, host.offset_s};
      side_by_side(t + first, inverse_clock + first, std::min(kChunk, shape.inner - i), shape.size,
                   shape.inner, duration, here, charged == nullptr ? nullptr : charged + first);
    }
  }
}

double largest(const double* t, int64_t n) { return largest_of(t, n); }

ERGOMETER_WIDTHS void raise_host(double* __restrict since, const double* __restrict t, int64_t n,
                                 double offset_s) {
  for (int64_t i = 0; i < n; ++i) since[i] = larger(since[i], t[i] - offset_s);
}

}  // namespace ergometer::engine::kernels

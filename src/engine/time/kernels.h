#pragma once

#include <cstdint>
#include <vector>

#include "engine/time/compile.h"
#include "engine/time/layout.h"

/// The sweep's inner loops over the ranks of a role. Each is compiled for several vector widths;
/// all use only additions, products and maxima element by element, so that the width does not
/// change a result.
namespace ergometer::engine::kernels {

/// When the host of each rank may launch next: `offset_s + since[i]`; `since` null: the same for
/// all.
struct HostTime {
  const double* since = nullptr;
  double offset_s = 0;
};

/// t = max(t + duration, host + after_host).
void compute(double* t, const double* inverse_clock, int64_t n, const ClockedTime& duration,
             const ClockedTime& after_host, const HostTime& host);

/// t = max(t, host) + duration + less x per_load; that last part is added to `charged` if given.
/// `less`: by rank, even shares that it has less than the fullest, negative or 0.
void compute_loaded(double* t, const double* inverse_clock, const double* less, int64_t n,
                    const ClockedTime& duration, const ClockedTime& per_load, const HostTime& host,
                    double* charged);

/// t = max(t, host).
void wait_for_host(double* t, int64_t n, const HostTime& host);

/// t = max(t, other), and in `charged`, if given, the time waited, at most `limit` where `limited`.
void wait_for(double* t, const double* other, int64_t n);
void wait_charged(double* t, const double* other, const double* inverse_clock, int64_t n,
                  double* charged, bool limited, const ClockedTime& limit);

/// t += duration; the duration is added to `charged` if given.
void spend(double* t, const double* inverse_clock, int64_t n, const ClockedTime& duration,
           double* charged);

/// The same with a duration of each rank's own.
struct OwnDurations {
  std::vector<double> fixed_s, clocked_s;
};
void spend_own(double* t, const double* inverse_clock, int64_t n, const OwnDurations& durations,
               double* charged);
void wait_charged_own(double* t, const double* other, const double* inverse_clock, int64_t n,
                      double* charged, const OwnDurations& limits);

/// A collective inside the role: t = the group's latest start + duration; `charged`, if given, gets
/// all of it from the rank's own start on.
void collective(double* t, const double* inverse_clock, const GroupShape& shape,
                const ClockedTime& duration, const HostTime& host, double* charged);

double largest(const double* t, int64_t n);
/// since = max(since, t - offset).
void raise_host(double* since, const double* t, int64_t n, double offset_s);

}  // namespace ergometer::engine::kernels

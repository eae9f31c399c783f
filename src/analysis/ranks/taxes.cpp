#include "analysis/ranks/taxes.h"

#include "analysis/math/sum.h"

namespace ergometer::analysis {

Taxes add_up(const std::vector<RankTaxes>& ranks, const ArrivalTable& arrivals) {
  Taxes taxes;
  for (const RankTaxes& rank : ranks) {
    add_time(taxes.span_ns, rank.span_ns);
    add_time(taxes.host_sync_ns, rank.idle.synchronized_ns);
    add_time(taxes.launch_idle_ns,
             rank.idle.launch_ns - rank.idle.synchronized_ns + rank.idle.latency_ns);
    add_time(taxes.launching_ns, rank.idle.launching_ns);
    add_time(taxes.loading_ns, rank.idle.loading_ns);
    add_time(taxes.elsewhere_ns, rank.idle.elsewhere_ns);
    add_time(taxes.latency_ns, rank.idle.latency_ns);
    add_time(taxes.short_ns, rank.launches.short_ns);
    taxes.short_kernels += rank.launches.short_kernels;
    RoundTrips& sum = taxes.round_trips;
    const RoundTrips& more = rank.round_trips;
    sum.pairs += more.pairs;
    sum.bytes += more.bytes;
    add_time(sum.saved_ns, more.saved_ns);
    add_time(sum.memory_bound_ns, more.memory_bound_ns);
    add_time(sum.known_ns, more.known_ns);
  }
  taxes.ranks_compared = arrivals.matched > 0;
  for (const Arrival& rank : arrivals.ranks) add_time(taxes.collective_waiting_ns, rank.waiting_ns);
  return taxes;
}

}  // namespace ergometer::analysis

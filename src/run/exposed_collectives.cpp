#include "run/exposed_collectives.h"

#include <map>

namespace ergometer::run {
namespace {

double of_kind(const Breakdown& breakdown, const std::string& kind) {
  if (kind == "all_reduce") return breakdown.exposed_all_reduce;
  if (kind == "all_gather") return breakdown.exposed_all_gather;
  if (kind == "reduce_scatter") return breakdown.exposed_reduce_scatter;
  if (kind == "all_to_all") return breakdown.exposed_all_to_all;
  return breakdown.exposed_send_recv;
}

}  // namespace

std::vector<ExposedCollective> exposed_collectives(const Run& run) {
  std::map<std::string, double> seen;
  for (const CollectiveUse& use : run.collectives) seen[use.kind] += use.exposed_s;
  std::vector<ExposedCollective> all;
  for (const CollectiveUse& use : run.collectives) {
    const double sum = seen[use.kind];
    const double whole = of_kind(run.performance.breakdown_s, use.kind);
    all.push_back({use.group, use.kind, sum > 0 ? use.exposed_s / sum * whole : 0});
  }
  return all;
}

}  // namespace ergometer::run

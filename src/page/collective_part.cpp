#include <algorithm>
#include <cmath>
#include <string>

#include "page/columns.h"
#include "page/run_part.h"

namespace ergometer::page {
namespace {

using base::JsonWriter;

/// Groups of thousands of ranks are too many to look at; those with the most exposed time stand
/// first.
constexpr size_t kMostGroups = 200;

std::vector<run::CollectiveUse> recorded(const RunView& view) {
  std::vector<run::CollectiveUse> uses;
  for (const analysis::GroupRow& row : view.told.job.groups.groups) {
    if (uses.size() == kMostGroups) break;
    const double total_s = static_cast<double>(row.total_ns) * 1e-9;
    const std::string& stated = row.description.empty() ? row.group : row.description;
    const std::string name = stated.empty() ? "unknown group" : stated;
    uses.push_back({.group = name,
                    .kind = row.parallelism.name.empty() ? "all" : row.parallelism.name,
                    .calls = static_cast<double>(row.events),
                    .bytes = row.bytes,
                    .total_s = total_s,
                    .exposed_s = static_cast<double>(row.exposed_ns) * 1e-9,
                    .bus_gb_per_s = total_s > 0 ? row.bus_bytes / total_s * 1e-9 : 0});
  }
  std::ranges::stable_sort(uses,
                           [](const auto& a, const auto& b) { return a.total_s > b.total_s; });
  return uses;
}

}  // namespace

void write_collectives_part(JsonWriter& json, const RunView& view) {
  const std::vector<run::CollectiveUse> uses =
      view.run().collectives.empty() ? recorded(view) : view.run().collectives;
  if (uses.empty()) return;
  using run::CollectiveUse;
  json.key("collectives").begin_object();
  column(json, "group", uses, &CollectiveUse::group);
  column(json, "kind", uses, &CollectiveUse::kind);
  column(json, "calls", uses, &CollectiveUse::calls);
  column(json, "bytes", uses, &CollectiveUse::bytes);
  column(json, "total_s", uses, &CollectiveUse::total_s);
  column(json, "exposed_s", uses, &CollectiveUse::exposed_s);
  column(json, "bus_gb_per_s", uses,
         [](const CollectiveUse& use) { return use.bus_gb_per_s > 0 ? use.bus_gb_per_s : NAN; });
  json.end_object();
}

}  // namespace ergometer::page

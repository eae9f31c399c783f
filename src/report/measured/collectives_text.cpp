#include "report/measured/collectives_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/measured/first_rows.h"

namespace ergometer::report {
namespace {

constexpr size_t kSizesShown = 64, kRanksShown = 12;

std::string sizes_text(const std::vector<analysis::CollectiveSize>& sizes, const TextStyle& style) {
  if (sizes.empty()) return "";
  size_t width = 20;
  const auto shown = first(sizes, kSizesShown);
  const auto name_of = [](const analysis::CollectiveSize& s) {
    return fmt::format("{} {}", shortened(s.communicator, 24), shortened(s.kind, 30));
  };
  for (const analysis::CollectiveSize& s : shown) width = std::max(width, name_of(s).size());
  std::string out =
      heading(style, fmt::format("{:<{}}{:>7}{:>10}{:>7}{:>10}{:>10}{:>10}{:>9}{:>9}",
                                 "Collectives, " + sizes.front().source, width + 2, "ranks", "size",
                                 "count", "median", "least", "most", "algbw", "busbw"));
  for (const analysis::CollectiveSize& s : shown)
    out += fmt::format("  {:<{}}{:>7}{:>10}{:>7}{:>10}{:>10}{:>10}{:>9.2f}{:>9.2f}\n", name_of(s),
                       width, s.ranks > 0 ? fmt::format("{}", s.ranks) : "-",
                       base::format_bytes(s.bytes), s.timings, base::format_seconds(s.median_s),
                       base::format_seconds(s.lowest_s), base::format_seconds(s.highest_s),
                       s.algorithm_gb_per_s, s.bus_gb_per_s);
  return out + more_line(sizes.size(), kSizesShown) +
         note(style, "algbw and busbw in GB/s, medians; a rank's time holds its waiting too");
}

std::string late_ranks_text(const std::vector<analysis::CommunicatorRank>& ranks,
                            const TextStyle& style) {
  std::string rows;
  size_t all = 0;
  for (const analysis::CommunicatorRank& r : ranks) {
    if (r.last == 0 || ++all > kRanksShown) continue;
    rows += fmt::format("  {:<24}{:>6}  {:<20}{:>14}{:>16}\n", shortened(r.communicator, 24),
                        r.rank, shortened(r.host.empty() ? "-" : r.host, 20),
                        fmt::format("{} of {}", r.last, r.apart),
                        base::format_seconds(r.others_waited_s));
  }
  if (rows.empty()) return "";
  return heading(style, fmt::format("{:<26}{:>6}  {:<20}{:>14}{:>16}", "Who comes last", "rank",
                                    "host", "times", "others waited")) +
         rows + more_line(all, kRanksShown, "ranks");
}

}  // namespace

std::string collectives_text(const analysis::CollectiveTimings& timings, const TextStyle& style) {
  return sizes_text(timings.sizes, style) + late_ranks_text(timings.ranks, style);
}

}  // namespace ergometer::report

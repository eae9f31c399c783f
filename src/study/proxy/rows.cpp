// Two jobs' measures beside each other, their distance, and what of one the other cannot keep.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "study/proxy/proxy.h"

namespace ergometer::study::proxy {
namespace {

double off_of(const Measure& large, const Measure& small) {
  const double a = large.value, b = small.value;
  if (large.scale != Scale::kRatio) return std::abs(b - a) / large.tolerance;
  if (a <= 0 || b <= 0) return a == b ? 0 : 1;
  return std::abs(std::log(b / a)) / std::log(large.tolerance);
}

const Measure* named(const std::vector<Measure>& measures, const std::string& name) {
  const auto found = std::find_if(measures.begin(), measures.end(),
                                  [&](const Measure& each) { return each.name == name; });
  return found == measures.end() ? nullptr : &*found;
}

/// The same measure of a job that has nothing of it.
Measure without(const Measure& measure) {
  Measure none = measure;
  none.value = 0;
  none.group.reset();
  return none;
}

std::string where(const Group& group) {
  return group.inside() ? fmt::format("{} ranks inside a node", base::format_count(group.size))
                        : fmt::format("{} ranks over {} nodes", base::format_count(group.size),
                                      base::format_count(group.nodes));
}

std::string layout(const spec::Job& job) {
  const spec::Parallelism& p = job.parallelism;
  std::string text = fmt::format("tp {} x pp {} x dp {}", p.tp, p.pp, p.dp);
  return p.cp > 1 ? fmt::format("cp {} x {}", p.cp, text) : text;
}

std::string lost_group(const Row& row, const Side& large, const Side& small) {
  if (!row.small.group)
    return fmt::format("{}: none is left in {}", where(*row.large.group), layout(small.job));
  if (!row.large.group)
    return fmt::format("{}: there is none in {}", where(*row.small.group), layout(large.job));
  const Group &a = *row.large.group, &b = *row.small.group;
  if (a == b) return "";
  if (a.nodes > small.job.nodes())
    return fmt::format("{} cannot be kept on {} node{}: {}", where(a), small.job.nodes(),
                       small.job.nodes() == 1 ? "" : "s", where(b));
  return fmt::format("{} become {}", where(a), where(b));
}

std::string pipeline(const spec::Job& job) {
  return fmt::format("{} stage{} of {} micro batches", job.parallelism.pp,
                     job.parallelism.pp == 1 ? "" : "s", job.micro_batches());
}

std::string lost_value(const Row& row, const Side& large, const Side& small) {
  if (row.off <= 1) return "";
  const double change = row.small.value - row.large.value;
  if (row.large.scale == Scale::kShare)
    return fmt::format("{:.1f} points {}", 100 * std::abs(change), change > 0 ? "more" : "less") +
           (row.large.name != "idle"
                ? ""
                : fmt::format(": {} become {}", pipeline(large.job), pipeline(small.job)));
  if (row.large.scale == Scale::kDegrees)
    return fmt::format("{:.1f} K {}", std::abs(change), change > 0 ? "hotter" : "cooler");
  return fmt::format("{:.2f} times the large job's", row.small.value / row.large.value);
}

bool tells(const Row& row) { return std::max(row.large.value, row.small.value) >= kTellingShare; }

/// What a collective's link adds to the square of the distance.
double link_of(const Row& row) {
  if (row.same_link() || !tells(row)) return 0;
  return row.large.group && row.small.group ? 1 : 4;
}

Row row_of(const Measure& a, const Measure& b, const Side& large, const Side& small) {
  Row row{.large = a, .small = b, .off = off_of(a, b), .kept = true, .lost = ""};
  row.kept = row.off <= 1 && row.same_link();
  row.lost = lost_value(row, large, small);
  const bool talks = a.group || b.group;
  const std::string group = talks ? lost_group(row, large, small) : "";
  row.lost += (row.lost.empty() || group.empty() ? "" : "; ") + group;
  return row;
}

}  // namespace

bool Row::same_link() const {
  if (!large.group && !small.group) return true;
  return large.group && small.group && large.group->inside() == small.group->inside();
}

bool Proxy::keeps_all() const {
  return std::all_of(rows.begin(), rows.end(), [](const Row& row) { return row.kept; });
}

std::vector<Row> rows_of(const Side& large, const Side& small) {
  std::vector<Row> rows;
  for (const Measure& a : large.measures) {
    const Measure* b = named(small.measures, a.name);
    if (b == nullptr && a.scale != Scale::kShare) continue;
    rows.push_back(row_of(a, b != nullptr ? *b : without(a), large, small));
  }
  auto at = std::find_if(rows.begin(), rows.end(),
                         [](const Row& row) { return row.large.name == "optimizer"; });
  for (const Measure& b : small.measures)
    if (b.group && named(large.measures, b.name) == nullptr)
      at = rows.insert(at, row_of(without(b), b, large, small)) + 1;
  return rows;
}

double distance_of(const std::vector<Row>& rows) {
  double sum = 0;
  for (const Row& row : rows) sum += row.off * row.off + link_of(row);
  return std::sqrt(sum);
}

size_t lost_shares(const std::vector<Row>& rows) {
  return static_cast<size_t>(std::count_if(rows.begin(), rows.end(), [](const Row& row) {
    return row.large.scale == Scale::kShare && !row.kept && tells(row);
  }));
}

}  // namespace ergometer::study::proxy

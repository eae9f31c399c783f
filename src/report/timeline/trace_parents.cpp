#include "report/timeline/trace_parents.h"

#include <fmt/format.h>

#include <algorithm>

namespace ergometer::report {
namespace {

constexpr int32_t kComputeStream = 0;

/// Recomputation and gradients of weights belong to the backward pass that they are done for.
std::string pass_of(const run::Kernel& kernel) {
  const std::string pass =
      kernel.pass == "weight" || kernel.pass == "recompute" ? "backward" : kernel.pass;
  if (kernel.micro_batch < 0 || pass.empty()) return pass;
  const std::string of = fmt::format("{}, micro batch {}", pass, kernel.micro_batch);
  return kernel.chunk > 0 ? fmt::format("{}, chunk {}", of, kernel.chunk) : of;
}

}  // namespace

void ParentSlices::add(const run::Kernel& kernel) {
  if (kernel.stream != kComputeStream) return;
  Rank& rank = ranks_[kernel.rank];
  const int64_t end_ns = kernel.start_ns + kernel.duration_ns;
  rank.end_ns = std::max(rank.end_ns, end_ns);
  const auto extend = [&](std::string name, int64_t level, bool goes_on, size_t& place) {
    if (!goes_on) {
      place = rank.slices.size();
      rank.slices.push_back({{kernel.rank, kernel.start_ns, end_ns, std::move(name)}, level});
    }
    rank.slices[place].slice.end_ns = std::max(rank.slices[place].slice.end_ns, end_ns);
  };
  // What waits, or belongs to no pass, is in none.
  const std::string pass = kernel.category == "wait" ? std::string() : pass_of(kernel);
  const bool same_pass = pass == rank.pass, same_layer = same_pass && kernel.layer == rank.layer;
  if (!pass.empty()) {
    extend(pass, 1, same_pass, rank.in_pass);
    if (kernel.layer >= 0)
      extend(fmt::format("layer {}", kernel.layer), 2, same_layer, rank.in_layer);
  }
  rank.pass = pass;
  rank.layer = kernel.layer;
}

std::vector<ParentSlice> ParentSlices::of_rank(int64_t rank, int64_t step_ns) const {
  const auto found = ranks_.find(rank);
  if (found == ranks_.end()) return {};
  std::vector<Open> all = found->second.slices;
  std::ranges::stable_sort(all, [](const Open& x, const Open& y) {
    return x.slice.start_ns != y.slice.start_ns ? x.slice.start_ns < y.slice.start_ns
                                                : x.level < y.level;
  });
  std::vector<ParentSlice> slices = {{rank, 0, std::max(step_ns, found->second.end_ns), "step"}};
  for (const Open& open : all) slices.push_back(open.slice);
  return slices;
}

}  // namespace ergometer::report

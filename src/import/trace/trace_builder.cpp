#include "import/trace/trace_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <tuple>

#include "base/collection.h"
#include "import/text/decimal.h"
#include "import/text/step_name.h"

namespace ergometer::importer {

void DropCounts::add(std::string_view reason, int64_t count) {
  if (count <= 0) return;
  const auto found = std::ranges::find(counts_, reason, &run::Dropped::reason);
  if (found != counts_.end()) {
    found->count += count;
  } else {
    counts_.push_back({"", std::string(reason), count});
  }
}

std::vector<run::Dropped> DropCounts::take(const std::string& file) {
  for (run::Dropped& dropped : counts_) dropped.file = file;
  return std::move(counts_);
}

std::optional<Span> read_span(std::optional<int64_t> start, std::optional<int64_t> end,
                              std::string_view what, DropCounts& dropped) {
  const auto in_range = [](const std::optional<int64_t>& time) {
    return time && *time >= -kLargestTime && *time <= kLargestTime;
  };
  if (!in_range(start) || !in_range(end)) {
    const char* which = in_range(start) ? "end" : "start";
    dropped.add(fmt::format("{} whose {} is no whole number in range", what, which));
    return std::nullopt;
  }
  if (*end < *start) {
    dropped.add(fmt::format("{} that ends before it starts", what));
    return std::nullopt;
  }
  return Span{*start, *end - *start};
}

run::GpuClass class_of_kernel(std::string_view name) {
  const auto has = [&](std::string_view word) {
    return std::search(name.begin(), name.end(), word.begin(), word.end(), [](char x, char y) {
             return std::tolower(static_cast<unsigned char>(x)) == y;
           }) != name.end();
  };
  return has("nccl") || has("rccl") ? run::GpuClass::kCommunication : run::GpuClass::kCompute;
}

uint32_t TraceBuilder::name(std::string_view text) {
  const auto [at, is_new] =
      names_.emplace(std::string(text), static_cast<uint32_t>(trace.names.size()));
  if (is_new) trace.names.emplace_back(text);
  return at->second;
}

void TraceBuilder::add_range(std::string_view text, int64_t thread, const Span& span) {
  run::Range range;
  range.name = name(text);
  range.thread = thread;
  range.start_ns = span.start_ns;
  range.duration_ns = span.duration_ns;
  trace.ranges.push_back(range);
}

std::vector<int64_t> TraceBuilder::correlations() {
  std::vector<int64_t> all;
  all.reserve(trace.events.size());
  for (const run::GpuEvent& event : trace.events) {
    if (event.correlation < 0) continue;
    all.push_back(event.correlation);
    if (event.kind == run::GpuClass::kCommunication) communication_.push_back(event.correlation);
  }
  base::sort_unique(all);
  std::ranges::sort(communication_);
  return all;
}

void TraceBuilder::add_launch(int64_t correlation, int64_t thread, const Span& span) {
  trace.launches.push_back({correlation, -1, span.start_ns, span.duration_ns, thread});
  if (std::ranges::binary_search(communication_, correlation))
    threads_.push_back({correlation, thread, span.start_ns});
}

run::RankTrace TraceBuilder::finish() {
  std::ranges::sort(trace.launches, [](const auto& a, const auto& b) {
    return std::tie(a.correlation, a.start_ns, a.duration_ns) <
           std::tie(b.correlation, b.start_ns, b.duration_ns);
  });
  // The runtime's call and the driver's within it have one correlation: the outer one counts.
  trace.launches.erase(std::unique(trace.launches.begin(), trace.launches.end(),
                                   [](const run::Launch& x, const run::Launch& y) {
                                     return x.correlation == y.correlation;
                                   }),
                       trace.launches.end());
  std::ranges::stable_sort(trace.ranges, [](const auto& a, const auto& b) {
    return std::tie(a.start_ns, b.duration_ns) < std::tie(b.start_ns, a.duration_ns);
  });
  trace.steps = steps_of_ranges(trace);
  join_collective_calls(std::move(calls_), std::move(threads_), trace);
  return std::move(trace);
}

}  // namespace ergometer::importer

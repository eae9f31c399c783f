#include "import/trace/collective_calls.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>

namespace ergometer::importer {
namespace {

/// What PyTorch calls it, and whether a rank's message is a part of what it sends or receives.
struct KnownCall {
  std::string_view name, collective;
  bool in_is_whole = false, out_is_whole = false;
};
constexpr std::array kCalls = std::to_array<KnownCall>({
    {"ncclAllReduce", "allreduce"},
    {"ncclAllGather", "all_gather", false, true},
    {"ncclReduceScatter", "reduce_scatter", true, false},
    {"ncclBroadcast", "broadcast"},
    {"ncclBcast", "broadcast"},
    {"ncclReduce", "reduce"},
    {"ncclSend", "send"},
    {"ncclRecv", "recv"},
    {"ncclAlltoAll", "all_to_all", true, true},
    {"ncclAllToAll", "all_to_all", true, true},
    {"ncclAllToAllv", "all_to_all"},
});

const KnownCall* known_call(std::string_view name) {
  for (const KnownCall& call : kCalls)
    if (call.name == name) return &call;
  return nullptr;
}

/// Bytes times ranks, where both are known and the product is no nonsense.
int64_t times(int64_t bytes, int64_t ranks) {
  if (bytes < 0 || ranks < 1 || bytes > INT64_MAX / ranks) return -1;
  return bytes * ranks;
}

run::Collective collective_of(const CollectiveCall& call, const KnownCall& known, int64_t bytes) {
  run::Collective c;
  c.name = known.collective;
  c.group = call.group;
  c.group_size = call.group_size;
  if (bytes < 0) return c;
  c.dtype = "Byte";
  c.in_elements = known.in_is_whole ? times(bytes, call.group_size) : bytes;
  c.out_elements = known.out_is_whole ? times(bytes, call.group_size) : bytes;
  return c;
}

using Calls = std::vector<CollectiveCall>;

/// The innermost call on the thread during which the launch was; the end where there is none.
Calls::const_iterator call_around(const Calls& calls, const LaunchingThread& launch) {
  auto at = std::upper_bound(
      calls.begin(), calls.end(), launch, [](const LaunchingThread& l, const CollectiveCall& c) {
        return std::tie(l.thread, l.start_ns) < std::tie(c.thread, c.start_ns);
      });
  constexpr int kDeepest = 16;
  for (int i = 0; i < kDeepest && at != calls.begin(); ++i) {
    --at;
    if (at->thread != launch.thread) break;
    if (at->end_ns >= launch.start_ns) return at;
  }
  return calls.end();
}

/// What the group that ends with `end` holds, when it is of one kind.
const run::Collective* collective_of_group(const Calls& calls, Calls::const_iterator end,
                                           run::Collective& result) {
  const KnownCall* kind = nullptr;
  int64_t bytes = 0, depth = 1;
  for (auto at = end; at != calls.begin() && depth > 0;) {
    --at;
    if (at->thread != end->thread) break;
    if (at->name == "ncclGroupEnd") ++depth;
    if (at->name == "ncclGroupStart") --depth;
    const KnownCall* known = known_call(at->name);
    if (known == nullptr) continue;
    if (kind != nullptr && (kind->collective != known->collective)) return nullptr;
    kind = known;
    bytes = bytes < 0 || at->bytes < 0 || at->bytes > INT64_MAX - bytes ? -1 : bytes + at->bytes;
    result = collective_of(*at, *kind, bytes);
  }
  return kind != nullptr ? &result : nullptr;
}

}  // namespace

void join_collective_calls(Calls calls, std::vector<LaunchingThread> launches,
                           run::RankTrace& trace) {
  if (calls.empty()) return;
  std::ranges::stable_sort(calls, [](const auto& a, const auto& b) {
    return std::tie(a.thread, a.start_ns) < std::tie(b.thread, b.start_ns);
  });
  std::ranges::stable_sort(
      launches, [](const auto& a, const auto& b) { return a.correlation < b.correlation; });
  for (run::GpuEvent& event : trace.events) {
    if (event.kind != run::GpuClass::kCommunication || event.correlation < 0) continue;
    const auto launch = std::lower_bound(
        launches.begin(), launches.end(), event.correlation,
        [](const LaunchingThread& l, int64_t wanted) { return l.correlation < wanted; });
    if (launch == launches.end() || launch->correlation != event.correlation) continue;
    const auto call = call_around(calls, *launch);
    if (call == calls.end()) continue;
    run::Collective found;
    const KnownCall* known = known_call(call->name);
    if (known != nullptr) {
      found = collective_of(*call, *known, call->bytes);
    } else if (call->name != "ncclGroupEnd" || !collective_of_group(calls, call, found)) {
      continue;
    }
    event.collective = static_cast<uint32_t>(trace.collectives.size());
    trace.collectives.push_back(std::move(found));
  }
}

}  // namespace ergometer::importer

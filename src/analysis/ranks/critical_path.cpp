#include "analysis/ranks/critical_path.h"

#include <algorithm>
#include <map>

namespace ergometer::analysis {
namespace {

constexpr const char* kCpu = "cpu";
constexpr const char* kQueued = "queued";
constexpr const char* kUnknown = "unknown";

class PathWalk {
 public:
  PathWalk(const std::vector<run::RankTrace>& ranks, const EventGraph& graph)
      : ranks_(ranks), graph_(graph), begin_(graph.nodes.front().start_ns) {}
  CriticalPath take();

 private:
  /// The time from `start_ns` to where the walk stands.
  void cover(size_t rank, const std::string& kind, int64_t start_ns);
  /// Through the event itself; returns the one at whose start the walk then stands.
  size_t through(size_t index);
  /// To what it waited for; false at the beginning.
  bool step_back(size_t& index);

  const std::vector<run::RankTrace>& ranks_;
  const EventGraph& graph_;
  int64_t begin_, at_ = 0;
  CriticalPath path_;  ///< segments from the last to the first
};

void PathWalk::cover(size_t rank, const std::string& kind, int64_t start_ns) {
  const int64_t start = std::max(start_ns, begin_);
  if (start >= at_) return;
  std::vector<PathSegment>& segments = path_.segments;
  const int64_t number = ranks_[rank].rank;
  if (!segments.empty() && segments.back().rank == number && segments.back().kind == kind) {
    segments.back().start_ns = start;
  } else {
    segments.push_back({number, kind, start, at_});
  }
  at_ = start;
}

size_t PathWalk::through(size_t index) {
  const EventNode& node = graph_.nodes[index];
  const std::string& kind = graph_.kinds[node.kind];
  if (node.meeting != EventNode::kNone) {
    const EventMeeting& meeting = graph_.meetings[node.meeting];
    if (meeting.last_ns < at_) {
      cover(node.rank, kind, meeting.last_ns);
      return meeting.latest;
    }
  }
  cover(node.rank, kind, node.start_ns);
  return index;
}

bool PathWalk::step_back(size_t& index) {
  const EventNode& node = graph_.nodes[index];
  size_t next = EventNode::kNone;
  int64_t since = INT64_MIN;
  const auto consider = [&](size_t other) {
    if (other == EventNode::kNone) return;
    const int64_t end = std::min(graph_.nodes[other].end_ns, at_);
    if (end <= since) return;
    since = end;
    next = other;
  };
  consider(node.before);
  consider(node.waits_for);
  const bool by_cpu = node.launched && node.launch_ns > since;
  if (next == EventNode::kNone && !by_cpu) {
    cover(node.rank, kUnknown, begin_);
    return false;
  }
  if (by_cpu) {
    cover(node.rank, kQueued, node.launch_ns);
    next = node.cpu_after;
    cover(node.rank, kCpu, next == EventNode::kNone ? begin_ : graph_.nodes[next].end_ns);
  } else {
    cover(node.rank, kQueued, since);
    if (next == node.waits_for) ++path_.inferred_waits;
  }
  index = next;
  return next != EventNode::kNone && at_ > begin_;
}

CriticalPath PathWalk::take() {
  size_t index = 0;
  for (size_t i = 0; i < graph_.nodes.size(); ++i)
    if (graph_.nodes[i].end_ns > graph_.nodes[index].end_ns) index = i;
  at_ = graph_.nodes[index].end_ns;
  path_.span_ns = at_ - begin_;
  do {
    index = through(index);
  } while (step_back(index));
  std::ranges::reverse(path_.segments);
  return std::move(path_);
}

template <class Key>
auto totals(const std::vector<PathSegment>& segments, Key key) {
  std::map<std::decay_t<decltype(key(segments.front()))>, int64_t> sums;
  for (const PathSegment& segment : segments)
    sums[key(segment)] += segment.end_ns - segment.start_ns;
  return sums;
}

template <class Row>
void sort_rows(std::vector<Row>& rows) {
  std::ranges::stable_sort(rows, std::ranges::greater{}, &Row::on_path_ns);
}

/// Replays what takes most of the path; each costs a pass over all events.
void add_counterfactuals(const EventGraph& graph, CriticalPath& path) {
  constexpr size_t kMost = 8;
  for (size_t i = 0; i < std::min(path.kinds.size(), kMost); ++i) {
    PathShare& share = path.kinds[i];
    const auto known = std::ranges::find(graph.kinds, share.kind);
    if (known != graph.kinds.end()) {
      const auto kind = static_cast<uint32_t>(known - graph.kinds.begin());
      share.saved_if_free_ns = path.span_ns - replayed_span(graph, {.free_kind = kind});
    } else if (share.kind == kCpu) {
      share.saved_if_free_ns = path.span_ns - replayed_span(graph, {.cpu_free = true});
    }
  }
}

}  // namespace

CriticalPath critical_path(const std::vector<run::RankTrace>& ranks, const EventGraph& graph) {
  if (graph.nodes.empty()) return {};
  CriticalPath path = PathWalk(ranks, graph).take();
  if (path.segments.empty()) return path;
  for (const auto& [kind, ns] : totals(path.segments, [](const auto& s) { return s.kind; }))
    path.kinds.push_back({kind, ns});
  for (const auto& [rank, ns] : totals(path.segments, [](const auto& s) { return s.rank; }))
    path.ranks.push_back({rank, ns});
  sort_rows(path.kinds);
  sort_rows(path.ranks);
  add_counterfactuals(graph, path);
  return path;
}

}  // namespace ergometer::analysis

#include "optimize/time_cost.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <utility>

#include "base/check.h"

namespace ergometer::optimize {
namespace {

constexpr int64_t kUnlimited = int64_t{1} << 60;
constexpr double kFlowUnits = 1e3;  ///< a unit of flow a milliwatt

/// A choice in rounded time.
struct Corner {
  int64_t units = 0;
  double cost = 0;
};

std::vector<Corner> rounded(const std::vector<Choice>& choices, double unit_s) {
  std::vector<Choice> exact;
  for (const Choice& choice : choices) {
    const double units = std::max(1.0, std::round(choice.time_s / unit_s));
    exact.push_back({units, choice.cost});
  }
  std::vector<Corner> corners;
  for (const Choice& choice : convex_choices(std::move(exact)))
    corners.push_back({std::llround(choice.time_s), choice.cost});
  return corners;
}

/// The flow network: arcs in pairs, forward and back.
class Network {
 public:
  explicit Network(int32_t events) : arcs_of_(static_cast<size_t>(events)) {}

  void add(int32_t from, int32_t to, int64_t length, int64_t capacity) {
    arcs_of_[static_cast<size_t>(from)].push_back(static_cast<int32_t>(arcs_.size()));
    arcs_.push_back({to, length, capacity});
    arcs_of_[static_cast<size_t>(to)].push_back(static_cast<int32_t>(arcs_.size()));
    arcs_.push_back({from, -length, 0});
  }

  /// Earliest times of all events, with nothing flowing.
  void start(const std::vector<int32_t>& order) {
    time_.assign(arcs_of_.size(), 0);
    for (const int32_t event : order)
      for (const int32_t arc : arcs_of_[static_cast<size_t>(event)]) {
        const Arc& it = arcs_[static_cast<size_t>(arc)];
        if (it.left <= 0) continue;
        int64_t& there = time_[static_cast<size_t>(it.to)];
        there = std::max(there, time_[static_cast<size_t>(event)] + it.length);
      }
  }

  /// Moves events together until another path from start to end is tight; by how much the end came
  /// nearer.
  int64_t tighten() {
    constexpr int64_t kFar = kUnlimited;
    std::vector<int64_t> distance(time_.size(), kFar);
    using Entry = std::pair<int64_t, int32_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    distance[0] = 0;
    queue.emplace(0, 0);
    while (!queue.empty()) {
      const auto [at, event] = queue.top();
      queue.pop();
      if (at != distance[static_cast<size_t>(event)]) continue;
      for (const int32_t arc : arcs_of_[static_cast<size_t>(event)]) {
        const Arc& it = arcs_[static_cast<size_t>(arc)];
        if (it.left <= 0) continue;
        const int64_t there = at + slack(event, it);
        if (there >= distance[static_cast<size_t>(it.to)]) continue;
        distance[static_cast<size_t>(it.to)] = there;
        queue.emplace(there, it.to);
      }
    }
    const int64_t by = distance.back();
    for (size_t event = 0; event < time_.size(); ++event)
      time_[event] -= std::min(distance[event], by);
    return by;
  }

  /// The most that flows along tight arcs on top of what does; `kUnlimited` and more: the end
  /// cannot come nearer.
  int64_t saturate() {
    int64_t pushed = 0;
    while (pushed < kUnlimited / 2 && find_levels()) {
      next_arc_.assign(arcs_of_.size(), 0);
      while (const int64_t more = push(0, kUnlimited)) {
        pushed += more;
        if (pushed >= kUnlimited / 2) break;
      }
    }
    return pushed;
  }

  int64_t time(int32_t event) const { return time_[static_cast<size_t>(event)]; }
  int64_t length() const { return time_.back() - time_.front(); }

 private:
  struct Arc {
    int32_t to = 0;
    int64_t length = 0, left = 0;
  };

  int64_t slack(int32_t from, const Arc& arc) const {
    return time_[static_cast<size_t>(arc.to)] - time_[static_cast<size_t>(from)] - arc.length;
  }

  bool find_levels() {
    level_.assign(arcs_of_.size(), -1);
    level_[0] = 0;
    std::vector<int32_t> queue = {0};
    for (size_t i = 0; i < queue.size(); ++i)
      for (const int32_t arc : arcs_of_[static_cast<size_t>(queue[i])]) {
        const Arc& it = arcs_[static_cast<size_t>(arc)];
        if (it.left <= 0 || level_[static_cast<size_t>(it.to)] >= 0 || slack(queue[i], it) != 0)
          continue;
        level_[static_cast<size_t>(it.to)] = level_[static_cast<size_t>(queue[i])] + 1;
        queue.push_back(it.to);
      }
    return level_.back() >= 0;
  }

  /// One path from `event` to the end in ascending levels, by a stack of arcs: pipelines are
  /// thousands of events long.
  int64_t push(int32_t event, int64_t most) {
    const auto end = static_cast<int32_t>(arcs_of_.size()) - 1;
    path_.clear();
    while (event != end) {
      size_t& next = next_arc_[static_cast<size_t>(event)];
      const std::vector<int32_t>& arcs = arcs_of_[static_cast<size_t>(event)];
      while (next < arcs.size() && !leads_on(event, arcs[next])) ++next;
      if (next < arcs.size()) {
        path_.push_back(arcs[next]);
        event = arcs_[static_cast<size_t>(arcs[next])].to;
        continue;
      }
      if (path_.empty()) return 0;
      event = arcs_[static_cast<size_t>(path_.back() ^ 1)].to;
      path_.pop_back();
      ++next_arc_[static_cast<size_t>(event)];
    }
    for (const int32_t arc : path_) most = std::min(most, arcs_[static_cast<size_t>(arc)].left);
    for (const int32_t arc : path_) {
      arcs_[static_cast<size_t>(arc)].left -= most;
      arcs_[static_cast<size_t>(arc ^ 1)].left += most;
    }
    return most;
  }

  bool leads_on(int32_t event, int32_t arc) const {
    const Arc& it = arcs_[static_cast<size_t>(arc)];
    return it.left > 0 &&
           level_[static_cast<size_t>(it.to)] == level_[static_cast<size_t>(event)] + 1 &&
           slack(event, it) == 0;
  }

  std::vector<Arc> arcs_;
  std::vector<std::vector<int32_t>> arcs_of_;
  std::vector<int64_t> time_;
  std::vector<int32_t> level_, path_;
  std::vector<size_t> next_arc_;
};

/// The arcs of one work: the cheapest choice carries what the first second less costs, the next
/// what the second after costs on top, the quickest everything else.
void add_arcs(const TimeCostGraph::Work& work, const std::vector<Corner>& corners, double unit_s,
              Network& network) {
  int64_t carried = 0;
  for (size_t i = 0; i + 1 < corners.size(); ++i) {
    const double seconds = static_cast<double>(corners[i].units - corners[i + 1].units) * unit_s;
    const double slope = (corners[i + 1].cost - corners[i].cost) / seconds;
    const int64_t capacity = std::max<int64_t>(carried, std::llround(slope * kFlowUnits));
    if (capacity > carried) network.add(work.from, work.to, corners[i].units, capacity - carried);
    carried = capacity;
  }
  network.add(work.from, work.to, corners.back().units, kUnlimited);
}

double cost_at(const std::vector<Corner>& corners, int64_t units) {
  for (size_t i = 0; i + 1 < corners.size(); ++i) {
    if (units < corners[i + 1].units) continue;
    const double share = static_cast<double>(corners[i].units - units) /
                         static_cast<double>(corners[i].units - corners[i + 1].units);
    return corners[i].cost + share * (corners[i + 1].cost - corners[i].cost);
  }
  return corners.back().cost;
}

/// What the network says at one length, in seconds and joules.
TradeOff read_off(const TimeCostGraph& graph, const std::vector<std::vector<Corner>>& corners,
                  const Network& network, double unit_s) {
  TradeOff result;
  result.length_s = static_cast<double>(network.length()) * unit_s;
  for (size_t i = 0; i < corners.size(); ++i) {
    const auto& work = graph.work()[i];
    const int64_t window = network.time(work.to) - network.time(work.from);
    const int64_t units = std::clamp(window, corners[i].back().units, corners[i].front().units);
    result.time_s.push_back(static_cast<double>(units) * unit_s);
    result.cost += cost_at(corners[i], units);
  }
  return result;
}

double quickest_length(const TimeCostGraph& graph) {
  std::vector<double> time_s;
  for (const auto& work : graph.work()) time_s.push_back(work.choices.back().time_s);
  return length_of(graph, time_s);
}

}  // namespace

std::vector<Choice> convex_choices(std::vector<Choice> choices) {
  std::ranges::sort(choices, [](const Choice& a, const Choice& b) {
    return a.time_s != b.time_s ? a.time_s < b.time_s : a.cost < b.cost;
  });
  std::vector<Choice> hull;  // from the quickest on; slower only if cheaper
  for (const Choice& choice : choices) {
    if (!hull.empty() && (choice.cost >= hull.back().cost || choice.time_s <= hull.back().time_s))
      continue;
    while (hull.size() >= 2) {
      const Choice &a = hull[hull.size() - 2], &b = hull.back();
      const double through_b = (b.cost - a.cost) * (choice.time_s - a.time_s);
      const double past_b = (choice.cost - a.cost) * (b.time_s - a.time_s);
      if (through_b < past_b) break;
      hull.pop_back();
    }
    hull.push_back(choice);
  }
  std::ranges::reverse(hull);
  return hull;
}

int32_t TimeCostGraph::add_work(int32_t from, int32_t to, std::vector<Choice> choices) {
  ERGOMETER_CHECK(!choices.empty(), "work has a choice");
  work_.push_back({from, to, std::move(choices)});
  return static_cast<int32_t>(work_.size()) - 1;
}

void TimeCostGraph::add_order(int32_t from, int32_t to, double gap_s) {
  orders_.push_back({from, to, gap_s});
}

std::vector<int32_t> topological_order(const TimeCostGraph& graph) {
  const auto events = static_cast<size_t>(graph.events());
  std::vector<std::vector<int32_t>> next(events);
  std::vector<int32_t> waiting(events, 0);
  const auto add = [&](int32_t from, int32_t to) {
    next[static_cast<size_t>(from)].push_back(to);
    ++waiting[static_cast<size_t>(to)];
  };
  for (const auto& work : graph.work()) add(work.from, work.to);
  for (const auto& order : graph.orders()) add(order.from, order.to);
  std::vector<int32_t> result;
  for (int32_t event = 0; event < graph.events(); ++event)
    if (waiting[static_cast<size_t>(event)] == 0) result.push_back(event);
  for (size_t i = 0; i < result.size(); ++i)
    for (const int32_t to : next[static_cast<size_t>(result[i])])
      if (--waiting[static_cast<size_t>(to)] == 0) result.push_back(to);
  ERGOMETER_CHECK(result.size() == events, "work and order have no cycle");
  return result;
}

double length_of(const TimeCostGraph& graph, const std::vector<double>& time_s) {
  std::vector<double> at(static_cast<size_t>(graph.events()), 0.0);
  std::vector<std::vector<std::pair<int32_t, double>>> next(at.size());
  for (size_t i = 0; i < graph.work().size(); ++i)
    next[static_cast<size_t>(graph.work()[i].from)].emplace_back(graph.work()[i].to, time_s[i]);
  for (const auto& order : graph.orders())
    next[static_cast<size_t>(order.from)].emplace_back(order.to, order.gap_s);
  for (const int32_t event : topological_order(graph))
    for (const auto& [to, length] : next[static_cast<size_t>(event)])
      at[static_cast<size_t>(to)] =
          std::max(at[static_cast<size_t>(to)], at[static_cast<size_t>(event)] + length);
  return at.back();
}

std::vector<TradeOff> trade_off(const TimeCostGraph& graph, const TradeOffOptions& options) {
  const double unit_s = quickest_length(graph) * options.resolution;
  Network network(graph.events());
  std::vector<std::vector<Corner>> corners;
  for (const auto& work : graph.work()) {
    corners.push_back(rounded(work.choices, unit_s));
    add_arcs(work, corners.back(), unit_s, network);
  }
  for (const auto& order : graph.orders())
    network.add(order.from, order.to, std::llround(order.gap_s / unit_s), kUnlimited);
  network.start(topological_order(graph));

  std::vector<TradeOff> frontier;
  int64_t flow = 0;
  for (bool last = false; !last;) {
    const int64_t length = network.length();
    const int64_t pushed = network.saturate();
    last = pushed >= kUnlimited / 2;
    flow += last ? 0 : pushed;
    const double nearest_s =
        frontier.empty() ? INFINITY : frontier.back().length_s * (1 - options.spacing);
    if (frontier.empty() || last || static_cast<double>(length) * unit_s <= nearest_s) {
      frontier.push_back(read_off(graph, corners, network, unit_s));
      frontier.back().price = last ? INFINITY : static_cast<double>(flow) / kFlowUnits;
    }
    if (!last) network.tighten();
  }
  return frontier;
}

}  // namespace ergometer::optimize

#pragma once

#include <cstdint>
#include <vector>

namespace ergometer::optimize {

/// One way to do a piece of work: how long it takes, and what it costs (joules).
struct Choice {
  double time_s = 0, cost = 0;
};

/// What is worth choosing, convex: from the cheapest to the quickest choice, only corners of the
/// lower convex hull of cost over time. Between two corners the work may be divided.
std::vector<Choice> convex_choices(std::vector<Choice> choices);

/// Work with choices between events, as a graph without cycles: the time-cost trade-off of a
/// project (Kelley 1961, Fulkerson 1961; Phillips and Dessouky 1977 by minimum cuts).
///
///     TimeCostGraph graph(events);
///     graph.add_work(begin, end, choices);
///     graph.add_order(end_of_a, begin_of_b, gap_s);
class TimeCostGraph {
 public:
  /// Events are numbered 0 .. events-1; the first is the start of everything, the last its end.
  explicit TimeCostGraph(int32_t events) : events_(events) {}

  /// Returns the work's number. `choices`: of `convex_choices`, at least one.
  int32_t add_work(int32_t from, int32_t to, std::vector<Choice> choices);
  /// `to` is at least `gap_s` after `from`.
  void add_order(int32_t from, int32_t to, double gap_s);

  struct Work {
    int32_t from = 0, to = 0;
    std::vector<Choice> choices;
  };
  struct Order {
    int32_t from = 0, to = 0;
    double gap_s = 0;
  };
  int32_t events() const { return events_; }
  const std::vector<Work>& work() const { return work_; }
  const std::vector<Order>& orders() const { return orders_; }

 private:
  int32_t events_;
  std::vector<Work> work_;
  std::vector<Order> orders_;
};

/// All events in an order in which work and orders point forward.
std::vector<int32_t> topological_order(const TimeCostGraph& graph);

/// One corner of the frontier: no schedule that is as quick costs less.
struct TradeOff {
  double length_s = 0, cost = 0;
  double price = 0;  ///< what the next second less costs, J/s; of the quickest: without limit
  std::vector<double> time_s;  ///< of every work
};

struct TradeOffOptions {
  /// Times are rounded to this share of the shortest length.
  double resolution = 1.0 / 400'000;
  /// Corners nearer than this share of the length to the one before are not reported.
  double spacing = 1e-3;
};

/// The whole frontier, from the cheapest schedule to the quickest, exact for the rounded times.
///
/// Linear programming's dual is a flow: every choice of a work is an arc as long as the work then
/// takes, that carries as much as a second costs there. The price of time is pushed from start to
/// end along longest paths; what is saturated at one length is a minimum cut, across which all
/// events move closer together. So every length has its cut, and all cuts are one flow.
std::vector<TradeOff> trade_off(const TimeCostGraph& graph, const TradeOffOptions& options = {});

/// Length of the schedule in which works take these times.
double length_of(const TimeCostGraph& graph, const std::vector<double>& time_s);

}  // namespace ergometer::optimize

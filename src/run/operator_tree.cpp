#include "run/operator_tree.h"

#include <algorithm>
#include <tuple>

namespace ergometer::run {

OperatorTree::OperatorTree(const std::vector<Operator>& operators)
    : parents_(operators.size(), kNone), place_of_(operators.size()) {
  places_.reserve(operators.size());
  for (uint32_t op = 0; op < operators.size(); ++op) {
    const Operator& o = operators[op];
    places_.push_back({o.thread, o.start_ns, o.start_ns + o.duration_ns, op});
    if (o.external_id >= 0) by_external_id_.emplace_back(o.external_id, op);
  }
  std::ranges::sort(places_, [](const Place& a, const Place& b) {
    return std::tie(a.thread, a.start_ns, b.end_ns, a.op) <
           std::tie(b.thread, b.start_ns, a.end_ns, b.op);
  });
  std::ranges::sort(by_external_id_);
  std::vector<const Place*> open;  ///< each within the one before
  for (const Place& place : places_) {
    while (!open.empty() &&
           (open.back()->thread != place.thread || open.back()->end_ns < place.end_ns))
      open.pop_back();
    if (!open.empty()) parents_[place.op] = open.back()->op;
    place_of_[place.op] = static_cast<uint32_t>(&place - places_.data());
    open.push_back(&place);
  }
}

uint32_t OperatorTree::at(int64_t thread, int64_t time_ns) const {
  const auto behind = std::upper_bound(places_.begin(), places_.end(), std::pair(thread, time_ns),
                                       [](const auto& wanted, const Place& place) {
                                         return wanted < std::pair(place.thread, place.start_ns);
                                       });
  if (behind == places_.begin() || std::prev(behind)->thread != thread) return kNone;
  uint32_t op = std::prev(behind)->op;
  while (op != kNone && places_[place_of_[op]].end_ns < time_ns) op = parents_[op];
  return op;
}

uint32_t OperatorTree::of(const Launch& call) const {
  if (call.external_id >= 0) {
    // Of several with one id the last is the innermost.
    const auto behind =
        std::ranges::upper_bound(by_external_id_, std::pair(call.external_id, kNone));
    if (behind != by_external_id_.begin() && std::prev(behind)->first == call.external_id)
      return std::prev(behind)->second;
  }
  return call.thread >= 0 ? at(call.thread, call.start_ns) : kNone;
}

}  // namespace ergometer::run

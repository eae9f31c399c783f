#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "plan/plan.h"

namespace ergometer::engine {

/// When the last role has arrived at each gathering of a plan (`InstructionKind::kArrive`), one time
/// a rank, until every role has waited for it.
class Gatherings {
 public:
  using Times = std::vector<double>;

  Gatherings(const plan::Plan& plan, int64_t ranks)
      : ranks_(static_cast<size_t>(ranks)), roles_(plan.roles.size()) {
    for (const int32_t arrivals : plan.gatherings) all_.push_back({arrivals, roles_, {}});
  }

  void arrive(int32_t gathering, const Times& at_s) {
    Gathering& here = all_[static_cast<size_t>(gathering)];
    ERGOMETER_CHECK(here.missing > 0, "more arrive at a gathering than it waits for");
    here.latest_s.resize(ranks_, 0.0);
    --here.missing;
    for (size_t i = 0; i < ranks_; ++i) here.latest_s[i] = std::max(here.latest_s[i], at_s[i]);
  }
  /// Null while somebody is missing.
  const Times* find(int32_t gathering) const {
    const Gathering& here = all_[static_cast<size_t>(gathering)];
    return here.missing > 0 ? nullptr : &here.latest_s;
  }
  void leave(int32_t gathering) {
    Gathering& here = all_[static_cast<size_t>(gathering)];
    if (--here.waiting == 0) Times().swap(here.latest_s);
  }

 private:
  struct Gathering {
    int32_t missing = 0;
    size_t waiting = 0;
    Times latest_s;
  };
  size_t ranks_, roles_;
  std::vector<Gathering> all_;
};

}  // namespace ergometer::engine

#pragma once

#include <array>
#include <cstddef>

#include "cost/cost.h"
#include "spec/job/job.h"

namespace ergometer::search {

/// What a collective asks of its rank's links while it is alone, as a share of what they carry:
/// inside the domain, of the cards, and of both directions of the network's lines that hold these
/// up: [kLines + 2 line + direction], of a tree up and down, elsewhere forth and back.
struct LinkDemand {
  static constexpr size_t kIntra = 0, kCards = 1, kLines = 2;
  static constexpr size_t kMostLines = 4;  ///< tiers or dimensions; further ones are not followed
  std::array<double, kLines + 2 * kMostLines> share{};
};

/// `alone_s`: how long it then takes.
LinkDemand link_demand(const spec::Job& job, const workload::Operator& op,
                       const plan::GroupPlacement& where, double alone_s);

/// How much longer `own` takes while `other` is at work too: max-min fair shares of every link, as
/// the engine's contention.
double stretch_beside(const LinkDemand& own, const LinkDemand& other);

/// Only what is asked of the network's lines: what two share that meet on their way, one of which
/// leaves where the other arrives.
LinkDemand only_lines(LinkDemand demand);

}  // namespace ergometer::search

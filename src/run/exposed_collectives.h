#pragma once

#include <string>
#include <vector>

#include "run/run.h"

namespace ergometer::run {

/// What the compute stream stands still for: a kind of collective over a kind of group.
struct ExposedCollective {
  std::string group, kind;  ///< as in `CollectiveUse`
  double seconds = 0;       ///< of a step, mean over ranks
};

/// The exposed parts of a step's breakdown, each kind divided over its groups as the ranks that
/// were looked at (`Run::collectives`) see it; in their order. They add up to the breakdown's as
/// far as those ranks have collectives of every kind.
std::vector<ExposedCollective> exposed_collectives(const Run& run);

}  // namespace ergometer::run

#pragma once

#include <cstdint>
#include <optional>

#include "base/random.h"
#include "campaign/renewal.h"

namespace ergometer::campaign {

/// Nodes beside those that train: how many stand by; none given: always one.
using Spares = std::optional<int64_t>;

/// One campaign of `intervals` equal intervals, played failure by failure: when, of which kind,
/// what was written by then, whether a spare node is left, whether the restart holds.
Times play_campaign(const Rhythm& rhythm, int64_t intervals, const Outages& outages,
                    const Spares& spares, const base::Random& random);

}  // namespace ergometer::campaign

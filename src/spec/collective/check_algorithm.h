#pragma once

#include "base/result.h"
#include "spec/collective/algorithm.h"

namespace ergometer::spec {

/// Runs the algorithm on names instead of numbers: it must end, with every message received, and
/// every chunk of every output must hold what its task says, every GPU's part once. Run in the
/// places that its file allows (in place, out of place), and with thread blocks that take turns in
/// two ways, so that what depends on who is first is mostly found. Connections hold any number of
/// messages. The error names the GPU, its chunk, and whose part is missing or doubled.
Result<void> check_algorithm(const Algorithm& algorithm);

}  // namespace ergometer::spec

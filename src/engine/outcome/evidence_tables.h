#pragma once

#include <vector>

#include "engine/outcome/interval.h"

namespace ergometer::engine {

/// The catalog's tables, read once. A table that cannot be read is our bug: `doctor` and a test
/// read them all.
const std::vector<Evidence>& catalog_evidence();
const Uncertainty& catalog_uncertainty();

}  // namespace ergometer::engine

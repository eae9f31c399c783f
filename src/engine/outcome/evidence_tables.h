#pragma once

#include <vector>

#include "engine/outcome/interval.h"

namespace ergometer::engine {

/// The catalog's tables, read once. A table that cannot be read is our bug: `doctor` and a test
/// read them all.
/// `catalog/tables/evidence.csv` and, behind it, `own_evidence`.
const std::vector<Evidence>& catalog_evidence();
/// `catalog/tables/own_evidence.csv`: runs that we measured ourselves and no fit has.
const std::vector<Evidence>& own_evidence();
const Uncertainty& catalog_uncertainty();

}  // namespace ergometer::engine

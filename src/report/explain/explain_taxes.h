#pragma once

#include "compare/taxes.h"
#include "report/explain/explanation.h"

namespace ergometer::report {

/// "taxes": the three of them as shares of the step, with their parts, which add up.
Explanation explain_taxes(const compare::Taxes& taxes);

}  // namespace ergometer::report

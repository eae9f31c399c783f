#pragma once

#include <string>
#include <vector>

#include "compare/comparison.h"

namespace ergometer::base {
class JsonWriter;
}

namespace ergometer::report {

/// The members of `ComparisonDocument` (web/src/document.ts), inside an object that the caller has
/// opened.
void write_comparison(base::JsonWriter& json, const compare::Comparison& comparison);

/// `compare --json`: of two, the document itself; of several, one with `comparisons`, each of the
/// first with one of the others.
std::string comparison_json(const std::vector<compare::Comparison>& comparisons);

}  // namespace ergometer::report

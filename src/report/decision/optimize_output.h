#pragma once

#include <string>

#include "optimize/files.h"
#include "optimize/optimize.h"
#include "report/summary/summary_text.h"

namespace ergometer::report {

/// What `ergometer optimize` says: the choice, what it gains and costs, how it fares when the hot
/// GPUs are others, what was tried on the way.
std::string optimize_text(const optimize::Optimized& result, const optimize::Options& options,
                          const TextStyle& style);

/// The same and every candidate, as one JSON document. `files`: those that were written.
std::string optimize_json(const optimize::Optimized& result, const optimize::Options& options,
                          const std::vector<optimize::File>& files);

}  // namespace ergometer::report

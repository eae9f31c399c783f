#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "optimize/files.h"
#include "optimize/optimize.h"
#include "report/summary/summary_text.h"

namespace ergometer::report {

/// What `ergometer optimize` says: the choice, what it gains and costs, how it fares when the hot
/// GPUs are others, what was tried on the way. `hosts`: names of the nodes, where caps and clocks
/// shall stand GPU by GPU.
std::string optimize_text(const optimize::Optimized& result, const optimize::Options& options,
                          const std::vector<std::string>& hosts, const TextStyle& style);

/// The same without what was tried on the way.
std::string plan_text(const optimize::Optimized& result, const optimize::Options& options,
                      const std::vector<std::string>& hosts, const TextStyle& style);
/// "3.1 % less energy a step (90 %: 2.0 to 4.2 %)", or why to keep what there is.
std::string verdict_text(const optimize::Optimized& result, const optimize::Options& options);

/// The same and every candidate, as one JSON document, over lines or on one. `files`: those that
/// were written; `also` writes members of its own behind them.
std::string optimize_json(const optimize::Optimized& result, const optimize::Options& options,
                          const std::vector<optimize::File>& files,
                          const std::function<void(base::JsonWriter&)>& also,
                          base::JsonWriter::Layout layout = base::JsonWriter::Layout::kLines);

}  // namespace ergometer::report

#pragma once

#include <optional>
#include <string>

#include "cli/search/search.h"
#include "report/summary/summary_text.h"
#include "search/scaling.h"

// `search --scaling`: the best layout on each of several numbers of GPUs, and what more of them
// bring.
namespace ergometer::cli {

struct ScalingAsk {
  search::Scaling scaling = search::Scaling::kStrong;
  /// In the user's currency: of a GPU for an hour, of a kWh at the meter. Neither: cost is not
  /// told.
  std::optional<double> gpu_hour, kwh;
  std::optional<double> energy_kwh;  ///< to spend at the meter; none: not asked
};

std::vector<Flag> scaling_flags();
/// Nothing: none is asked for. An input error: what it cannot be asked with, or fewer than two
/// numbers of GPUs.
Result<std::optional<ScalingAsk>> scaling_ask(const Arguments& arguments,
                                              const search::SpaceOptions& space);

Result<int> run_scaling(const SearchPlan& plan, const ScalingAsk& ask, bool as_json,
                        const Console& console);

/// What the two outputs show.
struct ScalingAnswer {
  const search::ScalingResult& result;
  ScalingAsk ask;
};
std::string scaling_text(const ScalingAnswer& answer, const report::TextStyle& style);
std::string scaling_json(const ScalingAnswer& answer);

}  // namespace ergometer::cli

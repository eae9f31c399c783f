#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/console/command.h"
#include "cli/search/search_settings.h"
#include "launch/framework.h"
#include "search/search.h"

namespace ergometer::cli {

/// What the user asks a search for.
struct SearchPlan {
  SearchSettings settings;
  search::SpaceOptions space;
  search::SearchOptions options;                ///< threads apart
  std::optional<launch::Framework> framework;   ///< whose settings are shown, if that is said
  std::optional<launch::Framework> launchable;  ///< only what `launch` writes for it
  std::string save;                             ///< the job file of the first; empty: none
  std::string identity;                         ///< differs when the answer may
  std::vector<std::string> words;               ///< the command's, those that say how it runs apart
};

std::vector<Flag> search_flags();
Result<SearchPlan> search_plan(const Arguments& arguments, const Console& console);

}  // namespace ergometer::cli

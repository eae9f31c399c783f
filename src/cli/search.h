#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/search_settings.h"
#include "launch/framework.h"
#include "search/search.h"

namespace ergometer::cli {

/// What the user asks a search for.
struct SearchPlan {
  SearchSettings settings;
  search::SpaceOptions space;
  search::SearchOptions options;  ///< threads apart
  launch::Framework framework = launch::Framework::kMegatron;
  std::string identity;            ///< differs when the answer may
  std::vector<std::string> words;  ///< the command's, those that say how it runs apart
};

std::vector<Flag> search_flags();
base::Result<SearchPlan> search_plan(const Arguments& arguments, const Console& console);

}  // namespace ergometer::cli

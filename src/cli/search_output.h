#pragma once

#include <string>
#include <vector>

#include "launch/framework.h"
#include "search/search.h"

namespace ergometer::cli {

/// What the two outputs show.
struct SearchAnswer {
  const search::Space& space;
  const search::SearchResult& result;
  std::vector<search::Turned> knobs;  ///< around the best; empty: there is none
  launch::Framework framework = launch::Framework::kMegatron;  ///< whose settings the text ends in
};

std::string search_text(const SearchAnswer& answer);
std::string search_json(const SearchAnswer& answer);

}  // namespace ergometer::cli

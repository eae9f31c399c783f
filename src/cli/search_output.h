#pragma once

#include <string>
#include <vector>

#include "search/search.h"

namespace ergometer::cli {

/// What the two outputs show.
struct SearchAnswer {
  const search::Space& space;
  const search::SearchResult& result;
  std::vector<search::Turned> knobs;  ///< around the best; empty: there is none
  double elapsed_s = 0;
};

std::string search_text(const SearchAnswer& answer);
std::string search_json(const SearchAnswer& answer);

/// The arguments of Megatron-LM that run the candidate: those that lay it out, not those that
/// describe the model.
std::string megatron_flags(const spec::Job& job);

}  // namespace ergometer::cli

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "search/search.h"

namespace ergometer::search {

/// What a little more of something would bring: the best layout of the same job with it.
struct WhatIf {
  std::string more;              ///< "1 GiB more memory a GPU"
  std::string impossible;        ///< why it cannot be had or changes nothing; empty: it was tried
  std::optional<Played> better;  ///< by the engine; none: nothing better than the winner
};

/// A gibibyte of memory a GPU, 100 Gb/s for every network card, the next GPUs that a layout can
/// use, twice the GPUs. Each is a search of its own, cut by what the winner is known to reach;
/// those of memory and network price only what `SearchResult::known` does not settle. Empty for
/// spaces of more than `kMostForWhatIf` candidates.
constexpr int64_t kMostForWhatIf = 1'000'000;
std::vector<WhatIf> what_if(const Space& space, const SearchOptions& options,
                            const SearchResult& result);

}  // namespace ergometer::search

#pragma once

#include "search/kept.h"

namespace ergometer::search {

/// Plays what is kept on the engine and puts the best of it into `result.best`, by the engine's
/// numbers and within the limits by the engine's numbers; says in `result.limits` which of them
/// bind.
void play(const Space& space, const SearchOptions& options, const Kept& kept, SearchResult& result);

}  // namespace ergometer::search

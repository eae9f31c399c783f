#pragma once

#include "search/search.h"

namespace ergometer::search {

/// The search of a space on clusters of unlike nodes. Nothing is estimated in closed form: what is
/// tried is played by the engine.
///
/// First every layout on every placement of its ranks (`placements_of`), with layers by speed and
/// memory, micro batches by speed where replicas lie on unlike kinds, and the least recomputation
/// that fits. Of the best of these one setting after the other is turned: recomputation, sharding,
/// overlap, a layer from a stage to another. What is found is the best of what was played; not of
/// all that is legal.
///
/// Tried are 1F1B pipelines of one chunk a stage, where nothing else is asked for; context
/// parallelism where no layout fits without it.
Result<SearchResult> search_unlike(const Space& space, const SearchOptions& options);

}  // namespace ergometer::search

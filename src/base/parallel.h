#pragma once

#include <cstddef>
#include <functional>

namespace ergometer::base {

/// Calls `work(i)` once for every i below `count`, on `threads` threads, this one among them, and
/// returns when all are done, or throws what the first threw. Which thread gets which i, and when,
/// is left to chance: `work(i)` writes only what belongs to i, so that the result does not show it.
void parallel_for(size_t count, size_t threads, const std::function<void(size_t)>& work);

}  // namespace ergometer::base

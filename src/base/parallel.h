#pragma once

#include <cstddef>
#include <functional>

namespace ergometer::base {

/// Calls `work(i)` once for every i below `count`, on `threads` threads, this one among them, and
/// returns when all are done. An exception of `work` is thrown here, and what was not begun is
/// left: the first one, where several threads have one. Which thread gets which i, and when, is
/// left to chance: so that the result does not depend on it, `work(i)` writes only what belongs to
/// i.
void parallel_for(size_t count, size_t threads, const std::function<void(size_t)>& work);

}  // namespace ergometer::base

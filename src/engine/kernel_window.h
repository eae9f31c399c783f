#pragma once

#include <cstddef>

#include "run/run.h"

namespace ergometer::engine {

/// Leaves `most` kernels of the Run at most: where the whole step has more, those that start in a
/// stretch around the middle micro batch's forward and backward on the last stage (where the one
/// follows the other at once), which stands for the steady state of the pipeline. Sets
/// `kernels_from_ns` and `kernels_to_ns` then. The Run's tasks say where that is.
void keep_window(run::Run& run, size_t most);

}  // namespace ergometer::engine

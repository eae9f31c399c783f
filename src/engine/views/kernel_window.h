#pragma once

#include <cstddef>

#include "run/run.h"

namespace ergometer::engine {

/// Leaves `most` kernels of the Run at most: where the whole step has more, those that lie, in part
/// at least, in three windows: the start of the step, its end (a quarter of the kernels each), and
/// a stretch around the middle micro batch's forward and backward on the last stage (where the one
/// follows the other at once), which stands for the steady state of the pipeline. Sets
/// `kernel_windows`, and `kernels_from_ns` and `kernels_to_ns` to the middle one, then. The Run's
/// tasks say where the passes are.
void keep_windows(run::Run& run, size_t most);

}  // namespace ergometer::engine

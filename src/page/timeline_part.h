#pragma once

#include <cstdint>
#include <vector>

#include "base/json_writer.h"
#include "page/run_view.h"

namespace ergometer::page {

/// Ranks with tasks, kernels or both, in order.
std::vector<int64_t> ranks_with_timeline(const RunView& view);

/// `timeline`, where there is one: tasks and kernels of `ranks`, or of one rank a stage where that
/// is empty. Of too many kernels those of a stretch; `left_out` says so.
void write_timeline(base::JsonWriter& json, const RunView& view, const std::vector<int64_t>& ranks);

}  // namespace ergometer::page

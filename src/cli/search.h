#pragma once

#include "cli/command.h"

namespace ergometer::cli {

/// `ergometer search MODEL --cluster CLUSTER --gpus N --gbs B --seq-length S`: every legal layout
/// of a job, the best ones played.
std::vector<Flag> search_flags();
base::Result<int> run_search(const Arguments& arguments, const Console& console);

}  // namespace ergometer::cli

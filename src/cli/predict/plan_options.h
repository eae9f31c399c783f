#pragma once

#include <cstdint>
#include <vector>

#include "campaign/ask.h"
#include "cli/console/command.h"

namespace ergometer::cli {

/// What `plan` takes beside a job's settings.
std::vector<Flag> campaign_flags();
Result<campaign::Ask> campaign_ask(const Arguments& arguments);
/// The numbers of --gpus, "4096,8192"; empty where it is not given.
Result<std::vector<int64_t>> campaign_gpus(const Arguments& arguments);

}  // namespace ergometer::cli
